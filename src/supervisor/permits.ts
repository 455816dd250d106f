/**
 * Permits: how many workers of one leader may work at once. First come, first served.
 *
 * Holds: K3: who gets the next permit follows from the order of recorded arrivals, so replay gives them out in the same order.
 */
export class Permits {
  #free: number
  readonly #queue: (() => void)[] = []

  constructor(limit: number | undefined) {
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
    const next = this.#queue.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
