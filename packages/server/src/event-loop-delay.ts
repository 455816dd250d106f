/**
 * Event-loop delay: how late this process does what is due, of which every request and stream has its share.
 *
 * Owns: measuring it in windows, as long as the server is open. Does not own: what is told of it (routes/system.ts).
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { SystemServer } from './wire.ts'

/** A timer of so many milliseconds is watched; the rest of what it takes is delay. */
const resolutionMs = 20
/** What is told is of the last whole window, or of the first one so far. Milliseconds. */
const windowMs = 10_000

type DelayFigures = NonNullable<SystemServer['eventLoop']>

/** Measures until it is stopped. */
export class EventLoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  readonly #turn: ReturnType<typeof setInterval>
  #last: DelayFigures | undefined

  constructor() {
    this.#histogram.enable()
    this.#turn = setInterval(() => {
      this.#last = this.#figures()
      this.#histogram.reset()
    }, windowMs)
    this.#turn.unref()
  }

  /** Undefined: nothing was measured yet. */
  read(): DelayFigures | undefined {
    return this.#last ?? this.#figures()
  }

  stop(): void {
    clearInterval(this.#turn)
    this.#histogram.disable()
  }

  #figures(): DelayFigures | undefined {
    const { count, mean, max } = this.#histogram
    const late = (nanoseconds: number): number => Math.max(0, Math.round(nanoseconds / 1e5 - resolutionMs * 10) / 10)
    return count === 0
      ? undefined
      : { meanMs: late(mean), p99Ms: late(this.#histogram.percentile(99)), maxMs: late(max), overMs: windowMs }
  }
}
