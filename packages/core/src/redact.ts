/**
 * Redaction: taking secrets out of what is recorded (K10). By the name of a member, or by a registered value wherever
 * it stands in a text.
 *
 * Owns: the rules as data, what a shape is, the pure function made of them. Does not own: the shapes of what is stored
 * (journal/redaction.ts), when it is applied (the engine, before anything is recorded).
 */
import { own, type Json, type JsonObject } from './json.ts'
import { object, type Check } from './checks.ts'
import { described } from './names.ts'

/** What is taken out before anything is recorded. What remains in its place is `[redacted]`. */
export interface Redaction {
  /**
   * Names of members whose values never enter the journal, in any case: `apiKey`, `authorization`, … In payloads: what
   * users, models and tools wrote as JSON.
   */
  readonly keys?: readonly string[]
  /**
   * Values that never enter the journal, wherever they occur in a text or a payload; names and ids are not changed.
   * Shorter than 4 characters: not used, they would hit everything.
   */
  readonly values?: readonly string[]
  /**
   * What content keys are made with, at least 32 characters; kept outside the store, and the same in every process
   * whose keys are to be compared. Default: each process makes its own, so its keys cannot be compared with those of
   * another.
   */
  readonly secret?: string
}

/** A shorter secret could be guessed, and with it whatever a key is made of. */
const secretCharacters = 32

/** The check of the rules: a rule that is not text would silently redact nothing. */
const texts: Check = (given, where) =>
  Array.isArray(given) && given.every((each) => typeof each === 'string')
    ? []
    : [
        `${where} is ${Array.isArray(given) ? 'a list with something else in it' : described(given)}, expected a list of texts`,
      ]
export const redactionCheck = object<Redaction>({
  keys: texts,
  values: texts,
  // a secret that is too short is not repeated
  secret: (given, where) =>
    typeof given === 'string' && given.length >= secretCharacters
      ? []
      : [
          `${where} is ${typeof given === 'string' ? `a text of ${given.length} characters` : described(given)}, expected at least ${secretCharacters}`,
        ],
})

/** What stands where something was taken out. */
export const redactedMark = '[redacted]'

/**
 * What a place in a stored value holds, and so what redaction may change there.
 *
 * - `kept`: Reeve's own structure (names, addresses, ids, states). Nothing is changed: what was changed would not be
 *   found again.
 * - `text`: words. Registered values are taken out wherever they occur; names of members stay.
 * - `named`: as `payload`, and it goes by its own name.
 * - `payload`: JSON of users, models and tools. Registered values are taken out, also of names, and members go by their
 *   names.
 * - an object: an object of ours, by member. A member that is not named is that of `*`, or `text`. Where `*` is
 *   `payload`, it goes by its name, too.
 * - a list of one: a list of such.
 * - a function: depends on what stands there.
 */
export type Shape =
  | 'kept'
  | 'text'
  | 'named'
  | 'payload'
  | { readonly [member: string]: Shape }
  | readonly [Shape]
  | ((value: Json) => Shape)

/** Takes out what is to be taken out. Pure. */
export type Redactor = (value: Json, shape: Shape) => Json

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape)

/** A redactor for these rules; undefined if there is nothing to take out. */
export function redactor(rules: Redaction | undefined): Redactor | undefined {
  const keys = new Set((rules?.keys ?? []).map((key) => key.toLowerCase()))
  // what the mark itself holds would stand there again, and once more each time
  const values = registered(rules).filter((value) => !redactedMark.includes(value))
  if (keys.size === 0 && values.length === 0) return undefined
  const clean = (text: string): string => values.reduce((rest, value) => rest.replaceAll(value, redactedMark), text)
  const payload = (value: Json): Json => {
    if (typeof value === 'string') return clean(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((item: Json) => payload(item))
    return mapped(value as JsonObject, clean, ofPayload)
  }
  const ofPayload = (key: string, member: Json): Json =>
    keys.has(key.toLowerCase()) && member !== null ? redactedMark : payload(member)
  const redact: Redactor = (value, given) => {
    const shape = typeof given === 'function' ? given(value) : given
    if (typeof shape === 'function') return redact(value, shape)
    if (shape === 'kept') return value
    if (shape === 'payload' || shape === 'named') return payload(value)
    if (typeof value === 'string') return clean(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((item: Json) => redact(item, isList(shape) ? shape[0] : shape))
    const members = shape === 'text' || isList(shape) ? {} : shape
    return mapped(value as JsonObject, same, (key, member) => {
      const named = own(members, key)
      if (named === 'named' || (named === undefined && members['*'] === 'payload')) return ofPayload(key, member)
      return redact(member, named ?? members['*'] ?? 'text')
    })
  }
  return redact
}

const same = (name: string): string => name

const mapped = (
  object: JsonObject,
  name: (key: string) => string,
  change: (key: string, member: Json) => Json,
): JsonObject =>
  Object.fromEntries(
    Object.entries(object).flatMap(([key, member]) => (member === undefined ? [] : [[name(key), change(key, member)]])),
  )

/** The values that are looked for, the longest first. */
const registered = (rules: Redaction | undefined): readonly string[] =>
  (rules?.values ?? []).filter((value) => value.length >= 4).sort((a, b) => b.length - a.length)

/**
 * Whether a name holds a registered value: names are structure and are stored as they are, so it must not become one.
 */
export const holdsSecret = (rules: Redaction | undefined, name: string): boolean =>
  registered(rules).some((value) => name.includes(value))
