/**
 * Spending: a budget at work. Who may begin, what is noted of it, and what becomes of the rest when it is used up (spec
 * team R-20).
 *
 * Owns: the word on every beginning, who waits for room, the question to a human. Does not own: the ledger (budget.ts),
 * how tasks begin and end (scheduler.ts).
 * Holds: K3: everything follows from ends of members and one answer, in recorded order; K8: a question that is not
 * needs any more is withdrawn. A task that waits for room holds none, and only those at work hold any: so no task waits
 * for themselves, and room comes with every end. Who at work waits for a task that waits for room is found as every
 * circle is (deadlocks.ts).
 */
import { failure, FailureError, isWithin, type ActivationId, type Failure, type Json, type Outcome } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { interrupt } from '@reeve/oversight'
import type { WorkerEnd } from '@reeve/supervisor'
import type { Estimate } from '../plan/plan.ts'
import { hasEnded, type TaskGraph, type Entry } from '../state/task-graph.ts'
import { TeamBudget, treeLimits, type BudgetOptions, type Counted, type Shortage } from './budget.ts'
import type { Scheduler } from '../schedule/scheduler.ts'

/** What a budget has a say in. */
export type SpentOn = Pick<Scheduler, 'settle' | 'abort' | 'again' | 'requeue' | 'leave' | 'closed'>

export class Spending {
  readonly #ctx: Context
  readonly #graph: TaskGraph
  readonly #mode: 'hard' | 'soft'
  readonly #budget: TeamBudget | undefined
  #onExhausted: NonNullable<BudgetOptions['onExhausted']>
  #work: SpentOn | undefined
  /** What the engine keeps for the whole tree. */
  readonly #tree: ReturnType<typeof treeLimits>
  #gaveUp: Failure | undefined
  #asking = false
  #ending = false
  /** What waits for the answer of a human. */
  readonly #waiting = new Set<Entry>()
  /** What waits for others to use less than was set aside for them, in the order in which it began to. */
  readonly #short = new Set<Entry>()

  /** Records the budget, if there is one. */
  constructor(ctx: Context, graph: TaskGraph, options: BudgetOptions | undefined) {
    this.#ctx = ctx.scope('budget')
    this.#graph = graph
    this.#mode = options?.mode ?? 'hard'
    this.#onExhausted = options?.onExhausted ?? 'synthesise'
    this.#tree = treeLimits(options)
    if (options === undefined) return
    this.#budget = new TeamBudget(options)
    this.#ctx.emit({ type: 'budget.set', limits: this.#budget.state().limits, mode: this.#mode })
  }

  /** The tasks it is spent on. Called before any task begins. */
  on(work: SpentOn): void {
    this.#work = work
  }

  /**
   * Why a member expected to use this will never have room; undefined if there may be. For those who are not at work
   * yet. The requester's own reservation is not counted on.
   */
  refusal(estimate: Estimate | undefined, asker?: string): Failure | undefined {
    const budget = this.#budget
    if (budget === undefined || this.#mode === 'soft') return undefined
    const wanted = budget.wanted(estimate)
    const short =
      budget.exhausted() ?? (this.#work === undefined ? budget.shortage(wanted) : budget.never(wanted, asker))
    return short === undefined ? undefined : noRoom(short)
  }

  /** Whose ends a task waits for that waits for room; undefined if it does not, or is about to be looked at again. */
  awaited(entry: Entry): readonly string[] | undefined {
    const budget = this.#budget
    return budget === undefined || !this.#short.has(entry) || budget.isDecided(budget.wanted(entry.estimate))
      ? undefined
      : budget.holders
  }

  /** A task that waits for room is refused: the holder waits for that task. */
  refuse(entry: Entry): void {
    const budget = this.#budget
    const short = budget?.shortage(budget.wanted(entry.estimate))
    if (short !== undefined) this.#work?.settle(entry, 'failed', { failure: noRoom(short) })
  }

  /**
   * Whether a task may begin: undefined if so, and what it is expected to use is set aside; `later`: not yet, the work
   * hears of it (`again`). It may have ended when this returns.
   */
  readonly mayBegin = (entry: Entry): Failure | 'later' | undefined => {
    const budget = this.#budget
    if (budget === undefined) return undefined
    const wanted = budget.wanted(entry.estimate)
    const short = budget.shortage(wanted)
    if (this.#mode === 'soft') {
      if (short !== undefined) this.#warn(entry, short)
      this.#reserve(entry, budget)
      return undefined
    }
    const used = budget.exhausted()
    if (used === undefined && short === undefined) {
      this.#reserve(entry, budget)
      return undefined
    }
    const never = used ?? (this.#work === undefined ? short : budget.never(wanted))
    if (never !== undefined) return this.#cannotFit(entry, used, never)
    if (!this.#short.has(entry)) this.#noteMove(entry, budget, 'waiting', wanted)
    this.#short.add(entry)
    return 'later'
  }

  #warn(entry: Entry, { of, limit, spent, reserved, wanted }: Shortage): void {
    this.#ctx.emit({ type: 'budget.warned', task: entry.id, of, wanted, left: limit - spent - reserved })
  }

  #reserve(entry: Entry, budget: TeamBudget): void {
    const wanted = budget.wanted(entry.estimate)
    this.#short.delete(entry)
    budget.reserve(entry.id, wanted)
    if (wanted.tokens > 0 || wanted.usd > 0) this.#noteMove(entry, budget, 'reserved', wanted)
  }

  #noteMove(
    entry: Entry,
    budget: TeamBudget,
    move: 'reserved' | 'settled' | 'waiting',
    amounts: { readonly tokens: number; readonly usd: number },
  ): void {
    const { spent, reserved, unknown } = budget.state()
    this.#ctx.emit({
      type: 'budget.moved',
      task: entry.id,
      move,
      ...amounts,
      spent,
      reserved,
      ...(unknown === 0 ? undefined : { unknown }),
    })
  }

  #cannotFit(entry: Entry, used: Shortage | undefined, short: Shortage): Failure | 'later' | undefined {
    switch (this.#onExhausted) {
      case 'ask':
        this.#short.delete(entry)
        this.#waiting.add(entry)
        this.#ask(entry, short)
        return 'later'
      case 'abort':
        this.#gaveUp = noRoom(used ?? short)
        if (used === undefined) this.#work?.settle(entry, 'failed', { failure: this.#gaveUp })
        this.#work?.abort('budget')
        return undefined
      case 'synthesise':
        if (used === undefined) return noRoom(short)
        this.#skip(entry)
        this.#skipRest()
        return undefined
    }
  }

  /** Why the plan was given up, if it was for this. */
  get gaveUp(): Failure | undefined {
    return this.#gaveUp
  }

  /** What an attempt used is known. A failure, if it was this budget that ended it: one of its calls did not fit. */
  readonly attemptEnded = (
    entry: Entry,
    { usage, outcome }: Pick<WorkerEnd, 'usage' | 'outcome'>,
  ): Failure | undefined => {
    const budget = this.#budget
    if (budget === undefined) return undefined
    this.#count(entry, usage, budget)
    this.#makeRoom(budget)
    const of = this.#endedBy(outcome)
    const short = of === undefined ? undefined : budget.ranOut(of)
    return short === undefined ? undefined : noRoom(short)
  }

  /** What was set aside for an attempt that never began is free. */
  notBegun(entry: Entry): void {
    if (this.#budget === undefined) return
    this.#count(entry, [], this.#budget)
    this.#makeRoom(this.#budget)
  }

  /** A task has ended: it waits for nothing any more. */
  settled(entry: Entry): void {
    this.#short.delete(entry)
    this.#waiting.delete(entry)
  }

  /** Those that fit now, or cannot fit any more, are looked at again; in the order of the plan. */
  #makeRoom(budget: TeamBudget): void {
    this.#work?.requeue([...this.#short].filter(({ estimate }) => budget.isDecided(budget.wanted(estimate))))
  }

  /** What of the limits of the tree has ended an attempt; undefined if it was something else. */
  #endedBy(outcome: Outcome): Counted | undefined {
    return (['tokens', 'usd'] as const).find((of) => {
      const max = this.#tree?.[of]
      return max !== undefined && isLimitAbove(this.#ctx.place.activation, outcome, of, max)
    })
  }

  #count(entry: Entry, usage: WorkerEnd['usage'], budget: TeamBudget): void {
    const before = budget.state()
    const { used, crossed } = budget.settle(entry.id, usage)
    const { reserved, unknown } = budget.state()
    const moved =
      used.tokens > 0 ||
      used.usd > 0 ||
      unknown > before.unknown ||
      reserved.tokens < before.reserved.tokens ||
      reserved.usd < before.reserved.usd
    if (moved) this.#noteMove(entry, budget, 'settled', used)
    for (const crossing of crossed) this.#ctx.emit({ type: 'budget.crossed', ...crossing })
  }

  /** Something has moved: what is used up by now ends the rest, whether a task is about to begin or not. */
  readonly progress = (): void => {
    if (
      this.#mode === 'soft' ||
      this.#onExhausted === 'ask' ||
      this.#ending ||
      this.#work === undefined ||
      this.#work.closed !== undefined
    )
      return
    const used = this.#budget?.exhausted()
    if (used === undefined) return
    // what is used up by the last one is no matter, unless that one could not be done for it
    const isDone = this.#graph.all.every(hasEnded)
    if (isDone && !this.#graph.all.some(({ failure: what }) => what?.code === 'budget.exceeded')) return
    if (this.#onExhausted === 'abort') {
      this.#gaveUp = noRoom(used)
      this.#work.abort('budget')
    } else if (!isDone) this.#skipRest()
  }

  /** Nothing begins any more; who works goes on. */
  #skipRest(): void {
    if (this.#ending) return
    this.#ending = true
    for (const entry of this.#graph.all) if (entry.status === 'pending' || entry.status === 'waiting') this.#skip(entry)
    this.#ending = false
  }

  #skip(entry: Entry): void {
    this.#work?.settle(entry, 'skipped', { reason: 'the budget is used up' })
  }

  /** One question at a time: what does not fit meanwhile waits for the same answer. */
  #ask(entry: Entry, short: Shortage): void {
    if (this.#asking) return
    this.#asking = true
    this.#answered(entry, short).catch((thrown: unknown) => this.#work?.leave(thrown))
  }

  async #answered(entry: Entry, short: Shortage): Promise<void> {
    const more = await this.#human(entry, short)
    this.#asking = false
    const budget = this.#budget
    if (more === undefined || budget === undefined) this.#onExhausted = 'synthesise'
    else {
      budget.raise(short.of, more)
      this.#ctx.emit({
        type: 'budget.set',
        limits: budget.state().limits,
        mode: this.#mode,
        raised: { of: short.of, by: more },
      })
    }
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    this.#work?.again(waiting)
  }

  /** How much more there is; undefined if there is no more. */
  async #human(entry: Entry, short: Shortage): Promise<number | undefined> {
    const { of, limit, spent, reserved, wanted } = short
    const question = `${noRoom(short).message}. How many more ${words[of]} may be used? 0: no more.`
    try {
      const answer: Json = await interrupt(this.#ctx, {
        type: 'budget',
        of,
        limit,
        spent,
        reserved,
        wanted,
        task: entry.id,
        question,
      })
      return typeof answer === 'number' && answer > 0 ? answer : undefined
    } catch (thrown) {
      if (thrown instanceof FailureError) return undefined
      throw thrown
    }
  }

  /** The work has ended: the question needs no answer any more. */
  close(): void {
    if (this.#asking) this.#ctx.stopAll('the work has ended')
  }
}

/** Whether a limit of this size, of this team or a leader above it, has ended an attempt. */
function isLimitAbove(team: ActivationId, outcome: Outcome, of: Counted, max: number): boolean {
  if (outcome.status !== 'limited' && outcome.status !== 'failed') return false
  const { activation, max: its } =
    outcome.status === 'limited' ? (outcome.account ?? {}) : (outcome.failure.details ?? {})
  const limit = outcome.status === 'limited' ? outcome.limit : outcome.failure.details?.['limit']
  return limit === of && its === max && typeof activation === 'string' && isWithin(team, activation as ActivationId)
}

const words = { tokens: 'tokens', usd: 'US dollars' } as const

/** A number as people read it: 12,000; 0.25. */
const figure = (amount: number): string => {
  const [whole = '', rest] = String(amount).split('.')
  const grouped = whole.includes('e') ? whole : whole.replaceAll(/\B(?=(?:\d{3})+$)/gu, ',')
  return rest === undefined ? grouped : `${grouped}.${rest}`
}

/** The failure of a task for which there is no room. */
function noRoom({ of, limit, spent, reserved, wanted }: Shortage): Failure {
  const message =
    wanted === 0
      ? `the budget is used up: ${figure(spent)} of ${figure(limit)} ${words[of]}${spent < limit ? ', and the next call did not fit' : ''}`
      : `the budget of ${limit} ${words[of]} has no room for ${wanted} more: ${spent} are spent, ${reserved} set aside`
  return failure('budget.exceeded', message, 'budget', { details: { of, limit, spent, reserved, wanted } })
}
