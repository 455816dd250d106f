/**
 * Kept result: what can be recorded of a result that JSON, or an entry of the journal, does not take.
 *
 * Owns: the form in which such a value is kept, its bounds, the words for what was changed. Pure, except that the
 * value's own getters and `toJSON` run. Does not own: when a result is kept so (../engine/replay/effects.ts), what a
 * model is told of it (formatted-result.ts).
 * Holds: work that is done is never told as failed for the form of its result. Nothing here throws, whatever the value
 * is, and nothing is changed without being named.
 */
import { isObject, type Json } from './json.ts'
import { beginning, cut, visible } from './visible.ts'

/** What was changed in a result so that it could be recorded. */
export interface KeptResult {
  /** `form`: all of it is there, some of it in another form. `part`: some of it is missing. */
  readonly as: 'form' | 'part'
  /** Where and what, in words; the first places, and how many more there are. Names in it are visible and bounded. */
  readonly why: string
}

/** A result as it is recorded. */
export interface KeptValue {
  readonly value: Json
  /** Absent: it says itself how it is written, and nothing is lost. */
  readonly kept?: KeptResult
  /** There was more of it than was to be kept. */
  readonly isCut: boolean
}

/** How many places are named. */
const namedMost = 5
/** As for any other JSON (`jsonProblem`). */
const deepest = 1_000
/** How many values are looked at: a list without end, or one that is made while it is read, must come to an end. */
const valuesMost = 5_000_000
/** How much of a result is kept that no entry can hold. Characters. */
export const keptBeginning = 65_536

/**
 * A value in a form that can be recorded. `most`: about how many characters of it are kept. Big integers are their
 * digits, numbers without a form in JSON their names, maps objects or lists of
 * pairs, sets lists, instances their own members;
 * cycles, functions and symbols are marked or left out.
 */
export function keptForm(value: unknown, most = Infinity): KeptValue {
  const keeper = new ResultReader(most)
  const kept = keeper.keep(value) ?? null
  const { why, isPart, isFull } = keeper
  return why === ''
    ? { value: kept, isCut: false }
    : { value: kept, kept: { as: isPart ? 'part' : 'form', why }, isCut: isFull }
}

/**
 * The beginning of a value that is too large for an entry, as the member `beginning` of an object: code that takes it
 * for the whole fails at once, where a shorter list would pass for the whole. Its members keep their names, by which
 * redaction finds them.
 */
export function keptStart(value: unknown, most = keptBeginning): KeptValue {
  const size = sizeOf(value)
  const start = keptForm(value, most)
  const why = `it has ${size} as JSON, too many for one entry of the journal; about the first ${most} are kept`
  return { value: { beginning: start.value }, kept: { as: 'part', why }, isCut: true }
}

function sizeOf(value: unknown): string {
  try {
    return `${JSON.stringify(value).length} characters`
  } catch {
    return 'more characters than one text can hold'
  }
}

class ResultReader {
  isPart = false
  readonly #losses: string[] = []
  #more = 0
  #left: number
  #values = 0
  readonly #above: object[] = []
  readonly #way: string[] = []

  constructor(most: number) {
    this.#left = most
  }

  /** What was changed. Empty: nothing. */
  get why(): string {
    const more = this.#more === 0 ? '' : `; and ${this.#more} more`
    return `${this.#losses.join('; ')}${more}`
  }

  /** There is more of it than is kept. */
  get isFull(): boolean {
    return this.#left < 0 || this.#values > valuesMost
  }

  #lose(what: string, isPart: boolean): void {
    if (isPart) this.isPart = true
    if (this.#losses.length === namedMost) this.#more++
    else this.#losses.push(`${cut(visible(`result${this.#way.join('')}`), 120)} ${what}`)
  }

  /** Undefined: it is left out. */
  keep(value: unknown): Json | undefined {
    this.#values++
    if (this.isFull) {
      this.#lose('is left out: there is too much of it', true)
      return undefined
    }
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'boolean':
        return this.#spend(value, 5)
      case 'number':
        if (Number.isFinite(value)) return this.#spend(value + 0, 20)
        this.#lose(`is ${value}, kept as text`, false)
        return String(value)
      case 'bigint':
        this.#lose('is a bigint, kept as its digits', false)
        return this.#text(String(value))
      case 'undefined':
        return undefined
      case 'object':
        return value === null ? null : this.#object(value)
      default:
        this.#lose(`is a ${typeof value}, left out`, true)
        return undefined
    }
  }

  #spend<T>(value: T, characters: number): T {
    this.#left -= characters
    return value
  }

  #text(text: string): string {
    if (text.length <= this.#left) return this.#spend(text, text.length + 2)
    const head = beginning(text, Math.max(0, this.#left))
    this.#lose(`is cut after ${head.length} of ${text.length} characters`, true)
    this.#left = -1
    return head
  }

  #object(object: object): Json | undefined {
    if (this.#above.includes(object)) {
      this.#lose('contains itself, marked', true)
      return '[contains itself]'
    }
    if (this.#above.length >= deepest) {
      this.#lose(`nests deeper than ${deepest} levels, left out`, true)
      return '[nests too deep]'
    }
    this.#above.push(object)
    try {
      return this.#spend(this.#members(object), 2)
    } catch {
      // a getter, a `toJSON` or a proxy is the author's code
      this.#lose('could not be read', true)
      return '[could not be read]'
    } finally {
      this.#above.pop()
    }
  }

  #members(object: object): Json | undefined {
    if (Array.isArray(object)) return this.#list(object.length, object)
    const { toJSON } = object as { readonly toJSON?: unknown }
    if (typeof toJSON === 'function') return this.#written(object, toJSON)
    if (object instanceof Map) return this.#map(object)
    if (object instanceof Set) return this.#another('a Set, kept as a list', [...object])
    if (ArrayBuffer.isView(object)) return this.#bytes(object.buffer, object.byteOffset, object.byteLength)
    if (object instanceof ArrayBuffer) return this.#bytes(object, 0, object.byteLength)
    if (object instanceof Number || object instanceof String || object instanceof Boolean)
      return this.keep(object.valueOf())
    if (object instanceof RegExp) return this.#another('a RegExp, kept as text', String(object))
    if (object instanceof Error) return this.#error(object)
    if (!isObject(object)) this.#lose('is an instance of a class, kept as its own members', false)
    return this.#record(object)
  }

  /** As it says itself how it is written. */
  #written(object: object, toJSON: unknown): Json | undefined {
    const written: unknown = (toJSON as (this: object, key: string) => unknown).call(object, '')
    return written === object ? this.#record(object) : this.keep(written)
  }

  #another(what: string, value: unknown): Json | undefined {
    this.#lose(`is ${what}`, false)
    return this.keep(value)
  }

  /** Names stay names, by which redaction finds what it takes out. */
  #map(map: ReadonlyMap<unknown, unknown>): Json | undefined {
    const pairs = [...map]
    return pairs.every(([name]) => typeof name === 'string')
      ? this.#another('a Map, kept as an object', Object.fromEntries(pairs as [string, unknown][]))
      : this.#another('a Map, kept as a list of pairs', pairs)
  }

  #bytes(buffer: ArrayBufferLike, from: number, length: number): Json | undefined {
    return this.#another(
      `${length} bytes, kept as base64`,
      Buffer.from(buffer as ArrayBuffer, from, length).toString('base64'),
    )
  }

  #error({ name, message }: Error): Json | undefined {
    this.#lose('is an Error, kept as its name and message', false)
    return this.#record({ name: String(name), message: String(message) })
  }

  #list(length: number, list: readonly unknown[]): Json {
    const kept: Json[] = []
    for (let i = 0; i < length; i++) {
      if (this.isFull) {
        this.#lose(`ends after ${i} of ${length} entries`, true)
        break
      }
      kept.push(this.#at(`[${i}]`, () => this.#entry(list[i])))
    }
    return kept
  }

  /** A place in a list stays a place. */
  #entry(value: unknown): Json {
    if (value === undefined) this.#lose('is undefined, kept as null', false)
    return this.keep(value) ?? null
  }

  #record(object: object): Json {
    const members: [string, Json][] = []
    for (const name of Object.keys(object)) {
      const kept = this.#at(`.${name}`, () => this.#member(object, name))
      if (kept !== undefined) members.push([name, kept])
      if (this.isFull) break
    }
    // a member called `__proto__` is a member
    return Object.fromEntries(members)
  }

  #member(object: object, name: string): Json | undefined {
    this.#left -= name.length + 3
    try {
      return this.keep((object as { readonly [member: string]: unknown })[name])
    } catch {
      this.#lose('could not be read', true)
      return undefined
    }
  }

  #at<T>(step: string, read: () => T): T {
    this.#way.push(step)
    try {
      return read()
    } finally {
      this.#way.pop()
    }
  }
}
