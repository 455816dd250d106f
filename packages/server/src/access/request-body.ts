/**
 * Request bodies: read up to a limit.
 *
 * Owns: how much is read, of one body and of all at once, how long a body may stand still, how deep it may nest. Does not
 * own: what it must hold (the schemas of routes).
 * Holds: of a body that is too large no more is read than the limit, whatever it says of its length. Bodies that have
 * begun and not ended are counted in bytes, for each who shares them and in all: half-sent ones fill no memory, and no one's
 * keep all others' out.
 */
import { readJson, ReeveError, type Clock, type Json } from '@reeve/core'
import { tooMany } from './rate-limit.ts'

/** How bodies are read. */
export interface BodyLimits {
  /** The largest body, in bytes. */
  readonly bytes: number
  /** How deep its JSON may nest. */
  readonly depth: number
  /** The bytes of all bodies that are being read at once. */
  readonly allBytes: number
  /** A body of which nothing comes for so many milliseconds is given up. */
  readonly idleMs: number
}

/** Whose a body is: one of those for whom bytes are counted. */
export interface BodySharer {
  readonly key: string
  /** How much of all bytes they may have together, from 0 to 1; one largest body they always may. */
  readonly share: number
}

/** The body of one request. It can be read once. */
export interface RequestBody {
  /**
   * Its JSON; undefined for an empty body. Rejects with `input.too-large`, `request.not-json`, `input.invalid`,
   * `request.timed-out`, `request.too-many`.
   */
  json(): Promise<Json | undefined>
  /** The fields of a form of at most so many bytes. Rejects as `json`. */
  form(bytes: number): Promise<ReadonlyMap<string, string>>
  /** Exactly what was sent, for those who check a signature. Rejects with `input.too-large`, `input.invalid`, `request.*`. */
  text(): Promise<string>
}

/** The bodies that a server reads. */
export class RequestBodies {
  readonly #limits: BodyLimits
  readonly #clock: Clock
  readonly #held = new Map<string, number>()
  #all = 0

  constructor(limits: BodyLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** The body of a request, of at most so many bytes. It counts for each of these. */
  of(request: Request, sharers: readonly BodySharer[], most = this.#limits.bytes): RequestBody {
    const bytes = Math.min(most, this.#limits.bytes)
    const reading = <T>(limit: number, read: (said: string) => T): Promise<T> =>
      this.#reading(request, sharers, limit, read)
    return {
      json: () => reading(bytes, (said) => jsonIn(request, said, this.#limits.depth)),
      async form(limit) {
        if (mediaType(request) !== 'application/x-www-form-urlencoded') throw invalid('the body is not a form')
        return reading(limit, (said) => new Map(new URLSearchParams(said)))
      },
      text: () => reading(bytes, (said) => said),
    }
  }

  /** Bytes of bodies that have begun to be read and are not yet what they say. */
  get held(): number {
    return this.#all
  }

  async #reading<T>(
    request: Request,
    sharers: readonly BodySharer[],
    most: number,
    read: (said: string) => T,
  ): Promise<T> {
    let held = 0
    try {
      const said = await this.#text(request, most, (bytes) => {
        if (!this.#take(sharers, bytes, most)) throw tooMany('too many bodies are being sent at once')
        held += bytes
      })
      return read(said)
    } finally {
      this.#give(sharers, held)
    }
  }

  async #text(request: Request, most: number, take: (bytes: number) => void): Promise<string> {
    if (Number(request.headers.get('Content-Length') ?? 0) > most) throw tooLarge(most)
    if (request.body === null) return ''
    const reader = (request.body as ReadableStream<Uint8Array>).getReader()
    // copied into one buffer: a body in a million pieces would hold a million of them
    let all = new Uint8Array(4_096)
    let bytes = 0
    try {
      for (;;) {
        const { done, value } = await this.#next(reader)
        if (done) break
        if (bytes + value.length > most) throw tooLarge(most)
        take(value.length)
        if (bytes + value.length > all.length) all = grown(all, bytes + value.length)
        all.set(value, bytes)
        bytes += value.length
      }
    } catch (thrown) {
      void reader.cancel().catch(() => {})
      // a caller that is gone, or breaks off: nothing of the server has failed
      throw ReeveError.is(thrown) ? thrown : invalid('the body ended before it was complete')
    }
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(all.subarray(0, bytes))
    } catch {
      throw invalid('the body is not UTF-8')
    }
  }

  /** The next piece. Rejects with `request.timed-out` where none comes in time. */
  #next(reader: ReadableStreamDefaultReader<Uint8Array>): ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> {
    const { idleMs } = this.#limits
    let callOff = (): void => {}
    const late = new Promise<never>((_resolve, reject) => {
      callOff = this.#clock.timer(this.#clock.now() + idleMs, () => reject(timedOut(idleMs)))
    })
    return Promise.race([reader.read(), late]).finally(() => callOff())
  }

  #take(sharers: readonly BodySharer[], bytes: number, most: number): boolean {
    const { allBytes } = this.#limits
    const fits = (held: number, share: number): boolean => held + bytes <= Math.max(most, allBytes * share)
    if (!fits(this.#all, 1) || !sharers.every(({ key, share }) => fits(this.#held.get(key) ?? 0, share))) return false
    for (const { key } of sharers) this.#held.set(key, (this.#held.get(key) ?? 0) + bytes)
    this.#all += bytes
    return true
  }

  #give(sharers: readonly BodySharer[], bytes: number): void {
    for (const { key } of sharers) {
      const left = (this.#held.get(key) ?? 0) - bytes
      if (left > 0) this.#held.set(key, left)
      else this.#held.delete(key)
    }
    this.#all -= bytes
  }
}

function jsonIn(request: Request, said: string, depth: number): Json | undefined {
  const type = mediaType(request)
  if (said === '' && type === undefined) return undefined
  if (type !== 'application/json')
    throw new ReeveError('request.not-json', 'the body is not declared as JSON', {
      hint: 'Send it with Content-Type: application/json. Nothing was done.',
    })
  if (said === '') return undefined
  const encoding = request.headers.get('Content-Encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw new ReeveError('request.not-json', `the body is declared as ${JSON.stringify(encoding)}`, {
      hint: 'Send it without a Content-Encoding. Nothing was done.',
    })
  const read = readJson(said, { path: 'body' })
  if (!read.ok) throw invalid(read.none === true ? 'the body is not valid JSON' : read.problem)
  if (nestsDeeper(read.value, depth)) throw invalid(`the body nests deeper than ${depth} levels`)
  return read.value
}

/** A copy with room for so many bytes, and for as many again. */
function grown(bytes: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(needed * 2)
  larger.set(bytes)
  return larger
}

const mediaType = (request: Request): string | undefined =>
  request.headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase()

const invalid = (message: string): ReeveError => new ReeveError('input.invalid', message, { hint: 'Nothing was done.' })

const timedOut = (ms: number): ReeveError =>
  new ReeveError('request.timed-out', `nothing came of the body for ${ms} ms`, {
    hint: 'Send it again, without a pause. Nothing was done.',
    retryable: true,
  })

const tooLarge = (most: number): ReeveError =>
  new ReeveError('input.too-large', `the body is larger than ${most} bytes`, {
    hint: 'Send less, or let the server take larger bodies. Nothing was done.',
  })

function nestsDeeper(value: Json, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return most === 0 || Object.values(value).some((each: Json) => nestsDeeper(each, most - 1))
}
