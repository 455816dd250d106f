/**
 * The run index: which activations a run has, who began whom, what each has open, and which have ended.
 *
 * Owns: identity and state of every activation, open operations, the planned teams. Does not own: what a view shows of
 * them (fold.ts, transcript.ts, delegations.ts), what an operator's name means (../../runtime/operator/find.ts).
 * Holds: K1: the same events give the same index. It is fed once per event, and every fold of the same events asks it.
 * It is small: it keeps no inputs, outputs or messages, and an operation only while it is open.
 */
import {
  childActivation,
  isObject,
  parentOf,
  type ActivationId,
  type Json,
  type Outcome,
  type RunId,
} from '@reeve/core'
import {
  isNotice,
  pathOf,
  type ActivationStarted,
  type AskOpened,
  type JournalEvent,
  type Recorded,
  type StepOpened,
  type TimerSet,
  type WorkerStarted,
} from '../events/events.ts'

/** An operation that has begun and not ended: an effect, a worker, a question or a timer. */
export interface IndexedOperation {
  readonly event: StepOpened | WorkerStarted | AskOpened
  /** Where it began. */
  readonly position: number
  /** Milliseconds since 1970. */
  readonly since: number
  failedAttempts: number
  /** After a failed attempt: when the next one leaves, and the code of the failure. */
  nextAttempt: { readonly at: number; readonly after: string } | undefined
  /** It is not known whether the effect happened; an operator must say. */
  inDoubt: boolean
}

/** One activation, as far as all views need it. */
export interface IndexedActivation {
  readonly id: ActivationId
  readonly agent: string
  /** Of the code that drives it now. */
  version: string
  /** Its leader, which may be in another run. */
  readonly parent: ActivationId | undefined
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  /** It is placed apart, as the root of a child run. */
  readonly apart: boolean
  /** Control was handed to it, so its path is recorded; otherwise its leader gave it work. */
  readonly isHandedControl: boolean
  /** It sends a notice to people: no view shows it. */
  readonly isNotice: boolean
  /** Its own events are in another run, and were not taken in: its leader's events are all that is known of it. */
  readonly isOutline: boolean
  /** The leader's operation that began it. Absent for a root. */
  readonly begunBy: WorkerStarted | undefined
  /** The leader's label for the delegation: `d1`. Absent where no delegation began it. */
  readonly delegation: string | undefined
  /** Milliseconds since 1970. */
  readonly startedAt: number
  endedAt: number | undefined
  /** How it ended. Absent while it works. */
  status: Outcome['status'] | undefined
  /** Its open operations by address, in the order in which they began. */
  readonly open: Map<string, IndexedOperation>
}

/** What an event has changed in the index. */
export interface IndexChange {
  /** The activation of the event. Absent where its beginning was not taken in. */
  readonly here: IndexedActivation | undefined
  /** The operations that are not open any more since this event. */
  readonly closed: readonly IndexedOperation[]
}

const nothing: readonly IndexedOperation[] = []
const nowhere: IndexChange = { here: undefined, closed: nothing }

export class RunIndex {
  run: RunId | undefined
  /** The last position taken in. */
  position = 0
  /** It has begun workers that are placed apart: their events are in child runs. */
  hasChildRuns = false
  /** By id, in the order in which they began. */
  readonly activations = new Map<ActivationId, IndexedActivation>()
  /** The leaders of planned teams, in the order in which they made their plans. */
  readonly teams = new Set<IndexedActivation>()

  /** Takes in the next event. Undefined: it was taken in before, by its position. */
  take(recorded: Recorded): IndexChange | undefined {
    if (recorded.position <= this.position) return undefined
    this.position = recorded.position
    this.run ??= recorded.run
    const { activation, event } = recorded
    if (event.type === 'activation.started') return { here: this.#begin(recorded, event), closed: nothing }
    const here = this.activations.get(activation)
    return here === undefined ? nowhere : { here, closed: this.#change(here, recorded, event) }
  }

  /** Whether this activation has begun and not ended. */
  works(id: ActivationId | undefined): id is ActivationId {
    const activation = id === undefined ? undefined : this.activations.get(id)
    return activation !== undefined && activation.status === undefined
  }

  #begin({ activation: id, at }: Recorded, event: ActivationStarted): IndexedActivation {
    const place = parentOf(id)
    const leader = place === undefined ? undefined : this.activations.get(place.parent)
    const begunBy = place === undefined ? undefined : leader?.open.get(place.address)?.event
    return this.#add({
      id,
      agent: event.agent,
      version: event.version,
      parent: place?.parent,
      path: pathOf(event, leader?.path),
      apart: place?.apart === true,
      isHandedControl: event.path !== undefined,
      isNotice: isNotice(event.agent),
      isOutline: false,
      begunBy: begunBy?.op === 'worker' ? begunBy : undefined,
      delegation: labelIn(event.input),
      startedAt: at,
    })
  }

  /**
   * A worker that is placed apart, as its leader knows it. Its own events replace this where they are taken in, too.
   */
  #outline(here: IndexedActivation, event: WorkerStarted, startedAt: number): void {
    this.hasChildRuns = true
    this.#add({
      id: childActivation(here.id, event.address, true),
      agent: event.agent,
      version: event.version ?? '',
      parent: here.id,
      path: [...here.path, event.agent],
      apart: true,
      isHandedControl: false,
      isNotice: isNotice(event.agent),
      isOutline: true,
      begunBy: event,
      delegation: undefined,
      startedAt,
    })
  }

  #add(begun: Omit<IndexedActivation, 'endedAt' | 'status' | 'open'>): IndexedActivation {
    const activation = { ...begun, endedAt: undefined, status: undefined, open: new Map() }
    this.activations.set(activation.id, activation)
    return activation
  }

  /** The operations that are not open any more. */
  #change(here: IndexedActivation, { at, position }: Recorded, event: JournalEvent): readonly IndexedOperation[] {
    switch (event.type) {
      case 'step.begun':
      case 'model.requested':
      case 'tool.called':
      case 'worker.started':
      case 'timer.set':
      case 'interrupt.raised':
      case 'approval.requested':
        here.open.set(event.address, {
          event,
          position,
          since: at,
          failedAttempts: 0,
          nextAttempt: undefined,
          inDoubt: false,
        })
        if (event.type === 'worker.started' && event.apart === true && event.refused === undefined)
          this.#outline(here, event, at)
        return nothing
      case 'step.settled':
      case 'ask.settled':
        return close(here, event.address)
      case 'worker.settled': {
        const worker =
          event.apart === true ? this.activations.get(childActivation(here.id, event.address, true)) : undefined
        if (worker?.isOutline === true) settle(worker, event.outcome, at)
        return close(here, event.address)
      }
      case 'activation.settled':
        return settle(here, event.outcome, at)
      case 'activation.restarted': {
        const kept = new Set(event.open.map(({ address }) => address))
        return [...here.open.keys()].flatMap((address) => (kept.has(address) ? nothing : close(here, address)))
      }
      case 'agent.moved':
        here.version = event.to
        return nothing
      case 'plan.created':
        this.teams.add(here)
        return nothing
      case 'step.attempt-failed': {
        const operation = here.open.get(event.address)
        if (operation === undefined) return nothing
        operation.failedAttempts++
        operation.nextAttempt = event.lost === true ? undefined : { at: at + event.delayMs, after: event.failure.code }
        return nothing
      }
      case 'effect.in-doubt':
      case 'effect.cleared':
      case 'replay.resolved':
        note(here.open.get(event.address), event.type)
        return nothing
      default:
        return nothing
    }
  }
}

function note(
  operation: IndexedOperation | undefined,
  type: 'effect.in-doubt' | 'effect.cleared' | 'replay.resolved',
): void {
  if (operation !== undefined) operation.inDoubt = type === 'effect.in-doubt'
}

function close({ open }: IndexedActivation, address: string): readonly IndexedOperation[] {
  const operation = open.get(address)
  if (operation === undefined) return nothing
  open.delete(address)
  return [operation]
}

/** Whatever was open is closed with its activation (K7). */
function settle(activation: IndexedActivation, { status }: Outcome, at: number): readonly IndexedOperation[] {
  activation.status = status
  activation.endedAt = at
  const closed = [...activation.open.values()]
  activation.open.clear()
  return closed
}

/** Whether a timer is the pause after this attempt, before the next one. */
export const isPauseAfter = ({ retryOf }: TimerSet, attempt: ActivationId): boolean => retryOf === attempt

/** A leader writes its label for a delegation into what crosses to the worker. */
function labelIn(input: Json): string | undefined {
  const label = isObject(input) ? input['delegation'] : undefined
  return typeof label === 'string' ? label : undefined
}
