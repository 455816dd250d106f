/**
 * Work: the scheduler of a team. Whatever is ready begins, in the order of the plan, up to the concurrency; every end settles its task and may set others free (spec team ).
 *
 * Owns: when a task begins, is tried again, ends; who holds a permit; when it is too much failure. Does not own: whether a task is ready (readiness.ts), what an end means (ends.ts), who
 * joins (../staff), mail (../mail).
 * Holds: K3: everything follows from recorded arrivals, delivered one at a time; ties end in the order in which they began. K8: a cancel reaches whoever works through the context. K11: what
 * every attempt used counts, also of those that were stopped.
 */
import { failure, type ActivationId, type Failure, type Json } from '../../core/index.ts'
import { startWorker } from '../../agent/index.ts'
import { briefOf, type Assignment, type Edge, type TeamVerb } from '../../edge/index.ts'
import { backoff, type Context, type RetryPolicy } from '../../engine/index.ts'
import type { DependencyPolicy, TaskEndStatus } from '../../journal/index.ts'
import { timedOut, Watch, type WorkerEnd } from '../../supervisor/index.ts'
import type { Directory } from '../staff/directory.ts'
import { hasEnded, used, type Book, type Entry } from './book.ts'
import { endOfAttempt } from './ends.ts'
import { readiness, type Readiness } from './readiness.ts'
import type { Topics } from './topics.ts'
import { briefFor } from './brief.ts'

/** How the tasks of a plan are carried out. */
export interface WorkRules {
  readonly concurrency: number
  readonly maxFailures: number
  readonly countRecruits: boolean
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly policy: DependencyPolicy
  readonly dependencyTimeoutMs: number
  readonly passAll: boolean
  readonly verbs: readonly TeamVerb[]
}

/** Who wants to know what happens, or has a say in it. */
export interface WorkListener {
  /** Whether there is budget for it; a failure says why not. */
  mayBegin(entry: Entry): Failure | undefined
  /** Its attempt has ended and used this. */
  settled(entry: Entry): void
  attemptEnded(entry: Entry, end: WorkerEnd): void
  /** Something has moved: somebody began, ended, published. */
  progress(): void
}

/** Somebody at work. */
interface AtWork {
  readonly entry: Entry
  readonly activation: ActivationId
  readonly ctx: Context
  waitsForHuman: boolean
  /** It waits for mail: it holds no permit. */
  waitsForMail: boolean
}

/** Why nothing begins any more. */
export type Aborted = { readonly reason: 'failures' | 'critical' | 'budget'; readonly failed: number }

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
  readonly #atWork = new Map<ActivationId, AtWork>()
  #closed: string | undefined
  #advancing = false
  #again = false
  #thrown: { readonly why: unknown } | undefined
  #news: (() => void) | undefined

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
  }

  /** Resolves when every task has ended. Rejects with `Cancelled`, or with what broke. */
  async done(): Promise<void> {
    this.advance()
    for (;;) {
      if (this.#thrown !== undefined) throw this.#thrown.why
      if (this.#book.all.every(hasEnded) && this.#atWork.size === 0) return
      await new Promise<void>((resolve) => (this.#news = resolve))
    }
  }

  /** Somebody else's branch has broken: the wait ends with it. */
  readonly leave = (thrown: unknown): void => {
    this.#thrown ??= { why: thrown }
    this.#news?.()
  }

  /** Who works on what now: by activation, those below it included. */
  memberAt(activation: ActivationId): Entry | undefined {
    for (const { activation: id, entry } of this.#atWork.values()) if (activation === id || activation.startsWith(`${id}>`)) return entry
    return undefined
  }

  /** Who has begun and not ended. */
  get running(): readonly Entry[] {
    return [...this.#atWork.values()].map(({ entry }) => entry)
  }

  /** Whether somebody at work waits for a human. */
  waitsForHuman(entry: Entry): boolean {
    return this.#of(entry)?.waitsForHuman === true
  }

  /** A member begins (true) or ceases to wait for mail: it holds no permit meanwhile. */
  waitForMail(entry: Entry, waits: boolean): void {
    const at = this.#of(entry)
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
      }
    } catch (thrown) {
      this.leave(thrown)
    } finally {
      this.#advancing = false
    }
    this.#news?.()
  }

  #round(): void {
    if (this.#closed !== undefined) return
    for (const entry of this.#book.all) {
      if (entry.status !== 'pending' && entry.status !== 'waiting') continue
      if (entry.backingOff) continue
      const state = readiness(entry, this.#book, (topic) => this.#topics.has(topic), this.#rules.policy)
      if (state.type === 'impossible') this.#impossible(entry, state)
      else if (state.type === 'waits') entry.status = 'waiting'
      else if (this.#permits() < this.#rules.concurrency) this.#begin(entry, state)
      else entry.status = 'pending'
      if (this.#closed !== undefined) return
    }
    this.#callOffBestEffort()
  }

  #permits(): number {
    return [...this.#atWork.values()].filter((each) => !each.waitsForHuman && !each.waitsForMail).length
  }

  #impossible(entry: Entry, { status, on }: Extract<Readiness, { readonly type: 'impossible' }>): void {
    const why = `"${on}", which it depends on, did not succeed`
    if (status === 'skipped') this.settle(entry, 'skipped', { reason: why })
    else this.settle(entry, 'failed', { failure: failure('task.dependency-failed', why, 'policy', { details: { on } }) })
  }

  #begin(entry: Entry, { missing, satisfied }: Extract<Readiness, { readonly type: 'ready' }>): void {
    if (entry.begun === 0) {
      entry.missing = missing
      if (satisfied) this.#ctx.emit({ type: 'task.unblocked', task: entry.id })
    }
    const refused = this.#listener.mayBegin(entry)
    if (refused !== undefined) return this.settle(entry, 'failed', { failure: refused })
    if (this.#closed !== undefined || hasEnded(entry)) return
    const ctx = this.#ctx.scope(entry.id)
    const attempt = entry.begun + 1
    const assignment: Assignment = {
      leader: ctx.place.activation,
      member: entry.member,
      role: entry.role.role,
      task: entry.id,
      description: entry.task.description,
      attempt,
      inputs: this.#book.inputs(entry, this.#rules.passAll),
      verbs: this.#rules.verbs,
      ...(entry.task.tools === undefined ? undefined : { tools: entry.task.tools }),
      ...(entry.task.toolParameters === undefined ? undefined : { toolParameters: entry.task.toolParameters }),
    }
    const { agent, added, tools, limits } = entry.role
    const id = startWorker(ctx, this.#edge, agent, briefOf(briefFor(entry, assignment, agent)), {
      added,
      permit: ctx.place.activation,
      assignment,
      ...(tools === undefined ? undefined : { permissions: { tools } }),
      ...(limits === undefined ? undefined : { limits }),
    })
    if (typeof id !== 'string') return this.settle(entry, 'failed', { failure: id })
    entry.begun = attempt
    entry.status = 'running'
    this.#directory.move(entry.member, 'running')
    ctx.emit({ type: 'task.started', task: entry.id, member: entry.member, attempt, activation: id })
    const at: AtWork = { entry, activation: id, ctx, waitsForHuman: false, waitsForMail: false }
    this.#atWork.set(id, at)
    this.#listener.progress()
    this.#attend(at).catch(this.leave)
  }

  async #attend(at: AtWork): Promise<void> {
    const { timeoutMs } = this.#rules
    let late = false
    const { entry, ctx, activation } = at
    const end = await this.watch.end(ctx, activation, {
      ...(timeoutMs === 0 ? undefined : { timeoutMs, late: () => (late = true) }),
      asks: (waits) => {
        at.waitsForHuman = waits
        entry.status = waits ? 'awaiting_approval' : 'running'
        this.#listener.progress()
        if (waits) this.advance()
      },
    })
    this.#atWork.delete(activation)
    const outcome = late && end.outcome.status === 'cancelled' ? timedOut(timeoutMs) : end.outcome
    used(entry, end.usage, outcome)
    this.#listener.attemptEnded(entry, end)
    if (!hasEnded(entry)) this.#ended(at, endOfAttempt(outcome))
    this.advance()
  }

  #ended({ entry, ctx }: AtWork, end: ReturnType<typeof endOfAttempt>): void {
    if (this.#closed !== undefined) return this.settle(entry, 'cancelled', { reason: this.#closed })
    if (end.type === 'done') {
      entry.output = end.output
      return this.settle(entry, 'succeeded')
    }
    if (end.output !== undefined) entry.output = end.output
    const { retry } = this.#rules
    if (!end.again || entry.begun >= (retry.attempts ?? 3)) return this.settle(entry, 'failed', { failure: end.failure })
    const delayMs = backoff(retry, entry.begun, end.failure.retryAfterMs, () => ctx.random())
    ctx.emit({ type: 'task.retried', task: entry.id, attempt: entry.begun, failure: end.failure, delayMs })
    entry.status = 'pending'
    this.#directory.move(entry.member, 'pending')
    entry.backingOff = true
    const ring = (): void => {
      entry.backingOff = false
      this.advance()
    }
    this.watch.alarm(ctx, 'retry', delayMs, { ring, reject: this.leave })
  }

  /** The end of a task, once. */
  settle(
    entry: Entry,
    status: TaskEndStatus,
    { failure: what, reason }: { readonly failure?: Failure; readonly reason?: string } = {},
  ): void {
    if (hasEnded(entry)) return
    entry.status = status
    entry.failure = what
    entry.reason = reason
    if (status === 'succeeded') this.#publish(entry)
    const ends = { succeeded: 'completed', failed: 'failed', skipped: 'skipped', cancelled: 'cancelled' } as const
    this.#directory.move(entry.member, ends[status])
    this.#ctx.emit({
      type: 'task.settled',
      task: entry.id,
      member: entry.member,
      status,
      attempts: entry.attempts,
      ...(what === undefined ? undefined : { failure: what }),
      ...(reason === undefined ? undefined : { reason }),
      ...(entry.missing.length === 0 ? undefined : { missing: entry.missing }),
      ...(entry.usage.length === 0 ? undefined : { usage: entry.usage }),
    })
    this.#listener.settled(entry)
    this.#listener.progress()
    if (status === 'failed') this.#weigh(entry)
    this.advance()
  }

  /** The output of a task is the entry in each topic that it produces and did not publish to. */
  #publish(entry: Entry): void {
    for (const topic of entry.task.produces ?? [])
      if (!this.#topics.hasOf(topic, entry.id)) this.publish(entry, topic, entry.output ?? null)
  }

  publish(entry: Entry, topic: string, value: Json): ReturnType<Topics['publish']> {
    const declared = entry.task.produces?.includes(topic) === true
    const word = declared ? this.#topics.publish(topic, entry.id, value) : ({ published: false, reason: 'undeclared' } as const)
    const fact = { topic, task: entry.id }
    if (word.published) this.#ctx.emit({ type: 'topic.published', ...fact, seq: word.seq, bytes: word.bytes })
    else this.#ctx.emit({ type: 'topic.refused', ...fact, reason: word.reason })
    if (word.published) {
      this.#listener.progress()
      this.advance()
    }
    return word
  }

  #weigh(entry: Entry): void {
    if (this.#closed !== undefined) return
    if (entry.task.critical === true && entry.recruit === undefined) return this.abort('critical')
    const counted = this.#book.all.filter(
      ({ status, recruit }) => status === 'failed' && (recruit === undefined || this.#rules.countRecruits),
    )
    if (counted.length >= this.#rules.maxFailures) this.abort('failures')
  }

  /** Nothing begins any more, whoever works is stopped. */
  abort(reason: Aborted['reason']): void {
    if (this.#closed !== undefined) return
    const planned = this.#book.planned
    const failures = this.#book.all.flatMap(({ id, status, failure: what }) =>
      status === 'failed' && what !== undefined ? [{ task: id, failure: what }] : [],
    )
    this.aborted = { reason, failed: failures.length }
    const { maxFailures } = this.#rules
    this.#ctx.emit({ type: 'plan.aborted', reason, failed: failures.length, total: planned.length, maxFailures, failures })
    this.close('the plan was given up')
  }

  /** Whoever has not begun never does, whoever works is stopped. */
  close(why: string): void {
    if (this.#closed !== undefined) return
    this.#closed = why
    for (const entry of this.#book.all)
      if (entry.status === 'pending' || entry.status === 'waiting') this.settle(entry, 'cancelled', { reason: why })
    for (const { ctx, activation } of this.#atWork.values()) ctx.stop(activation, why)
  }

  /** Recruits nobody waits for are called off when everything else is done. */
  #callOffBestEffort(): void {
    const open = this.#book.all.filter((each) => !hasEnded(each))
    if (open.length === 0 || open.some(({ recruit }) => recruit?.join !== 'none')) return
    this.close('everything else is done')
  }

  /** Stops the work on a task now; its end is what it comes to. */
  stop(entry: Entry, reason: string): void {
    const at = this.#of(entry)
    at?.ctx.stop(at.activation, reason)
  }

  #of(entry: Entry): AtWork | undefined {
    return [...this.#atWork.values()].find((each) => each.entry === entry)
  }

  /** How an operator stops one worker: by its activation, its member or its task. */
  #stopper(name: string): ((reason: string) => void) | undefined {
    const at = [...this.#atWork.values()].find(({ activation, entry }) => activation === name || entry.member === name || entry.id === name)
    return at === undefined ? undefined : (reason) => at.ctx.stop(at.activation, reason)
  }
}
