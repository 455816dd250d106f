/**
 * The scheduler of a team: tasks that are ready begin, in the order of the plan, up to the concurrency; every end
 * settles its task and may set others free (spec team ).
 *
 * Owns: when a task begins, is tried again, ends; where it stands while a human looks at it; who holds a slot; what is
 * recorded of topics; when the plan is given up. Does not own: one worker, its time limit, the retry rule
 * (../../supervisor/worker), whether a task is ready (readiness.ts), who is next (task-queue.ts), dependency timeouts
 * (dependency-timeouts.ts), who is asked what (task-reviews.ts), what an end means (outcome-mapping.ts), who joins
 * (../staff), mail (../mail).
 * Holds: K3: everything follows from recorded arrivals and decisions, delivered one at a time; ties end in the order in
 * which they began. K8: a cancel reaches workers through the context.
 * K11: what every attempt used counts, also of those that were stopped. C85: a task that a human is asked about holds
 * no slot, and keeps no other task from going on.
 */
import { HandedResults } from '@reeve/agent'
import { addUsage, type ActivationId, type Json } from '@reeve/core'
import type { Edge } from '@reeve/edge'
import { addressName, type Context } from '@reeve/engine'
import type { TaskEndStatus } from '@reeve/journal'
import { pauseBeforeRetry, retryDelay, startTask, Watch, type StartedTask, type WorkerEnd } from '@reeve/supervisor'
import type { Directory } from '../state/directory.ts'
import { isTooMuch } from './failure-budget.ts'
import { WorkingMembers, type WorkingMember } from './working-members.ts'
import { DependencyTimeouts } from './dependency-timeouts.ts'
import { StartGate } from './start-gate.ts'
import { memberTask, type Unkept } from './member-task.ts'
import { dependencyFailed, dependencyTimedOut, endOf, refusalIn, refusedBy, type TaskEnd } from './outcome-mapping.ts'
import { endOfAttempt } from '../attempt-end.ts'
import { TaskQueue, type Impossible } from './task-queue.ts'
import { readiness, type Readiness } from './readiness.ts'
import { isRefused, TaskReviews, type ReviewResult } from './task-reviews.ts'
import { actedOn, reopen, noteRework } from './rework.ts'
import type { Aborted, WorkListener, WorkRules } from './rules.ts'
import { hasEnded, used, type TaskEntry, type TaskGraph } from '../state/task-graph.ts'
import type { Topics } from '../state/topics.ts'

type Ready = Extract<Readiness, { readonly type: 'ready' }>
type Refused = Extract<ReviewResult, { readonly type: 'refused' }>

export class Scheduler {
  aborted: Aborted | undefined
  readonly watch: Watch
  readonly #ctx: Context
  readonly #edge: Edge
  readonly #graph: TaskGraph
  readonly #directory: Directory
  readonly #topics: Topics
  readonly #rules: WorkRules
  readonly #listener: WorkListener
  readonly #queue: TaskQueue
  readonly #timeouts: DependencyTimeouts
  readonly #gate: StartGate
  readonly #reviews: TaskReviews
  readonly #atWork = new WorkingMembers()
  /** What the ids of members at work begin with. */
  readonly #below: string
  /** Tasks that wait for their next attempt: how the pause is called off. */
  readonly #pauses = new Map<TaskEntry, () => void>()
  #closed: string | undefined
  #advancing = false
  #again = false
  #thrown: { readonly why: unknown } | undefined
  #news: (() => void) | undefined
  #held = 0
  readonly #handed = new HandedResults()

  constructor(
    ctx: Context,
    edge: Edge,
    { graph, directory, topics }: { readonly graph: TaskGraph; readonly directory: Directory; readonly topics: Topics },
    rules: WorkRules,
    listener: WorkListener,
  ) {
    this.#ctx = ctx.scope('work')
    this.#below = `${ctx.place.activation}>work/`
    this.#edge = edge
    this.#graph = graph
    this.#directory = directory
    this.#topics = topics
    this.#rules = rules
    this.#listener = listener
    this.watch = new Watch((name) => this.#stopper(name))
    this.#queue = new TaskQueue(graph, (entry) => this.#readinessOf(entry), topics)
    this.#gate = new StartGate(this.#ctx, { open: () => this.#open(), hold: () => this.hold(), leave: this.leave })
    this.#timeouts = new DependencyTimeouts(ctx.scope('patience'), rules.dependencyTimeoutMs, {
      graph,
      watch: this.watch,
      waiting: () => this.#queue.waiting,
      awaited: (entry) => this.awaited(entry),
      lost: (entry) => this.#lost(entry),
      leave: this.leave,
    })
    this.#reviews = new TaskReviews({
      ctx: this.#ctx,
      edge,
      graph,
      asks: (entry, waits) => this.#humanWait(entry, waits),
    })
  }

  #readinessOf(entry: TaskEntry): Readiness {
    return readiness(entry, this.#graph, (topic) => this.#topics.has(topic), this.#rules.policy)
  }

  /** The tasks for which a task waits now; none if it does not wait. */
  awaited(entry: TaskEntry): readonly TaskEntry[] {
    const state = this.#readinessOf(entry)
    return state.type === 'waits' ? state.on : []
  }

  /** Resolves when every task has ended. Rejects with `Cancelled`, or with what broke. */
  async done(): Promise<void> {
    this.advance()
    for (;;) {
      if (this.#thrown !== undefined) throw this.#thrown.why
      if (this.#held === 0 && this.#atWork.size === 0 && this.#graph.all.every(hasEnded)) return this.#timeouts.close()
      await new Promise<void>((resolve) => (this.#news = resolve))
    }
  }

  /** Another branch of the team has broken: the wait ends with it. */
  readonly leave = (thrown: unknown): void => {
    this.#thrown ??= { why: thrown }
    this.#news?.()
  }

  /** Why nothing begins any more; undefined while something may. */
  get closed(): string | undefined {
    return this.#closed
  }

  /** Keeps the work open while it is decided who may add to it. Returns how to let go of it. */
  hold(): () => void {
    this.#held++
    return () => {
      this.#held--
      this.advance()
    }
  }

  /** Whether something is being decided that may add to the work. */
  get held(): boolean {
    return this.#held > 0
  }

  /** Whether no task would begin if a slot were free now, and nothing is being decided. */
  get isAtRest(): boolean {
    return !this.held && this.#queue.ready === 0 && this.#pauses.size === 0 && this.#closed === undefined
  }

  /** The task at which this activation works, or one above it. */
  memberAt(activation: ActivationId): TaskEntry | undefined {
    return this.#atWork.at(activation)?.entry ?? this.#toBegin(activation)
  }

  /** Whether it is to work at a task that is not on the plan yet. */
  readonly isToJoin = (activation: ActivationId): boolean =>
    activation.startsWith(this.#below) && !this.#atWork.hasBegun(activation) && this.memberAt(activation) === undefined

  /**
   * The task of a member that has spoken and not begun: in a fork, what it said before is heard in its order, while the
   * task waits for a yes of the fork's own.
   */
  #toBegin(activation: ActivationId): TaskEntry | undefined {
    if (!activation.startsWith(this.#below) || this.#atWork.hasBegun(activation)) return undefined
    const [place] = activation.slice(this.#below.length).split(/[/#]/, 1)
    return this.#graph.all.find(({ id }) => addressName(id) === place)
  }

  /** Where a member works now; undefined if it does not. */
  activationOf(member: string): ActivationId | undefined {
    return this.#atWork.all.find(({ entry }) => entry.member === member)?.activation
  }

  /** The tasks that have begun and not ended. */
  get running(): readonly TaskEntry[] {
    return this.#atWork.all.map(({ entry }) => entry)
  }

  /** The members at work: on what, and where. */
  get atWork(): readonly WorkingMember[] {
    return this.#atWork.all
  }

  /** Whether the member at work on this task waits for a human. */
  waitsForHuman(entry: TaskEntry): boolean {
    return this.#atWork.of(entry)?.waitsForHuman === true
  }

  /** A member begins (true) or ceases to wait for mail: it holds no slot meanwhile. */
  waitForMail(entry: TaskEntry, waits: boolean): void {
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
    this.#timeouts.look()
    this.#callOffBestEffort()
  }

  /** How many more may work. A slot is kept for a task of which it is not known yet whether a human is asked. */
  get #free(): number {
    return this.#rules.concurrency - this.#atWork.slots - this.#reviews.slots
  }

  #impossible(entry: TaskEntry, { status, on }: Impossible): void {
    const what = dependencyFailed(on)
    this.settle(entry, status, status === 'skipped' ? { reason: what.message } : { failure: what })
  }

  /** Nothing that it waits for has moved for as long as it may wait. */
  #lost(entry: TaskEntry): void {
    const on = this.awaited(entry).map(({ id }) => id)
    this.settle(entry, 'failed', { failure: dependencyTimedOut(on, this.#rules.dependencyTimeoutMs) })
  }

  /** The first task in the queue begins, if there is still a slot; or a human looks at it first. */
  #open(): void {
    const next = this.#closed === undefined && this.#free > 0 ? this.#queue.next() : undefined
    if (next === undefined) return
    const { entry, state } = next
    const lapsed = this.#lapsed(entry)
    if (lapsed !== undefined) entry.reviewed = false
    if (lapsed === undefined && !this.#reviews.isDue(entry)) return this.#begin(entry, state)
    if (state.satisfied) this.#unblocked(entry)
    entry.backingOff = true
    this.#look(entry, this.#reviews.before(entry, lapsed), (result) => this.#mayBegin(entry, result))
  }

  /**
   * Why an approval of a task that has not begun is not good any more: the run was held, or it waited, for too long.
   */
  #lapsed({ reviewed: looked, reviewedUntil: lookedUntil }: TaskEntry): string | undefined {
    return !looked || lookedUntil === undefined || this.#ctx.now().getTime() <= lookedUntil
      ? undefined
      : `it was approved before, but that was good until ${new Date(lookedUntil).toISOString()}, and work had not begun`
  }

  /** Everything that it waits for is there. */
  #unblocked(entry: TaskEntry): void {
    if (entry.begun === 0 && !entry.unblocked) this.#ctx.emit({ type: 'task.unblocked', task: entry.id })
    entry.unblocked = true
  }

  /** A human looks at a task before it begins, or at its result. It ends here if the human does not want it. */
  #look(entry: TaskEntry, looking: Promise<ReviewResult>, heard: (result: ReviewResult) => void): void {
    const letGo = this.hold()
    const told = (result: ReviewResult): void => {
      entry.backingOff = false
      if (!hasEnded(entry)) this.#decided(entry, result, heard)
      letGo()
    }
    looking.then(told).catch(this.leave)
  }

  #decided(entry: TaskEntry, result: ReviewResult, heard: (result: ReviewResult) => void): void {
    if (this.#closed !== undefined || result.type === 'withdrawn')
      return this.settle(entry, 'cancelled', { reason: this.#closed ?? 'the review is not needed any more' })
    if (result.type === 'refused') return this.#refused(entry, result)
    heard(result)
  }

  /** A human does not want it, or no decision came in time. */
  #refused(entry: TaskEntry, result: Refused): void {
    const { status, ...why } = refusedBy(entry, result)
    this.settle(entry, status, why)
  }

  #mayBegin(entry: TaskEntry, result: ReviewResult): void {
    entry.status = 'pending'
    if (result.type === 'again') return this.#rework(entry, result)
    const state = this.#readinessOf(entry)
    // what it acts on is being changed, or was: it is asked about again
    entry.reviewed = result.type === 'approved' && state.type === 'ready'
    entry.reviewedUntil = result.type === 'approved' ? result.until : undefined
    entry.approved = entry.reviewed && result.type === 'approved' && result.asked
    // a task that no approver has seen may begin at once; an approval may have taken days, so the gate is asked again
    if (result.type === 'approved' && !result.asked && state.type === 'ready') this.#begin(entry, state)
    else this.#queue.requeue(entry)
  }

  /** What it acts on is to be changed, and then it is looked at again. */
  #rework(entry: TaskEntry, result: Extract<ReviewResult, { readonly type: 'again' }>): void {
    const before = actedOn(this.#graph, entry)
    if (before.length === 0) noteRework(entry, result)
    else entry.unblocked = false
    for (const each of before) {
      reopen(this.#ctx, each, result)
      this.#listener.reopened(each)
      this.#queue.requeue(each)
      for (const other of this.#graph.after(each)) other.reviewed = other.begun > 0
    }
    this.#queue.requeue(entry)
  }

  #begin(entry: TaskEntry, { missing, satisfied }: Ready): void {
    if (entry.begun === 0) entry.missing = missing
    const { unkept } = this.#taskOf(this.#ctx, entry, 0)
    if (unkept.length > 0) return this.#keep(entry, unkept)
    const refused = this.#listener.mayBegin(entry)
    if (refused === 'later') return void (entry.backingOff = true)
    if (refused !== undefined) return this.settle(entry, 'failed', { failure: refused })
    if (this.#closed !== undefined || hasEnded(entry)) return
    if (satisfied) this.#unblocked(entry)
    const ctx = this.#ctx.scope(entry.id)
    const unread = this.#listener.unread(entry)
    const { timeoutMs } = this.#rules
    const { unkept: _kept, ...task } = this.#taskOf(ctx, entry, unread)
    const started = startTask({
      ctx,
      watch: this.watch,
      edge: this.#edge,
      ...task,
      timeoutMs: timeoutMs === 0 ? undefined : timeoutMs,
      reportsWaits: true,
      onWait: (waits) => {
        at.waitsForHuman = waits
        if (!hasEnded(entry)) entry.status = 'running'
        this.#humanWait(entry, waits)
      },
    })
    if (!('ended' in started)) {
      this.#listener.notBegun(entry)
      return this.settle(entry, 'failed', { failure: started })
    }
    const { id } = started
    const attempt = ++entry.begun
    entry.last = id
    entry.status = 'running'
    this.#directory.move(entry.member, 'running')
    this.#timeouts.moved(entry)
    ctx.emit({ type: 'task.started', task: entry.id, member: entry.member, attempt, activation: id })
    const at = this.#atWork.begin(entry, id, ctx)
    this.#listener.progress()
    this.#attend(at, started).catch(this.leave)
  }

  #taskOf(ctx: Context, entry: TaskEntry, unread: number): ReturnType<typeof memberTask> {
    const [graph, topics, rules, handed] = [this.#graph, this.#topics, this.#rules, this.#handed]
    return memberTask(ctx, this.#edge, entry, { graph, topics, rules, unread, handed })
  }

  /** Results that its model reads are too large for its brief: they are kept first, and then it is looked at again. */
  #keep(entry: TaskEntry, unkept: readonly Unkept[]): void {
    entry.backingOff = true
    const letGo = this.hold()
    const ctx = this.#ctx.scope('results')
    const kept = (): void => {
      entry.backingOff = false
      if (!hasEnded(entry)) {
        if (this.#closed !== undefined) this.settle(entry, 'cancelled', { reason: this.#closed })
        else this.#queue.requeue(entry)
      }
      letGo()
    }
    const keeping = async (): Promise<void> => {
      for (const { bound, ...result } of unkept) await this.#handed.keep(ctx, result, bound)
    }
    keeping().then(kept).catch(this.leave)
  }

  /** A human is asked about it, or about what is done for it (true); or not any more. */
  #humanWait(entry: TaskEntry, waits: boolean): void {
    if (!hasEnded(entry) && waits) entry.status = 'awaiting_approval'
    this.#timeouts.humanWait(entry, waits)
    this.#listener.progress()
    this.advance()
  }

  async #attend(at: WorkingMember, started: StartedTask): Promise<void> {
    const { outcome, usage, arrival } = await started.ended()
    const { entry, recalled } = at
    this.#atWork.end(at)
    if (recalled !== undefined && endOfAttempt(outcome).type === 'failed') return this.#leaves(at, arrival, recalled)
    used(entry, usage, outcome)
    const stopped = this.#listener.attemptEnded(entry, arrival)
    if (!hasEnded(entry))
      this.#ended(
        at,
        stopped === undefined ? endOfAttempt(outcome) : { type: 'failed', failure: stopped, again: false },
      )
    this.advance()
  }

  /**
   * A member that was told to leave has left undone work behind: no attempt of the task, whichever member has it then.
   */
  #leaves(at: WorkingMember, end: WorkerEnd, next: () => void): void {
    const { entry } = at
    entry.usage = addUsage(entry.usage, end.usage)
    entry.uncounted++
    this.#listener.attemptEnded(entry, end)
    if (hasEnded(entry)) return this.advance()
    if (this.#closed !== undefined) return this.settle(entry, 'cancelled', { reason: this.#closed })
    entry.status = 'pending'
    comesAfter(at)
    this.#queue.requeue(entry)
    next()
    this.advance()
  }

  #ended(at: WorkingMember, end: ReturnType<typeof endOfAttempt>): void {
    const { entry, ctx } = at
    if (this.#closed !== undefined && end.type !== 'done')
      return this.settle(entry, 'cancelled', { reason: this.#closed })
    if (end.type === 'done') {
      entry.output = end.output
      entry.by = end.by
      return this.#finished(entry)
    }
    const { failure, again } = end
    if (end.output !== undefined) entry.output = end.output
    const refusal = refusalIn(failure)
    if (refusal !== undefined) return this.#refused(entry, refusal)
    const attempt = entry.begun - entry.uncounted
    const { retryAfterMs } = failure
    const delayMs = retryDelay(ctx, this.#rules.retry, { attempt, retryAfterMs, isWorthIt: () => again })
    if (delayMs === undefined) return this.settle(entry, 'failed', { failure })
    ctx.emit({ type: 'task.retried', task: entry.id, attempt: entry.begun, failure, delayMs })
    entry.status = 'pending'
    this.#directory.move(entry.member, 'pending')
    comesAfter(at)
    if (delayMs <= 0) return this.#queue.requeue(entry)
    entry.backingOff = true
    const over = (): void => {
      this.#pauses.delete(entry)
      this.again([entry])
    }
    this.#pauses.set(entry, pauseBeforeRetry(ctx, this.watch, at.activation, delayMs, { over, reject: this.leave }))
  }

  /** A task has a result: it counts, or a human looks at it first. */
  #finished(entry: TaskEntry): void {
    if (entry.task.review !== true) return this.settle(entry, 'succeeded')
    this.#look(entry, this.#reviews.after(entry), (result) => this.#mayCount(entry, result))
  }

  #mayCount(entry: TaskEntry, result: ReviewResult): void {
    if (result.type === 'approved') {
      if (result.output !== undefined) entry.output = result.output
      return this.settle(entry, 'succeeded')
    }
    if (result.type === 'again') noteRework(entry, result)
    entry.status = 'pending'
    this.#directory.move(entry.member, 'pending')
    this.#queue.requeue(entry)
  }

  /** These tasks are others now. One that an approver is asked about is asked about anew; the question is withdrawn. */
  changed(entries: readonly TaskEntry[], reason: string): void {
    const open = entries.filter((entry) => !hasEnded(entry))
    for (const entry of open) this.#reviews.callOff(entry, reason)
    this.again(open.filter((entry) => !this.#reviews.has(entry)))
  }

  /** Checks these tasks again, now: there may be budget for them. */
  again(entries: readonly TaskEntry[]): void {
    this.requeue(entries)
    this.advance()
  }

  /** Checks these tasks again when the scheduler advances next. */
  requeue(entries: readonly TaskEntry[]): void {
    for (const entry of entries) {
      entry.backingOff = false
      this.#queue.requeue(entry)
    }
  }

  /** The end of a task, once. */
  settle(entry: TaskEntry, status: TaskEndStatus, { failure: what, reason }: TaskEnd = {}): void {
    if (hasEnded(entry)) return
    entry.status = status
    entry.failure = what
    entry.reason = reason
    this.#pauses.get(entry)?.()
    this.#pauses.delete(entry)
    this.#reviews.callOff(entry, reason ?? 'its task has ended')
    this.#reviews.ended(entry)
    if (status === 'succeeded') this.#publishOutput(entry)
    const ends = { succeeded: 'completed', failed: 'failed', skipped: 'skipped', cancelled: 'cancelled' } as const
    this.#directory.move(entry.member, ends[status])
    this.#ctx.emit({ type: 'task.settled', ...endOf(entry, status) })
    this.#timeouts.moved(entry)
    this.#queue.ended(entry)
    this.#listener.settled(entry)
    this.#listener.progress()
    if (status === 'failed') this.#weigh(entry)
    this.advance()
  }

  /** A task adds an entry to a topic while it works. */
  publish(entry: TaskEntry, topic: string, value: Json): ReturnType<Topics['publish']> {
    const published = this.#publish(entry, topic, value)
    this.advance()
    return published
  }

  /** The output of a task is the entry in each topic that it produces and did not publish to. */
  #publishOutput(entry: TaskEntry): void {
    for (const topic of new Set(entry.task.produces))
      if (!this.#topics.hasOf(topic, entry.id)) this.#publish(entry, topic, entry.output ?? null)
  }

  #publish(entry: TaskEntry, topic: string, value: Json): ReturnType<Topics['publish']> {
    const result = this.#topics.publish(topic, entry, value)
    const fact = { topic, task: entry.id }
    if (!result.published) {
      this.#ctx.emit({ type: 'topic.refused', ...fact, reason: result.reason })
      return result
    }
    this.#ctx.emit({ type: 'topic.published', ...fact, seq: result.seq, bytes: result.bytes })
    this.#timeouts.published(topic)
    if (result.seq === 1) this.#queue.published(topic)
    this.#listener.progress()
    return result
  }

  #weigh(entry: TaskEntry): void {
    if (this.#closed !== undefined) return
    if (isRefused(entry)) return this.abort('rejected')
    if (entry.task.critical === true && entry.recruit === undefined) return this.abort('critical')
    this.reweigh()
  }

  /** The plan is given up if more has failed than may. */
  reweigh(): void {
    if (isTooMuch(this.#rules.failures, this.#graph.failed(this.#rules.countRecruits))) this.abort('failures')
  }

  /** Nothing begins any more, and members at work are stopped. */
  abort(reason: Aborted['reason']): void {
    if (this.#closed !== undefined) return
    const { planned, failures } = this.#graph
    const failed = this.#graph.failed(this.#rules.countRecruits)
    this.aborted = { reason, failed, maxFailures: this.#rules.failures.maxFailures, failures }
    this.#ctx.emit({ type: 'plan.aborted', ...this.aborted, total: planned.length })
    this.close('the plan was given up')
  }

  /** A task that has not begun never does, and members at work are stopped. */
  close(why: string): void {
    if (this.#closed !== undefined) return
    this.#closed = why
    this.#timeouts.close()
    for (const entry of this.#graph.all)
      if (entry.status === 'pending' || entry.status === 'waiting' || this.#reviews.has(entry))
        this.settle(entry, 'cancelled', { reason: why })
    for (const { ctx, activation } of this.#atWork.all) ctx.stop(activation, why)
    this.#listener.progress()
  }

  /** Recruits that nothing waits for are called off when everything else is done. */
  #callOffBestEffort(): void {
    if (!this.held && this.#graph.hasOnlyExtras) this.close('everything else is done')
  }

  /**
   * The member at work on a task leaves it now. `next` hears it with the end, unless the task is done by then. False:
   * no member works on it.
   */
  recall(entry: TaskEntry, reason: string, next: () => void): boolean {
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

/**
 * The task is to be attempted again: the next attempt knows what was done for it so far, and an approval was for the
 * attempt that has ended.
 */
function comesAfter({ entry, activation }: WorkingMember): void {
  entry.after = activation
  entry.sentBack = undefined
  if (entry.approved) entry.reviewed = entry.approved = false
}
