/**
 * Permits: how many workers may work at once. First come, first served.
 *
 * Owns: counting, the queue. Does not own: hearing that somebody waits for a human (watch.ts).
 * Holds: K3: who gets the next permit follows from the order of recorded arrivals, so replay gives them out in the same order.
 * A worker gives its permit back while it, or somebody below it, waits for a human, and has it again at once when the answer is there (team R-16):
 * it is at work then, so for a moment there may be more at work than permits, and nobody new begins until that is over.
 */

/** Somebody who waits for a permit, or for the time to try again. */
export interface Queued {
  /** Gives up waiting; undefined while there is nothing to give up. */
  leave: (() => void) | undefined
}

export class Permits {
  /** Whether there is a limit at all. */
  readonly limited: boolean
  /** Below zero while more are at work than there are permits. */
  #free: number
  readonly #queue = new Set<() => void>()

  constructor(limit: number | undefined) {
    this.limited = limit !== undefined
    this.#free = limit ?? Infinity
  }

  /** Undefined: taken at once. Else resolves when it is taken, to true; to false once whoever is queued leaves. */
  take(queued: Queued): Promise<boolean> | undefined {
    if (this.#free > 0) {
      this.#free--
      return undefined
    }
    return new Promise((resolve) => {
      const turn = (): void => {
        queued.leave = undefined
        resolve(true)
      }
      queued.leave = () => {
        queued.leave = undefined
        this.#queue.delete(turn)
        resolve(false)
      }
      this.#queue.add(turn)
    })
  }

  give(): void {
    const [next] = this.#free < 0 ? [] : this.#queue
    if (next === undefined) this.#free++
    else {
      this.#queue.delete(next)
      next()
    }
  }

  /** Has it again, whether or not one is free. */
  takeBack(): void {
    this.#free--
  }
}
