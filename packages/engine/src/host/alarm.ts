/**
 * The alarm: one timer for the whole process, set to the nearest deadline of the store.
 *
 * Owns: when the process looks at deadlines. Does not own: what a deadline does; it competes as an inbox row with the
 * answer (K2).
 */
import { deadlineBody } from '../store.ts'
import type { EngineState } from './engine-state.ts'

/** After deadlines could not be posted, because the store did not take them. Milliseconds of real time. */
const againMs = 1_000

export class DeadlineAlarm {
  readonly #engine: EngineState
  #callOff: (() => void) | undefined
  #at = Infinity

  constructor(engine: EngineState) {
    this.#engine = engine
  }

  /** Rings at this moment, unless it is to ring before. */
  arm(at: number | undefined): void {
    if (at === undefined || at >= this.#at || this.#engine.registry === undefined || this.#engine.dead) return
    this.#callOff?.()
    this.#at = at
    this.#callOff = this.#engine.clock.timer(at, () => this.#rings())
  }

  #rings(): void {
    this.#at = Infinity
    // a store that fails is waited for in real time, whatever clock there is
    this.#ring().catch(() => setTimeout(() => this.#rings(), againMs).unref())
  }

  async #ring(): Promise<void> {
    if (this.#engine.dead) return
    const due = await this.#engine.store.reader.due(this.#engine.clock.now())
    await Promise.all(
      due.map(({ act, address }) =>
        this.#engine.post({ act, target: 'question', key: address, kinds: undefined, body: deadlineBody(address) }),
      ),
    )
    if (this.#engine.dead) return
    // A moment that the clock has reached while the posts were on their way is not put off: a clock that stands still
    // would never reach it.
    this.arm(await this.#engine.store.reader.nextDeadline())
  }

  /** Rings if its time has come and its timer has not: timers may stand still while a machine sleeps. */
  ringIfDue(now: number): void {
    if (this.#at > now) return
    this.#callOff?.()
    this.#rings()
  }

  stop(): void {
    this.#callOff?.()
  }
}
