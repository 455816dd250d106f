/**
 * Several at once: one brief for several workers, of whose answers the first good ones are kept, or those that agree; the others are stopped. A hedge is the same with a delay.
 *
 * Owns: the rule by which it is decided, who begins when, `delegateToSeveral` for code. Does not own: the work of one of them (attempts.ts), the verb of a model (verbs.ts), the wait (watch.ts).
 * Holds: K3: ends count in recorded order, so replay decides alike; K7: everybody's end is awaited, also of those who were stopped; K11: what they used counts.
 * It never hangs: as soon as it cannot be decided any more, it is undecided.
 */
import {
  canonical,
  failed,
  hasNames,
  isObject,
  ReeveError,
  timedOut,
  unknownNames,
  withoutTrail,
  type ActivationId,
  type Json,
  type NamesOf,
  type Outcome,
  type Usage,
} from '../../core/index.ts'
import {
  grantNames,
  grantProblems,
  startWorker,
  takingQuestions,
  type Agent,
  type DelegateOptions,
  type InputOf,
  type OutputOf,
} from '../../agent/index.ts'
import { briefOf, isEmpty, readEdge } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import { streakOf } from '../../oversight/index.ts'
import { Watch } from './watch.ts'
import { WorkClock } from './work-clock.ts'

/**
 * How many answers are wanted. `first`: one good answer; a number: so many good ones; `majority`: one that more than half of all workers give; `quorum`: one that so many give.
 * With a majority and a quorum, answers count as votes.
 */
export type Keep = 'first' | number | 'majority' | { readonly quorum: number }

/** Somebody who may answer. */
export interface Contender<E> {
  /** Works, in a scope of its own, to the end. Rejects only with `Cancelled`. */
  begin(ctx: Context, beside: Beside): Promise<E>
  stop(reason: string): void
  /** Where it works, or has worked; undefined: it has not begun. */
  readonly activation: ActivationId | undefined
}

/** What one of several has to do with the others. */
export interface Beside {
  /** Of a hedge: beside whom it begins. */
  readonly after?: ActivationId
  /** Of a hedge: hears that it begins (true) or ceases to wait for a human. Nobody begins beside it meanwhile. */
  readonly waits?: (waiting: boolean) => void
}

/** What decides. */
export interface Contest<E> {
  readonly keep: Keep
  readonly good: (end: E) => boolean
  /** What the vote of a good answer is for. */
  readonly vote: (end: E) => string
  /** The id of the activation, for the journal. */
  readonly idOf: (end: E) => ActivationId | undefined
  /** The next one begins only when the one before has worked for so many milliseconds, or at once when one has ended badly. Default: all begin at once. */
  readonly hedgeAfterMs?: number
  readonly callId?: string
  /** Whether nobody begins any more after such an end. Default: the others do. */
  readonly isFinal?: (end: E) => boolean
}

/** How it was decided. */
export interface Decision<E> {
  readonly decided: boolean
  /** In the order of the contenders. Empty if it was not decided. */
  readonly kept: readonly E[]
  /** Everybody who began, in the order of the contenders. */
  readonly all: readonly E[]
}

/** Lets them begin, keeps what the rule says, stops the others, and waits until everybody has ended. */
export async function contest<E>(ctx: Context, watch: Watch, contenders: readonly Contender<E>[], rule: Contest<E>): Promise<Decision<E>> {
  const run = new Running(ctx, watch, contenders, rule)
  const kept = await run.decided()
  const stopped = run.stopOthers(kept === undefined ? 'it cannot be decided any more' : 'enough answers are kept')
  const all = await run.ended()
  const known = (list: readonly E[]): ActivationId[] => list.flatMap((end) => rule.idOf(end) ?? [])
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

/** A contest under way. */
class Running<E> {
  readonly #ctx: Context
  readonly #watch: Watch
  #contenders: readonly Contender<E>[]
  readonly #rule: Contest<E>
  /** By the place of the contender. */
  readonly #ends = new Map<number, E>()
  readonly #good: E[] = []
  #begun = 0
  #clock: WorkClock | undefined
  /** How many of them wait for a human. */
  #waiting = 0
  #over = false
  #thrown: { readonly why: unknown } | undefined
  #news: (() => void) | undefined

  constructor(ctx: Context, watch: Watch, contenders: readonly Contender<E>[], rule: Contest<E>) {
    this.#ctx = ctx
    this.#watch = watch
    this.#contenders = contenders
    this.#rule = rule
  }

  /** Resolves to what is kept, or to undefined once nothing can be decided any more. */
  async decided(): Promise<readonly E[] | undefined> {
    this.#beginNext()
    if (this.#rule.hedgeAfterMs === undefined) while (this.#begun < this.#contenders.length) this.#beginNext()
    for (;;) {
      const kept = this.#kept()
      if (kept !== undefined || !this.#isOpen()) return this.#close(kept)
      await this.#wait()
    }
  }

  /** Stops those at work. What returns says later who they were. */
  stopOthers(reason: string): () => readonly E[] {
    const open = [...this.#contenders.keys()].filter((i) => i < this.#begun && !this.#ends.has(i))
    for (const i of open) this.#contenders[i]!.stop(reason)
    return () => open.flatMap((i) => this.#ends.get(i) ?? [])
  }

  /** Everybody who began, once all have ended. */
  async ended(): Promise<readonly E[]> {
    while (this.#ends.size < this.#begun) await this.#wait()
    return [...this.#contenders.keys()].flatMap((i) => (this.#ends.has(i) ? [this.#ends.get(i)!] : []))
  }

  #close(kept: readonly E[] | undefined): readonly E[] | undefined {
    this.#over = true
    this.#clock?.end()
    return kept
  }

  #beginNext(): void {
    const i = this.#begun
    const contender = this.#contenders[i]
    if (this.#over || contender === undefined) return
    this.#clock?.end()
    this.#begun++
    const { hedgeAfterMs } = this.#rule
    const after = this.#contenders[i - 1]?.activation
    const waits = (waiting: boolean): void => {
      this.#waiting += waiting ? 1 : -1
      if (this.#waiting > 0) this.#clock?.stand()
      else this.#clock?.run()
    }
    const beside = hedgeAfterMs === undefined ? {} : { waits, ...(after === undefined ? {} : { after }) }
    contender.begin(this.#ctx.scope('one'), beside).then(
      (end) => this.#hear(i, end),
      (thrown: unknown) => this.#leave(thrown),
    )
    if (hedgeAfterMs === undefined || this.#begun >= this.#contenders.length) return
    const hearing = { ring: () => this.#beginNext(), reject: (thrown: unknown) => this.#leave(thrown) }
    this.#clock = new WorkClock(this.#ctx, this.#watch.alarm.bind(this.#watch), { name: 'hedge', ms: hedgeAfterMs }, hearing)
    if (this.#waiting === 0) this.#clock.run()
  }

  #hear(i: number, end: E): void {
    this.#ends.set(i, end)
    try {
      if (!this.#over && this.#rule.good(end)) this.#good.push(end)
      else if (!this.#over && this.#rule.isFinal?.(end) === true) this.#endWith(this.#begun)
      else if (!this.#over && this.#rule.hedgeAfterMs !== undefined) this.#beginNext()
    } catch (thrown) {
      return this.#leave(thrown)
    }
    this.#news?.()
  }

  /** Whoever has not begun does not any more. */
  #endWith(begun: number): void {
    this.#clock?.end()
    this.#contenders = this.#contenders.slice(0, begun)
  }

  #leave(thrown: unknown): void {
    this.#thrown ??= { why: thrown }
    this.#news?.()
  }

  async #wait(): Promise<void> {
    if (this.#thrown === undefined) await new Promise<void>((resolve) => (this.#news = resolve))
    this.#news = undefined
    if (this.#thrown !== undefined) throw this.#thrown.why
  }

  #kept(): readonly E[] | undefined {
    const { keep } = this.#rule
    const wanted = this.#wanted()
    if (keep === 'first' || typeof keep === 'number') return this.#good.length < wanted ? undefined : this.#good.slice(0, wanted)
    return [...this.#votes().values()].find((same) => same.length >= wanted)
  }

  /** Whether those who have not ended may still decide it. */
  #isOpen(): boolean {
    const { keep } = this.#rule
    const votes =
      keep === 'first' || typeof keep === 'number' ? [this.#good.length] : [...this.#votes().values()].map(({ length }) => length)
    return Math.max(0, ...votes) + this.#contenders.length - this.#ends.size >= this.#wanted()
  }

  #votes(): ReadonlyMap<string, readonly E[]> {
    return Map.groupBy(this.#good, (end) => this.#rule.vote(end))
  }

  #wanted(): number {
    const { keep } = this.#rule
    if (keep === 'first') return 1
    return typeof keep === 'number' ? keep : keep === 'majority' ? Math.floor(this.#contenders.length / 2) + 1 : keep.quorum
  }
}

/** Whether an end is an answer: completed, and not empty. */
export const isAnswer = (outcome: Outcome | undefined): outcome is Extract<Outcome, { readonly status: 'completed' }> =>
  outcome?.status === 'completed' && !isEmpty(outcome.output)

/** The vote of an answer: its text without white space around it, or its JSON with sorted names. */
export const voteOf = (output: Json): string => (typeof output === 'string' ? output.trim() : canonical(output))

/** What is wrong with how many answers are wanted of so many workers; undefined if nothing. */
export function keepProblem(keep: unknown, workers: number): string | undefined {
  if (keep === 'first' || keep === 'majority') return undefined
  const wanted = isObject(keep) ? (keep['quorum'] as unknown) : keep
  if (typeof wanted !== 'number' || !Number.isInteger(wanted) || wanted < 1)
    return 'keep must be "first", a whole number of at least 1, "majority" or { quorum: number }'
  return wanted > workers ? `keep wants ${wanted} answers, and there are ${workers} workers` : undefined
}

/** How `delegateToSeveral` decides, and what each worker is given besides the brief. */
export interface SeveralOptions<O = Json> extends DelegateOptions {
  readonly keep: Keep
  /** Whether an end is good enough to count. Pure; a throw is the caller's. Default: completed, with an answer that is not empty. */
  readonly good?: (outcome: Outcome<O>) => boolean
  /** What an answer is a vote for: the same text, the same vote. Pure. Default: the text without white space around it, or JSON with sorted names. */
  readonly same?: (output: O) => string
  /** The next worker begins only so many milliseconds after the one before, or at once when one has ended badly. Default: all begin at once. */
  readonly hedgeAfterMs?: number
  /** Milliseconds of working time for each worker. Then it is stopped, and has `timed-out`. Default: no limit. */
  readonly timeoutMs?: number
}

/** One of several workers, and how it has ended. */
export interface SeveralEnd<O = Json> {
  readonly worker: string
  /** Undefined if it could not be started; then its outcome says why. */
  readonly activation: ActivationId | undefined
  readonly outcome: Outcome<O>
  /** Of it and everybody below it; also if it was stopped. */
  readonly usage: Usage
}

/** What has come of several workers. `output`: the answer that was kept; with `keep: <number>` all of them, in the order of the workers. */
export type SeveralResult<O = Json> = {
  readonly kept: readonly SeveralEnd<O>[]
  /** Everybody who began, in the order in which they were named. */
  readonly all: readonly SeveralEnd<O>[]
} & ({ readonly status: 'decided'; readonly output: O | readonly O[] } | { readonly status: 'undecided'; readonly output?: never })

const severalNames: NamesOf<SeveralOptions> = {
  ...grantNames,
  keep: true,
  good: true,
  same: true,
  hedgeAfterMs: true,
  timeoutMs: true,
}

/**
 * Gives several workers the same brief, or each its own (`[worker, brief]`), and keeps what `options.keep` says; the others are stopped. Resolves when everybody has ended. Nothing is
 * thrown for workers that fail: if not enough of them answer, it is `undecided`. The same worker may stand in the list twice. Rejects with `input.invalid` for options that make no
 * sense, and with `Cancelled`. It starts workers of its own: in the `run` of a supervisor its hooks and filters are not asked, and `run.delegations()` has no rows of it; what was kept is in the
 * journal (`delegation.decided`), and everybody is in `run.view()`.
 */
export async function delegateToSeveral<A extends Agent>(
  ctx: Context,
  workers: readonly (A | readonly [A, InputOf<A>])[],
  brief: InputOf<A>,
  options: SeveralOptions<OutputOf<A>>,
): Promise<SeveralResult<OutputOf<A>>> {
  mustBeSeveral(workers, options)
  const { keep, good, same, hedgeAfterMs, timeoutMs, ...grant } = options
  const scope = ctx.scope('several')
  const open = new Map<string, (reason: string) => void>()
  const watch = new Watch((id) => open.get(id))
  const contenders = workers.map((each): Contender<SeveralEnd> => {
    const [worker, own] = isPair(each) ? each : [each, brief]
    return new Alone(watch, open, worker, own ?? '', grant, timeoutMs)
  })
  const { decided, kept, all } = await contest(scope, watch, contenders, {
    keep,
    good: ({ outcome }) =>
      good === undefined ? isAnswer(outcome) : outcome.status === 'completed' && good(outcome as Outcome<OutputOf<A>>),
    vote: ({ outcome }) =>
      outcome.status !== 'completed' ? '' : same === undefined ? voteOf(outcome.output) : same(outcome.output as OutputOf<A>),
    idOf: ({ activation }) => activation,
    ...(hedgeAfterMs === undefined ? undefined : { hedgeAfterMs }),
  })
  const outputs = kept.flatMap(({ outcome }) => (outcome.status === 'completed' ? [outcome.output] : []))
  const result = decided
    ? { status: 'decided', output: typeof keep === 'number' ? outputs : outputs[0], kept, all }
    : { status: 'undecided', kept, all }
  return result as SeveralResult<OutputOf<A>>
}

const isPair = <A extends Agent, I>(each: A | readonly [A, I]): each is readonly [A, I] => Array.isArray(each)

function mustBeSeveral(workers: readonly unknown[], options: SeveralOptions<never>): void {
  const where = 'delegateToSeveral'
  const problems = unknownNames(options, severalNames, where)
  if (hasNames(options)) {
    const { keep, good, same, hedgeAfterMs, timeoutMs, ...grant } = options
    const wrong = workers.length === 0 ? 'there are no workers' : keepProblem(keep, workers.length)
    if (wrong !== undefined) problems.push(`${where}: ${wrong}`)
    for (const [name, value] of Object.entries({ good, same }))
      if (value !== undefined && typeof value !== 'function') problems.push(`${where}: ${name} must be a function`)
    for (const [name, value] of Object.entries({ hedgeAfterMs, timeoutMs }))
      if (value !== undefined && !(typeof value === 'number' && Number.isFinite(value) && value >= 0))
        problems.push(`${where}: ${name} must be milliseconds, not below 0`)
    if (problems.length === 0) problems.push(...grantProblems(grant, where))
  }
  if (problems.length > 0) throw new ReeveError('input.invalid', problems.join('; '))
}

/** One worker of a leader that is code. */
class Alone implements Contender<SeveralEnd> {
  activation: ActivationId | undefined
  readonly #watch: Watch
  readonly #open: Map<string, (reason: string) => void>
  readonly #worker: Agent
  readonly #brief: Json
  readonly #grant: DelegateOptions
  readonly #timeoutMs: number | undefined
  #stop: ((reason: string) => void) | undefined

  constructor(
    watch: Watch,
    open: Map<string, (reason: string) => void>,
    worker: Agent,
    brief: Json,
    grant: DelegateOptions,
    timeoutMs: number | undefined,
  ) {
    this.#watch = watch
    this.#open = open
    this.#worker = worker
    this.#brief = brief
    this.#grant = grant
    this.#timeoutMs = timeoutMs
  }

  stop(reason: string): void {
    this.#stop?.(reason)
  }

  async begin(ctx: Context, { after, waits }: Beside): Promise<SeveralEnd> {
    const { name } = this.#worker
    const timeoutMs = this.#timeoutMs
    const { grant: given, answer } = takingQuestions(ctx, this.#grant)
    const grant = {
      ...given,
      ...(timeoutMs === undefined && waits === undefined ? undefined : { permit: ctx.place.activation }),
      ...(after === undefined ? undefined : { after }),
    }
    const above = readEdge(ctx.input)
    const id = startWorker(ctx, above, this.#worker, briefOf(this.#brief), grant)
    if (typeof id !== 'string') {
      ctx.emit({ type: 'delegation.refused', worker: name, failure: id })
      return { worker: name, activation: undefined, outcome: failed(id), usage: [] }
    }
    this.activation = id
    const stop = (this.#stop = (reason) => ctx.stop(id, reason))
    this.#open.set(id, stop)
    let late = false
    const end = await this.#watch.end(ctx, id, {
      ...(timeoutMs === undefined ? undefined : { timeoutMs, late: () => (late = true) }),
      ...(answer === undefined ? undefined : { answer }),
      ...(waits === undefined ? undefined : { asks: waits }),
    })
    this.#open.delete(id)
    const outcome = late && end.outcome.status === 'cancelled' ? timedOut(timeoutMs!) : withoutTrail(end.outcome)
    streakOf(above).note(outcome)
    return { worker: name, activation: id, outcome, usage: end.usage }
  }
}
