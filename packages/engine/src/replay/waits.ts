/**
 * Pending waits of an activation's code, and arrivals that came before the code waited for them.
 *
 * Owns: matching arrivals with waiters, first come first served. Holds: K3 (the inbox is the race; each arrival resumes
 * one waiter).
 */
import { childActivation, parentOf, present, ReeveError, type ActivationId, type OpId, ChurnMap } from '@reeve/core'
import type { ArrivalEvent, CancelReceived } from '@reeve/journal'
import type { Arrival, Matcher } from '../context.ts'
import type { Operation } from './operation.ts'

type PendingWait = Pick<PromiseWithResolvers<Arrival>, 'resolve' | 'reject'>

/** The code would wait for ever without a word. */
const nothingToAwait = (id: string, why: string): ReeveError =>
  new ReeveError('orchestration.nothing-to-await', `cannot wait for "${id}": ${why}`, {
    hint: 'Wait once for each id and share what came. To wait for a message from outside, give a predicate.',
  })

/** The arrival that the code receives for a recorded event. `operation`: whose end it is, if the code has begun it. */
export function arrivalOf(
  event: Exclude<ArrivalEvent, CancelReceived>,
  owner: ActivationId,
  operation: Operation | undefined,
): Arrival {
  switch (event.type) {
    case 'message.received':
      return { type: 'message', id: event.id, from: event.from, ...present({ by: event.by }), body: event.body }
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
        ...present({ from: arrival.from, by: arrival.by }),
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
  /** Whether, under this id, something has been begun that has not ended, or whose end was not read. */
  readonly #isBegun: (id: string) => boolean
  readonly #byId = new ChurnMap<string, PendingWait>()
  #any: (PendingWait & { readonly match: Exclude<Matcher, string> | undefined })[] = []
  #kept = new ChurnMap<string, Arrival>()
  /** Ids of what had ended before the code came to it: it hears of those in the recorded order. */
  readonly #late = new Set<string>()

  constructor(isBegun: (id: string) => boolean) {
    this.#isBegun = isBegun
  }

  /** How many verbs are pending. */
  get pending(): number {
    return this.#byId.size + this.#any.length
  }
  /** What arrived and was not read. */
  get unread(): readonly Arrival[] {
    return [...this.#kept.values()]
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
    const i =
      offered && this.#any.length > 0 ? this.#any.findIndex(({ match }) => match === undefined || match(arrival)) : -1
    if (i >= 0) {
      this.#any.splice(i, 1)[0]!.resolve(arrival)
      return true
    }
    this.#kept.set(arrival.id, arrival)
    return false
  }

  /** Takes what has arrived already, if it matches. What came too early is only offered (`offerKept`). */
  take(match: Matcher | undefined): Arrival | undefined {
    if (this.#kept.size === 0) return undefined
    let found: Arrival | undefined
    if (typeof match === 'string') found = this.#late.has(match) ? undefined : this.#kept.get(match)
    else {
      for (const kept of this.#kept.values()) {
        if (this.#late.has(kept.id) || !this.#isOffered(kept) || (match !== undefined && !match(kept))) continue
        found = kept
        break
      }
    }
    if (found !== undefined) this.#kept.delete(found.id)
    return found
  }

  /** Whether an end that came before its operation was not read. */
  get hasLate(): boolean {
    return this.#late.size > 0
  }

  /**
   * The code has come to an operation that is recorded. Whether its end, or a message of it, has arrived before that:
   * it is offered next.
   */
  comesTo(id: string): boolean {
    if (this.#kept.has(id)) this.#late.add(id)
    for (const kept of this.#kept.values())
      if (kept.id === id || (kept.type === 'message' && kept.from === id)) return true
    return false
  }

  /** Gives what has arrived already, in that order, to a pending wait that matches. The id of what it gave. */
  offerKept(): string | undefined {
    for (const kept of this.#kept.values()) {
      if (!this.#isOffered(kept)) continue
      const wait = this.#byId.get(kept.id) ?? this.#any.find(({ match }) => match === undefined || match(kept))
      if (wait === undefined) continue
      this.#kept.delete(kept.id)
      this.#late.delete(kept.id)
      this.#byId.delete(kept.id)
      this.#any = this.#any.filter((each) => each !== wait)
      wait.resolve(kept)
      return kept.id
    }
    return undefined
  }

  /** A predicate is not shown the end of what the code has not begun. */
  #isOffered(arrival: Arrival): boolean {
    return arrival.type === 'message' || arrival.type === 'message.refused' || this.#isBegun(arrival.id)
  }

  /** `stuck`: nothing is delivered any more, so no wait is a mistake of the code. */
  wait(match: Matcher | undefined, stuck: boolean): Promise<Arrival> {
    const wait = Promise.withResolvers<Arrival>()
    const { resolve, reject } = wait
    if (typeof match !== 'string') this.#any.push({ match, resolve, reject })
    else if (this.#byId.has(match)) reject(nothingToAwait(match, 'the code is already waiting for it'))
    else if (!stuck && !match.startsWith('msg_') && !this.#isBegun(match))
      reject(nothingToAwait(match, 'its end was read before, or it never began'))
    else this.#byId.set(match, wait)
    return wait.promise
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
    this.#kept.clear()
    this.#late.clear()
  }
}
