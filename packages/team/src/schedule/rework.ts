/**
 * Rework: an approver wants a task's inputs changed: the tasks before it begin again, and are told why (spec team R-16,
 * `modify_retry`).
 *
 * Owns: who begins again, what they are told, the fact. Does not own: who may ask for it and how often
 * (task-reviews.ts), beginning (scheduler.ts), coming back to the team (../run.ts).
 * Holds: K3: it follows from a decision. No attempt is consumed and no failure counted. Who has begun with what there
 * was before goes on with it.
 */
import { present } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { TaskGraph, TaskEntry } from '../state/task-graph.ts'

/**
 * Those that begin again so that this task has something else to act on: the tasks of the plan that it depends on.
 * None: itself.
 */
export const actedOn = (graph: TaskGraph, { task }: TaskEntry): readonly TaskEntry[] =>
  (task.dependencies ?? []).flatMap((id) => {
    const entry = graph.get(id)
    // what a human gave stands
    return entry?.status === 'succeeded' && entry.by === undefined ? [entry] : []
  })

/** What an approver wants changed. `repeat`: the ids of the effects that are executed once more. */
export interface ReworkRequest {
  readonly feedback: string
  readonly by?: string
  readonly repeat?: readonly string[] | undefined
}

/** A task that has ended is to be done again. */
export function reopen(ctx: Context, entry: TaskEntry, { feedback, by, repeat }: ReworkRequest): void {
  noteRework(entry, { feedback, repeat })
  entry.status = 'pending'
  entry.failure = undefined
  entry.reason = undefined
  entry.reopened++
  ctx.emit({
    type: 'task.reopened',
    task: entry.id,
    round: entry.reopened,
    feedback,
    ...present({ by }),
  })
}

/**
 * What is to be different the next time; no attempt of it counts that was there before. What was done for it stands,
 * like that of any earlier attempt, apart from what the approver names.
 */
export function noteRework(entry: TaskEntry, { feedback, repeat = [] }: ReworkRequest): void {
  entry.rework = { feedback, ...present({ before: entry.output }) }
  entry.uncounted = entry.begun
  entry.after = entry.last
  entry.sentBack = entry.last === undefined ? undefined : { repeat }
}
