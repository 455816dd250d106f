/**
 * Work: the scheduler of a team. Whatever is ready begins, in the order of the plan, up to the concurrency; every end settles its task and may set others free (spec team ).
 *
 * Owns: when a task begins, is tried again, ends; who holds a permit; when it is too much failure. Does not own: whether a task is ready (readiness.ts), who is next (queue.ts), how long
 * somebody waits (patience.ts), what an end means (ends.ts), who joins (../staff), mail (../mail).
 * Holds: K3: everything follows from recorded arrivals, delivered one at a time; ties end in the order in which they began. K8: a cancel reaches whoever works through the context. K11: what
 * every attempt used counts, also of those that were stopped.
 */
import { addUsage, timedOut, type ActivationId, type Json } from '../../core/index.ts'
import type { Edge } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import type { TaskEndStatus } from '../../journal/index.ts'
import { Watch, type WorkerEnd } from '../../supervisor/index.ts'
import type { Directory } from '../staff/directory.ts'
import { isTooMuch } from './failure-budget.ts'
import { Staffed, type AtWork } from './at-work.ts'
import { hasEnded, used, type Book, type Entry } from './book.ts'
import { dependencyFailed, dependencyTimedOut, endOf, endOfAttempt, refusalIn, type TaskEnd } from './ends.ts'
import { Gate } from './gate.ts'
import { Overseeing } from './overseeing.ts'
import { Patience } from './patience.ts'
import { Publishing } from './publishing.ts'
import { Queue, type Impossible } from './queue.ts'
import { readiness, type Readiness } from './readiness.ts'
import { Retries } from './retries.ts'
import { isRefused } from './reviews.ts'
import type { Aborted, WorkListener, WorkRules } from './rules.ts'
import { startMember } from './starting.ts'
import type { Topics } from './topics.ts'

export class Work {
  aborted: Aborted | undefined
  readonly watch: Watch
  readonly #ctx: Context
  readonly #edge: Edge
  readonly #book: Book
  readonly #directory: Directory
  readonly #topics: Topics
  readonly #rules: WorkRules
  readonly #listener: WorkListener
  readonly #queue: Queue
  readonly #patience: Patience
  readonly #gate: Gate
  readonly #atWork = new Staffed()
  readonly #retries: Retries
  readonly #publishing: Publishing
  readonly #overseeing: Overseeing
  #closed: string | undefined
  #advancing = false
  #again = false
  #thrown: { readonly why: unknown } | undefined
  #news: (() => void) | undefined
  #held = 0
  #waits = true

  constructor(
    ctx: Context,
    edge: Edge,
    { book, directory, topics }: { readonly book: Book; readonly directory: Directory; readonly topics: Topics },
    rules: WorkRules,
    listener: WorkListener,
  ) {
    this.#ctx = ctx.scope('work')
    this.#edge = edge
    this.#book = book
    this.#directory = directory
    this.#topics = topics
    this.#rules = rules
    this.#listener = listener
    this.watch = new Watch((name) => this.#stopper(name))
    this.#queue = new Queue(book, (entry) => this.#readinessOf(entry), topics)
    this.#gate = new Gate(this.#ctx, { open: (waits) => this.#open(waits), hold: () => this.hold(), leave: this.leave })
    this.#retries = new Retries(rules.retry, this.watch, this.leave)
    this.#publishing = new Publishing(this.#ctx, topics, (topic, isFirst) => {
      this.#patience.published(topic)
      if (isFirst) this.#queue.published(topic)
      listener.progress()
    })
    this.#patience = new Patience(ctx.scope('patience'), rules.dependencyTimeoutMs, {
      book,
      watch: this.watch,
      waiting: () => this.#queue.waiting,
      awaited: (entry) => this.awaited(entry),
      lost: (entry) => this.#lost(entry),
      leave: this.leave,
    })
    this.#overseeing = new Overseeing(this.#ctx, edge, {
      book,
      directory,
      queue: this.#queue,
      patience: this.#patience,
      listener,
      work: {
        closed: () => this.#closed,
        hold: () => this.hold(),
        advance: () => this.advance(),
        leave: this.leave,
        settle: (entry, status, why) => this.settle(entry, status, why),
        readinessOf: (entry) => this.#readinessOf(entry),
        begin: (entry, state) => this.#begin(entry, state),
      },
    })
  }

  #readinessOf(entry: Entry): Readiness {
    return readiness(entry, this.#book, (topic) => this.#topics.has(topic), this.#rules.policy)
  }

  /** For whom a task waits now; nobody if it does not. */
  awaited(entry: Entry): readonly Entry[] {
    const state = this.#readinessOf(entry)
    return state.type === 'waits' ? state.on : []
  }

  /** Resolves when every task has ended. Rejects with `Cancelled`, or with what broke. */
  async done(): Promise<void> {
    this.advance()
    for (;;) {
      if (this.#thrown !== undefined) throw this.#thrown.why
      if (this.#held === 0 && this.#atWork.size === 0 && this.#book.all.every(hasEnded)) return this.#patience.close()
      await new Promise<void>((resolve) => (this.#news = resolve))
    }
  }

  /** Somebody else's branch has broken: the wait ends with it. */
  readonly leave = (thrown: unknown): void => {
    this.#thrown ??= { why: thrown }
    this.#news?.()
  }

  /** Whether a task may wait for room in the budget: by the rules of the journal that it goes on from. */
  get waitsForRoom(): boolean {
    return this.#waits
  }

  /** Why nothing begins any more; undefined while something may. */
  get closed(): string | undefined {
    return this.#closed
  }

  /** Keeps the work open while somebody decides who may add to it. Returns how to let go of it. */
  hold(): () => void {
    this.#held++
    return () => {
      this.#held--
      this.advance()
    }
  }

  /** Whether somebody decides on something that may add to the work. */
  get held(): boolean {
    return this.#held > 0
  }

  /** Who works on what now: by activation, those below it included. */
  memberAt(activation: ActivationId): Entry | undefined {
    return this.#atWork.at(activation)?.entry
  }

  /** Where a member works now; undefined if it does not. */
  activationOf(member: string): ActivationId | undefined {
    return this.#atWork.all.find(({ entry }) => entry.member === member)?.activation
  }

  /** Who has begun and not ended. */
  get running(): readonly Entry[] {
    return this.#atWork.all.map(({ entry }) => entry)
  }

  /** Who works now, on what, where. */
  get atWork(): readonly AtWork[] {
    return this.#atWork.all
  }

  /** Whether somebody at work waits for a human. */
  waitsForHuman(entry: Entry): boolean {
    return this.#atWork.of(entry)?.waitsForHuman === true
  }

  /** A member begins (true) or ceases to wait for mail: it holds no permit meanwhile. */
  waitForMail(entry: Entry, waits: boolean): void {
    const at = this.#atWork.of(entry)
    if (at === undefined || at.waitsForMail === waits) return
    at.waitsForMail = waits
    if (waits) this.advance()
  }

  /** Begins whatever may begin. Called whenever something has changed; calls within calls are one. */
  advance(): void {
    this.#again = true
    if (this.#advancing) return
    this.#advancing = true
    try {
      while (this.#again) {
        this.#again = false
        this.#round()
        this.#listener.advanced()
      }
    } catch (thrown) {
      this.leave(thrown)
    } finally {
      this.#advancing = false
    }
    this.#news?.()
  }

  #round(): void {
    if (this.#closed === undefined) this.#queue.look((entry, why) => this.#impossible(entry, why))
    if (this.#closed !== undefined) return
    this.#gate.ask(Math.min(this.#queue.ready, this.#free))
    this.#patience.look()
    this.#callOffBestEffort()
  }

  /** Whoever is first begins, if there is still a permit. */
  #open(waits: boolean): void {
    this.#waits = waits
    const next = this.#closed === undefined && this.#free > 0 ? this.#queue.next() : undefined
    if (next !== undefined) this.#overseeing.open(next.entry, next.state)
  }

  /** How many more may work. */
  get #free(): number {
    return this.#rules.concurrency - this.#atWork.permits - this.#overseeing.permits
  }

  #impossible(entry: Entry, { status, on }: Impossible): void {
    const what = dependencyFailed(on)
    this.settle(entry, status, status === 'skipped' ? { reason: what.message } : { failure: what })
  }

  /** Nothing that it waits for has moved for as long as it may wait. */
  #lost(entry: Entry): void {
    const on = this.awaited(entry).map(({ id }) => id)
    this.settle(entry, 'failed', { failure: dependencyTimedOut(on, this.#rules.dependencyTimeoutMs) })
  }

  #begin(entry: Entry, { missing, satisfied }: Extract<Readiness, { readonly type: 'ready' }>): void {
    if (entry.begun === 0) entry.missing = missing
    const refused = this.#listener.mayBegin(entry)
    if (refused === 'later') return void (entry.backingOff = true)
    if (refused !== undefined) return this.settle(entry, 'failed', { failure: refused })
    if (this.#closed !== undefined || hasEnded(entry)) return
    if (satisfied) this.#overseeing.unblocked(entry)
    const ctx = this.#ctx.scope(entry.id)
    const unread = this.#listener.unread(entry)
    const id = startMember(ctx, this.#edge, entry, { book: this.#book, topics: this.#topics, rules: this.#rules, unread })
    if (typeof id !== 'string') {
      this.#listener.notBegun(entry)
      return this.settle(entry, 'failed', { failure: id })
    }
    const attempt = ++entry.begun
    entry.status = 'running'
    this.#directory.move(entry.member, 'running')
    this.#patience.moved(entry)
    ctx.emit({ type: 'task.started', task: entry.id, member: entry.member, attempt, activation: id })
    const at = this.#atWork.begin(entry, id, ctx)
    this.#listener.progress()
    this.#attend(at).catch(this.leave)
  }

  async #attend(at: AtWork): Promise<void> {
    const { timeoutMs } = this.#rules
    let late = false
    const { entry, ctx, activation } = at
    const end = await this.watch.end(ctx, activation, {
      ...(timeoutMs === 0 ? undefined : { timeoutMs, late: () => (late = true) }),
      onWait: (waits) => {
        at.waitsForHuman = waits
        if (!hasEnded(entry)) entry.status = 'running'
        this.#overseeing.asks(entry, waits)
      },
    })
    this.#atWork.end(at)
    const outcome = late && end.outcome.status === 'cancelled' ? timedOut(timeoutMs) : end.outcome
    const { recalled } = at
    if (recalled !== undefined && endOfAttempt(outcome).type === 'failed') return this.#leaves(at, end, recalled)
    used(entry, end.usage, outcome)
    const stopped = this.#listener.attemptEnded(entry, end)
    if (!hasEnded(entry))
      this.#ended(at, stopped === undefined ? endOfAttempt(outcome) : { type: 'failed', failure: stopped, again: false })
    this.advance()
  }

  /** Whoever was told to leave has left undone work behind: no attempt of the task, whoever has it then. */
  #leaves(at: AtWork, end: WorkerEnd, next: () => void): void {
    const { entry } = at
    entry.usage = addUsage(entry.usage, end.usage)
    entry.spared++
    this.#listener.attemptEnded(entry, end)
    if (hasEnded(entry)) return this.advance()
    if (this.#closed !== undefined) return this.settle(entry, 'cancelled', { reason: this.#closed })
    entry.status = 'pending'
    comesAfter(at)
    this.#queue.again(entry)
    next()
    this.advance()
  }

  #ended(at: AtWork, end: ReturnType<typeof endOfAttempt>): void {
    const { entry, ctx } = at
    if (this.#closed !== undefined && end.type !== 'done') return this.settle(entry, 'cancelled', { reason: this.#closed })
    if (end.type === 'done') {
      entry.output = end.output
      entry.by = end.by
      return this.#overseeing.done(entry)
    }
    if (end.output !== undefined) entry.output = end.output
    const refusal = refusalIn(end.failure)
    if (refusal !== undefined) return this.#overseeing.refused(entry, refusal)
    const delayMs = end.again ? this.#retries.delayOf(entry, end.failure, ctx) : undefined
    if (delayMs === undefined) return this.settle(entry, 'failed', { failure: end.failure })
    ctx.emit({ type: 'task.retried', task: entry.id, attempt: entry.begun, failure: end.failure, delayMs })
    entry.status = 'pending'
    this.#directory.move(entry.member, 'pending')
    comesAfter(at)
    if (delayMs <= 0) return this.#queue.again(entry)
    this.#retries.wait(entry, delayMs, ctx, () => this.again([entry]))
  }

  /** There may be room for these now, which were to wait for it. */
  again(entries: readonly Entry[]): void {
    this.requeue(entries)
    this.advance()
  }

  /** The same for when the work advances next. */
  requeue(entries: readonly Entry[]): void {
    for (const entry of entries) {
      entry.backingOff = false
      this.#queue.again(entry)
    }
  }

  /** The end of a task, once. */
  settle(entry: Entry, status: TaskEndStatus, { failure: what, reason }: TaskEnd = {}): void {
    if (hasEnded(entry)) return
    entry.status = status
    entry.failure = what
    entry.reason = reason
    this.#retries.callOff(entry)
    this.#overseeing.ended(entry)
    if (status === 'succeeded') this.#publishing.output(entry)
    const ends = { succeeded: 'completed', failed: 'failed', skipped: 'skipped', cancelled: 'cancelled' } as const
    this.#directory.move(entry.member, ends[status])
    this.#ctx.emit({ type: 'task.settled', ...endOf(entry, status) })
    this.#patience.moved(entry)
    this.#queue.ended(entry)
    this.#listener.settled(entry)
    this.#listener.progress()
    if (status === 'failed') this.#weigh(entry)
    this.advance()
  }

  publish(entry: Entry, topic: string, value: Json): ReturnType<Topics['publish']> {
    const word = this.#publishing.enter(entry, topic, value)
    this.advance()
    return word
  }

  #weigh(entry: Entry): void {
    if (this.#closed !== undefined) return
    if (isRefused(entry)) return this.abort('rejected')
    if (entry.task.critical === true && entry.recruit === undefined) return this.abort('critical')
    this.reweigh()
  }

  /** The plan is given up if more has failed than may. */
  reweigh(): void {
    if (isTooMuch(this.#rules.failures, this.#book.failed(this.#rules.countRecruits))) this.abort('failures')
  }

  /** Nothing begins any more, whoever works is stopped. */
  abort(reason: Aborted['reason']): void {
    if (this.#closed !== undefined) return
    const { planned, failures } = this.#book
    const failed = this.#book.failed(this.#rules.countRecruits)
    this.aborted = { reason, failed, maxFailures: this.#rules.failures.maxFailures, failures }
    this.#ctx.emit({ type: 'plan.aborted', ...this.aborted, total: planned.length })
    this.close('the plan was given up')
  }

  /** Whoever has not begun never does, whoever works is stopped. */
  close(why: string): void {
    if (this.#closed !== undefined) return
    this.#closed = why
    this.#patience.close()
    for (const entry of this.#book.all)
      if (entry.status === 'pending' || entry.status === 'waiting' || this.#overseeing.has(entry))
        this.settle(entry, 'cancelled', { reason: why })
    for (const { ctx, activation } of this.#atWork.all) ctx.stop(activation, why)
    this.#listener.progress()
  }

  /** Recruits nobody waits for are called off when everything else is done. */
  #callOffBestEffort(): void {
    if (!this.held && this.#book.hasOnlyExtras) this.close('everything else is done')
  }

  /** Whoever works on a task leaves it now. `next` hears it with the end, unless the task is done by then. False: nobody works on it. */
  recall(entry: Entry, reason: string, next: () => void): boolean {
    const at = this.#atWork.of(entry)
    if (at === undefined) return false
    at.recalled = next
    at.ctx.stop(at.activation, reason)
    return true
  }

  /** How an operator stops one worker: by its activation, its member or its task. */
  #stopper(name: string): ((reason: string) => void) | undefined {
    const at = this.#atWork.named(name)
    return at === undefined ? undefined : (reason) => at.ctx.stop(at.activation, reason)
  }
}

/** The task is to be attempted again: whoever has it next knows what was done for it so far, and a human's yes was for the attempt that has ended. */
function comesAfter({ entry, activation }: AtWork): void {
  entry.after = activation
  if (entry.approved) entry.looked = entry.approved = false
}
