/**
 * Plan edit: a human who has the run changes the plan, or gives the result of a task.
 *
 * Owns: carrying an edit out, all of it or nothing, and what is recorded of it. Does not own: what an edit may say
 * (plan/edit-check.ts), who gives it and when (runtime/operator/takeover.ts).
 * Holds: K3: it is heard as a word, in recorded order, while nothing new begins. Whatever has begun stays as it is
 * (spec team R-13, C72, C73).
 */
import { present, type JsonObject } from '@reeve/core'
import type { EditCommand, ReceivedCommand } from '@reeve/agent'
import type { Limits, Oversight } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import { checkEdit, type CheckedEdit, type TaskStanding } from './plan/edit-check.ts'
import type { Subtask } from './plan/plan.ts'
import type { RequestFiles } from './plan/plan-parser.ts'
import type { RoleBook } from './plan/roles.ts'
import type { Directory } from './state/directory.ts'
import { addMember, plannedTask } from './staff/admission.ts'
import { hasEnded, newEntry, type TaskGraph, type TaskEntry } from './state/task-graph.ts'
import { failureBudgetOf, withFewer } from './schedule/failure-budget.ts'
import type { WorkRules } from './schedule/rules.ts'
import type { Scheduler } from './schedule/scheduler.ts'

/** What an edit changes. */
export interface EditParts {
  readonly ctx: Context
  readonly graph: TaskGraph
  readonly directory: Directory
  readonly roles: RoleBook
  readonly defaultRole: string
  readonly oversight: Oversight | undefined
  readonly limits: Limits | undefined
  readonly files: RequestFiles
  readonly work: Scheduler
  /** What the work goes by; changed in place. */
  readonly rules: { -readonly [K in 'concurrency' | 'failures']: WorkRules[K] }
}

/** The default author. */
const unnamed = 'operator'

/** Handles a command that edits the plan. The outcome is a fact; members may not send such a command. */
export function edited(
  parts: EditParts,
  { request, edit, reason }: EditCommand,
  { from, by }: ReceivedCommand,
): JsonObject {
  if (from !== undefined) return { accepted: false, reason: 'invalid', message: 'a member does not edit the plan' }
  const { ctx, graph, roles, defaultRole, oversight, limits, files, work } = parts
  const checked =
    work.closed === undefined && !graph.all.every(hasEnded)
      ? checkEdit(
          edit,
          graph.all.map((entry) => standing(entry, work)),
          roles,
          { defaultRole, oversight, limits, files },
        )
      : { problems: ['the work of this team has ended: its plan stays as it is'] }
  if (!('added' in checked) || checked.problems.length > 0)
    ctx.emit({ type: 'plan.edit-refused', request, problems: checked.problems, ...present({ by, reason }) })
  else carryOut(parts, checked, request, { by, reason })
  return {}
}

function standing(entry: TaskEntry, work: Scheduler): TaskStanding {
  const state = hasEnded(entry) ? 'ended' : work.running.includes(entry) ? 'at-work' : entry.begun > 0 ? 'open' : 'new'
  return {
    task: entry.task,
    state,
    isAsked: entry.status === 'awaiting_approval',
    recruited: entry.recruit !== undefined,
  }
}

function carryOut(
  parts: EditParts,
  checked: CheckedEdit,
  request: string,
  { by, reason }: { readonly by: string | undefined; readonly reason: string | undefined },
): void {
  const { ctx, graph, directory, rules, work } = parts
  const { removed, results, warnings, tolerance, maxFailures, concurrency } = checked
  const gone = removed.map((id) => graph.get(id)!)
  const replaced = checked.replaced.map((task) => [graph.get(task.id)!, task] as const)
  const newcomers = replaced.flatMap(([entry, task]) => (replace(parts, entry, task) ? [entry] : []))
  for (const entry of gone) graph.remove(entry)
  const added = checked.added.map((task) => addedEntry(parts, task))
  graph.reindex()
  if (concurrency !== undefined) rules.concurrency = concurrency
  const before = rules.failures.maxFailures
  const isTold = tolerance !== undefined || maxFailures !== undefined
  if (isTold) rules.failures = failureBudgetOf(graph.planned.length, tolerance ?? 0, maxFailures)
  else if (gone.length > 0) rules.failures = withFewer(rules.failures, graph.planned.length)
  ctx.emit({
    type: 'plan.edited',
    request,
    added: added.map((entry) => plannedTask(entry, parts.oversight)),
    replaced: replaced.map(([entry]) => plannedTask(entry, parts.oversight)),
    removed,
    settled: results.map(([id]) => id),
    warnings,
    ...present({ by, reason, tolerance, concurrency }),
    ...(isTold || rules.failures.maxFailures !== before ? { maxFailures: rules.failures.maxFailures } : {}),
  })
  for (const entry of [...newcomers, ...added]) addMember(ctx, directory, entry)
  for (const entry of gone) work.settle(entry, 'skipped', { reason: `removed by ${by ?? unnamed}` })
  for (const [id, output] of results) {
    const entry = graph.get(id)!
    entry.output = output
    entry.by = by ?? unnamed
    work.settle(entry, 'succeeded')
  }
  work.reweigh()
  work.changed(
    replaced.map(([entry]) => entry),
    `replaced by ${by ?? unnamed}`,
  )
}

/** Replaces a task. True: another member has it now. */
function replace({ graph, directory, roles, defaultRole }: EditParts, entry: TaskEntry, task: Subtask): boolean {
  const role = roles.find(task.role ?? defaultRole)!
  const isElse = role.role !== entry.role.role
  entry.task = task
  entry.estimate = task.estimate
  entry.reviewed = entry.approved = entry.unblocked = false
  if (!isElse) return false
  directory.move(entry.member, 'cancelled')
  entry.role = role
  entry.member = directory.newId(role.role, false, (id) => graph.get(id) !== undefined)
  return true
}

function addedEntry({ graph, directory, roles, defaultRole }: EditParts, task: Subtask): TaskEntry {
  const role = roles.find(task.role ?? defaultRole)!
  const entry = newEntry(
    task,
    role,
    directory.newId(role.role, false, (id) => graph.get(id) !== undefined),
  )
  graph.add(entry)
  return entry
}
