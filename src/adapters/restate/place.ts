/**
 * The place: what one process holds for all activations that sit in it.
 *
 * Owns: seats and who sits in them, the effects that are out, patience with the store, live parts.
 * Does not own: one activation (seat.ts), the endpoint that Restate calls (endpoint.ts).
 * Holds: K6 (an effect that outlives an attempt in this process is joined, not run again), K9.
 */
import {
  delay,
  ReeveError,
  runOf,
  systemClock,
  type ActivationId,
  type Clock,
  type Failure,
  type Json,
  type RunId,
} from '../../core/index.ts'
import type { StepSettled } from '../../journal/index.ts'
import { Effects, type EffectsHost, type LivePart, type Operation, type Registry } from '../../engine/index.ts'
import type { EventStore } from '../eventstore/index.ts'
import { callWord } from './call.ts'
import type { Attempt, PlaceOptions, Surroundings } from './desk.ts'
import { Seat } from './seat.ts'

/** How long effects of an attempt that is over may go on for the next attempt to find them here. Milliseconds. */
const waitForNextMs = 10_000
/** Failures that follow one another within this time are one. Milliseconds. */
const quietMs = 10_000
/** How long a closing process waits for Restate to take last words. Milliseconds. */
const endWithinMs = 1_000
const retryStoreMs = [50, 100, 200, 500, 1_000, 2_000]

export class Place implements EffectsHost, Surroundings {
  readonly options: PlaceOptions
  readonly store: EventStore
  readonly effects: Effects
  registry: Registry | undefined
  onPart: (run: RunId, part: LivePart) => void = () => {}
  /** An attempt of this process is to look again. */
  onPoke: (call: string) => void = () => {}
  readonly #seats = new Map<ActivationId, Seat>()
  readonly #warned = new Set<string>()
  readonly #alarms = new Map<ActivationId, () => void>()
  /** When the store last failed. Its connections fail and come back one by one: that is one story, told once. */
  #failedAt = Number.NEGATIVE_INFINITY
  #leaving = false

  constructor(store: EventStore, options: PlaceOptions) {
    this.store = store
    this.options = options
    this.effects = new Effects(this, options.governor, options.deadlines)
  }

  get clock(): Clock {
    return this.options.clock
  }
  get leaving(): boolean {
    return this.#leaving
  }

  /** The seat of an activation for this attempt. */
  sit(id: ActivationId, attempt: Attempt): Seat {
    const sitting = this.#seats.get(id)
    if (sitting?.attempt === attempt) return sitting
    const seat = new Seat(this, id, attempt)
    // An attempt that nobody wants any more takes nobody's place.
    if (attempt.signal.aborted || this.#leaving) seat.leave()
    else {
      sitting?.leave()
      this.#seats.set(id, seat)
      attempt.signal.addEventListener('abort', () => this.#leave(seat), { once: true })
    }
    return seat
  }

  #leave(seat: Seat): void {
    seat.leave()
    // Its alarm stays: it is told under the same word when it is parked.
    if (this.#seats.get(seat.id) === seat) this.#seats.delete(seat.id)
    if (!this.effects.any(seat.id)) return
    // The next attempt may come back to this process and join what is out; one that goes elsewhere has its own.
    this.clock.timer(this.clock.now() + waitForNextMs, () => {
      if (!this.#seats.has(seat.id)) this.effects.forgetAll(seat.id)
    })
  }

  /** Asks the store until it answers or nobody wants to know any more. Only what passes by itself is waited for. */
  async persist<T>(work: (store: EventStore) => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work(this.store)
      } catch (thrown) {
        if (!ReeveError.is(thrown) || !thrown.retryable || signal?.aborted === true || this.#leaving) throw thrown
        const now = systemClock.now()
        if (now - this.#failedAt > quietMs) this.options.warn(thrown.code, `${thrown.message}; runs wait until it is back`)
        this.#failedAt = now
        await delay(retryStoreMs[Math.min(attempt, retryStoreMs.length - 1)]!)
      }
    }
  }

  warnOnce(about: string, code: string, message: string): void {
    if (this.#warned.has(about)) return
    this.#warned.add(about)
    this.options.warn(code, message)
  }

  /** To be looked at again then. Restate's timer does it; with another clock than the system's, this process has to. */
  alarm(id: ActivationId, attempt: Attempt, due: number): void {
    if (this.clock === systemClock) return
    this.#alarms.get(id)?.()
    this.#alarms.set(
      id,
      this.clock.timer(due, () => this.poke(attempt)),
    )
  }

  poke({ invocation, calls }: Attempt): void {
    this.onPoke(callWord(invocation, calls))
  }

  /** For tests: from now on nothing happens. */
  die(): Promise<never> {
    return new Promise<never>(() => {})
  }

  /** Lets everything go, in order: `once` effects are waited for, what has come in is recorded. */
  async close(): Promise<void> {
    this.#leaving = true
    await this.#ended()
    await this.effects.drain()
    await Promise.all([...this.#seats.values()].map((seat) => seat.close()))
    this.stop()
  }

  /** Who has had the last word is given a moment to say so to Restate, which would ask for it again and again. */
  async #ended(): Promise<void> {
    const ending = [...this.#seats.values()].filter(({ over }) => over)
    const gone = ending.map(
      ({ attempt: { signal } }) => new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
    )
    if (gone.length > 0) await Promise.race([Promise.all(gone), delay(endWithinMs)])
  }

  /** Lets everything go at once. */
  stop(): void {
    this.#leaving = true
    for (const seat of this.#seats.values()) seat.leave()
    for (const callOff of this.#alarms.values()) callOff()
    this.#seats.clear()
    this.#alarms.clear()
  }

  // ---- effects ---------------------------------------------------------------------------------------------------------------------

  #seatOf(op: Operation): Seat | undefined {
    const seat = this.#seats.get(op.owner.id)
    return seat?.activation === op.owner ? seat : undefined
  }
  epochOf(op: Operation): number {
    return this.#seatOf(op)?.epoch ?? 0
  }
  attemptFailed(op: Operation, attempt: number, failure: Failure, delayMs: number): void {
    this.#seatOf(op)?.outlet.attemptFailed(op, attempt, failure, delayMs)
  }
  mayRetry(op: Operation): boolean {
    return this.#seatOf(op)?.outlet.mayRetry(op) ?? false
  }
  stillMine(op: Operation): Promise<boolean> {
    return this.#seatOf(op)?.outlet.stillMine(op) ?? Promise.resolve(false)
  }
  calledBack(op: Operation): void {
    this.#seatOf(op)?.outlet.calledBack(op)
  }
  ended(op: Operation, event: StepSettled): void {
    this.#seatOf(op)?.outlet.ended(op, event)
  }
  part(op: Operation, attempt: number, part: Json): void {
    const seat = this.#seatOf(op)
    if (seat !== undefined)
      this.onPart(runOf(op.owner.id), {
        activation: op.owner.id,
        address: op.address,
        attempt,
        epoch: seat.epoch,
        part: this.options.redactJson(part, 'payload'),
      })
  }
}
