/**
 * Retries: a failed attempt is followed by another after a while, or by none (spec team R-10).
 *
 * Owns: whether and when, the timers. Does not own: what the end of an attempt means (ends.ts), beginning again (work.ts).
 * Holds: K3: the delay follows from what is recorded; one durable timer for each that waits.
 */
import type { Failure } from '../../core/index.ts'
import { backoff, type Context, type RetryPolicy } from '../../engine/index.ts'
import type { Watch } from '../../supervisor/index.ts'
import type { Entry } from './book.ts'

export class Retries {
  readonly #policy: RetryPolicy
  readonly #watch: Watch
  readonly #leave: (thrown: unknown) => void
  /** How the timers of those that are to be tried again are called off. */
  readonly #waiting = new Map<Entry, () => void>()

  constructor(policy: RetryPolicy, watch: Watch, leave: (thrown: unknown) => void) {
    this.#policy = policy
    this.#watch = watch
    this.#leave = leave
  }

  /** After how many milliseconds it is tried again; undefined: never. */
  delayOf(entry: Entry, what: Failure, ctx: Context): number | undefined {
    const tries = entry.begun - entry.spared
    return tries >= (this.#policy.attempts ?? 3) ? undefined : backoff(this.#policy, tries, what.retryAfterMs, () => ctx.random())
  }

  /** Its time comes once, unless it is called off. */
  wait(entry: Entry, delayMs: number, ctx: Context, now: () => void): void {
    entry.backingOff = true
    const ring = (): void => {
      this.#waiting.delete(entry)
      entry.backingOff = false
      now()
    }
    this.#waiting.set(entry, this.#watch.alarm(ctx, 'retry', delayMs, { ring, reject: this.#leave }))
  }

  callOff(entry: Entry): void {
    this.#waiting.get(entry)?.()
    this.#waiting.delete(entry)
  }
}
