/**
 * A run as the index has it, folded from its journal and those of its child runs.
 *
 * Owns: what of a journal is kept: the beginnings of its texts, its words, why it failed, how long people were waited
 * for, who used what. Does not own: reading journals (host/indexer.ts), keeping it (the stores). Pure.
 * Holds: K1 (the same journals give the same run), K10 (nothing but what was recorded, which is redacted), K11 (usage as
 * it was recorded).
 */
import {
  addUsage,
  asText,
  childActivation,
  isObject,
  own,
  present,
  rootActivation,
  runOf,
  type ActivationId,
  type Json,
  type Outcome,
  type RunId,
  type Usage,
} from '@reeve/core'
import { isEdge, type JournalEvent, type Recorded } from '@reeve/journal'
import type { IndexedRun, SummaryText, UsageShare } from '../run-figures.ts'
import type { StoredRun } from '../store.ts'
import { failureCause } from './cause.ts'
import { wordsOf } from './text-search.ts'

/** So much of a text is shown in a list, and searched. */
const textShown = 300
const textSearched = 4_000

/** A time in which something waited for people. */
interface Wait {
  readonly from: number
  readonly to: number
}

/** So many waits are kept apart: beyond them those that overlap are joined. */
const waitsKept = 1_000

interface KnownAgent {
  readonly agent: string
  version: string
}

/** What a run was asked: of an edge its brief. */
function askedIn(input: Json): Json {
  const brief = isEdge(input) ? input['brief'] : undefined
  if (!isObject(brief)) return input
  return own(brief, 'instructions') ?? own(brief, 'input') ?? ''
}

/** Takes in the journals of a run and of its child runs, one after the other, and says what the index keeps. */
export class IndexedRunFold {
  readonly #run: RunId
  readonly #root: ActivationId
  readonly #agents = new Map<ActivationId, KnownAgent>()
  /** What waits for people, by activation and address, and since when. */
  readonly #open = new Map<string, number>()
  #waits: Wait[] = []
  readonly #shares = new Map<string, UsageShare>()
  /** Who failed first with a code and a message. */
  readonly #failed = new Map<string, string>()
  readonly #apart: RunId[] = []
  #input: Json | undefined
  #outcome: Outcome | undefined

  constructor(run: RunId) {
    this.#run = run
    this.#root = rootActivation(run)
  }

  /** Child runs that were begun by what was taken in since this was last asked. */
  childRuns(): readonly RunId[] {
    return this.#apart.splice(0)
  }

  take({ activation: id, at, event }: Recorded): void {
    if (event.type === 'activation.started') {
      this.#agents.set(id, { agent: event.agent, version: event.version })
      if (id === this.#root) this.#input = event.input
      return
    }
    this.#takeUsage(id, event)
    switch (event.type) {
      case 'agent.moved': {
        const known = this.#agents.get(id)
        if (known !== undefined) known.version = event.to
        return
      }
      case 'worker.started':
        if (event.apart === true && event.refused === undefined)
          this.#apart.push(runOf(childActivation(id, event.address, true)))
        return
      case 'approval.requested':
      case 'interrupt.raised':
      case 'effect.in-doubt':
      case 'replay.diverged':
        this.#waitsFor(`${id} ${event.address}`, at)
        return
      case 'ask.settled':
      case 'effect.cleared':
      case 'replay.resolved':
        this.#answered(`${id} ${event.address}`, at)
        return
      case 'run.paused':
      case 'run.taken-over':
        if (id === this.#root) this.#waitsFor('pause', at)
        return
      case 'run.resumed':
        if (id === this.#root) this.#answered('pause', at)
        return
      case 'activation.restarted':
      case 'activation.settled':
        for (const key of this.#open.keys()) if (key.startsWith(`${id} `)) this.#answered(key, at)
        if (event.type === 'activation.settled') this.#settled(id, event.outcome, at)
        return
      default:
        return
    }
  }

  #takeUsage(id: ActivationId, event: JournalEvent): void {
    const used: Usage | undefined =
      event.type === 'step.settled'
        ? event.usage
        : event.type === 'step.attempt-failed'
          ? event.usage
          : event.type === 'activation.settled' || event.type === 'activation.restarted'
            ? event.lost
            : undefined
    for (const row of used ?? []) {
      const known = this.#agents.get(id)
      const version = known?.agent === row.agent ? known.version : undefined
      const key = JSON.stringify([row.agent, version, row.model])
      const before = this.#shares.get(key)
      const [sum = row] = addUsage(before === undefined ? [] : [before], [row])
      this.#shares.set(key, { ...sum, ...present({ version }) })
    }
  }

  #waitsFor(key: string, at: number): void {
    if (!this.#open.has(key)) this.#open.set(key, at)
  }

  #answered(key: string, at: number): void {
    const from = this.#open.get(key)
    if (from === undefined) return
    this.#open.delete(key)
    this.#waits.push({ from, to: at })
    if (this.#waits.length > waitsKept) this.#waits = joined(this.#waits)
  }

  #settled(id: ActivationId, outcome: Outcome, at: number): void {
    if (id === this.#root) {
      this.#outcome = outcome
      for (const key of this.#open.keys()) this.#answered(key, at)
      return
    }
    const failed = failureCause(outcome, () => '')
    const agent = this.#agents.get(id)?.agent
    if (failed === undefined || agent === undefined) return
    const message = outcome.status === 'failed' ? outcome.failure.message : 'message' in outcome ? outcome.message : ''
    const key = JSON.stringify([failed.code, message])
    if (!this.#failed.has(key)) this.#failed.set(key, agent)
  }

  /** What the index keeps. `row`: the run as it was before its journal was read. */
  indexed({ agent, created, ended }: Pick<StoredRun, 'agent' | 'created' | 'ended'>): IndexedRun {
    const outcome = this.#outcome
    const isFinal = ended !== null
    const failure =
      isFinal && outcome !== undefined
        ? failureCause(outcome, (code, message) => this.#failed.get(JSON.stringify([code, message])) ?? agent)
        : undefined
    const input = this.#input === undefined ? undefined : asText(askedIn(this.#input)).slice(0, textSearched)
    const output =
      isFinal && outcome?.status === 'completed' ? asText(outcome.output).slice(0, textSearched) : undefined
    const texts = [input, output, failure?.code, failure?.message].filter((text) => text !== undefined)
    return {
      run: this.#run,
      isFinal,
      words: wordsOf(texts),
      ...present({
        input: input === undefined ? undefined : shownText(input),
        output: output === undefined ? undefined : shownText(output),
        failure,
        waitMs: isFinal ? this.#waitedMs(created, ended) : undefined,
      }),
      shares: isFinal ? [...this.#shares.values()] : [],
    }
  }

  /** What was copied into a fork was waited for by its origin. */
  #waitedMs(created: number, ended: number): number {
    return joined(this.#waits).reduce(
      (sum, { from, to }) => sum + Math.max(0, Math.min(to, ended) - Math.max(from, created)),
      0,
    )
  }
}

const shownText = (text: string): SummaryText =>
  text.length > textShown ? { text: text.slice(0, textShown).toWellFormed(), cut: true } : { text }

/** The same times, none of which overlaps another. */
function joined(waits: readonly Wait[]): Wait[] {
  const all: Wait[] = []
  for (const wait of waits.toSorted((a, b) => a.from - b.from)) {
    const last = all.at(-1)
    if (last !== undefined && wait.from <= last.to) all[all.length - 1] = { ...last, to: Math.max(last.to, wait.to) }
    else all.push(wait)
  }
  return all
}
