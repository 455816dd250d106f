/**
 * JSON values: the only thing that crosses a boundary in Reeve (journal, edge, inbox, tools).
 *
 * Owns: the `Json` type, the check that a value really is JSON, the canonical text used for hashing.
 * Does not own: codecs of events (journal/codec.ts).
 */
import { cut } from './visible.ts'

/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json }

/** True for plain objects (and objects without a prototype); false for arrays, null, class instances. */
export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * An object's own member; undefined for one that it inherits (`constructor`, `toString`, what stands behind
 * `__proto__`). For names that come from data.
 */
export const own = <T>(object: { readonly [name: string]: T } | undefined, name: string): T | undefined =>
  object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined

/**
 * How deep a value may nest: a deeper one exhausts the stack of the code that walks it, sooner in one process than in
 * another.
 */
export const maxNesting = 1_000
/** What is given is recorded inside an edge, an answer, an outcome: so many levels more. */
const envelope = 32

/**
 * Says where a value is not JSON, or `undefined` if it is. Used where a value enters the runtime, so that what is
 * recorded is what was given.
 *
 * `undefined` members of objects are tolerated, because `JSON.stringify` drops them without loss. Values that nest
 * deeper than `maxNesting` are refused.
 */
export const jsonProblem = (value: unknown, path = 'value'): string | undefined =>
  problemIn(value, path, false, maxNesting)

/**
 * Says what of a value `JSON.stringify` would lose or change, or `undefined` if it writes it down faithfully. As
 * `jsonProblem`, except that an object which says itself how it is written (`toJSON`: a date, a URL, a buffer) is taken
 * at its word. Used for results, where what is recorded replaces what was given.
 */
export const writingProblem = (value: unknown, path = 'value'): string | undefined =>
  problemIn(value, path, true, maxNesting + envelope)

interface Walk {
  /** Objects with a `toJSON` are what it returns. */
  readonly converts: boolean
  readonly deepest: number
  /** The objects around this place, outermost first. */
  readonly above: unknown[]
  /** The members that lead to what is wrong, innermost first. Put into words only where something is wrong. */
  readonly way: string[]
}

const nestsDeeper = ` nests deeper than ${maxNesting} levels`

function problemIn(value: unknown, path: string, converts: boolean, deepest: number): string | undefined {
  const walk: Walk = { converts, deepest, above: [], way: [] }
  const problem = problemOf(value, walk)
  if (problem === undefined) return undefined
  const place = path + walk.way.toReversed().join('')
  return cut(place, problem === nestsDeeper ? 80 : 400) + problem
}

/** What is wrong, without its place. */
function problemOf(value: unknown, walk: Walk): string | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return undefined
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : ` is ${value}, which JSON cannot hold`
  if (value === undefined) return ' is undefined, which JSON cannot hold'
  if (typeof value !== 'object') return ` is a ${typeof value}, which JSON cannot hold`
  const { above } = walk
  if (above.includes(value)) return ' contains itself'
  if (above.length >= walk.deepest) return nestsDeeper
  above.push(value)
  const problem = Array.isArray(value) ? listProblem(value, walk) : objectProblem(value, walk)
  above.pop()
  return problem
}

function listProblem(list: readonly unknown[], walk: Walk): string | undefined {
  for (let i = 0; i < list.length; i++) {
    const problem = problemOf(list[i], walk)
    if (problem === undefined) continue
    walk.way.push(`[${i}]`)
    return problem
  }
  return undefined
}

function objectProblem(object: object, walk: Walk): string | undefined {
  const { toJSON } = object as { readonly toJSON?: unknown }
  if (walk.converts && typeof toJSON === 'function') return problemOf(toJSON.call(object, ''), walk)
  if (!isObject(object)) return ` is an instance of ${className(object)}, not plain JSON`
  const names = Object.keys(object)
  for (let i = 0; i < names.length; i++) {
    const member = object[names[i]!]
    if (member === undefined || typeof member === 'string') continue
    const problem = problemOf(member, walk)
    if (problem === undefined) continue
    walk.way.push(`.${names[i]!}`)
    return problem
  }
  return undefined
}

/** The name of its class. Its `constructor` may be anything: a member of data, or nothing at all. */
function className(object: object): string {
  const { constructor: made } = Object.getPrototypeOf(object) as { readonly constructor?: unknown }
  return typeof made === 'function' && made.name !== '' ? made.name : 'a class'
}

/** Values that nest deeper are copied by way of their text, as those are that contain themselves. */
const deepestPlain = 64

/**
 * A copy that shares nothing with the original: what `JSON.parse(JSON.stringify(value))` gives, in a fraction of the
 * time. Undefined where that is not known without looking further: the value is not JSON, or says itself how it is
 * written (`toJSON`), or nests very deep. Then `writingProblem` says what is wrong, if anything.
 */
export function plainCopy<T>(value: T): T | undefined {
  try {
    return plainly(value, 0) as T | undefined
  } catch {
    // a getter is the user's code
    return undefined
  }
}

function plainly(value: unknown, depth: number): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  // there is no minus zero in JSON
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined
  if (typeof value !== 'object' || depth === deepestPlain || 'toJSON' in value) return undefined
  if (Array.isArray(value)) {
    const list: unknown[] = []
    for (let i = 0; i < value.length; i++) {
      const kept = plainly(value[i], depth + 1)
      if (kept === undefined) return undefined
      list.push(kept)
    }
    return list
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return undefined
  // they are not written, and a copy by members would share what they hold
  if (Object.getOwnPropertySymbols(value).length > 0) return undefined
  const members: { [name: string]: unknown } = { ...value }
  for (const name in members) {
    const member = members[name]
    if (typeof member === 'string') continue
    if (typeof member === 'number' && Number.isFinite(member)) {
      members[name] = member + 0
      continue
    }
    if (member === undefined) return Object.hasOwn(members, '__proto__') ? undefined : plainly(present(members), depth)
    const kept = plainly(member, depth + 1)
    if (kept === undefined) return undefined
    members[name] = kept
  }
  return members
}

/**
 * The names of an object's members, sorted by UTF-16 code units. Mostly few: then this takes a fraction of the time and
 * memory of the general sort.
 */
function sortedNames(object: JsonObject): readonly string[] {
  const names = Object.keys(object)
  if (names.length > 16) return names.sort()
  for (let i = 1; i < names.length; i++) {
    const name = names[i]!
    let at = i
    for (; at > 0 && names[at - 1]! > name; at--) names[at] = names[at - 1]!
    names[at] = name
  }
  return names
}

/** Texts that are written as they are. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/**
 * JSON text with sorted keys and no white space: equal values have equal text (RFC 8785 in spirit; numbers as
 * ECMAScript prints them).
 */
export function canonical(value: Json): string {
  // short ones, as nearly all names are, without the way into the engine and back
  if (typeof value === 'string') return value.length <= 64 && plain.test(value) ? `"${value}"` : JSON.stringify(value)
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null'
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (value === null) return 'null'
  if (typeof value !== 'object') return JSON.stringify(value)
  let text = ''
  if (Array.isArray(value)) {
    const list = value as readonly Json[]
    for (let i = 0; i < list.length; i++) text += i === 0 ? canonical(list[i]!) : `,${canonical(list[i]!)}`
    return `[${text}]`
  }
  const object = value as JsonObject
  // as it is written down: a date is its text
  const { toJSON } = object as { readonly toJSON?: unknown }
  if (typeof toJSON === 'function') return canonical(toJSON.call(object, '') as Json)
  const names = sortedNames(object)
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!
    const member = object[name]
    if (member === undefined) continue
    text += text === '' ? `${canonical(name)}:${canonical(member)}` : `,${canonical(name)}:${canonical(member)}`
  }
  return `{${text}}`
}

/** A deep copy that shares nothing with the original. */
export function copy<T extends Json | undefined>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
}

/** Freezes a value and everything in it; returns the same value. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  const members: readonly unknown[] = Object.values(Object.freeze(value))
  for (let i = 0; i < members.length; i++) if (typeof members[i] === 'object') deepFreeze(members[i])
  return value
}

/** A value as people and models read it: a text as it is, anything else as JSON. */
export const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** How many bytes a value has as JSON, in UTF-8. */
export const jsonBytes = (value: Json): number => new TextEncoder().encode(JSON.stringify(value)).length

/** The members that are not undefined, as a new object. A member called `__proto__` is left out. */
export function present<T extends object>(members: T): Present<T> {
  const kept: { [name: string]: unknown } = {}
  // no list of them is made: edges and requests are made of this for every delegation
  for (const name in members) {
    const value: unknown = members[name]
    if (value !== undefined && name !== '__proto__' && Object.hasOwn(members, name)) kept[name] = value
  }
  return kept as Present<T>
}

/** The same members, writable: for what is made step by step. */
export type Draft<T> = { -readonly [K in keyof T]: T[K] }

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }
