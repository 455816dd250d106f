/**
 * Outcome mapping: what the end of an attempt means for its task: done, failed, or to be tried again; and the ends of
 * tasks without an attempt (spec team R-5, R-10). Pure.
 *
 * Owns: the rule. Does not own: when it is tried again (scheduler.ts). One retry layer: what a step has tried again
 * already is not tried again here.
 */
import {
  describeOutcome,
  doneBefore,
  failure,
  isObject,
  type Failure,
  type Json,
  type JsonObject,
  type Outcome,
} from '@reeve/core'
import type { TaskEndStatus } from '@reeve/journal'
import type { TaskEntry } from './task-graph.ts'
import type { ReviewResult } from './task-reviews.ts'

/** What an attempt has come to. */
export type End =
  /** `by`: a human did it: under which name. */
  | { readonly type: 'done'; readonly output: Json; readonly by?: string }
  | { readonly type: 'failed'; readonly failure: Failure; readonly again: boolean; readonly output?: Json }

/** Why a task has ended. */
export interface TaskEnd {
  readonly failure?: Failure
  readonly reason?: string
}

/** Reads the end of an attempt. An output `{ success: false }` is a failure, whatever else it says. */
export function endOfAttempt(outcome: Outcome): End {
  switch (outcome.status) {
    case 'completed':
      return isObject(outcome.output) && outcome.output['success'] === false
        ? unsuccessful(outcome.output)
        : { type: 'done', output: outcome.output, ...(outcome.by === undefined ? undefined : { by: outcome.by }) }
    case 'failed': {
      const { failure: what } = outcome
      return { type: 'failed', failure: what, again: mayPass(what) && what.details?.['attempts'] === undefined }
    }
    case 'timed-out':
      return {
        type: 'failed',
        failure: failure('effect.timed-out', outcome.message, 'timeout', doneIn(outcome)),
        again: true,
      }
    case 'limited':
      return {
        type: 'failed',
        failure: failure(
          'limit.reached',
          describeOutcome(outcome),
          'budget',
          doneIn(outcome, { limit: outcome.limit }),
        ),
        again: false,
      }
    case 'bailed':
      return {
        type: 'failed',
        failure: failure('worker.failed', describeOutcome(outcome), 'policy', doneIn(outcome)),
        again: false,
        output: outcome.text,
      }
    case 'cancelled':
      return {
        type: 'failed',
        failure: failure('worker.failed', describeOutcome(outcome), 'rejected', doneIn(outcome)),
        again: false,
      }
  }
}

/** What its failure says of what it had done. */
function doneIn(outcome: Outcome, more: JsonObject = {}): { readonly details?: JsonObject } {
  const { done, more: left } = doneBefore(outcome)
  const deeds = done.length === 0 ? {} : { done, ...(left > 0 && { doneCount: done.length + left }) }
  const details = { ...more, ...deeds } as JsonObject
  return Object.keys(details).length === 0 ? {} : { details }
}

/** Code that threw is as good as a service that failed: it may pass. */
const mayPass = ({ class: of, retryable }: Failure): boolean => retryable || of === 'internal'

function unsuccessful(output: Readonly<Record<string, Json>>): End {
  const { error } = output
  const { message, retryable, retryAfterMs } = isObject(error) ? error : {}
  const said =
    typeof message === 'string'
      ? message
      : typeof error === 'string'
        ? error
        : 'it says of itself that it did not succeed'
  const again = retryable === true
  const after = again && typeof retryAfterMs === 'number' && retryAfterMs > 0 ? { retryAfterMs } : {}
  return {
    type: 'failed',
    failure: failure('task.unsuccessful', said, again ? 'unknown' : 'validation', after),
    again,
    output,
  }
}

/**
 * A human's no to a member's work, or a missed deadline, as its failure tells: the same as if its task had been looked
 * at here.
 */
export function refusalIn({
  code,
  message,
  details,
}: Failure): Extract<ReviewResult, { readonly type: 'refused' }> | undefined {
  const { how, approver } = details ?? {}
  if (code !== 'work.rejected' || (how !== 'rejected' && how !== 'timed-out')) return undefined
  return { type: 'refused', how, reason: message, ...(typeof approver === 'string' ? { by: approver } : undefined) }
}

/**
 * The end of a task that a human rejected, or that was not decided in time. Without a task that is required the plan is
 * worth nothing; a recruit was never required.
 */
export function refusedBy(
  { id, task, recruit }: Pick<TaskEntry, 'id' | 'task' | 'recruit'>,
  { how, reason, by, comment }: Extract<ReviewResult, { readonly type: 'refused' }>,
): { readonly status: 'failed'; readonly failure: Failure } | { readonly status: 'skipped'; readonly reason: string } {
  const said = comment === undefined ? '' : `: ${comment}`
  if (task.required === false || recruit !== undefined)
    return {
      status: 'skipped',
      reason: how === 'timed-out' ? 'not approved in time' : `rejected${by === undefined ? '' : ` by ${by}`}${said}`,
    }
  const hint = 'outcome.results has what there was. A task with `required: false` is skipped instead.'
  const details = {
    task: id,
    reason,
    ...(by === undefined ? undefined : { approver: by }),
    ...(comment === undefined ? undefined : { comment }),
  }
  return {
    status: 'failed',
    failure:
      how === 'timed-out'
        ? failure('task.unanswered', `Required task not approved in time: ${reason}`, 'timeout', {
            retryable: false,
            hint,
            details,
          })
        : failure('task.rejected', `Required task rejected: ${reason}${said}`, 'rejected', { hint, details }),
  }
}

/** The end of a task, as it is noted. */
export const endOf = (
  { id, member, attempts, begun, output, by, failure: what, reason, missing, usage }: TaskEntry,
  status: TaskEndStatus,
) => ({
  task: id,
  member,
  status,
  attempts,
  ...(what === undefined ? undefined : { failure: what }),
  ...(reason === undefined ? undefined : { reason }),
  ...(by === undefined ? undefined : { by }),
  // a task that has begun has an end of its own, which says it
  ...(by === undefined || output === undefined || begun > 0 ? undefined : { output }),
  ...(missing.length === 0 ? undefined : { missing }),
  ...(usage.length === 0 ? undefined : { usage }),
})

/** The failure of a task that cannot do without one that did not succeed; also the reason for skipping it. */
export const dependencyFailed = (on: string): Failure =>
  failure('task.dependency-failed', `"${on}", which it depends on, did not succeed`, 'policy', { details: { on } })

/** The failure of a task for which nothing has moved among those it waits for. */
export const dependencyTimedOut = (on: readonly string[], afterMs: number): Failure =>
  failure(
    'task.dependency-timeout',
    `nothing has moved for ${afterMs} ms among what it waits for: ${on.join(', ')}`,
    'timeout',
    {
      retryable: false,
      details: { on: [...on] },
    },
  )
