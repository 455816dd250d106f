/**
 * Silence: gives up a call of a model that sends nothing any more.
 *
 * Owns: the watch over one call, and the signal that ends it. Does not own: what counts as a sign of life on the wire
 * (wire.ts), the total time of a call (the engine), whether it is tried again (the step).
 * It guards against connections that hang in real time, so it runs on the system clock, as the engine's own deadlines do.
 */
import { failure, systemClock, type Failure } from '@reeve/core'

/** How long a model may be silent after the first part of its answer. Milliseconds: two minutes. */
const defaultSilenceMs = 120_000

/**
 * Before the first part it may be silent so many times as long: a model that thinks, or a queue in front of it, shows
 * nothing for a while.
 */
const beforeFirstPart = 5

/** The watch over one call. */
export class SilenceWatch {
  readonly #controller = new AbortController()
  readonly #asked: AbortSignal
  readonly #silenceMs: number
  #heardAt = systemClock.now()
  #hasBegun = false
  #callOff: (() => void) | undefined
  /** For how long it was silent when it was given up. Milliseconds. */
  #silentMs: number | undefined

  /** `signal`: of who asks; its abort is handed on. `silenceMs`: `Infinity` for no limit. */
  constructor(signal: AbortSignal, silenceMs = defaultSilenceMs) {
    this.#asked = signal
    this.#silenceMs = silenceMs
    if (signal.aborted) this.#stop()
    else signal.addEventListener('abort', this.#stop, { once: true })
    this.#arm()
  }

  /** Aborted when the caller aborts, or when it was silent for too long. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why it was given up; undefined if it was not. */
  failure(model: string): Failure | undefined {
    if (this.#silentMs === undefined) return undefined
    const after = this.#hasBegun ? 'in the middle of its answer' : 'before the first part of its answer'
    return failure('model.silent', `${model} sent nothing for ${this.#silentMs} ms, ${after}`, 'timeout', {
      hint: 'Another limit: silenceMs of the agent, or createRuntime({ deadlines: { silenceMs } }); Infinity lifts it.',
      details: { model, silentMs: this.#silentMs },
    })
  }

  /** Something has arrived. */
  readonly heard = (): void => {
    this.#heardAt = systemClock.now()
  }

  /** A part of the answer has arrived: text, reasoning or a call. */
  begins(): void {
    this.heard()
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#callOff?.()
    this.#arm()
  }

  /** The call has ended. */
  end(): void {
    this.#callOff?.()
    this.#callOff = undefined
    this.#asked.removeEventListener('abort', this.#stop)
  }

  get #limitMs(): number {
    return this.#hasBegun ? this.#silenceMs : this.#silenceMs * beforeFirstPart
  }

  /** One timer looks whether anything came meanwhile, so a part costs nothing but to note the time. */
  #arm(): void {
    const limit = this.#limitMs
    if (limit === Infinity || this.signal.aborted) return
    this.#callOff = systemClock.timer(this.#heardAt + limit, () => {
      const silent = systemClock.now() - this.#heardAt
      if (silent < limit) return this.#arm()
      this.#silentMs = silent
      this.#controller.abort(new Error(`silent for ${silent} ms`))
    })
  }

  readonly #stop = (): void => this.#controller.abort(this.#asked.reason)
}
