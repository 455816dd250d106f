/**
 * Admission: adds a member with its task to the task graph, the directory and the journal.
 *
 * Owns: that all three know it, in one order. Does not own: who may join (recruitment.ts), who leaves for whom
 * (retirement.ts), what the plan says (../plan).
 */
import { asText, present } from '@reeve/core'
import type { Oversight } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { PlannedTask } from '@reeve/journal'
import { gateOfTask, oversightOf } from '../plan/task-oversight.ts'
import type { TaskEntry } from '../state/task-graph.ts'
import type { Directory } from '../state/directory.ts'

/** Adds the member of this task. */
export function addMember(
  ctx: Context,
  directory: Directory,
  { id, member, role: { role, resolved }, recruit, attempts }: TaskEntry,
): void {
  const recruited = recruit !== undefined
  directory.join(
    { member, role, task: id, recruited, ...(recruited ? { requestedBy: recruit.by } : undefined) },
    attempts,
  )
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

/** A task of the plan, as it is recorded. What is sensitive has a high risk at least, where that is looked at. */
export function plannedTask(
  { task, member, role: { role, oversight } }: TaskEntry,
  team: Oversight | undefined,
): PlannedTask {
  const {
    id,
    description,
    dependencies = [],
    produces,
    consumes,
    critical,
    action,
    required,
    requiresApproval,
    review,
    mode,
  } = task
  const gate = gateOfTask(task, oversightOf(task, team, oversight))
  const risk = gate.sensitive ? gate.risk : task.risk
  return {
    task: id,
    description: asText(description),
    member,
    role,
    dependencies,
    ...present({ produces, consumes }),
    ...(critical === true ? { critical } : undefined),
    ...present({ action, risk }),
    ...(required === false ? { optional: true } : undefined),
    ...(requiresApproval === true ? { requiresApproval } : undefined),
    ...(review === true ? { review } : undefined),
    ...present({ mode }),
  }
}
