/**
 * Pending waits of an activation's code, and arrivals that came before the code waited for them.
 *
 * Owns: matching arrivals with waiters, first come first served. Holds: K3 (the inbox is the race; each arrival resumes
 * one waiter).
 */
import { childActivation, parentOf, ReeveError, type ActivationId, type OpId } from '../../core/index.ts'
import type { ArrivalEvent, CancelReceived } from '../../journal/index.ts'
import type { Arrival, Matcher } from '../context.ts'
import type { Operation } from './operation.ts'

interface PendingWait {
  readonly match: Exclude<Matcher, string> | undefined
  readonly resolve: (arrival: Arrival) => void
  readonly reject: (error: Error) => void
}

const waitOnce = 'Wait once for each id and share what came. To wait for a message from outside, give a predicate.'

/** The arrival that the code receives for a recorded event. `operation`: whose end it is, if the code has begun it. */
export function arrivalOf(
  event: Exclude<ArrivalEvent, CancelReceived>,
  owner: ActivationId,
  operation: Operation | undefined,
): Arrival {
  switch (event.type) {
    case 'message.received':
      return { type: 'message', id: event.id, from: event.from, body: event.body }
    case 'message.refused':
      return { type: event.type, id: event.id, reason: event.reason }
    case 'worker.settled':
      return {
        type: event.type,
        id: (operation?.id as ActivationId | undefined) ?? childActivation(owner, event.address, event.apart),
        outcome: event.outcome,
        usage: event.usage ?? [],
      }
    default:
      return { type: event.type, id: event.address as OpId, outcome: event.outcome }
  }
}

/** An unread arrival, as the event that brings it again. */
export function unreadEvent(arrival: Arrival, address: string): ArrivalEvent {
  switch (arrival.type) {
    case 'message':
      return {
        type: 'message.received',
        id: arrival.id,
        ...(arrival.from === undefined ? {} : { from: arrival.from }),
        body: arrival.body,
      }
    case 'message.refused':
      return arrival
    case 'worker.settled': {
      const apart = parentOf(arrival.id)?.apart === true ? { apart: true as const } : {}
      return { type: arrival.type, address, outcome: arrival.outcome, ...apart }
    }
    default:
      return { type: arrival.type, address, outcome: arrival.outcome }
  }
}

export class PendingWaits {
  #byId = new Map<string, PendingWait>()
  #any: PendingWait[] = []
  #kept: Map<string, Arrival> | undefined

  /** How many verbs are pending. */
  get pending(): number {
    return this.#byId.size + this.#any.length
  }
  /** What arrived and was not read. */
  get unread(): readonly Arrival[] {
    return [...(this.#kept?.values() ?? [])]
  }

  /**
   * Gives an arrival to the wait that matches, or keeps it. `offered`: predicates may take it, too. True: a wait was
   * resolved.
   */
  hand(arrival: Arrival, offered: boolean): boolean {
    const waiter = this.#byId.get(arrival.id)
    if (waiter !== undefined) {
      this.#byId.delete(arrival.id)
      waiter.resolve(arrival)
      return true
    }
    const i = offered ? this.#any.findIndex(({ match }) => match === undefined || match(arrival)) : -1
    if (i >= 0) {
      this.#any.splice(i, 1)[0]!.resolve(arrival)
      return true
    }
    ;(this.#kept ??= new Map()).set(arrival.id, arrival)
    return false
  }

  /** Takes what has arrived already, if it matches. `begun`: the code has begun the operation that this belongs to. */
  take(match: Matcher | undefined, begun: (arrival: Arrival) => boolean): Arrival | undefined {
    if (this.#kept === undefined) return undefined
    let found: Arrival | undefined
    if (typeof match === 'string') found = this.#kept.get(match)
    else {
      for (const kept of this.#kept.values()) {
        if (!begun(kept) || (match !== undefined && !match(kept))) continue
        found = kept
        break
      }
    }
    if (found !== undefined) this.#kept.delete(found.id)
    return found
  }

  /**
   * `mayCome`: under this id something has been begun that has not ended, or whose end was not read. Else the code
   * would wait for ever without a word.
   */
  wait(match: Matcher | undefined, mayCome: (id: string) => boolean): Promise<Arrival> {
    if (typeof match === 'string' && (this.#byId.has(match) || (!match.startsWith('msg_') && !mayCome(match)))) {
      const why = this.#byId.has(match)
        ? 'the code is already waiting for it'
        : 'its end was read before, or it never began'
      return Promise.reject(
        new ReeveError('orchestration.nothing-to-await', `cannot wait for "${match}": ${why}`, { hint: waitOnce }),
      )
    }
    return new Promise((resolve, reject) => {
      if (typeof match === 'string') this.#byId.set(match, { match: undefined, resolve, reject })
      else this.#any.push({ match, resolve, reject })
    })
  }

  /** Rejects every pending wait. */
  rejectAll(error: Error): void {
    const waiters = [...this.#byId.values(), ...this.#any]
    this.#byId.clear()
    this.#any = []
    for (const { reject } of waiters) reject(error)
  }

  /** Forgets everything, waiters and arrivals. */
  clear(): void {
    this.#byId.clear()
    this.#any = []
    this.#kept = undefined
  }
}
