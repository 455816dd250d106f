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
export function jsonProblem(value: unknown, path = 'value', above: unknown[] = []): string | undefined {
  if (isLeaf(value)) return undefined
  if (typeof value === 'number') return `${path} is ${value}, which JSON cannot hold`
  if (typeof value !== 'object' || value === null) return `${path} is a ${typeof value}, which JSON cannot hold`
  if (above.includes(value)) return `${path} contains itself`
  above.push(value)
  const problem = Array.isArray(value) ? listProblem(value, path, above) : objectProblem(value, path, above)
  above.pop()
  return problem
}

/** What ends a path without a problem. Asked before a path is put into words: nearly every member is one. */
function isLeaf(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}

function listProblem(list: readonly unknown[], path: string, above: unknown[]): string | undefined {
  for (let i = 0; i < list.length; i++) {
    if (isLeaf(list[i])) continue
    const problem = jsonProblem(list[i], `${path}[${i}]`, above)
    if (problem !== undefined) return problem
  }
  return undefined
}

function objectProblem(object: object, path: string, above: unknown[]): string | undefined {
  if (!isObject(object)) return `${path} is an instance of ${object.constructor.name}, not plain JSON`
  for (const key of Object.keys(object)) {
    const member = object[key]
    if (member === undefined || isLeaf(member)) continue
    const problem = jsonProblem(member, `${path}.${key}`, above)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** The names of an object's members, sorted by UTF-16 code units. Mostly few: then this takes a fraction of the time and memory of the general sort. */
export function sortedNames(object: JsonObject): readonly string[] {
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

/** JSON text with sorted keys and no white space: equal values have equal text (RFC 8785 in spirit; numbers as ECMAScript prints them). */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) text += text === '' ? canonical(item) : `,${canonical(item)}`
    return `[${text}]`
  }
  const object = value as JsonObject
  for (const key of sortedNames(object)) {
    const member = object[key]
    if (member === undefined) continue
    text += text === '' ? `${JSON.stringify(key)}:${canonical(member)}` : `,${JSON.stringify(key)}:${canonical(member)}`
  }
  return `{${text}}`
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

/** A value as people and models read it: a text as it is, anything else as JSON. */
export const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** How many bytes a value has as JSON, in UTF-8. */
export const jsonBytes = (value: Json): number => new TextEncoder().encode(JSON.stringify(value)).length

/** What of these members there is: an object without those that are undefined. */
export const present = <T extends object>(members: T): Present<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<T>
type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }
