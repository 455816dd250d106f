/**
 * The alarm: one timer for the whole process, set to the nearest deadline of the store.
 *
 * Owns: when the process looks at deadlines. Does not own: what a deadline does; it competes as an inbox row with the answer (K2).
 */
import { deadlineBody } from '../store.ts'
import type { Desk } from './desk.ts'

/** After deadlines could not be posted, because the store did not take them. Milliseconds of real time. */
const againMs = 1_000

export class Alarm {
  readonly #desk: Desk
  #callOff: (() => void) | undefined
  #at = Infinity

  constructor(desk: Desk) {
    this.#desk = desk
  }

  /** Rings at this moment, unless it is to ring before. */
  arm(at: number | undefined): void {
    if (at === undefined || at >= this.#at || this.#desk.registry === undefined || this.#desk.dead) return
    this.#callOff?.()
    this.#at = at
    this.#callOff = this.#desk.clock.timer(at, () => this.#rings())
  }

  #rings(): void {
    this.#at = Infinity
    // a store that fails is waited for in real time, whatever clock there is
    this.#ring().catch(() => setTimeout(() => this.#rings(), againMs).unref())
  }

  async #ring(): Promise<void> {
    if (this.#desk.dead) return
    const due = await this.#desk.store.reader.due(this.#desk.clock.now())
    await Promise.all(
      due.map(({ act, address }) =>
        this.#desk.post({ act, target: 'question', key: address, kinds: undefined, body: deadlineBody(address) }),
      ),
    )
    if (this.#desk.dead) return
    // A moment that the clock has reached while the posts were on their way is not put off: a clock that stands still would never reach it.
    this.arm(await this.#desk.store.reader.nextDeadline())
  }

  /** Rings if its time has come and its timer has not: timers may stand still while a machine sleeps. */
  look(now: number): void {
    if (this.#at > now) return
    this.#callOff?.()
    this.#rings()
  }

  stop(): void {
    this.#callOff?.()
  }
}
