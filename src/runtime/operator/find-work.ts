/**
 * Find work: what a name from outside means in a run.
 *
 * Owns: the one matching of a name to delegations, activations and tasks, for every command that takes one
 * (stop-delegation.ts, work-named.ts). Does not own: which of the matches a command takes, the error where none or
 * several are meant; teams (find-team.ts), ids of questions (decisions.ts).
 * K1: the journal alone knows. Pure.
 */
import { delegationOf, type ActivationId } from '../../core/index.ts'
import {
  delegationsOf,
  runView,
  type DelegationView,
  type Recorded,
  type RunView,
  type TaskView,
} from '../../journal/index.ts'

/** A task, and the planned team that has it. */
export type PlannedTask = TaskView & { readonly team: ActivationId }

/**
 * By which of its names a delegation is meant: the model's id of its call, its activation, its leader's label for it
 * (`d1`), or the label that it shares with others (`d1` of `d1.2`).
 */
const delegationNames = {
  call: ({ callId }, name) => callId === name,
  activation: ({ activation }, name) => activation === name,
  label: ({ label }, name) => label === name,
  group: ({ label }, name) => label !== undefined && delegationOf(label) === name,
} satisfies Record<string, (row: DelegationView, name: string) => boolean>

/** By which of its names a task is meant: its id, or the member that has it. */
const taskNames = {
  task: ({ task }, name) => task === name,
  member: ({ member }, name) => member === name,
} satisfies Record<string, (task: PlannedTask, name: string) => boolean>

/** Everything in a run that goes by one name, ended or not, in the order of the journal. */
export interface FoundWork {
  readonly view: RunView
  readonly delegations: (...by: (keyof typeof delegationNames)[]) => readonly DelegationView[]
  readonly tasks: (...by: (keyof typeof taskNames)[]) => readonly PlannedTask[]
  /** There is an activation of this name. */
  readonly isActivation: boolean
  /** Whether this activation has begun and not ended. */
  readonly works: (id: ActivationId | undefined) => id is ActivationId
}

/** Everything that goes by this name. */
export function find(events: readonly Recorded[], name: string): FoundWork {
  const view = runView(events)
  const delegations = delegationsOf(events)
  const tasks = view.teams.flatMap(({ activation, plan }) => plan.tasks.map((task) => ({ ...task, team: activation })))
  return {
    view,
    delegations: (...by) => delegations.filter((row) => by.some((each) => delegationNames[each](row, name))),
    tasks: (...by) => tasks.filter((task) => by.some((each) => taskNames[each](task, name))),
    isActivation: view.activations.some(({ activation }) => activation === name),
    works: (id): id is ActivationId =>
      view.activations.some(({ activation, outcome }) => activation === id && outcome === undefined),
  }
}
