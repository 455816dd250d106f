/**
 * Rates: how often one caller may ask, and how many streams it may have open.
 *
 * Owns: token buckets by key, the counter of open streams. Does not own: which keys there are (access.ts).
 * Holds: its memory is bounded: a bucket that is full again is forgotten, and of too many the one unused longest.
 */
import { ReeveError, type Clock } from '@reeve/core'

interface Bucket {
  tokens: number
  at: number
}

/** How many callers are remembered. */
const mostBuckets = 10_000

/** Token buckets, one for each key. */
export class RateLimit {
  readonly #buckets = new Map<string, Bucket>()
  readonly #perSecond: number
  readonly #burst: number
  readonly #clock: Clock

  constructor(perSecond: number, burst: number, clock: Clock) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#clock = clock
  }

  /** Takes a token; false if there is none. */
  take(key: string): boolean {
    const bucket = this.#bucket(key)
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }

  /** Gives back a token that was taken for nothing. */
  give(key: string): void {
    const bucket = this.#bucket(key)
    bucket.tokens = Math.min(this.#burst, bucket.tokens + 1)
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  #bucket(key: string): Bucket {
    const now = this.#clock.now()
    const { tokens, at } = this.#buckets.get(key) ?? { tokens: this.#burst, at: now }
    const bucket = {
      tokens: Math.min(this.#burst, tokens + (Math.max(0, now - at) / 1_000) * this.#perSecond),
      at: now,
    }
    // at the end: the first one is that which was unused longest
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > mostBuckets) this.#buckets.delete(this.#buckets.keys().next().value!)
    return bucket
  }
}

/** The error for a caller that asks too often. Each limit lets one more request pass within a second. */
export const tooMany = (what: string): ReeveError =>
  new ReeveError('request.too-many', what, {
    hint: 'Wait as long as the header Retry-After says, then ask again. Nothing was done.',
    retryable: true,
  })

/** How many streams each key has open. */
export class OpenStreams {
  readonly #open = new Map<string, number>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** Counts one more stream. Returns how it is let go of, idempotent; undefined if there are too many. */
  enter(key: string): (() => void) | undefined {
    const open = this.#open.get(key) ?? 0
    if (open >= this.#most) return undefined
    this.#open.set(key, open + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      const left = this.#open.get(key)! - 1
      if (left === 0) this.#open.delete(key)
      else this.#open.set(key, left)
    }
  }
}
