/**
 * Validation of a plan before any task begins: all its problems at once (spec team R-2, R-3). Pure.
 *
 * Owns: what makes a plan impossible (`problems`) or doubtful (`warnings`), who has which role, and the plan as it is
 * carried out then. Does not own: the types of its fields (plan-parser.ts), what a planner is told of it (planner.ts).
 */
import { isObject, meantInstead, nearest } from '@reeve/core'
import { howToLift, type Limits, type Oversight } from '@reeve/edge'
import { cyclesOf } from './cycles.ts'
import { taskApprovalProblems, onlyStricter, oversightOf } from './task-oversight.ts'
import type { Plan, Subtask } from './plan.ts'
import { fieldOf } from './fields.ts'
import { called, readPlan, type Notes, type RequestFiles } from './plan-parser.ts'
import { generalist, type RoleBook } from './roles.ts'

/** A plan that was looked at. It is carried out only if there are no problems. */
export interface Validated {
  /**
   * Ids without white space around them, every task with its role, lists without doubles, estimates that are numbers.
   */
  readonly plan: Plan & { readonly complexity: number }
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
  /** It is no plan at all: there is nothing that could be read. */
  readonly unreadable: boolean
}

/** What else there is to know of a plan. */
export interface PlanSurroundings {
  /** The role of tasks that name none. Default `generalist`. */
  readonly defaultRole?: string | undefined
  /**
   * A model wrote the plan: what it says of oversight holds only where that makes humans look more closely. Default:
   * code or a person did.
   */
  readonly author?: 'model' | undefined
  /**
   * What becomes of unknown fields. Default `warned`, since models invent them; in code they are mistakes.
   */
  readonly unknownFields?: 'warned' | 'refused' | undefined
  /** Tasks that are there already: the plan adds to them. */
  readonly existing?: readonly Subtask[] | undefined
  /** Ids of tasks that have ended: they wait for nothing any more, so a later round may build on them. */
  readonly ended?: ReadonlySet<string> | undefined
  /** The files of the request, which tasks may name. Default: there are none. */
  readonly files?: RequestFiles | undefined
  /** The limits of the team's edge: they say how many tasks there may be. */
  readonly limits?: Limits | undefined
  /** What holds for the team. */
  readonly oversight?: Oversight | undefined
}

/** Ids that are told of at once. */
const mostTold = 10
/** From here on a plan should have tasks. */
const notSimple = 0.3

/**
 * Looks at what a planner has given. Whose work a task is: the place in `agentTypes`, else its own `role`, else the
 * default one (R-3).
 */
export function validatePlan(given: unknown, roles: RoleBook, around: PlanSurroundings = {}): Validated {
  const notes: Notes = { problems: [], warnings: [], unknown: [] }
  const { problems, warnings } = notes
  const nothing = { subtasks: [], complexity: 1 }
  // before it is read: reading it takes as long as it is
  const excess = tooManyTasks(given, around)
  if (excess !== undefined) return { plan: nothing, problems: [excess], warnings, unreadable: false }
  // a model is not told of the field where there is nothing to name
  const { files = new Map() } = around
  const read = readPlan(given, notes, files.size > 0 || around.unknownFields === 'refused' ? files : undefined)
  if (read === undefined) return { plan: nothing, problems, warnings, unreadable: true }
  if (around.unknownFields === 'refused') problems.push(...notes.unknown.map(({ sentence }) => sentence))
  else warnings.push(...notes.unknown.flatMap(({ sentence, understood }) => (understood ? [] : [sentence])))
  const { agentTypes, subtasks: listed, ...facts } = read
  if (around.author === 'model' && listed.length === 0 && problems.length === 0 && facts.complexity >= notSimple)
    warnings.push(`the plan has no tasks, and a complexity of ${facts.complexity}: the whole question is its one task`)
  const subtasks = listed
    .map((task, i) => (around.author === 'model' ? onlyStricter(task, called(task.id, i), warnings) : task))
    .map((task, i) => ({ ...task, role: agentTypes[i] ?? task.role ?? around.defaultRole ?? generalist }))
    .map((task, i) => withoutParameters(task, i, notes))
  const superfluous = agentTypes.length - subtasks.length
  if (superfluous > 0)
    notes.warnings.push(
      `agentTypes has ${agentTypes.length} roles for ${counted(subtasks.length)}: the last ${superfluous} are ignored`,
    )
  const all = [...(around.existing ?? []), ...subtasks]
  checkIds(subtasks, around.existing ?? [], notes)
  checkDependencies(subtasks, all, notes)
  for (const cycle of cyclesOf(waits(all, around.ended)))
    notes.problems.push(`tasks wait for each other: ${cycle.join(' > ')}`)
  checkTopics(subtasks, all, notes)
  checkRoles(subtasks, roles, notes)
  for (const [place, task] of subtasks.entries()) {
    const oversight = oversightOf(task, around.oversight, roles.find(task.role)?.oversight)
    problems.push(...taskApprovalProblems(task, oversight, called(task.id, place)))
  }
  return { plan: { ...facts, subtasks }, problems, warnings, unreadable: false }
}

function tooManyTasks(given: unknown, { limits, existing = [] }: PlanSurroundings): string | undefined {
  const most = limits?.tasks
  const subtasks = isObject(given) ? fieldOf(given, 'subtasks') : undefined
  if (most === undefined || !Array.isArray(subtasks) || existing.length + subtasks.length <= most) return undefined
  const there = existing.length === 0 ? '' : `, and ${existing.length} are there already`
  return `the plan has ${counted(subtasks.length)}${there}; ${most} are allowed in all (${howToLift('tasks', most)})`
}

const counted = (tasks: number): string => `${tasks} task${tasks === 1 ? '' : 's'}`

/** What a tool is to be called with cannot be known before what it depends on has ended. */
function withoutParameters<Task extends Subtask>(task: Task, place: number, notes: Notes): Task {
  if (task.toolParameters === undefined || (task.dependencies ?? []).length === 0) return task
  notes.warnings.push(`${called(task.id, place)} depends on others, so its toolParameters are left out`)
  const { toolParameters: _toolParameters, ...rest } = task
  return rest as Task
}

function checkIds(subtasks: readonly Subtask[], existing: readonly Subtask[], { problems }: Notes): void {
  const counts = new Map<string, number>()
  for (const { id } of subtasks) counts.set(id, (counts.get(id) ?? 0) + 1)
  counts.delete('')
  for (const [id, count] of counts)
    if (count > 1) problems.push(`${count === 2 ? 'two' : count} tasks have the id "${id}"`)
  for (const { id } of existing) if (counts.has(id)) problems.push(`there is a task "${id}" already`)
}

function checkDependencies(subtasks: readonly Subtask[], all: readonly Subtask[], { problems, warnings }: Notes): void {
  const ids = new Set(all.map(({ id }) => id).filter((id) => id !== ''))
  for (const [place, { id, dependencies = [], consumes = [], onMissing }] of subtasks.entries()) {
    for (const other of dependencies) {
      if (other === id) problems.push(`task "${id}" depends on itself`)
      else if (!ids.has(other))
        problems.push(`${called(id, place)} depends on "${other}", and there is no such task${known(other, [...ids])}`)
    }
    for (const other of typeof onMissing === 'object' ? Object.keys(onMissing) : [])
      if (!dependencies.includes(other) && !consumes.includes(other))
        warnings.push(`${called(id, place)}: onMissing speaks of "${other}", which it does not depend on`)
  }
}

/** Which task may have been meant; for ids of a letter or two, and great plans, which there are. */
function known(name: string, ids: readonly string[]): string {
  const meant = name.length > 2 && ids.length <= 200 ? nearest(name, ids) : undefined
  if (meant !== undefined) return `: did you mean "${meant}"?`
  return ids.length === 0 ? '' : `; there are ${ids.slice(0, mostTold).join(', ')}${ids.length > mostTold ? ', …' : ''}`
}

/** By task: for which others it waits, by id or by topic. Those that have ended wait for none. */
function waits(
  all: readonly Subtask[],
  ended: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, readonly string[]> {
  const producers = producersOf(all)
  const map = new Map<string, string[]>(all.map(({ id }) => [id, []]))
  map.delete('')
  for (const { id, dependencies = [], consumes = [] } of all)
    for (const other of [...dependencies, ...consumes.flatMap((topic) => producers.get(topic) ?? [])])
      if (other !== id && map.has(other) && !ended.has(id)) map.get(id)?.push(other)
  return map
}

function producersOf(all: readonly Subtask[]): ReadonlyMap<string, readonly string[]> {
  const producers = new Map<string, string[]>()
  for (const { id, produces = [] } of all)
    for (const topic of produces) {
      const list = producers.get(topic)
      if (list === undefined) producers.set(topic, [id])
      else list.push(id)
    }
  return producers
}

function checkTopics(subtasks: readonly Subtask[], all: readonly Subtask[], { warnings }: Notes): void {
  const producers = producersOf(all)
  for (const [place, { id, consumes = [] }] of subtasks.entries())
    for (const topic of consumes)
      if (!(producers.get(topic) ?? []).some((each) => each !== id))
        warnings.push(`${called(id, place)} consumes "${topic}", which no other task produces: it is not waited for`)
}

function checkRoles(
  subtasks: readonly (Subtask & { readonly role: string })[],
  roles: RoleBook,
  { problems, warnings }: Notes,
): void {
  const strangers = new Map<string, string[]>()
  for (const [place, { id, role, input }] of subtasks.entries()) {
    const where = called(id, place)
    const found = roles.find(role)
    if (found === undefined) {
      const names = roles.list.map(({ name }) => name)
      const missing =
        role === generalist
          ? `it names no role, and there is no ${generalist} here`
          : `there is no role "${role}" here, and no ${generalist}`
      problems.push(`${where}: ${missing}${meantInstead(role, names, 'there are')}`)
      continue
    }
    const { agent, standsIn } = found
    if (standsIn) strangers.set(role, [...(strangers.get(role) ?? []), id])
    if (agent.inputSchema === undefined) continue
    if (input === undefined) problems.push(`${where}: "${role}" takes a typed input, and the task has none`)
    else {
      const checked = agent.inputSchema.check(input)
      if (!checked.ok) problems.push(`${where}: its input is not what "${role}" takes: ${checked.problem}`)
    }
  }
  for (const [role, ids] of strangers)
    warnings.push(`unknown role "${role}": the ${generalist} does the work (${ids.map((id) => `"${id}"`).join(', ')})`)
}
