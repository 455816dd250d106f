/**
 * Delegation race: several delegations of one brief, by the model's choice or as a hedge. Each is a delegation of its
 * own, with all hooks.
 *
 * Owns: their labels, the result for the leader's model. Does not own: how it is decided (../worker/race.ts), one
 * delegation (delegations.ts).
 */
import { asText, doneBefore, present, withDeeds, type FilePart, type Json } from '@reeve/core'
import type { CallResult } from '@reeve/agent'
import type { Brief } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'
import { newEntry, type Attempts, type DelegationEntry, type LeaderState, type Worker } from './attempts.ts'
import type { Reference } from './references.ts'
import { isAnswer, race, voteOf, type RaceDecision, type HedgeStart, type Keep, type RaceRule } from '../worker/race.ts'

/** A request to delegate. */
export interface DelegationRequest {
  readonly worker: string
  readonly brief: Brief
  /** Results to put before the instructions. */
  readonly refs?: readonly Reference[]
  /** Files that the worker sees with its brief. */
  readonly files?: readonly FilePart[]
  /** The model's limit of turns. It can only lower that of the worker's definition. */
  readonly turns?: number
  /** It works in the background. */
  readonly deferred?: boolean
}

/** One delegation about to begin. */
export interface DelegationCall {
  readonly ctx: Context
  readonly call: ToolCall
  readonly state: LeaderState
  readonly worker: Worker
  readonly asked: DelegationRequest
  readonly entry: DelegationEntry
  /** For a worker in a race. */
  readonly hedge?: HedgeStart
}

/** A call to several workers. */
export interface SharedDelegation extends Omit<DelegationCall, 'worker' | 'asked' | 'entry'> {
  readonly workers: readonly Worker[]
  readonly brief: Brief
  readonly files?: readonly FilePart[]
  readonly keep: Keep
}

/** One delegation of a race, with its result for the leader's model. */
interface RaceResult {
  readonly entry: DelegationEntry
  readonly result: CallResult
}

export class DelegationRace {
  readonly #attempts: Attempts
  readonly #give: (given: DelegationCall) => Promise<CallResult>

  /** `give`: runs one delegation, from its hooks to the result for the leader's model. */
  constructor(attempts: Attempts, give: (given: DelegationCall) => Promise<CallResult>) {
    this.#attempts = attempts
    this.#give = give
  }

  /** The delegations of a call, with labels derived from its label. */
  entries({ workers, call }: SharedDelegation, label: string): readonly DelegationEntry[] {
    return workers.map((worker, i) => newEntry(worker.name, call.id, `${label}.${i + 1}`, label))
  }

  /**
   * Gives one brief to several workers. Returns the result for the model, and the delegation whose output counts as
   * that of the call.
   */
  async several(
    { workers, brief, files, keep, ...shared }: SharedDelegation,
    entries: readonly DelegationEntry[],
  ): Promise<CallResult & { readonly counts: DelegationEntry | undefined }> {
    const given = workers.map((worker, i): DelegationCall => ({
      ...shared,
      worker,
      asked: { worker: worker.name, brief, ...present({ files }) },
      entry: entries[i]!,
    }))
    const { decided, kept, all } = await this.#race(given, { keep, callId: shared.call.id })
    const others = all
      .filter((each) => !kept.includes(each))
      .map(({ entry }) => ({ ...rowOf(entry), ended: endOf(entry) }))
    const result: CallResult = decided
      ? { content: { decided, kept: rowsOf(kept), others } }
      : { content: { decided, ended: rowsOf(all) }, isError: true }
    return { ...result, ...finishOf(all), counts: kept[0]?.entry }
  }

  /**
   * Runs a delegation, and a second one beside it if it is slow. The first good answer is the result of the first
   * delegation.
   */
  async hedged(given: DelegationCall, afterMs: number, beside: Worker): Promise<CallResult> {
    const { call, entry, asked } = given
    const second = newEntry(beside.name, call.id, `${entry.label}.2`, entry.label)
    const both = [given, { ...given, worker: beside, asked: { ...asked, worker: beside.name }, entry: second }]
    const rule = {
      keep: 'first',
      hedgeAfterMs: afterMs,
      callId: call.id,
      isFinal: ({ result }: RaceResult) => result.refused !== undefined,
    } as const
    const { kept, all } = await this.#race(both, rule)
    const counts = kept[0] ?? all[0]!
    const deeds = all.flatMap(({ entry: each }) =>
      each === counts.entry || !hasDone(each) ? [] : [`["${each.worker}" worked at it, too: ${endOf(each)}]`],
    )
    if (counts.entry === second) Object.assign(entry, { id: second.id, outcome: second.outcome, output: second.output })
    const { result } = counts
    const content = deeds.length === 0 ? {} : { content: [asText(result.content), ...deeds].join('\n') }
    return { ...result, ...content, ...finishOf(all) }
  }

  #race(
    given: readonly DelegationCall[],
    rule: Pick<RaceRule<RaceResult>, 'keep' | 'hedgeAfterMs' | 'callId' | 'isFinal'>,
  ): Promise<RaceDecision<RaceResult>> {
    const [{ ctx, entry: first }] = given as readonly [DelegationCall]
    const racers = given.map((each) => ({
      get activation() {
        return each.entry.id
      },
      begin: async (scope: Context, hedge: HedgeStart): Promise<RaceResult> => {
        // stopping a delegation also stops its hedge
        if (rule.hedgeAfterMs !== undefined) each.entry.stopped ??= first.stopped
        return { entry: each.entry, result: await this.#give({ ...each, ctx: scope, hedge }) }
      },
      stop: (reason: string) => this.#attempts.stop(each.entry, reason),
    }))
    return race(ctx, this.#attempts.watch, racers, {
      ...rule,
      good: ({ entry }) => isAnswer(entry.outcome),
      vote: ({ entry }) => (entry.outcome?.status === 'completed' ? voteOf(entry.outcome.output) : ''),
      idOf: ({ entry }) => entry.id,
    })
  }
}

const rowOf = ({ worker, label }: DelegationEntry): { readonly worker: string; readonly delegation: string } => ({
  worker,
  delegation: label,
})

/** How one has ended whose answer is not kept, with what it had done: it happened all the same. */
function endOf({ outcome }: DelegationEntry): string {
  if (outcome === undefined) return 'never begun'
  const { done, more } = doneBefore(outcome)
  return withDeeds(outcome.status, done, more)
}

const hasDone = ({ outcome }: DelegationEntry): boolean => outcome !== undefined && doneBefore(outcome).done.length > 0

const rowsOf = (list: readonly RaceResult[]): Json =>
  list.map(({ entry, result }) => ({ ...rowOf(entry), result: result.content }))

/** A hook of any of them may have ended the leader's work. */
function finishOf(all: readonly RaceResult[]): Pick<CallResult, 'finish'> {
  const finish = all.find(({ result }) => result.finish !== undefined)?.result.finish
  return finish === undefined ? {} : { finish }
}
