/**
 * Edits of a plan that is being carried out, by a human who has the run (spec team R-13).
 *
 * Owns: what an edit may say, and whether the plan as a whole still makes sense with it (R-2): everything that is wrong
 * at once. Does not own: carrying it out (plan-edit.ts), the rules of plans (validate.ts). Pure.
 */
import { described, isObject, jsonProblem, unknownNames, type Json, type NamesOf } from '../../core/index.ts'
import { checkOutput } from '../../agent/index.ts'
import type { Limits, Oversight } from '../../edge/index.ts'
import type { Subtask } from './plan.ts'
import type { RoleBook } from './roles.ts'
import { validatePlan } from './validate.ts'

/** What is to become of a plan. All of it is done, or nothing. */
export interface PlanEdit {
  /** Tasks that are added. */
  readonly add?: readonly Subtask[]
  /** New versions of pending tasks: each replaces the one with its id. */
  readonly replace?: readonly Subtask[]
  /** Pending tasks to remove. No remaining task may depend on them. */
  readonly remove?: readonly string[]
  /** Results of open tasks without a working member, by task, given by a human. */
  readonly results?: Readonly<Record<string, Json>>
  /** Roles of pending tasks, by task. */
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
  /** `new`: not begun. `open`: begun, or under approval, and no member works on it. */
  readonly state: 'new' | 'open' | 'at-work' | 'ended'
  readonly recruited: boolean
}

/** An edit that was looked at. It is carried out only if there are no problems. */
export interface LookedAtEdit {
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

const names: NamesOf<PlanEdit> = {
  add: true,
  replace: true,
  remove: true,
  results: true,
  roles: true,
  tolerance: true,
  maxFailures: true,
  concurrency: true,
}

/** Looks at an edit, and at the whole plan as it would be. */
export function lookAtEdit(
  given: unknown,
  standing: readonly TaskStanding[],
  roles: RoleBook,
  around: {
    readonly defaultRole: string
    readonly oversight: Oversight | undefined
    readonly limits: Limits | undefined
  },
): LookedAtEdit {
  const problems = [...unknownNames(given, names, 'the edit')]
  const said: Readonly<Record<string, unknown>> = isObject(given) ? given : {}
  const list = (name: 'add' | 'replace'): readonly Record<string, unknown>[] => {
    const value = said[name]
    if (value === undefined) return []
    if (Array.isArray(value) && value.every(isObject)) return value
    problems.push(`"${name}" is ${described(value)}, expected a list of tasks`)
    return []
  }
  const [add, replace] = [list('add'), list('replace')]
  const removed = textsOf(said['remove'], problems)
  const results = Object.entries(recordOf(said['results'], 'results', problems)) as [string, Json][]
  const ofRoles = Object.entries(recordOf(said['roles'], 'roles', problems))
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
  const looked = validatePlan({ subtasks: tasks }, roles, { ...around, existing, ended, unknownFields: 'refused' })
  for (const [id, output] of results) {
    const role = looked.plan.subtasks.find((task) => task.id === id)?.role ?? around.defaultRole
    const fits = checkOutput(output, roles.find(role)?.agent.outputSchema)
    if (!fits.ok) problems.push(`the result of "${id}" does not fit the output of "${role}": ${fits.problem}`)
  }
  const changed = new Set([...replacing.keys(), ...ofRoles.map(([id]) => id)])
  const numbers = {
    tolerance: numberOf(said, 'tolerance', [0, 100], problems),
    maxFailures: numberOf(said, 'maxFailures', [1, Infinity], problems),
    concurrency: numberOf(said, 'concurrency', [1, Infinity], problems),
  }
  return {
    problems: [...problems, ...looked.problems],
    warnings: looked.warnings,
    added: looked.plan.subtasks.slice(tasks.length - add.length),
    replaced: looked.plan.subtasks.slice(0, tasks.length - add.length).filter(({ id }) => changed.has(id)),
    removed,
    results,
    ...numbers,
  }
}

const idOf = (task: Readonly<Record<string, unknown>>): string =>
  typeof task['id'] === 'string' ? task['id'].trim() : ''

function mustBeNew(id: string, standing: TaskStanding | undefined): readonly string[] {
  if (standing === undefined) return [`there is no task "${id}"`]
  if (standing.recruited) return [`"${id}" is what a recruit does: run.team.retire lets them go`]
  return standing.state === 'new'
    ? []
    : [`task "${id}" has ${standing.state === 'ended' ? 'ended' : 'begun'}: it stays as it is`]
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

function textsOf(value: unknown, problems: string[]): readonly string[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return [...new Set(value)]
  problems.push(`"remove" is ${described(value)}, expected a list of tasks by their ids`)
  return []
}

function recordOf(value: unknown, name: string, problems: string[]): Readonly<Record<string, unknown>> {
  if (value === undefined) return {}
  const problem = isObject(value)
    ? jsonProblem(value, name)
    : `"${name}" is ${described(value)}, expected an object by task`
  if (problem === undefined) return value as Readonly<Record<string, unknown>>
  problems.push(problem)
  return {}
}

function numberOf(
  said: Readonly<Record<string, unknown>>,
  name: 'tolerance' | 'maxFailures' | 'concurrency',
  [least, most]: readonly [number, number],
  problems: string[],
): number | undefined {
  const value = said[name]
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
  problems.push(
    `"${name}" is ${described(value)}, expected a whole number ${most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`}`,
  )
  return undefined
}
