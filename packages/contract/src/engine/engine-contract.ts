/**
 * The contract of the Engine port, as a list of cases that any test runner can bind: the same scenario gives the same
 * outcome and the same facts on every engine. It is the definition of the port; where an engine cannot
 * hold a case it says why (`skip`).
 */
import { apartCases } from './apart.ts'
import { askingCases } from './questions.ts'
import { attemptingCases } from './attempts.ts'
import { budgetCases } from './budgets.ts'
import { cancelCases } from './cancellation.ts'
import { contentCases } from './contents.ts'
import { controlCases } from './takeover.ts'
import { delegatingCases } from './delegation.ts'
import { feedCases } from './feed.ts'
import { forkCases } from './forks.ts'
import { handingOnCases } from './handoff.ts'
import { mailCases } from './mail.ts'
import { pauseEndCases } from './paused-ends.ts'
import { pauseCases } from './pause.ts'
import { plannedCases } from './planned-team.ts'
import { restartCases } from './restart.ts'
import { Stage, type EngineSubject, type Play } from './stage.ts'
import { startingCases } from './start.ts'
import { stepCases } from './steps.ts'
import { valueCases } from './values.ts'
import { versionCases } from './versions.ts'

/** One case, bound to one engine. */
export interface ContractCase {
  readonly name: string
  /** The law of LAWS.md that it proves: `K1` to `K12`. */
  readonly invariant: string
  /** Why it is not run on this engine. */
  readonly skip: string | undefined
  /** Plays the case on a fresh store. Rejects if it does not hold. */
  readonly run: () => Promise<void>
}

const plays: readonly Play[] = [
  ...startingCases,
  ...stepCases,
  ...askingCases,
  ...mailCases,
  ...valueCases,
  ...cancelCases,
  ...pauseCases,
  ...pauseEndCases,
  ...controlCases,
  ...budgetCases,
  ...restartCases,
  ...versionCases,
  ...feedCases,
  ...handingOnCases,
  ...attemptingCases,
  ...delegatingCases,
  ...plannedCases,
  ...forkCases,
  ...apartCases,
  ...contentCases,
]

/**
 * All cases of the contract for one engine. `durable: false`: its store dies with it, so cases that open it again are
 * skipped.
 */
export function engineContract(subject: EngineSubject & { readonly durable?: boolean }): readonly ContractCase[] {
  const unknown = Object.keys(subject.skip ?? {}).filter((name) => !plays.some((play) => play.name === name))
  if (unknown.length > 0) throw new Error(`${subject.name} skips cases that do not exist: ${unknown.join(', ')}`)
  return plays.map(({ name, invariant, restarts, beside, contents, play }) => ({
    name,
    invariant,
    skip:
      subject.skip?.[name] ??
      (restarts === true && subject.durable === false
        ? 'its store lives in memory and dies with the engine'
        : undefined) ??
      (beside === true && subject.passesParts !== true
        ? 'live parts are heard in the process that drives their run'
        : undefined) ??
      (contents === true && subject.keepsContents !== true ? 'its store keeps no contents' : undefined),
    async run() {
      const stage = await Stage.open(subject)
      try {
        await play(stage)
      } finally {
        await stage.bench.dispose()
      }
    },
  }))
}
