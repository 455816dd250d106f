/**
 * The outlet: effects of one activation on their way out, held back, called back, and ended.
 *
 * Owns: what is out and what is held; pause as "nothing more leaves"; one flight per entry of Restate's journal.
 * Does not own: attempts and timeouts (engine/effects.ts), what the journal says of a held effect (engine/leaving.ts), commits (seat.ts).
 * Holds: K5 (an effect is listed by the commit that its log depends on), K6 (who moves the activation is looked at before a long-rested one leaves),
 * K8 (pause and stop are looked at before every effect).
 */
import type { Failure } from '../../core/index.ts'
import { encode, type StepSettled } from '../../journal/index.ts'
import { Effects, encodeEnd, mayLeave, noteHeld, stoppedEnd, type Operation } from '../../engine/index.ts'
import type { Control } from '../eventstore/index.ts'
import type { Desk, Leaving } from './desk.ts'
import { callsBack } from './held.ts'

/** Without word from the store for this long, somebody else may have been given the activation. Milliseconds. */
const trustMs = 1_000

export class Outlet implements Leaving {
  readonly #seat: Desk
  /** Let out, and not ended: on their way through a commit, listed, or flying. */
  readonly out = new Set<Operation>()
  /** Held back by a pause. */
  #held: Operation[] = []
  /** To be listed by the next commit. */
  #sealed: Operation[] = []
  /** Listed, by address. */
  readonly #listed = new Map<string, Operation>()
  /** Who waits for a flight to land. */
  readonly #landings = new Map<string, { readonly landed: Promise<void>; readonly land: () => void }>()

  constructor(seat: Desk) {
    this.#seat = seat
  }

  /** Whether this effect has to wait now. */
  #holds(op: Operation): boolean {
    const { control, activation } = this.#seat
    if (control?.at === 'cancelled') return !activation.cancelKnown
    return control !== undefined && !(control.at === 'after-tools' && op.effect !== 'model')
  }

  letOut(op: Operation): void {
    this.out.add(op)
    this.#sealed.push(op)
    this.#seat.touched()
  }

  /** The log that they depend on is durable: the addresses of those that may leave. The others wait for what is still to be delivered, or are held. */
  list(): string[] {
    const { replaying, hasLive, stuck } = this.#seat.activation
    const listed: string[] = []
    if (this.#seat.place.leaving) return listed
    for (const op of this.#sealed.splice(0)) {
      if (op.owner.discarded || !this.out.has(op)) continue
      if ((replaying || hasLive) && stuck === undefined) this.#sealed.push(op)
      else if (this.#holds(op) && op.stopped === undefined && !this.#seat.place.effects.has(op)) this.#hold(op)
      else if (stuck !== undefined && replaying) this.#hold(op)
      else {
        this.#listed.set(op.address, op)
        listed.push(op.address)
      }
    }
    return listed
  }

  /** Something could be listed by a commit. */
  get listable(): boolean {
    const { replaying, hasLive, stuck } = this.#seat.activation
    return this.#sealed.length > 0 && !this.#seat.place.leaving && (stuck !== undefined || (!replaying && !hasLive))
  }

  isListed(address: string): boolean {
    return this.#listed.has(address)
  }

  /** One flight: resolves when the effect has ended, or has been held or called back. */
  async fly(address: string): Promise<void> {
    const op = this.#listed.get(address)
    if (op === undefined || op.owner.discarded || !this.out.has(op)) return
    const flying = this.#landings.get(address)
    // After a crash it may be flown twice: by its own entry of Restate's journal, and by whoever goes on at once with what a release sets free.
    if (flying !== undefined) return flying.landed
    const { promise: landed, resolve: land } = Promise.withResolvers<void>()
    this.#landings.set(address, { landed, land })
    await this.#depart(op)
    await landed
  }

  async #depart(op: Operation): Promise<void> {
    const { effects, clock } = this.#seat.place
    if (op.stopped !== undefined && !effects.has(op)) return this.#arrived(op, stoppedEnd(op))
    if (this.#holds(op) && !effects.has(op)) return this.#hold(op)
    if (effects.has(op)) return effects.release(op)
    if (this.#seat.place.leaving || !mayLeave(this.#seat.keeping, op)) {
      this.#sealed.push(op)
      return this.#land(op)
    }
    if (op.effect !== 'read' && clock.now() - this.#seat.heardAt > trustMs && !(await this.#seat.stillMine())) return this.#land(op)
    if (this.out.has(op) && !op.owner.discarded) effects.release(op)
    else this.#land(op)
  }

  #land(op: Operation): void {
    this.#listed.delete(op.address)
    this.#landings.get(op.address)?.land()
    this.#landings.delete(op.address)
  }

  #hold(op: Operation): void {
    noteHeld(this.#seat.keeping, op)
    this.out.delete(op)
    this.#held.push(op)
    this.#land(op)
    this.#seat.touched()
  }

  abort(op: Operation): void {
    if (op.endRecorded) return
    const held = this.#held.indexOf(op)
    if (held < 0 && op.doubt === undefined) return void this.#seat.place.effects.abort(op, op.stopped ?? 'stopped')
    if (held >= 0) this.#held.splice(held, 1)
    if (op.doubt !== undefined) this.#seat.keeping.closeQuestion(op)
    op.doubt = undefined
    op.owner.arrive(stoppedEnd(op))
  }

  /** The pause has changed: effects that may be repeated are called back at once if it says so; those that were held go when it is over. */
  controlled(control: Control | undefined): void {
    const { effects } = this.#seat.place
    if (callsBack(control)) {
      for (const op of this.out) if (op.effect !== 'once') effects.abort(op, 'paused', true)
    } else effects.recall([...this.out].filter((op) => this.#holds(op)))
    for (const op of this.#held.splice(0)) {
      if (op.owner.discarded) continue
      if (this.#holds(op)) this.#held.push(op)
      else this.letOut(op)
    }
  }

  /** Nobody waits for its effects any more. */
  dismiss(): void {
    for (const op of this.out) this.#land(op)
    this.out.clear()
    this.#held = []
  }

  /** What has not left by now will not leave from here: whoever goes on need not ask whether it happened. */
  noteUnreleased(): void {
    for (const op of [...this.#sealed, ...this.#listed.values()]) if (!this.#seat.place.effects.has(op)) noteHeld(this.#seat.keeping, op)
  }

  // ---- what happens to them outside ------------------------------------------------------------------------------------------------

  attemptFailed(op: Operation, attempt: number, what: Failure, delayMs: number): void {
    const { keeping, place } = this.#seat
    keeping.append(op.owner, { type: 'step.attempt-failed', address: op.address, attempt, failure: what, delayMs }, place.clock.now())
    this.#seat.note()
  }
  mayRetry(op: Operation): boolean {
    // After a long wait it is first asked whether the activation is still ours.
    return !op.owner.discarded && !this.#holds(op) && this.#seat.place.clock.now() - this.#seat.heardAt <= trustMs
  }
  async stillMine(op: Operation): Promise<boolean> {
    return !op.owner.discarded && !this.#holds(op) && (await this.#seat.stillMine()) && !op.owner.discarded && !this.#holds(op)
  }
  calledBack(op: Operation): void {
    if (op.owner.discarded || !this.out.has(op)) return
    if (this.#holds(op)) return this.#hold(op)
    this.#sealed.push(op)
    this.#seat.touched()
    this.#land(op)
  }
  ended(op: Operation, event: StepSettled): void {
    this.#arrived(op, event)
  }
  #arrived(op: Operation, event: StepSettled): void {
    this.out.delete(op)
    if (op.owner.outcome !== undefined || op.ended) this.#seat.place.effects.forget(Effects.key(op))
    else {
      const end = encodeEnd(event, encode)
      op.owner.arrive(end.event, end.text)
      this.#seat.touched()
    }
    this.#land(op)
  }
}
