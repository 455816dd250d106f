/**
 * Stopping one delegation from outside: the run goes on without it.
 *
 * Owns: who leads it, the error for each way in which a stop comes to nothing. Does not own: what its name means
 * (find-work.ts), hearing it (oversight/control/stop.ts, supervisor/worker/watch.ts).
 * K2: the stop is a message to the leader, so any process may ask for it, and the leader hears it in recorded order.
 * Whenever an error is thrown here, nothing was changed.
 */
import { delegationOf, isObject, parentOf, ReeveError, type ActivationId, type RunId } from '../../core/index.ts'
import type { Engine } from '../../engine/index.ts'
import type { DelegationView, Recorded, RunView } from '../../journal/index.ts'
import { find, type PlannedTask } from './find-work.ts'
import { stoppedBy, stopMessage } from '../../oversight/index.ts'
import { wholeFeed } from '../feed/whole-feed.ts'

/** Which delegation is to be stopped, and what its leader is told. */
export interface StopDelegation {
  /**
   * The worker's activation; or the model's id of the call, also of one that has not begun, and of several under one id
   * the last; or its leader's name for it, `d1`, as long as one leader alone has an open delegation of that name. Of a
   * planned team: the task that somebody works on, or who does, as long as one alone is called so.
   */
  readonly delegation: string
  readonly reason?: string
  /** Who asks for it. */
  readonly by?: string
}

const fields: ReadonlySet<string> = new Set(['delegation', 'reason', 'by'])

function mustBeStop(given: unknown): asserts given is StopDelegation {
  const problem = !isObject(given)
    ? 'a stop is an object { delegation, reason?, by? }'
    : typeof given['delegation'] !== 'string' || given['delegation'] === ''
      ? 'a stop must name its delegation: the activation of the worker, the id of the call, or its name, d1'
      : Object.entries(given)
          .map(([name, value]) =>
            !fields.has(name)
              ? `a stop has no field "${name}"`
              : value !== undefined && typeof value !== 'string'
                ? `${name} must be a text`
                : undefined,
          )
          .find((each) => each !== undefined)
  if (problem !== undefined) throw new ReeveError('input.invalid', problem)
}

/**
 * Asks the leader of a delegation to stop it. Resolves when that is durable; the end follows, as the delegation's
 * outcome.
 */
export async function stopDelegation(
  { engine, run }: { readonly engine: Engine; readonly run: RunId },
  given: StopDelegation,
): Promise<void> {
  mustBeStop(given)
  const found = leaderOf(await wholeFeed(engine, run), given.delegation)
  if (found === 'ended') throw ended(given.delegation)
  if (found === undefined)
    throw new ReeveError('delegation.unknown', `there is no delegation "${given.delegation}" in the run "${run}"`, {
      hint: 'Name it as reeve show <run> and run.delegations() do.',
    })
  const { leader, delegation } = found
  const body = stopMessage({ delegation, reason: stoppedBy(given.reason, given.by) })
  // one key for one delegation: a second stop changes nothing
  const result = await engine.post({ type: 'message', activation: leader, id: `stop:${delegation}`, body })
  if (result !== 'accepted' && result !== 'lost') throw ended(given.delegation)
}

const ended = (delegation: string): ReeveError =>
  new ReeveError('delegation.ended', `the delegation "${delegation}" has ended`, {
    hint: 'Its outcome is final; nothing was changed.',
  })

const severalCalled = (name: string, open: readonly DelegationView[]): ReeveError =>
  new ReeveError(
    'input.invalid',
    `several leaders have an open delegation called "${name}": ${open.map(whichOne).join(', ')}`,
    {
      hint: 'Name the activation, or the id of the call. Nothing was changed.',
    },
  )

const whichOne = ({ worker, activation, callId, leader }: DelegationView): string =>
  `${activation ?? `the call ${callId ?? '?'} of ${leader}`} ("${worker}")`

interface Led {
  readonly leader: ActivationId
  /** What its leader knows it by. */
  readonly delegation: string
}

/** Who leads the delegation of this name; undefined if there is none. */
function leaderOf(events: readonly Recorded[], name: string): Led | 'ended' | undefined {
  const found = find(events, name)
  const { view, works } = found
  const isOpen = ({ leader, status, activation }: DelegationView): boolean => {
    const goesOn =
      status === 'pending' || works(activation) || (activation !== undefined && triesAgain(view, leader, activation))
    return works(leader) && goesOn
  }
  const rows = found.delegations('call', 'activation')
  const open = rows.findLast(isOpen)
  if (open !== undefined) {
    // a call may stand for several workers, labelled after it: d1.1, d1.2
    const label = open.activation === name || open.label === undefined ? open.label : delegationOf(open.label)
    return { leader: open.leader, delegation: label ?? open.activation ?? name }
  }
  // workers of code, of flows and of tools have no label
  const leader = parentOf(name as ActivationId)?.parent
  if (leader !== undefined && works(leader) && works(name as ActivationId)) return { leader, delegation: name }
  const called = found.delegations('label', 'group')
  const labelled = called.filter(isOpen)
  const [first, ...others] = labelled
  if (others.some((other) => other.leader !== first?.leader)) throw severalCalled(name, labelled)
  if (first !== undefined) return { leader: first.leader, delegation: name }
  const planned = plannedAt(found.tasks('task', 'member'), name)
  if (planned !== undefined) return planned
  return rows.length + called.length > 0 || found.isActivation ? 'ended' : undefined
}

/** The one of these tasks that a member works on. */
function plannedAt(called: readonly PlannedTask[], name: string): Led | 'ended' | undefined {
  const [atWork, ...others] = called.filter(({ status }) => status === 'running' || status === 'awaiting_approval')
  if (others.length > 0) throw severalAtWork(name, [atWork!, ...others])
  if (atWork !== undefined) return { leader: atWork.team, delegation: name }
  const open = called.find(({ endedAt }) => endedAt === undefined)
  if (open !== undefined) throw notAtWork(name, open)
  return called.length > 0 ? 'ended' : undefined
}

const severalAtWork = (
  name: string,
  tasks: readonly { readonly task: string; readonly activation?: ActivationId }[],
): ReeveError =>
  new ReeveError(
    'input.invalid',
    `several teams have somebody at work who is, or whose task is, called "${name}": ${tasks.map(({ task, activation }) => `${activation ?? '?'} ("${task}")`).join(', ')}`,
    { hint: 'Name the activation. Nothing was changed.' },
  )

const notAtWork = (
  name: string,
  { task, member, status }: { readonly task: string; readonly member: string; readonly status: string },
): ReeveError =>
  new ReeveError('delegation.unknown', `nobody works on the task "${task}" now: it is ${status}`, {
    hint: `A task is stopped while somebody works on it ("${name}"); run.team.retire lets "${member}" go before. Nothing was changed.`,
  })

/** Whether a worker has ended and another attempt is about to be made: its timer stands beside it. */
function triesAgain(view: RunView, leader: ActivationId, worker: ActivationId): boolean {
  const address = parentOf(worker)?.address ?? ''
  const timer = `${address.slice(0, address.lastIndexOf('/') + 1)}retry`
  const open = view.activations.find(({ activation }) => activation === leader)?.open ?? []
  return open.some((each) => each.kind === 'timer' && (each.address === timer || each.address.startsWith(`${timer}#`)))
}
