/**
 * JSON values: the only thing that crosses a boundary in Reeve (journal, edge, inbox, tools).
 *
 * Owns: the `Json` type, the check that a value really is JSON, the canonical text used for hashing.
 * Does not own: codecs of events (journal/codec.ts).
 */

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
 * Says where a value is not JSON, or `undefined` if it is. Used where a value enters the runtime, so that what is recorded is what was given.
 *
 * `undefined` members of objects are tolerated, because `JSON.stringify` drops them without loss.
 */
export function jsonProblem(value: unknown, path = 'value', seen = new Set<unknown>()): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${path} is ${value}, which JSON cannot hold`
  if (typeof value !== 'object') return `${path} is a ${typeof value}, which JSON cannot hold`
  if (seen.has(value)) return `${path} contains itself`
  if (!Array.isArray(value) && !isObject(value)) return `${path} is an instance of ${value.constructor.name}, not plain JSON`
  seen.add(value)
  const members: [string, unknown][] = Array.isArray(value)
    ? value.map((item, i) => [`${path}[${i}]`, item])
    : Object.entries(value).map(([k, v]) => [`${path}.${k}`, v])
  for (const [at, member] of members) {
    if (member === undefined && !Array.isArray(value)) continue
    const problem = jsonProblem(member, at, seen)
    if (problem !== undefined) return problem
  }
  seen.delete(value)
  return undefined
}

/** JSON text with sorted keys and no white space: equal values have equal text (RFC 8785 in spirit; numbers as ECMAScript prints them). */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonical(item)).join(',')}]`
  const object = value as JsonObject
  const members = Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(object[key]!)}`)
  return `{${members.join(',')}}`
}

/** A deep copy that shares nothing with the original. */
export function copy<T extends Json | undefined>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
}

/** Freezes a value and everything in it; returns the same value. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
  }
  return value
}
