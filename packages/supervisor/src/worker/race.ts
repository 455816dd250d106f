/**
 * Race: several workers on one brief. The first good answers are kept, or those of a quorum; the others are stopped. A
 * hedge is a race whose second worker starts later.
 *
 * Owns: the rule of the decision, when each worker starts. Does not own: one worker (worker-task.ts; a delegation:
 * ../delegation/attempts.ts), the wait (watch.ts).
 * Holds: K3: ends count in recorded order, so replay decides alike; K7: every end is awaited, also of stopped workers;
 * K11: their usage counts. It never hangs: once no decision is possible, it is undecided.
 */
import { canonical, isObject, type ActivationId, type Json, type Outcome } from '@reeve/core'
import { isEmpty } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { Watch } from './watch.ts'
import { WorkClock } from './work-clock.ts'

/**
 * How many answers are needed. `first`: one good answer; a number: that many good answers; `majority`: one that more
 * than half of all workers give; `quorum`: one that so many give. For a majority and a quorum, answers count as votes.
 */
export type Keep = 'first' | number | 'majority' | { readonly quorum: number }

/** A worker in a race. */
export interface Racer<E> {
  /** Runs to its end, in its own scope. Rejects only with `Cancelled`. */
  begin(ctx: Context, hedge: HedgeStart): Promise<E>
  stop(reason: string): void
  /** Its activation; undefined: it has not begun. */
  readonly activation: ActivationId | undefined
}

/** How a worker in a hedge relates to the others. Empty in any other race. */
export interface HedgeStart {
  /** The slower worker before it. */
  readonly after?: ActivationId
  /** Called when it begins (true) or ceases (false) to wait for a human. No other worker starts meanwhile. */
  readonly onWait?: (waiting: boolean) => void
}

/** The rule of a race. */
export interface RaceRule<E> {
  readonly keep: Keep
  readonly good: (end: E) => boolean
  /** What a good answer votes for. */
  readonly vote: (end: E) => string
  /** The id of the activation, for the journal. */
  readonly idOf: (end: E) => ActivationId | undefined
  /**
   * The next worker starts when the one before has worked for this many milliseconds, or at once when one ends badly.
   * Default: all start at once.
   */
  readonly hedgeAfterMs?: number
  readonly callId?: string
  /** Whether no further worker starts after such an end. Default: further ones start. */
  readonly isFinal?: (end: E) => boolean
}

/** The decision. */
export interface RaceDecision<E> {
  readonly decided: boolean
  /** In the order of the workers. Empty if it was not decided. */
  readonly kept: readonly E[]
  /** All that began, in the order of the workers. */
  readonly all: readonly E[]
}

/** Starts the workers, keeps answers by the rule, stops the others, and waits until all have ended. */
export async function race<E>(
  ctx: Context,
  watch: Watch,
  racers: readonly Racer<E>[],
  rule: RaceRule<E>,
): Promise<RaceDecision<E>> {
  const run = new Race(ctx, watch, racers, rule)
  const kept = await run.decided()
  const stopped = run.stopOthers(kept === undefined ? 'it cannot be decided any more' : 'enough answers are kept')
  const all = await run.ended()
  const known = (list: readonly E[]): ActivationId[] => list.flatMap((end) => rule.idOf(end) ?? [])
  // an answer is there: a worker that failed beside it is no failure of the work
  if (kept !== undefined)
    for (const id of known(all.filter((end) => !kept.includes(end)))) ctx.stop(id, 'enough answers are kept')
  const inOrder = all.filter((end) => kept?.includes(end) === true)
  if (all.length > 1) {
    const { callId } = rule
    ctx.emit({
      type: 'delegation.decided',
      ...(callId === undefined ? undefined : { callId }),
      rule: ruleText(rule.keep, rule.hedgeAfterMs),
      kept: known(inOrder),
      stopped: known(stopped()),
    })
  }
  return { decided: kept !== undefined, kept: inOrder, all }
}

const ruleText = (keep: Keep, hedgeAfterMs: number | undefined): string =>
  `${typeof keep === 'object' ? `quorum of ${keep.quorum}` : keep}${hedgeAfterMs === undefined ? '' : `, one every ${hedgeAfterMs} ms`}`

/** A race under way. */
class Race<E> {
  readonly #ctx: Context
  readonly #watch: Watch
  #racers: readonly Racer<E>[]
  readonly #rule: RaceRule<E>
  /** By the index of the worker. */
  readonly #ends = new Map<number, E>()
  readonly #good: E[] = []
  #started = 0
  #clock: WorkClock | undefined
  /** How many of them wait for a human. */
  #waiting = 0
  #over = false
  #error: { readonly why: unknown } | undefined
  #wake: (() => void) | undefined

  constructor(ctx: Context, watch: Watch, racers: readonly Racer<E>[], rule: RaceRule<E>) {
    this.#ctx = ctx
    this.#watch = watch
    this.#racers = racers
    this.#rule = rule
  }

  /** Resolves to the kept ends, or to undefined once no decision is possible. */
  async decided(): Promise<readonly E[] | undefined> {
    this.#beginNext()
    if (this.#rule.hedgeAfterMs === undefined) while (this.#started < this.#racers.length) this.#beginNext()
    for (;;) {
      const kept = this.#keptEnds()
      if (kept !== undefined || !this.#isOpen()) return this.#close(kept)
      await this.#wait()
    }
  }

  /** Stops the pending workers. Call the result later to get their ends. */
  stopOthers(reason: string): () => readonly E[] {
    const open = [...this.#racers.keys()].filter((i) => i < this.#started && !this.#ends.has(i))
    for (const i of open) this.#racers[i]!.stop(reason)
    return () => open.flatMap((i) => this.#ends.get(i) ?? [])
  }

  /** All workers that began, once they have ended. */
  async ended(): Promise<readonly E[]> {
    while (this.#ends.size < this.#started) await this.#wait()
    return [...this.#racers.keys()].flatMap((i) => (this.#ends.has(i) ? [this.#ends.get(i)!] : []))
  }

  #close(kept: readonly E[] | undefined): readonly E[] | undefined {
    this.#over = true
    this.#clock?.end()
    return kept
  }

  #beginNext(): void {
    const i = this.#started
    const racer = this.#racers[i]
    if (this.#over || racer === undefined) return
    this.#clock?.end()
    this.#started++
    const { hedgeAfterMs } = this.#rule
    const after = this.#racers[i - 1]?.activation
    const onWait = (waiting: boolean): void => {
      this.#waiting += waiting ? 1 : -1
      if (this.#waiting > 0) this.#clock?.stand()
      else this.#clock?.run()
    }
    const hedge = hedgeAfterMs === undefined ? {} : { onWait, ...(after === undefined ? {} : { after }) }
    racer.begin(this.#ctx.scope('one'), hedge).then(
      (end) => this.#addEnd(i, end),
      (thrown: unknown) => this.#fail(thrown),
    )
    if (hedgeAfterMs === undefined || this.#started >= this.#racers.length) return
    const hearing = { ring: () => this.#beginNext(), reject: (thrown: unknown) => this.#fail(thrown) }
    this.#clock = new WorkClock(
      this.#ctx,
      this.#watch.alarm.bind(this.#watch),
      { name: 'hedge', ms: hedgeAfterMs },
      hearing,
    )
    if (this.#waiting === 0) this.#clock.run()
  }

  #addEnd(i: number, end: E): void {
    this.#ends.set(i, end)
    try {
      if (!this.#over && this.#rule.good(end)) this.#good.push(end)
      else if (!this.#over && this.#rule.isFinal?.(end) === true) this.#endWith(this.#started)
      else if (!this.#over && this.#rule.hedgeAfterMs !== undefined) this.#beginNext()
    } catch (thrown) {
      return this.#fail(thrown)
    }
    this.#wake?.()
  }

  /** Workers that have not begun will not start. */
  #endWith(begun: number): void {
    this.#clock?.end()
    this.#racers = this.#racers.slice(0, begun)
  }

  #fail(thrown: unknown): void {
    this.#error ??= { why: thrown }
    this.#wake?.()
  }

  async #wait(): Promise<void> {
    if (this.#error === undefined) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#wake = undefined
    if (this.#error !== undefined) throw this.#error.why
  }

  #keptEnds(): readonly E[] | undefined {
    const { keep } = this.#rule
    const wanted = this.#wanted()
    if (keep === 'first' || typeof keep === 'number')
      return this.#good.length < wanted ? undefined : this.#good.slice(0, wanted)
    return [...this.#votes().values()].find((same) => same.length >= wanted)
  }

  /** Whether pending workers may still decide it. */
  #isOpen(): boolean {
    const { keep } = this.#rule
    const votes =
      keep === 'first' || typeof keep === 'number'
        ? [this.#good.length]
        : [...this.#votes().values()].map(({ length }) => length)
    return Math.max(0, ...votes) + this.#racers.length - this.#ends.size >= this.#wanted()
  }

  #votes(): ReadonlyMap<string, readonly E[]> {
    return Map.groupBy(this.#good, (end) => this.#rule.vote(end))
  }

  #wanted(): number {
    const { keep } = this.#rule
    if (keep === 'first') return 1
    return typeof keep === 'number' ? keep : keep === 'majority' ? Math.floor(this.#racers.length / 2) + 1 : keep.quorum
  }
}

/** Whether an end is an answer: completed, and not empty. */
export const isAnswer = (outcome: Outcome | undefined): outcome is Extract<Outcome, { readonly status: 'completed' }> =>
  outcome?.status === 'completed' && !isEmpty(outcome.output)

/** The vote of an answer: its text without white space around it, or its JSON with sorted names. */
export const voteOf = (output: Json): string => (typeof output === 'string' ? output.trim() : canonical(output))

/** The problem of the wanted number of answers; undefined if it is valid. */
export function keepProblem(keep: unknown, workers: number): string | undefined {
  if (keep === 'first' || keep === 'majority') return undefined
  const wanted = isObject(keep) ? (keep['quorum'] as unknown) : keep
  if (typeof wanted !== 'number' || !Number.isInteger(wanted) || wanted < 1)
    return 'keep must be "first", a whole number of at least 1, "majority" or { quorum: number }'
  return wanted > workers ? `keep wants ${wanted} answers, and there are ${workers} workers` : undefined
}
