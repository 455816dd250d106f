/**
 * The book of a team at work: every task, who has it, and where it is. Plan tasks in the order of the plan, then recruits in the order in which they came.
 *
 * Owns: the entries, who waits for whom, what a dependent is given. Does not own: when anything begins (work.ts), who is on the team (../staff). Pure but for being written to.
 * Spec team R-4 (order), R-6 (inputs by task id), R-8 (`join`).
 */
import { addUsage, copy, type Failure, type Json, type Outcome, type TaskResult, type TaskStatus, type Usage } from '../../core/index.ts'
import type { TaskInput } from '../../edge/index.ts'
import type { DependencyPolicy } from '../../journal/index.ts'
import type { Estimate, Subtask } from '../plan/plan.ts'
import type { RoleUse } from '../plan/roles.ts'

/** Who waits for a recruit. */
export type Join = 'parent' | 'run' | 'none'

/** A task and where it is. */
export interface Entry {
  /** Of the task; recruits are their own. */
  readonly id: string
  readonly task: Subtask
  readonly role: RoleUse
  readonly recruit?: { readonly by: string; readonly parent: string | undefined; readonly join: Join; readonly depth: number }
  readonly estimate: Estimate | undefined
  /** The id of whoever has it. */
  member: string
  status: TaskStatus
  /** How often somebody began it. */
  begun: number
  /** Tries in all, those of its steps included. */
  attempts: number
  /** The next attempt is to wait for its time. */
  backingOff: boolean
  output: Json | undefined
  failure: Failure | undefined
  reason: string | undefined
  missing: readonly string[]
  usage: Usage
}

export const hasEnded = ({ status }: Pick<Entry, 'status'>): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'skipped' || status === 'cancelled'

/** A task to which nothing has happened. */
export const newEntry = (task: Subtask, role: RoleUse, member: string, recruit?: NonNullable<Entry['recruit']>): Entry => ({
  id: task.id,
  task,
  role,
  ...(recruit === undefined ? undefined : { recruit }),
  estimate: task.estimate,
  member,
  status: 'pending',
  begun: 0,
  attempts: 0,
  backingOff: false,
  output: undefined,
  failure: undefined,
  reason: undefined,
  missing: [],
  usage: [],
})

export class Book {
  readonly #entries = new Map<string, Entry>()

  add(entry: Entry): void {
    this.#entries.set(entry.id, entry)
  }

  get(id: string): Entry | undefined {
    return this.#entries.get(id)
  }

  /** Whoever has a task, or had it. */
  ofMember(member: string): Entry | undefined {
    return this.all.find((each) => each.member === member)
  }

  /** In the order in which those that are ready begin. */
  get all(): readonly Entry[] {
    return [...this.#entries.values()].sort((one, other) => Number(one.recruit !== undefined) - Number(other.recruit !== undefined))
  }

  get planned(): readonly Entry[] {
    return this.all.filter(({ recruit }) => recruit === undefined)
  }

  /** All that a task waits for by id: its dependencies, and the recruits who join them. */
  before({ id, task }: Entry): readonly Entry[] {
    const found = new Map<string, Entry>()
    for (const dependency of task.dependencies ?? []) {
      const entry = this.#entries.get(dependency)
      if (entry !== undefined) found.set(dependency, entry)
    }
    for (const each of this.#entries.values()) {
      const { recruit } = each
      if (recruit?.join === 'parent' && recruit.parent !== undefined && found.has(recruit.parent) && each.id !== id)
        found.set(each.id, each)
    }
    return [...found.values()]
  }

  /** The other tasks that add entries to a topic. */
  producers(topic: string, { id }: Entry): readonly Entry[] {
    return this.all.filter((each) => each.id !== id && each.task.produces?.includes(topic) === true)
  }

  /** What a dependent is given, by task: copies. `all`: of everybody who has ended, not only of those it depends on. */
  inputs(entry: Entry, all: boolean): Readonly<Record<string, TaskInput>> {
    const ended = all ? this.all.filter((each) => each.id !== entry.id && hasEnded(each)) : this.before(entry)
    return Object.fromEntries(ended.map((each) => [each.id, inputOf(each)]))
  }

  results(): readonly TaskResult[] {
    return this.all.map(resultOf)
  }
}

/** The policy of a task towards one that it waits for. */
export function policyTowards({ task }: Entry, id: string, common: DependencyPolicy): DependencyPolicy {
  const { onMissing } = task
  return typeof onMissing === 'string' ? onMissing : (onMissing?.[id] ?? common)
}

function inputOf({ status, output, failure, usage }: Entry): TaskInput {
  const missing = status !== 'succeeded'
  return {
    status: missing ? 'missing' : status,
    ...(output === undefined ? undefined : { output: copy(output) }),
    ...(failure === undefined ? undefined : { failure }),
    usage,
  }
}

function resultOf({ id, member, role, status, attempts, output, failure, reason, recruit, usage }: Entry): TaskResult {
  return {
    task: id,
    member,
    role: role.role,
    status,
    attempts,
    ...(output === undefined ? undefined : { output }),
    ...(failure === undefined ? undefined : { failure }),
    ...(reason === undefined ? undefined : { reason }),
    ...(recruit === undefined ? undefined : { recruited: true as const }),
    usage,
  }
}

/** Takes the end of an attempt in: what it used counts, whatever became of it. */
export function used(entry: Entry, usage: Usage, outcome: Outcome): void {
  entry.usage = addUsage(entry.usage, usage)
  const tries = outcome.status === 'failed' ? outcome.failure.details?.['attempts'] : undefined
  entry.attempts += typeof tries === 'number' && tries > 0 ? tries : 1
}
