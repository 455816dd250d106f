/**
 * Worker task: one worker of a leader, from its start through the edge to its end, and whether another attempt follows.
 *
 * Owns: what crosses so that a leader can wait (reports of human waits, questions), the time limit, the slots that are
 * free while a human is waited for, the end as its leader counts it, the retry rule and its pause. Does not own: the
 * wait (watch.ts), who gets a slot when (slots.ts; the scheduler of a team), what a leader makes of an end.
 * Holds: K3: a time limit and a pause are durable timers, and jitter is drawn from the context. K8: a worker is stopped
 * through its context. K11: every attempt is an activation of its own. One mechanism, three leaders: a delegation
 * (delegation/attempts.ts), a race (race.ts), a task of a planned team (../team/work/scheduler.ts). How they differ is
 * data.
 */
import {
  present,
  timedOut,
  trailOf,
  withoutTrail,
  type ActivationId,
  type Failure,
  type Outcome,
  type Usage,
} from '../../core/index.ts'
import { startWorker, type QuestionAnswerer } from '../../agent/index.ts'
import type { Brief, Edge, LeaderGrant, Receiver } from '../../edge/index.ts'
import { backoff, type Context, type RetryPolicy } from '../../engine/index.ts'
import type { HeldSlot } from './slots.ts'
import type { Watch, WorkerEnd } from './watch.ts'

/** What a worker is to do, and how its leader waits for it. */
export interface WorkerTask {
  readonly ctx: Context
  readonly watch: Watch
  /** The leader's. */
  readonly edge: Edge
  readonly worker: Receiver
  readonly brief: Brief
  readonly grant?: LeaderGrant | undefined
  readonly callId?: string
  /** The attempt, or the slower worker, after which it comes. */
  readonly after?: ActivationId | undefined
  /** Milliseconds of working time. Default: no limit. */
  readonly timeoutMs?: number | undefined
  /** What the worker holds: free while it waits for a human. Default: nothing. */
  readonly slots?: readonly HeldSlot[]
  /**
   * Whether its leader hears of human waits even where neither a time limit nor a slot depends on them. Default false.
   */
  readonly reportsWaits?: boolean
  /** Hears that the worker, or one below it, begins (true) or ceases to wait for a human. */
  readonly onWait?: ((waiting: boolean) => void) | undefined
  /** Answers its questions. Default: it may ask none. */
  readonly answer?: QuestionAnswerer | undefined
  /**
   * Whether it was stopped for another reason: then it has not run out of time. Default: its time counts all the same.
   */
  readonly wasStopped?: () => boolean
}

/** A worker that has begun. */
export interface StartedTask {
  readonly id: ActivationId
  /** Waits for its end. Call it once, before anything else is waited for. Rejects only with `Cancelled`. */
  ended(): Promise<WorkerTaskEnd>
}

/** How one attempt has ended. */
export interface WorkerTaskEnd {
  readonly id: ActivationId
  /** As its leader counts it: a worker that was stopped at its time limit has `timed-out`. Without the trail. */
  readonly outcome: Outcome
  readonly said: ReturnType<typeof trailOf>['said']
  readonly usage: Usage
  /** As it arrived. */
  readonly arrival: WorkerEnd
}

/** Starts a worker; a failure says why it cannot begin. */
export function startTask(task: WorkerTask): StartedTask | Failure {
  const { ctx, edge, worker, brief, grant, callId, after, timeoutMs, slots = [], reportsWaits = false, answer } = task
  const me = ctx.place.activation
  const reports = reportsWaits || timeoutMs !== undefined || slots.length > 0
  const crossing: LeaderGrant = {
    ...grant,
    ...present({ slotOf: reports ? me : undefined, questionsTo: answer === undefined ? undefined : me, after }),
  }
  const id = startWorker(ctx, edge, worker, brief, crossing, callId)
  return typeof id === 'string' ? { id, ended: () => taskEnd(task, id) } : id
}

async function taskEnd(
  { ctx, watch, timeoutMs, slots = [], onWait, answer, wasStopped }: WorkerTask,
  id: ActivationId,
): Promise<WorkerTaskEnd> {
  let late = false
  const arrival = await watch.end(ctx, id, {
    ...(timeoutMs === undefined ? undefined : { timeoutMs, late: () => (late = wasStopped?.() !== true) }),
    ...present({ answer }),
    onWait: (waiting) => {
      onWait?.(waiting)
      for (const slot of slots)
        if (waiting) slot.give()
        else slot.takeBack()
    },
  })
  const { outcome, usage } = arrival
  return {
    id,
    outcome: late && outcome.status === 'cancelled' ? timedOut(timeoutMs!) : withoutTrail(outcome),
    said: trailOf(outcome).said,
    usage,
    arrival,
  }
}

/** How often a task is attempted that has a retry policy which says nothing of it. */
const defaultAttempts = 3

/** A failed attempt, as far as the next one depends on it. */
export interface AttemptFailure {
  /** Which one it was, from 1. */
  readonly attempt: number
  /** How long the other side asked to be left alone. */
  readonly retryAfterMs: number | undefined
  /** Whether another one may end better. Asked only while attempts are left. */
  readonly isWorthIt: () => boolean
}

/** Milliseconds until the next attempt; undefined: there is none. */
export function retryDelay(
  ctx: Context,
  policy: RetryPolicy,
  { attempt, retryAfterMs, isWorthIt }: AttemptFailure,
): number | undefined {
  if (attempt >= (policy.attempts ?? defaultAttempts) || !isWorthIt()) return undefined
  return backoff(policy, attempt, retryAfterMs, () => ctx.random())
}

/** The pause before the next attempt, as a durable timer. Returns how to call it off. */
export const pauseBeforeRetry = (
  ctx: Context,
  watch: Watch,
  delayMs: number,
  { over, reject }: RetryPauseListener,
): (() => void) => watch.alarm(ctx, 'retry', delayMs, { ring: over, reject })

/** Who hears how a pause ends. */
export interface RetryPauseListener {
  readonly over: () => void
  /** The leader is cancelled. */
  readonly reject: (thrown: unknown) => void
}
