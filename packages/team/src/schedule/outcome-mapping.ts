/**
 * Outcome mapping: the ends of tasks, also of those without an attempt (spec team R-5, R-10). Pure.
 *
 * Owns: how a task ends, and what is noted of it. Does not own: what the end of an attempt means (../attempt-end.ts).
 */
import { failure, present, type Failure } from '@reeve/core'
import type { TaskEndStatus } from '@reeve/journal'
import type { TaskEntry } from '../state/task-graph.ts'
import type { ReviewResult } from './task-reviews.ts'

/** Why a task has ended. */
export interface TaskEnd {
  readonly failure?: Failure
  readonly reason?: string
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
    ...present({ approver: by, comment }),
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
  ...present({ failure: what, reason, by }),
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
