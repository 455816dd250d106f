/**
 * Edits of a plan that is being carried out, by a human who has the run (spec team R-13).
 *
 * Owns: what an edit may say, and whether the plan as a whole still makes sense with it: everything that is wrong
 * at once. Does not own: carrying it out (../plan-edit.ts), the rules of plans (validate.ts). Pure.
 */
import {
  described,
  expects,
  isObject,
  jsonCheck,
  optionProblems,
  wholeNumber,
  type Check,
  type Checks,
  type Json,
} from '@reeve/core'
import { checkOutput } from '@reeve/agent'
import type { Limits, Oversight } from '@reeve/edge'
import type { Subtask } from './plan.ts'
import type { RequestFiles } from './plan-parser.ts'
import type { RoleBook } from './roles.ts'
import { validatePlan } from './validate.ts'

/** What is to become of a plan. All of it is done, or nothing. */
export interface PlanEdit {
  /** Tasks that are added. */
  readonly add?: readonly Subtask[]
  /**
   * New versions of tasks that have not begun: each replaces the one with its id. One that waits for its approval is
   * asked about anew.
   */
  readonly replace?: readonly Subtask[]
  /** Tasks to remove that have not begun. No remaining task may depend on them. */
  readonly remove?: readonly string[]
  /** Results of open tasks without a working member, by task, given by a human. */
  readonly results?: Readonly<Record<string, Json>>
  /** Roles of tasks that have not begun, by task. */
  readonly roles?: Readonly<Record<string, string>>
  /** Percent of the tasks that may fail, 0 to 100. */
  readonly tolerance?: number
  /** At so many failed tasks the plan is given up, whatever is tolerated. */
  readonly maxFailures?: number
  /** How many may work at once. */
  readonly concurrency?: number
}

/** A task of the plan as it stands. */
export interface TaskStanding {
  readonly task: Subtask
  /** `new`: not begun, maybe waiting for its approval. `open`: begun, and no member works on it. */
  readonly state: 'new' | 'open' | 'at-work' | 'ended'
  /** An approver is asked about it. */
  readonly isAsked: boolean
  readonly recruited: boolean
}

/** An edit that was looked at. It is carried out only if there are no problems. */
export interface CheckedEdit {
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
  /** As they are carried out: with their roles. */
  readonly added: readonly Subtask[]
  readonly replaced: readonly Subtask[]
  readonly removed: readonly string[]
  readonly results: readonly (readonly [task: string, output: Json])[]
  readonly tolerance: number | undefined
  readonly maxFailures: number | undefined
  readonly concurrency: number | undefined
}

const tasksCheck = expects((given) => Array.isArray(given) && given.every(isObject), 'a list of tasks')
const byTaskCheck: Check = (given, where) =>
  isObject(given) ? jsonCheck(given, where) : [`${where} is ${described(given)}, expected an object by task`]
const checks: Checks<PlanEdit> = {
  add: tasksCheck,
  replace: tasksCheck,
  remove: expects(
    (given) => Array.isArray(given) && given.every((each) => typeof each === 'string'),
    'a list of tasks by their ids',
  ),
  results: byTaskCheck,
  roles: byTaskCheck,
  tolerance: wholeNumber(0, 100),
  maxFailures: wholeNumber(1),
  concurrency: wholeNumber(1),
}

/** What of an edit is sound. */
type SoundEdit = Omit<PlanEdit, 'add' | 'replace'> & {
  readonly [Name in 'add' | 'replace']?: readonly Record<string, unknown>[]
}
const soundIn = (given: unknown): SoundEdit =>
  Object.fromEntries(
    Object.entries(checks).flatMap(([name, check]: [string, Check]) => {
      const value: unknown = isObject(given) ? given[name] : undefined
      return value === undefined || check(value, name).length > 0 ? [] : [[name, value] as const]
    }),
  )

/** Looks at an edit, and at the whole plan as it would be. */
export function checkEdit(
  given: unknown,
  standing: readonly TaskStanding[],
  roles: RoleBook,
  around: {
    readonly defaultRole: string
    readonly oversight: Oversight | undefined
    readonly limits: Limits | undefined
    readonly files: RequestFiles
  },
): CheckedEdit {
  const problems = optionProblems(checks, given, 'the edit')
  const said = soundIn(given)
  const { add = [], replace = [], tolerance, maxFailures, concurrency } = said
  const removed = [...new Set(said.remove)]
  const results = Object.entries(said.results ?? {})
  const ofRoles = Object.entries(said.roles ?? {})
  const byId = new Map(standing.map((each) => [each.task.id, each]))
  const replacing = new Map(replace.map((each) => [idOf(each), each]))
  if (replacing.size < replace.length) problems.push('"replace" names a task twice')
  for (const id of [...replacing.keys(), ...removed, ...ofRoles.map(([id]) => id)])
    problems.push(...mustBeNew(id, byId.get(id)))
  for (const id of removed) if (replacing.has(id)) problems.push(`task "${id}" cannot be removed and replaced at once`)
  for (const [id] of results) problems.push(...mustBeOpen(id, byId.get(id), removed.includes(id), add))
  const tasks = standing
    .filter(({ task, recruited }) => !recruited && !removed.includes(task.id))
    .map(({ task }): Record<string, unknown> => replacing.get(task.id) ?? { ...task })
    .concat(add)
  for (const [id, role] of ofRoles) {
    if (typeof role !== 'string' || role.trim() === '')
      problems.push(`the role of "${id}" is ${described(role)}, expected a name`)
    const at = tasks.findIndex((task) => idOf(task) === id)
    if (at >= 0) tasks[at] = { ...tasks[at], role }
  }
  const existing = standing.filter(({ recruited }) => recruited).map(({ task }) => task)
  const ended = new Set(standing.flatMap(({ task, state }) => (state === 'ended' ? [task.id] : [])))
  const validated = validatePlan({ subtasks: tasks }, roles, { ...around, existing, ended, unknownFields: 'refused' })
  for (const [id, output] of results) {
    const role = validated.plan.subtasks.find((task) => task.id === id)?.role ?? around.defaultRole
    const fits = checkOutput(output, roles.find(role)?.agent.outputSchema)
    if (!fits.ok) problems.push(`the result of "${id}" does not fit the output of "${role}": ${fits.problem}`)
  }
  const changed = new Set([...replacing.keys(), ...ofRoles.map(([id]) => id)])
  return {
    problems: [...problems, ...validated.problems],
    warnings: validated.warnings,
    added: validated.plan.subtasks.slice(tasks.length - add.length),
    replaced: validated.plan.subtasks.slice(0, tasks.length - add.length).filter(({ id }) => changed.has(id)),
    removed,
    results,
    tolerance,
    maxFailures,
    concurrency,
  }
}

const idOf = (task: Readonly<Record<string, unknown>>): string =>
  typeof task['id'] === 'string' ? task['id'].trim() : ''

function mustBeNew(id: string, standing: TaskStanding | undefined): readonly string[] {
  if (standing === undefined) return [`there is no task "${id}"`]
  if (standing.recruited) return [`"${id}" is what a recruit does: run.team.retire lets them go`]
  return standing.state === 'new' ? [] : [`task "${id}" ${hasBegun(standing)}: it stays as it is`]
}

function hasBegun({ state, isAsked }: TaskStanding): string {
  if (state === 'ended') return 'has ended'
  return isAsked ? 'has begun and is waiting for approval' : 'has begun'
}

function mustBeOpen(
  id: string,
  standing: TaskStanding | undefined,
  isRemoved: boolean,
  add: readonly Readonly<Record<string, unknown>>[],
): readonly string[] {
  if (standing === undefined) return add.some((each) => idOf(each) === id) ? [] : [`there is no task "${id}"`]
  if (isRemoved) return [`task "${id}" is removed, so it can have no result`]
  if (standing.state === 'ended') return [`task "${id}" has ended: its result is final`]
  return standing.state === 'at-work' ? [`task "${id}" is at work: run.control.complete finishes it by hand`] : []
}
