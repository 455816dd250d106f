/**
 * Find: what an operator's name means in a run.
 *
 * Owns: the one meaning of a name for every command that takes one: the id of an activation or of a call, a leader's
 * label for a delegation (`d1`), a task of a plan, its member, a team; which of them a command acts on; the refusal of
 * a name that is unknown, or that several have. Does not own: what the command does (stop-delegation.ts, takeover.ts,
 * team-staff.ts, team-mail.ts), ids of questions (decisions.ts).
 * K1: the journal alone knows, so any process may ask. Pure. Where this throws, nothing was changed.
 */
import { delegationOf, ReeveError, rootActivation, type ActivationId } from '@reeve/core'
import {
  delegationsIn,
  isPauseAfter,
  viewOf,
  type DelegationsFold,
  type DelegationView,
  type IndexedActivation,
  type RunIndex,
  type TaskView,
} from '@reeve/journal'

/** A task, and the leader of the planned team that has it. */
type TeamTask = TaskView & { readonly team: ActivationId }

/** By which of its names a delegation is meant. `group`: the label that several share, `d1` of `d1.2`. */
const delegationNames = {
  call: ({ callId }, name) => callId === name,
  activation: ({ activation }, name) => activation === name,
  label: ({ label }, name) => label === name,
  group: ({ label }, name) => label !== undefined && delegationOf(label) === name,
} satisfies Record<string, (row: DelegationView, name: string) => boolean>

/** By which of its names a task is meant. `member`: the one that has it. */
const taskNames = {
  task: ({ task }, name) => task === name,
  member: ({ member }, name) => member === name,
} satisfies Record<string, (task: TeamTask, name: string) => boolean>

/** Everything in a run that goes by one name, ended or not, in the order of the journal. */
interface NamedWork {
  readonly name: string
  readonly index: RunIndex
  readonly delegations: (...by: (keyof typeof delegationNames)[]) => readonly DelegationView[]
  readonly tasks: (...by: (keyof typeof taskNames)[]) => readonly TeamTask[]
  /** The activation with this id. */
  readonly activation: IndexedActivation | undefined
  /** The names of what has not ended, for a refusal. */
  readonly known: readonly string[]
}

/** Everything that goes by this name. */
function find(fold: DelegationsFold, name: string): NamedWork {
  const view = viewOf(fold.run)
  const delegations = delegationsIn(fold, view)
  const activation = fold.index.activations.get(name as ActivationId)
  const tasks = view.teams.flatMap(({ activation, plan }) => plan.tasks.map((task) => ({ ...task, team: activation })))
  return {
    name,
    index: fold.index,
    delegations: (...by) => delegations.filter((row) => by.some((each) => delegationNames[each](row, name))),
    tasks: (...by) => tasks.filter((task) => by.some((each) => taskNames[each](task, name))),
    activation: activation?.isNotice === true ? undefined : activation,
    known: [
      ...delegations.flatMap(({ label, endedAt, failure }) =>
        label === undefined || endedAt !== undefined || failure !== undefined ? [] : [label],
      ),
      ...tasks.flatMap(({ task, endedAt }) => (endedAt === undefined ? [task] : [])),
    ],
  }
}

type Kind = 'delegation' | 'task' | 'team'

const several = (kind: Kind, name: string, which: readonly string[]): ReeveError =>
  new ReeveError('input.invalid', `several ${kind}s are called "${name}": ${which.join(', ')}`, {
    hint: 'Name the activation. Nothing was changed.',
  })

const unknown = (kind: Kind, name: string, { run }: RunIndex, known: readonly string[]): ReeveError =>
  new ReeveError(
    kind === 'team' ? 'input.invalid' : 'delegation.unknown',
    `unknown ${kind} "${name}" in the run "${run ?? ''}"; known: ${known.join(', ') || 'none that is open'}`,
    { hint: 'Name it as reeve show <run> does. Nothing was changed.' },
  )

/** A name whose work has ended. */
export const workEnded = (name: string): ReeveError =>
  new ReeveError('delegation.ended', `the work of "${name}" has ended`, {
    hint: 'Its outcome is final; nothing was changed.',
  })

/** Work that a leader can be asked to stop. */
export interface StoppableWork {
  readonly leader: ActivationId
  /** What its leader knows it by. */
  readonly delegation: string
}

/**
 * The work of this name that a leader can stop: a call or an activation, else a label, else a task or its member.
 * Throws `delegation.unknown`, `delegation.ended` and, where several are called so, `input.invalid`.
 */
export function workToStop(fold: DelegationsFold, name: string): StoppableWork {
  const found = find(fold, name)
  const { index, activation } = found
  const isOpen = (row: DelegationView): boolean =>
    index.works(row.leader) && (row.status === 'pending' || index.works(row.activation) || isTriedAgain(index, row))
  const rows = found.delegations('call', 'activation')
  const open = rows.findLast(isOpen)
  if (open !== undefined) {
    // a call may stand for several workers, labelled after it: d1.1, d1.2
    const label = open.activation === name || open.label === undefined ? open.label : delegationOf(open.label)
    return { leader: open.leader, delegation: label ?? open.activation ?? name }
  }
  // workers of code, of flows and of tools have no label
  if (index.works(activation?.id) && index.works(activation?.parent))
    return { leader: activation.parent, delegation: name }
  const called = found.delegations('label', 'group')
  const labelled = called.filter(isOpen)
  const [first, ...others] = labelled
  if (others.some((other) => other.leader !== first?.leader)) throw several('delegation', name, labelled.map(whichRow))
  if (first !== undefined) return { leader: first.leader, delegation: name }
  const tasks = found.tasks('task', 'member')
  const [atWork, ...more] = tasks.filter(isAtWork)
  if (more.length > 0) throw several('task', name, [atWork!, ...more].map(whichTask))
  if (atWork !== undefined) return { leader: atWork.team, delegation: name }
  const waiting = tasks.find(({ endedAt }) => endedAt === undefined)
  if (waiting !== undefined) throw notAtWork(waiting)
  if (rows.length + called.length + tasks.length > 0 || activation !== undefined) throw workEnded(name)
  throw unknown('delegation', name, index, found.known)
}

const whichRow = ({ worker, activation, callId, leader }: DelegationView): string =>
  `${activation ?? `the call ${callId ?? '?'} of ${leader}`} ("${worker}")`
const whichTask = ({ task, activation }: TeamTask): string => `${activation ?? '?'} ("${task}")`

const isAtWork = ({ status }: TeamTask): boolean => status === 'running' || status === 'awaiting_approval'

const notAtWork = ({ task, member, status }: TeamTask): ReeveError =>
  new ReeveError('delegation.unknown', `no member works on the task "${task}" now: it is ${status}`, {
    hint: `A task can be stopped while a member works on it; run.team.retire takes "${member}" off it before. Nothing was changed.`,
  })

/** Whether the attempt of this delegation has ended, and its leader pauses before the next one. */
function isTriedAgain({ activations }: RunIndex, { leader, activation }: DelegationView): boolean {
  if (activation === undefined) return false
  const open = [...(activations.get(leader)?.open.values() ?? [])]
  return open.some(({ event }) => event.type === 'timer.set' && isPauseAfter(event, activation))
}

/** Work that has not ended. */
export type OpenWork =
  /** A worker has begun it. */
  | { readonly type: 'at-work'; readonly activation: ActivationId }
  /** A task of a plan that no member works on. */
  | { readonly type: 'pending'; readonly team: ActivationId; readonly task: string }

/**
 * The open work of this name that a human can complete. `as`: what the name is meant to be of. Throws
 * `delegation.unknown`, `delegation.ended` and, where several are called so, `input.invalid`.
 */
export function workToComplete(fold: DelegationsFold, name: string, as: 'task' | 'delegation'): OpenWork {
  const found = find(fold, name)
  const { index } = found
  const tasks = as === 'task' ? found.tasks('task') : found.tasks('task', 'member')
  const rows = as === 'task' ? [] : found.delegations('call', 'label')
  const named = as === 'task' ? undefined : found.activation?.id
  const workers = [
    named,
    ...rows.map((row) => row.activation),
    ...tasks.filter(isAtWork).map((task) => task.activation),
  ]
  const atWork = [...new Set(workers)].filter((id) => index.works(id))
  if (atWork.length > 1) throw several(as, name, atWork)
  const [activation] = atWork
  if (activation !== undefined) return { type: 'at-work', activation }
  const open = tasks.filter(({ endedAt, team }) => endedAt === undefined && index.works(team))
  if (open.length > 1)
    throw several(
      'task',
      name,
      open.map(({ team, task }) => `${team} ("${task}")`),
    )
  const [pending] = open
  if (pending !== undefined) return { type: 'pending', team: pending.team, task: pending.task }
  if (rows.some(({ status }) => status === 'pending'))
    throw new ReeveError('delegation.unknown', `no worker has begun the delegation "${name}" so far`, {
      hint: 'It waits for others to end; run.control.stop(), or reeve stop <run> <delegation>, calls it off. Nothing was changed.',
    })
  if (tasks.length + rows.length > 0 || found.activation !== undefined) throw workEnded(name)
  throw unknown(as, name, index, found.known)
}

/**
 * The planned team that is meant: by its activation, or by its agent if that leads one team alone; without a name the
 * root, else the only one at work, else the only one there was. Undefined: there is none so far. Throws `input.invalid`
 * where the name is unknown, or where several are meant.
 */
export function teamNamed(index: RunIndex, name: string | undefined): IndexedActivation | undefined {
  const teams = [...index.teams]
  if (name === undefined) {
    const root = index.run === undefined ? undefined : rootActivation(index.run)
    const found = teams.find(({ id }) => id === root) ?? only(teams)
    if (found !== undefined || teams.length === 0) return found
    throw new ReeveError(
      'input.invalid',
      `the run "${index.run ?? ''}" has several teams: ${teams.map(whichTeam).join(', ')}`,
      {
        hint: 'Name one of them by its activation. Nothing was changed.',
      },
    )
  }
  const called = teams.filter(({ agent }) => agent === name)
  const found = teams.find(({ id }) => id === name) ?? only(called)
  if (found !== undefined || teams.length === 0) return found
  if (called.length > 0) throw several('team', name, called.map(whichTeam))
  throw unknown('team', name, index, teams.map(whichTeam))
}

const only = (teams: readonly IndexedActivation[]): IndexedActivation | undefined => {
  const open = teams.filter(({ status }) => status === undefined)
  const [first, ...others] = open.length > 0 ? open : teams.slice(-1)
  return others.length === 0 ? first : undefined
}

const whichTeam = ({ id, agent, status }: IndexedActivation): string =>
  `${id} ("${agent}"${status === undefined ? '' : ', ended'})`
