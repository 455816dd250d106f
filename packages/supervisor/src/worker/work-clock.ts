/**
 * Work clock: rings after an amount of working time. It stops during human waits, and pauses of the run do not count.
 *
 * Owns: counting, the timer, the recorded read of pauses. Does not own: the reports of human waits (watch.ts, race.ts),
 * what follows when it rings.
 * Holds: K3: a durable timer and a recorded read; it uses recorded time.
 */
import { stoodBetween, type Context, type Pause } from '@reeve/engine'

/** Sets a timer of this name. Returns how to call it off. */
type SetAlarm = (
  ctx: Context,
  name: string,
  ms: number,
  heard: { ring: () => void; reject: (thrown: unknown) => void },
) => () => void

interface ClockListener {
  readonly ring: () => void
  /** The leader was cancelled. */
  readonly reject: (thrown: unknown) => void
}

export class WorkClock {
  readonly #ctx: Context
  readonly #alarm: SetAlarm
  readonly #name: string
  readonly #ms: number
  readonly #listener: ClockListener
  /** The periods in which it ran. */
  readonly #ran: { readonly from: number; to: number }[] = []
  #pauses: readonly Pause[] = []
  #callOff: (() => void) | undefined
  #over = false

  /** `name`: of its timer; persistent. `ms`: working time. It is stopped until `run`. */
  constructor(
    ctx: Context,
    alarm: SetAlarm,
    { name, ms }: { readonly name: string; readonly ms: number },
    hearing: ClockListener,
  ) {
    this.#ctx = ctx
    this.#alarm = alarm
    this.#name = name
    this.#ms = ms
    this.#listener = hearing
  }

  get #runs(): boolean {
    return this.#ran.at(-1)?.to === Infinity
  }

  run(): void {
    if (this.#over || this.#runs) return
    this.#ran.push({ from: this.#ctx.now().getTime(), to: Infinity })
    const ring = (): void => void this.#onTimer().catch(this.#listener.reject)
    this.#callOff = this.#alarm(this.#ctx, this.#name, this.#ms - this.#worked, { ring, reject: this.#listener.reject })
  }

  stand(): void {
    const last = this.#ran.at(-1)
    if (last?.to === Infinity) last.to = this.#ctx.now().getTime()
    this.#callOff?.()
    this.#callOff = undefined
  }

  /** It will not ring any more. */
  end(): void {
    this.#over = true
    this.#callOff?.()
    this.#callOff = undefined
  }

  /** The timer has fired. Only now the pauses are read, and the clock continues if they took time. */
  async #onTimer(): Promise<void> {
    this.#callOff = undefined
    const pauses = await this.#ctx.scope('pauses').pauses()
    if (this.#over) return
    this.#pauses = pauses
    // a human was asked meanwhile: the clock continues with the answer
    if (!this.#runs) return
    if (this.#worked >= this.#ms) return this.#listener.ring()
    this.stand()
    this.run()
  }

  /** Milliseconds worked, as far as pauses are known. */
  get #worked(): number {
    const now = this.#ctx.now().getTime()
    return this.#ran.reduce(
      (sum, { from, to }) => sum + Math.min(to, now) - from - stoodBetween(this.#pauses, from, Math.min(to, now)),
      0,
    )
  }
}
