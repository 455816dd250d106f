/**
 * Permits: how many workers of one leader may work at once. First come, first served.
 *
 * Holds: K3: who gets the next permit follows from the order of recorded arrivals, so replay gives them out in the same order.
 * A worker gives its permit back while it, or somebody below it, waits for a human, and has it again at once when the answer is there (team R-16):
 * it is at work then, so for a moment there may be more at work than permits, and nobody new begins until that is over.
 */
import type { ActivationId, Outcome } from '../core/index.ts'
import type { Context } from '../engine/index.ts'
import { waitsNow } from '../oversight/index.ts'

export class Permits {
  /** Whether there is a limit at all. */
  readonly limited: boolean
  /** Below zero while more are at work than there are permits. */
  #free: number
  readonly #queue: (() => void)[] = []

  constructor(limit: number | undefined) {
    this.limited = limit !== undefined
    this.#free = limit ?? Infinity
  }

  /** Undefined: taken at once. Else resolves when it is taken. */
  take(): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--
      return undefined
    }
    return new Promise((resolve) => this.#queue.push(resolve))
  }

  give(): void {
    const next = this.#free < 0 ? undefined : this.#queue.shift()
    if (next === undefined) this.#free++
    else next()
  }

  /** Waits for the end of a worker that holds a permit; it still does, or does again, when this resolves or rejects. */
  async end(ctx: Context, worker: ActivationId): Promise<Outcome> {
    if (!this.limited) return (await ctx.next(worker)).outcome
    let waiting = 0
    try {
      for (;;) {
        const arrival = await ctx.next((each) => each.id === worker || waitsNow(each, worker) !== undefined)
        if (arrival.type === 'worker.settled') return arrival.outcome
        if (waitsNow(arrival, worker) === true) {
          if (waiting++ === 0) this.give()
        } else if (--waiting === 0) this.#free--
      }
    } finally {
      if (waiting > 0) this.#free--
    }
  }
}
