/**
 * Worker task: one worker of a leader, from its start through the edge to its end, and whether another attempt follows.
 *
 * Owns: the grants for waiting (reports of human waits, questions), the time limit, the slots that are free during
 * human waits, the final outcome, the retry rule and its pause. Does not own: the wait (watch.ts), the order of slots
 * (slots.ts; the scheduler of a team), what a leader does with an end.
 * Holds: K3: time limits and pauses are durable timers, and jitter is drawn from the context. K8: a worker is stopped
 * through its context. K11: every attempt is its own activation. One mechanism serves three leaders, which differ only
 * in data: a delegation (../delegation/attempts.ts), a race (race.ts), a task of a planned team
 * (../../team/schedule/scheduler.ts).
 */
import {
  timedOut,
  handoffOf,
  withoutHandoff,
  type ActivationId,
  type Draft,
  type Failure,
  type Outcome,
  type Usage,
} from '@reeve/core'
import { startWorker, type QuestionAnswerer } from '@reeve/agent'
import type { Brief, Edge, LeaderGrant, Receiver } from '@reeve/edge'
import { backoff, type Context, type RetryPolicy } from '@reeve/engine'
import type { HeldSlot } from './slots.ts'
import type { Watch, WorkerEnd, WorkerWatch } from './watch.ts'

/** The work, and how its leader waits for it. */
export interface WorkerTask {
  readonly ctx: Context
  readonly watch: Watch
  /** The edge of the leader. */
  readonly edge: Edge
  readonly worker: Receiver
  readonly brief: Brief
  readonly grant?: LeaderGrant | undefined
  readonly callId?: string
  /** `leader`: the leader records what it tells its model of the end. */
  readonly toldBy?: 'leader' | undefined
  /** The earlier attempt, or the slower worker, that it follows. */
  readonly after?: ActivationId | undefined
  /** Work that ended without an answer, and that it may repeat. */
  readonly follows?: LeaderGrant['follows']
  /** Milliseconds of working time. Default: no limit. */
  readonly timeoutMs?: number | undefined
  /** The slots it holds. They are free while it waits for a human. Default: none. */
  readonly slots?: readonly HeldSlot[]
  /** Report human waits even if no time limit and no slot depends on them. Default false. */
  readonly reportsWaits?: boolean
  /** Called when the worker, or one below it, begins (true) or ceases to wait for a human. */
  readonly onWait?: ((waiting: boolean) => void) | undefined
  /** Answers its questions. Default: it may not ask. */
  readonly answer?: QuestionAnswerer | undefined
  /** Whether it was stopped for another reason, so that it did not time out. Default: it timed out. */
  readonly wasStopped?: () => boolean
}

/** A started worker. */
export interface StartedTask {
  readonly id: ActivationId
  /** Waits for its end. Call it once, before any other wait. Rejects only with `Cancelled`. */
  ended(): Promise<WorkerTaskEnd>
}

/** The end of one attempt. */
export interface WorkerTaskEnd {
  readonly id: ActivationId
  /** The final outcome, without the handoff record: a worker stopped at its time limit has `timed-out`. */
  readonly outcome: Outcome
  readonly said: ReturnType<typeof handoffOf>['said']
  readonly usage: Usage
  /** The arrival itself. */
  readonly arrival: WorkerEnd
}

/** Starts a worker. A failure says why it cannot start. */
export function startTask(task: WorkerTask): StartedTask | Failure {
  const { ctx, edge, worker, brief, grant, callId, toldBy, after, follows, timeoutMs, slots, answer } = task
  const { reportsWaits = false } = task
  const reports = reportsWaits || timeoutMs !== undefined || (slots !== undefined && slots.length > 0)
  const crossing: Draft<LeaderGrant> = { ...grant }
  if (reports) crossing.slotOf = ctx.place.activation
  if (answer !== undefined) crossing.questionsTo = ctx.place.activation
  if (after !== undefined) crossing.after = after
  else if (follows !== undefined) crossing.follows = follows
  const id = startWorker(ctx, edge, worker, brief, crossing, callId, undefined, toldBy)
  return typeof id === 'string' ? { id, ended: () => taskEnd(task, id) } : id
}

function taskEnd(
  { ctx, watch, timeoutMs, slots = [], onWait, answer, wasStopped }: WorkerTask,
  id: ActivationId,
): Promise<WorkerTaskEnd> {
  let late = false
  const wait: Draft<WorkerWatch> = {
    onWait: (waiting) => {
      onWait?.(waiting)
      for (const slot of slots)
        if (waiting) slot.give()
        else slot.takeBack()
    },
  }
  if (answer !== undefined) wait.answer = answer
  if (timeoutMs !== undefined) {
    const noteLate = (): void => void (late = wasStopped?.() !== true)
    wait.timeoutMs = timeoutMs
    wait.late = noteLate
  }
  return watch.end(ctx, id, wait).then((arrival) => {
    const { outcome, usage } = arrival
    return {
      id,
      outcome: late && outcome.status === 'cancelled' ? timedOut(timeoutMs!) : withoutHandoff(outcome),
      said: handoffOf(outcome).said,
      usage,
      arrival,
    }
  })
}

/** The default number of attempts of a retry policy. */
const defaultAttempts = 3

/** A failed attempt, as the retry rule sees it. */
export interface AttemptFailure {
  /** Its number, from 1. */
  readonly attempt: number
  /** How long the other side asked to wait. */
  readonly retryAfterMs: number | undefined
  /** Whether another attempt may succeed. Called only while attempts are left. */
  readonly isWorthIt: () => boolean
}

/** Milliseconds until the next attempt; undefined: no further attempt. */
export function retryDelay(
  ctx: Context,
  policy: RetryPolicy,
  { attempt, retryAfterMs, isWorthIt }: AttemptFailure,
): number | undefined {
  if (attempt >= (policy.attempts ?? defaultAttempts) || !isWorthIt()) return undefined
  return backoff(policy, attempt, retryAfterMs, () => ctx.random())
}

/** Waits between `attempt` and the next one, as a durable timer. Returns how to call it off. */
export const pauseBeforeRetry = (
  ctx: Context,
  watch: Watch,
  attempt: ActivationId,
  delayMs: number,
  { over, reject }: RetryPauseListener,
): (() => void) => watch.alarm(ctx, 'retry', delayMs, { ring: over, reject }, attempt)

/** The callbacks of such a wait. */
export interface RetryPauseListener {
  readonly over: () => void
  /** The leader is cancelled. */
  readonly reject: (thrown: unknown) => void
}
