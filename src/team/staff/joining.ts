/**
 * Joining: somebody is on the team from now on, with a task; in the book, in the directory and in the journal.
 *
 * Owns: that all three know it, in one order. Does not own: who may join (recruiting.ts), who leaves for whom (retiring.ts), what the plan says (../plan).
 */
import { asText } from '../../core/index.ts'
import type { Context } from '../../engine/index.ts'
import type { PlannedTask } from '../../journal/index.ts'
import type { Entry } from '../work/book.ts'
import type { Directory } from './directory.ts'

/** Takes in whoever has this task. */
export function joins(ctx: Context, directory: Directory, { id, member, role: { role, resolved }, recruit, attempts }: Entry): void {
  const recruited = recruit !== undefined
  directory.join({ member, role, task: id, recruited, ...(recruited ? { requestedBy: recruit.by } : undefined) }, attempts)
  ctx.emit({
    type: 'teammate.joined',
    member,
    role,
    task: id,
    ...(resolved.toLowerCase() === role.toLowerCase() ? undefined : { resolved }),
    ...(recruit === undefined ? undefined : { recruited: true, by: recruit.by, join: recruit.join }),
    ...(recruit?.parent === undefined ? undefined : { parent: recruit.parent }),
  })
}

/** A task of the plan, as it is recorded. */
export function plannedTask({ task, member, role: { role } }: Entry): PlannedTask {
  const { id, description, dependencies = [], produces, consumes, critical } = task
  return {
    task: id,
    description: asText(description),
    member,
    role,
    dependencies,
    ...(produces === undefined ? undefined : { produces }),
    ...(consumes === undefined ? undefined : { consumes }),
    ...(critical === true ? { critical } : undefined),
  }
}
