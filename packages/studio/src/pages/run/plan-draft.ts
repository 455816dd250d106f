/**
 * Plan draft: the plan of a team as a person who has the run changes it, until it is handed back.
 *
 * Owns: what was changed, as an edit of the server, as sentences, and what may be changed. Does not own: whether the plan
 * still makes sense, which the server says (`plan.invalid`). Pure.
 */
import type { HandBack } from '@reeve/server/wire'

/** What the draft knows of a task: as in the context of a takeover. */
export interface PlannedStep {
  readonly id: string
  readonly description: string
  readonly role: string
  readonly status: string
  readonly dependencies: readonly string[]
  readonly produces: readonly string[]
  readonly consumes: readonly string[]
  readonly critical: boolean
  /** How humans look at it: kept when the task is changed, or a change would loosen the oversight. */
  readonly gates?: TaskGates
}

/** A plan as it is. */
export interface PlanAsIs {
  readonly subtasks: readonly PlannedStep[]
  readonly concurrency: number
  readonly maxFailures: number
}

/** A task of the draft. `origin`: the id that it had. Absent: it is new. */
export interface DraftTask {
  readonly key: string
  readonly origin?: string
  readonly id: string
  readonly description: string
  readonly role: string
  readonly dependencies: readonly string[]
  readonly critical: boolean
  /** It has begun or ended: it cannot be changed any more. */
  readonly begun: boolean
  readonly status: string
}

export interface PlanDraft {
  readonly tasks: readonly DraftTask[]
  readonly removed: readonly string[]
  readonly concurrency: number
  readonly maxFailures: number
}

/** An edit as a run is handed back with it. */
type PlanEdit = NonNullable<HandBack['plan']>
type EditedTask = NonNullable<PlanEdit['add']>[number]
/** The gates of a task, as a plan writes them. */
export type TaskGates = Pick<EditedTask, 'action' | 'risk' | 'required' | 'requiresApproval' | 'review' | 'mode'>

const changeable: ReadonlySet<string> = new Set(['pending', 'waiting', 'awaiting_approval'])

export const draftOf = ({ subtasks, concurrency, maxFailures }: PlanAsIs): PlanDraft => ({
  tasks: subtasks.map(({ id, description, role, dependencies, critical, status }) => ({
    key: id,
    origin: id,
    id,
    description,
    role,
    dependencies,
    critical,
    begun: !changeable.has(status),
    status,
  })),
  removed: [],
  concurrency,
  maxFailures,
})

/** A new task at the end, with a name that is not taken. */
export function withTask(draft: PlanDraft, role: string): PlanDraft {
  const taken = new Set([...draft.tasks.map(({ id }) => id), ...draft.removed])
  let n = draft.tasks.length + 1
  while (taken.has(`task-${n}`)) n++
  const id = `task-${n}`
  const task = {
    key: `new-${id}`,
    id,
    description: '',
    role,
    dependencies: [],
    critical: false,
    begun: false,
    status: 'new',
  }
  return { ...draft, tasks: [...draft.tasks, task] }
}

export const withChange = (
  draft: PlanDraft,
  key: string,
  change: Partial<Pick<DraftTask, 'id' | 'description' | 'role' | 'dependencies' | 'critical'>>,
): PlanDraft => {
  const before = draft.tasks.find((task) => task.key === key)
  const renamed = before !== undefined && change.id !== undefined && before.origin === undefined ? before.id : undefined
  return {
    ...draft,
    tasks: draft.tasks.map((task) => {
      if (task.key === key) return { ...task, ...change }
      // who depends on a new task keeps depending on it under its new name
      return renamed === undefined || !task.dependencies.includes(renamed)
        ? task
        : { ...task, dependencies: task.dependencies.map((each) => (each === renamed ? change.id! : each)) }
    }),
  }
}

/** Without a task; others no longer depend on it, but on what it depended on. */
export function withoutTask(draft: PlanDraft, key: string): PlanDraft {
  const gone = draft.tasks.find((task) => task.key === key)
  if (gone === undefined || gone.begun) return draft
  return {
    ...draft,
    removed: gone.origin === undefined ? draft.removed : [...draft.removed, gone.origin],
    tasks: draft.tasks
      .filter((task) => task.key !== key)
      .map((task) =>
        task.begun || !task.dependencies.includes(gone.id)
          ? task
          : {
              ...task,
              dependencies: [
                ...new Set(task.dependencies.flatMap((each) => (each === gone.id ? gone.dependencies : [each]))),
              ],
            },
      ),
  }
}

/**
 * A new task one place earlier or later among the new ones. The order of a plan is that of its dependencies; among tasks
 * that could begin at once the first one does, and those of the plan keep their places.
 */
export function moved(draft: PlanDraft, key: string, by: -1 | 1): PlanDraft {
  const at = draft.tasks.findIndex((task) => task.key === key)
  const other = at + by
  const [one, two] = [draft.tasks[at], draft.tasks[other]]
  if (one === undefined || two === undefined || one.origin !== undefined || two.origin !== undefined) return draft
  const tasks = [...draft.tasks]
  tasks[at] = two
  tasks[other] = one
  return { ...draft, tasks }
}

/** Tasks that a task may depend on: all but itself and those that need it already. */
export function possibleDependencies(draft: PlanDraft, key: string): readonly string[] {
  const self = draft.tasks.find((task) => task.key === key)
  if (self === undefined) return []
  const needs = new Set([self.id])
  for (let grown = true; grown;) {
    grown = false
    for (const task of draft.tasks)
      if (!needs.has(task.id) && task.dependencies.some((each) => needs.has(each))) {
        needs.add(task.id)
        grown = true
      }
  }
  return draft.tasks.map(({ id }) => id).filter((id) => !needs.has(id))
}

const same = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each, i) => each === other[i])

const isReplaced = (task: DraftTask, before: PlannedStep): boolean =>
  task.description !== before.description ||
  task.critical !== before.critical ||
  !same(task.dependencies, before.dependencies)

/** The edit that makes the plan the draft. Undefined: nothing was changed. */
export function editOf(plan: PlanAsIs, draft: PlanDraft): PlanEdit | undefined {
  const before = new Map(plan.subtasks.map((step) => [step.id, step]))
  const edited = (task: DraftTask): EditedTask => {
    const kept = task.origin === undefined ? undefined : before.get(task.origin)
    return {
      id: task.id,
      description: task.description,
      ...(task.role === '' ? {} : { role: task.role }),
      dependencies: task.dependencies,
      ...(task.critical ? { critical: true } : {}),
      ...kept?.gates,
      ...(kept === undefined || kept.produces.length === 0 ? {} : { produces: kept.produces }),
      ...(kept === undefined || kept.consumes.length === 0 ? {} : { consumes: kept.consumes }),
    }
  }
  const add = draft.tasks.filter(({ origin }) => origin === undefined).map(edited)
  const open = draft.tasks.flatMap((task) => {
    const was = task.origin === undefined || task.begun ? undefined : before.get(task.origin)
    return was === undefined ? [] : [{ task, was }]
  })
  const replace = open.filter(({ task, was }) => isReplaced(task, was)).map(({ task }) => edited(task))
  const roles = open.filter(({ task, was }) => !isReplaced(task, was) && task.role !== was.role)
  const edit: PlanEdit = {
    ...(add.length === 0 ? {} : { add }),
    ...(replace.length === 0 ? {} : { replace }),
    ...(draft.removed.length === 0 ? {} : { remove: draft.removed }),
    ...(roles.length === 0 ? {} : { roles: Object.fromEntries(roles.map(({ task }) => [task.id, task.role])) }),
    ...(draft.concurrency === plan.concurrency ? {} : { concurrency: draft.concurrency }),
    ...(draft.maxFailures === plan.maxFailures ? {} : { maxFailures: draft.maxFailures }),
  }
  return Object.keys(edit).length === 0 ? undefined : edit
}

/** The edit in words, one sentence for each change. */
export function changesOf(plan: PlanAsIs, draft: PlanDraft): readonly string[] {
  const before = new Map(plan.subtasks.map((step) => [step.id, step]))
  const behind = (ids: readonly string[]): string => (ids.length === 0 ? 'nothing' : ids.join(', '))
  return [
    ...draft.removed.map((id) => `Remove ${id}.`),
    ...draft.tasks.flatMap((task) => {
      if (task.origin === undefined)
        return [`Add ${task.id}${task.role === '' ? '' : ` for ${task.role}`}, after ${behind(task.dependencies)}.`]
      const was = before.get(task.origin)!
      if (task.begun) return []
      return [
        ...(task.description === was.description ? [] : [`Change what ${task.id} is about.`]),
        ...(task.role === was.role ? [] : [`Give ${task.id} to ${task.role} instead of ${was.role}.`]),
        ...(same(task.dependencies, was.dependencies)
          ? []
          : [`Let ${task.id} wait for ${behind(task.dependencies)} instead of ${behind(was.dependencies)}.`]),
        ...(task.critical === was.critical
          ? []
          : [task.critical ? `The plan fails if ${task.id} fails.` : `The plan may go on if ${task.id} fails.`]),
      ]
    }),
    ...(draft.concurrency === plan.concurrency
      ? []
      : [`${draft.concurrency} may work at once instead of ${plan.concurrency}.`]),
    ...(draft.maxFailures === plan.maxFailures
      ? []
      : [`Give up at ${draft.maxFailures} failed tasks instead of ${plan.maxFailures}.`]),
  ]
}
