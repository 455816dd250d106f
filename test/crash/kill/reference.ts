/** What runs of the scenario end with when nothing goes wrong: one process, in memory, nobody killed. */
import { completed, type Json, type Outcome, type RunId } from '@reeve/core'
import { createEmbeddedEngine, type EmbeddedEngine } from '@reeve/sqlite'
import type { Question, Registry } from '@reeve/engine'
import { createRuntime } from '@reeve/runtime'
import type { Expected } from './round.ts'
import type { Reach } from './scenario.ts'
import { everything, team } from './team.ts'
import { plain } from './world.ts'

/** How one run ends, without nonces, and which `once` steps it takes. */
export interface Reference {
  readonly outcome: string
  readonly once: readonly string[]
}

/** What a run is, and what its operator says. */
export interface Case {
  readonly agent: string
  readonly input?: Json
  readonly registry?: (reach: Reach) => Registry
  /** Undefined: nobody answers. Default: a yes of ann's. */
  readonly answer?: (question: Question) => Outcome | undefined
}

const yes = (): Outcome => completed({ approved: true, by: 'ann' })

/** Runs it where nothing goes wrong. */
export async function referenceOf({
  agent,
  input = null,
  registry = everything,
  answer = yes,
}: Case): Promise<Reference> {
  const once: string[] = []
  const engine = createEmbeddedEngine({ file: ':memory:', strict: true })
  const reach: Reach = (_io, kind, what) => {
    if (kind === 'once') once.push(what)
    return Promise.resolve(`${what}~0`)
  }
  engine.drive(registry(reach))
  const run = agent as RunId
  const runtime = await createRuntime({ engine, drive: false, agents: [team(reach)] })
  if (agent === 'team') await runtime.start('team', 'A report on ravens, please.', { runId: run })
  else await engine.start({ run, agent, version: '1', input })
  const end = engine.outcome(run)
  let ended = false
  const noted = end.finally(() => (ended = true))
  const seen = new Set<string>()
  while (!ended) {
    for (const question of await engine.questions()) {
      if (seen.has(question.id)) continue
      seen.add(question.id)
      if (agent === 'team') await runtime.decide({ approvalId: question.id, decision: 'approve', approver: 'ann' })
      else await say(engine, question, answer(question))
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  const outcome = plain(JSON.stringify((await noted).outcome))
  await engine.close()
  return { outcome, once: once.sort() }
}

async function say(
  engine: EmbeddedEngine,
  { run, activation, address }: Question,
  outcome: Outcome | undefined,
): Promise<void> {
  if (address === 'cancel-me') await engine.post({ type: 'cancel', run, reason: 'changed my mind', by: 'operator' })
  else if (outcome !== undefined) await engine.post({ type: 'answer', activation, address, outcome })
}

export async function expectations(): Promise<Expected> {
  const found = new Map<string, Reference>()
  for (const agent of ['leader', 'team', 'traveller']) found.set(agent, await referenceOf({ agent }))
  return found
}
