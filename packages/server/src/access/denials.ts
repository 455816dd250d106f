/**
 * Denials: who was not let in, told to the operator.
 *
 * Owns: what is told of a request that was answered with 401, 403 or 429, and how often. Does not own: the decision.
 * Holds: no credential, no body and no query is told. Of a flood only some are told, with how many were not.
 */
import { cut, messageOf, visible, type Clock } from '@reeve/core'
import type { Principal } from '../wire.ts'
import { networkOf } from './network.ts'
import { RateLimit } from './rate-limit.ts'

/** A request that was refused for who made it, from where, or how often. */
export interface Denial {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly status: 401 | 403 | 429
  /** A code of the closed list. */
  readonly code: string
  readonly method: string
  /** The route as the table has it (`/api/runs/{run}`), or the path of a protocol; else the beginning of the path. */
  readonly route: string
  /** The address of the caller, where it is known. */
  readonly address?: string
  /** The name of the principal, where the credential was right. */
  readonly principal?: string
  readonly tenant?: string
  /** How many others were not told since the last one that was. Absent: none. */
  readonly omitted?: number
}

/** What is known of a request that was refused. */
export interface DeniedRequest {
  readonly request: Request
  readonly status: number
  readonly code: string
  readonly route: string
  /** Asks code of the application, which may throw. */
  readonly address: () => string | undefined
  readonly principal: Principal | undefined
}

/** Of one network, and of all: so many at once, then so many in a second. */
const [ofOne, ofAll] = [
  { burst: 20, perSecond: 1 },
  { burst: 200, perSecond: 20 },
]

/** Tells of denials, not too often. */
export class Denials {
  readonly #tell: ((denial: Denial) => void) | undefined
  readonly #clock: Clock
  readonly #one: RateLimit
  readonly #all: RateLimit
  #omitted = 0

  constructor(tell: ((denial: Denial) => void) | undefined, clock: Clock) {
    this.#tell = tell
    this.#clock = clock
    this.#one = new RateLimit(ofOne.perSecond, ofOne.burst, clock)
    this.#all = new RateLimit(ofAll.perSecond, ofAll.burst, clock)
  }

  /** Tells of a refusal, if it is a denial. Never throws: the caller is answered all the same. */
  tell(refused: DeniedRequest): void {
    const { status } = refused
    if (this.#tell === undefined || (status !== 401 && status !== 403 && status !== 429)) return
    try {
      const denial = this.#denial(refused, status)
      if (denial !== undefined) this.#tell(denial)
    } catch (thrown) {
      process.emitWarning(`onDenied or clientAddress failed: ${messageOf(thrown)}`)
    }
  }

  /** What is told; undefined: too much was told already. */
  #denial(
    { request, code, route, address: addressOf, principal }: DeniedRequest,
    status: Denial['status'],
  ): Denial | undefined {
    const address = addressOf()
    if (!this.#one.take(networkOf(address ?? '')) || !this.#all.take('')) {
      this.#omitted += 1
      return undefined
    }
    const omitted = this.#omitted
    this.#omitted = 0
    return {
      at: this.#clock.now(),
      status,
      code,
      method: request.method,
      route: visible(cut(route, 200)),
      ...(address === undefined ? undefined : { address: visible(cut(address, 100)) }),
      ...(principal === undefined || principal.name === '' ? undefined : { principal: principal.name }),
      ...(principal?.tenant === undefined ? undefined : { tenant: principal.tenant }),
      ...(omitted === 0 ? undefined : { omitted }),
    }
  }
}
