/**
 * Guesses: how many wrong credentials a network may send: of IPv4, an address.
 *
 * Owns: the count of wrong ones, which credentials are looked at although there were too many. Does not own: whether a
 * credential is right (authentication.ts).
 * Holds: a right credential costs nothing, and wrong ones of others lock none out that was right before. In bounded memory,
 * and without a credential in it.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '@reeve/core'
import { networkOf } from './network.ts'
import { RateLimit, tooMany } from './rate-limit.ts'

/** So many wrong ones at once, then one per second. */
const most = 20
/** How many credentials are remembered that were right. */
const mostKnown = 10_000

/** Counts the wrong credentials of each network. */
export class Guesses {
  readonly #wrong: RateLimit
  readonly #key = randomBytes(32)
  readonly #known = new Set<string>()

  constructor(clock: Clock) {
    this.#wrong = new RateLimit(1, most, clock)
  }

  /**
   * Looks at the credential of a request. `unguessable`: nobody finds one by trying, so each is looked at. Where the address
   * is not known nothing is counted: one who guesses would lock out all others. Rejects with `request.too-many`.
   */
  async counted<T>(
    request: Request,
    address: string | undefined,
    unguessable: boolean,
    look: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const authorization = request.headers.get('Authorization')
    if (address === undefined || authorization === null) return look()
    const network = networkOf(address)
    const digest = unguessable ? '' : createHmac('sha256', this.#key).update(authorization).digest('base64')
    const isLookedAt = unguessable || this.#known.has(digest)
    // taken before it is looked at: a thousand that come at once are a thousand guesses
    if (!isLookedAt && !this.#wrong.take(network)) throw tooMany(tooManyWrong)
    const found = await look()
    if (found === undefined) {
      this.#known.delete(digest)
      if (isLookedAt && !this.#wrong.take(network)) throw tooMany(tooManyWrong)
      return undefined
    }
    if (!isLookedAt) this.#wrong.give(network)
    if (!unguessable) this.#remember(digest)
    return found
  }

  #remember(digest: string): void {
    // at the end: the first one is that which was unused longest
    this.#known.delete(digest)
    this.#known.add(digest)
    if (this.#known.size > mostKnown) this.#known.delete(this.#known.keys().next().value!)
  }
}

const tooManyWrong = 'too many requests with a wrong credential'
