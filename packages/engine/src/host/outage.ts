/**
 * Outages of the store, as they are reported: once when one begins, once for each other cause, and once when it is
 * over. Retries in between are silent.
 *
 * Owns: what has been reported of an outage. Does not own: retries (driver.ts), what callers get: each call fails with
 * the error.
 */
import { stopwatch, type ReeveError } from '@reeve/core'

/**
 * Errors that pass by themselves, or that an operator ends; all others concern one run or one value, and are reported
 * each time.
 */
const passing: ReadonlySet<string> = new Set(['store.unavailable', 'store.busy', 'store.full', 'store.read-only'])

export class Outage {
  readonly #name: string
  readonly #warn: (code: string, message: string) => void
  readonly #said = new Map<string, ReeveError['code']>()
  #since = 0

  constructor(name: string, warn: (code: string, message: string) => void) {
    this.#name = name
    this.#warn = warn
  }

  /** Something has failed, and nothing has worked since. */
  get isOn(): boolean {
    return this.#said.size > 0
  }

  failed({ code, retryable, message }: ReeveError): void {
    if (passing.has(code)) {
      const cause = `${code} ${retryable}`
      if (this.#said.has(cause)) return
      if (!this.isOn) this.#since = stopwatch()
      this.#said.set(cause, code)
    }
    this.#warn(code, message)
  }

  /** The store has answered. A store that can be read may still not be written to. */
  answered(what: 'read' | 'written'): void {
    if (this.#said.size === 0) return
    if (what === 'read' && [...this.#said.values()].some((code) => code !== 'store.unavailable')) return
    this.#said.clear()
    const seconds = ((stopwatch() - this.#since) / 1_000).toFixed(1)
    this.#warn(
      'store.available',
      `${this.#name}: the store answers again, after ${seconds} seconds; runs go on by themselves`,
    )
  }
}
