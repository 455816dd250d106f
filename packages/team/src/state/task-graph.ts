/**
 * The task graph of a team: every task, which member has it, where it stands, and what it waits for. Plan tasks in the
 * order of the plan, then recruits in the order in which they came.
 *
 * Owns: the entries, who waits for whom, what a dependent is given. Does not own: when anything begins (../schedule/scheduler.ts),
 * who is on the team (../staff). Pure but for being written to. Spec team R-4 (order), R-6 (inputs by task id), R-8
 * (`join`).
 */
import {
  addUsage,
  copy,
  present,
  type ActivationId,
  type Failure,
  type Json,
  type Outcome,
  type TaskResult,
  type TaskStatus,
  type Usage,
} from '@reeve/core'
import type { TaskInput } from '@reeve/edge'
import type { DependencyPolicy, PlanAborted } from '@reeve/journal'
import type { Estimate, Subtask } from '../plan/plan.ts'
import type { RoleUse } from '../plan/roles.ts'

/** Who waits for a recruit. */
export type Join = 'parent' | 'run' | 'none'

/** What a member that begins again is told. */
export interface Rework {
  readonly feedback: string
  /** What came of it before. Absent: work had not begun. */
  readonly before?: Json
}

/** A task and where it is. */
export interface TaskEntry {
  /** Of the task; recruits are their own. */
  readonly id: string
  /** As it is carried out: a human may have edited it. */
  task: Subtask
  role: RoleUse
  readonly recruit?: {
    /** Who asked, as they call themselves. */
    readonly by: string
    /** The member who asked; undefined if it was none. */
    readonly asker: string | undefined
    readonly parent: string | undefined
    readonly join: Join
    readonly depth: number
  }
  estimate: Estimate | undefined
  /** Where it stands among the tasks of the plan, or among the recruits. The graph sets it. */
  place: number
  /** The id of its member. */
  member: string
  status: TaskStatus
  /** How often it was begun. */
  begun: number
  /** How many of these do not count against the retries, because the member was retired. */
  uncounted: number
  /** Tries in all, those of its steps included. */
  attempts: number
  /** The check whether an approver must see the task before it begins is done, and the task may begin. */
  reviewed: boolean
  /** Until when the approval of that check is valid, in milliseconds since 1970. Undefined: without a limit. */
  reviewedUntil: number | undefined
  /** What a human has changed of it, or said, before it began: a sentence for its member. */
  note: string | undefined
  /** An approver has allowed it, for one start. */
  approved: boolean
  /** It is recorded that all its dependencies are met. */
  unblocked: boolean
  /** How often it was to be done again after its end. */
  reopened: number
  /** What the next attempt, and those after it, do differently. */
  rework: Rework | undefined
  /** The next attempt is to wait for its time. */
  backingOff: boolean
  /** After whom the next attempt at it comes. */
  after: ActivationId | undefined
  /** An approver wants something else of that attempt. */
  sentBack: { readonly repeat: readonly string[] } | undefined
  /** Its newest attempt. */
  last: ActivationId | undefined
  output: Json | undefined
  /** A human did it: under which name. */
  by: string | undefined
  failure: Failure | undefined
  reason: string | undefined
  missing: readonly string[]
  usage: Usage
}

export const hasEnded = ({ status }: Pick<TaskEntry, 'status'>): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'skipped' || status === 'cancelled'

/** A task to which nothing has happened. */
export const newEntry = (
  task: Subtask,
  role: RoleUse,
  member: string,
  recruit?: NonNullable<TaskEntry['recruit']>,
): TaskEntry => ({
  id: task.id,
  task,
  role,
  ...present({ recruit }),
  estimate: task.estimate,
  place: 0,
  member,
  status: 'pending',
  begun: 0,
  uncounted: 0,
  attempts: 0,
  reviewed: false,
  reviewedUntil: undefined,
  note: undefined,
  approved: false,
  unblocked: false,
  reopened: 0,
  rework: undefined,
  backingOff: false,
  after: undefined,
  sentBack: undefined,
  last: undefined,
  output: undefined,
  by: undefined,
  failure: undefined,
  reason: undefined,
  missing: [],
  usage: [],
})

export class TaskGraph {
  readonly #entries = new Map<string, TaskEntry>()
  #plan: TaskEntry[] = []
  readonly #recruits: TaskEntry[] = []
  /** All that ever came, as they came. */
  readonly #came: TaskEntry[] = []
  /** Both, in the order in which they begin; undefined: a task was added since. */
  #all: readonly TaskEntry[] | undefined
  readonly #dependents = new Map<string, TaskEntry[]>()
  readonly #joined = new Map<string, TaskEntry[]>()
  readonly #producers = new Map<string, TaskEntry[]>()
  readonly #consumers = new Map<string, TaskEntry[]>()

  add(entry: TaskEntry): void {
    const { id, recruit } = entry
    const own = recruit === undefined ? this.#plan : this.#recruits
    entry.place = (own.at(-1)?.place ?? -1) + 1
    own.push(entry)
    this.#came.push(entry)
    this.#entries.set(id, entry)
    this.#all = undefined
    this.#index(entry)
  }

  #index(entry: TaskEntry): void {
    const { task, recruit } = entry
    for (const dependency of new Set(task.dependencies)) listUnder(this.#dependents, dependency, entry)
    for (const topic of new Set(task.produces)) listUnder(this.#producers, topic, entry)
    for (const topic of new Set(task.consumes)) listUnder(this.#consumers, topic, entry)
    if (recruit?.join === 'parent' && recruit.parent !== undefined) listUnder(this.#joined, recruit.parent, entry)
  }

  /** A task of the plan that is not to be done any more: as if it had never been in it. */
  remove(entry: TaskEntry): void {
    this.#plan = this.#plan.filter((each) => each !== entry)
    if (this.#entries.get(entry.id) === entry) this.#entries.delete(entry.id)
    this.#all = undefined
  }

  /** Tasks have changed: who waits for whom is read anew. */
  reindex(): void {
    for (const lists of [this.#dependents, this.#joined, this.#producers, this.#consumers]) lists.clear()
    for (const entry of this.all) this.#index(entry)
  }

  get(id: string): TaskEntry | undefined {
    return this.#entries.get(id)
  }

  /** How many there are. It only grows. */
  get size(): number {
    return this.#came.length
  }

  /** Those that came after the first `count`, as they came. */
  since(count: number): readonly TaskEntry[] {
    return count === this.size ? [] : this.#came.slice(count)
  }

  /** The member that has or had a task. */
  ofMember(member: string): TaskEntry | undefined {
    return this.all.find((each) => each.member === member)
  }

  /** In the order in which those that are ready begin. */
  get all(): readonly TaskEntry[] {
    return (this.#all ??= [...this.#plan, ...this.#recruits])
  }

  get planned(): readonly TaskEntry[] {
    return this.#plan
  }

  get recruits(): readonly TaskEntry[] {
    return this.#recruits
  }

  /** All that a task waits for by id: its dependencies, and the recruits who join them. */
  before({ id, task }: TaskEntry): readonly TaskEntry[] {
    const found = new Set<TaskEntry>()
    for (const dependency of task.dependencies ?? []) {
      const entry = this.#entries.get(dependency)
      if (entry !== undefined) found.add(entry)
    }
    // Recruits of recruits, too: they join whom they are to help, and the set grows while it is walked.
    for (const each of found)
      for (const recruit of this.#joined.get(each.id) ?? []) if (recruit.id !== id) found.add(recruit)
    const list = [...found]
    return [
      ...list.filter(({ recruit }) => recruit === undefined),
      ...list.filter(({ recruit }) => recruit !== undefined),
    ]
  }

  /** Whom the end of a task may concern by id: those that depend on it, or on whom it joins. */
  after({ id, recruit }: TaskEntry): readonly TaskEntry[] {
    const own = this.#dependents.get(id) ?? []
    const parent =
      recruit?.join === 'parent' && recruit.parent !== undefined ? this.#entries.get(recruit.parent) : undefined
    return parent === undefined ? own : [...own, ...this.after(parent)]
  }

  /** The other tasks that add entries to a topic. */
  producers(topic: string, { id }: TaskEntry): readonly TaskEntry[] {
    return (this.#producers.get(topic) ?? []).filter((each) => each.id !== id)
  }

  /** The tasks that need an entry of a topic. */
  consumers(topic: string): readonly TaskEntry[] {
    return this.#consumers.get(topic) ?? []
  }

  /** What a dependent is given, by task: copies. `all`: of all ended tasks, not only of its dependencies. */
  inputs(entry: TaskEntry, all: boolean): Readonly<Record<string, TaskInput>> {
    const others = all ? this.all.filter((each) => each.id !== entry.id && hasEnded(each)) : []
    return Object.fromEntries([...new Set([...this.before(entry), ...others])].map((each) => [each.id, inputOf(each)]))
  }

  /** How many failed tasks count against the failure budget: those of the plan, and, if so, recruits. */
  failed(countRecruits: boolean): number {
    return (countRecruits ? this.all : this.#plan).filter(({ status }) => status === 'failed').length
  }

  /** What has failed, recruits too. */
  get failures(): PlanAborted['failures'] {
    return this.all.flatMap(({ id, status, failure }) =>
      status === 'failed' && failure !== undefined ? [{ task: id, failure }] : [],
    )
  }

  /** Whether only recruits without a waiter are left. */
  get hasOnlyExtras(): boolean {
    const isExtra = (each: TaskEntry): boolean => each.recruit?.join === 'none' && !hasEnded(each)
    return this.#recruits.some(isExtra) && this.all.every((each) => hasEnded(each) || isExtra(each))
  }

  results(): readonly TaskResult[] {
    return this.all.map(resultOf)
  }
}

/** In which order those that are ready begin: tasks of the plan, then recruits, each as they came. */
export const inOrder = (one: TaskEntry, other: TaskEntry): number =>
  Number(one.recruit !== undefined) - Number(other.recruit !== undefined) || one.place - other.place

function listUnder(lists: Map<string, TaskEntry[]>, name: string, entry: TaskEntry): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [entry])
  else list.push(entry)
}

/** The policy of a task towards one that it waits for. */
export function policyTowards({ task }: TaskEntry, id: string, common: DependencyPolicy): DependencyPolicy {
  const { onMissing } = task
  if (onMissing === undefined || typeof onMissing === 'string') return onMissing ?? common
  return (Object.hasOwn(onMissing, id) ? onMissing[id] : undefined) ?? common
}

function inputOf({ status, output, failure, usage }: TaskEntry): TaskInput {
  const input: TaskInput = {
    status: status === 'succeeded' ? status : 'missing',
    ...present({ output, failure }),
    usage,
  }
  return copy(input as unknown as Json) as unknown as TaskInput
}

/** What came of a task. */
export function resultOf({
  id,
  member,
  role,
  status,
  attempts,
  output,
  failure,
  reason,
  recruit,
  by,
  usage,
}: TaskEntry): TaskResult {
  return {
    task: id,
    member,
    role: role.role,
    status,
    attempts,
    ...present({ output, failure, reason }),
    ...(recruit === undefined ? undefined : { recruited: true as const }),
    ...present({ by }),
    usage,
  }
}

/** Takes the end of an attempt in: what it used counts, whatever became of it. */
export function used(entry: TaskEntry, usage: Usage, outcome: Outcome): void {
  entry.usage = addUsage(entry.usage, usage)
  const tries = outcome.status === 'failed' ? outcome.failure.details?.['attempts'] : undefined
  entry.attempts += typeof tries === 'number' && tries > 0 ? tries : 1
}
