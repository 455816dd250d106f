/**
 * A small JSON Schema validator: what models and edges need, nothing else. Own code rather than a package: why, in
 * docs/decisions/0008.
 *
 * Owns: the check of a value against a plain JSON Schema, in words that a model can act on. Knows: type (also lists),
 * enum, const, properties, required, additionalProperties, items, prefixItems, minItems, maxItems, uniqueItems,
 * minLength, maxLength, pattern, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, anyOf, oneOf, allOf,
 * not, nullable, local $ref. Other keywords are ignored.
 * Holds: values and schemas are read by their own members only; what a value inherits, or calls itself, changes no
 * verdict.
 */
import { canonical, isObject, own, type Json, type JsonObject } from '../core/index.ts'

/** A JSON Schema as data. */
export type JsonSchema = JsonObject

/** What is wrong with a value, the first problem only, as one sentence; undefined if nothing. Pure. */
export function schemaProblem(
  value: Json | undefined,
  schema: Json | undefined,
  root: JsonSchema,
  path = '',
): string | undefined {
  if (schema === undefined || schema === true) return undefined
  if (schema === false) return `${named(path)} is not expected`
  if (!isObject(schema)) return undefined
  if (typeof schema['$ref'] === 'string') return schemaProblem(value, resolve(schema['$ref'], root), root, path)
  if (value === null && schema['nullable'] === true) return undefined
  return (
    typeProblem(value, schema, path) ??
    valueProblem(value, schema, path) ??
    (typeof value === 'string' ? textProblem(value, schema, path) : undefined) ??
    (typeof value === 'number' ? numberProblem(value, schema, path) : undefined) ??
    (Array.isArray(value) ? listProblem(value, schema, root, path) : undefined) ??
    (isMembers(value) ? objectProblem(value, schema, root, path) : undefined) ??
    combinedProblem(value, schema, root, path)
  )
}

/**
 * An object of whatever class: what is checked must not depend on what it inherits, or one that is not plain would pass
 * unchecked.
 */
const isMembers = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The sub-schema that a local reference names; undefined (which accepts everything) if there is none. */
export function resolve(reference: string, root: JsonSchema): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  let at: Json | undefined = root
  for (const part of reference
    .slice(1)
    .split('/')
    .filter((each) => each !== '')) {
    at = isObject(at) ? own(at, part.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined
  }
  return at
}

const named = (path: string): string => (path === '' ? 'the value' : `"${path}"`)
const below = (path: string, key: string | number): string =>
  typeof key === 'number' ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`

/** What a JSON value is, in the words of JSON Schema. */
function kindOf(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function isOfType(value: Json | undefined, type: Json): boolean {
  return type === 'integer' ? Number.isInteger(value) : kindOf(value) === type
}

const article = (word: string): string =>
  word === 'null' || word === 'nothing' ? word : `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`

function typeProblem(value: Json | undefined, schema: JsonObject, path: string): string | undefined {
  const type = schema['type']
  if (type === undefined) return undefined
  const types = Array.isArray(type) ? (type as readonly Json[]) : [type]
  if (types.some((each) => isOfType(value, each))) return undefined
  return `${named(path)} must be ${types.map((each) => article(typeof each === 'string' ? each : canonical(each))).join(' or ')}, got ${typeof value === 'number' ? String(value) : article(kindOf(value))}`
}

function valueProblem(value: Json | undefined, schema: JsonObject, path: string): string | undefined {
  const { enum: allowed, const: only } = schema
  if (only !== undefined && !same(value, only)) return `${named(path)} must be ${JSON.stringify(only)}`
  if (!Array.isArray(allowed) || (allowed as readonly Json[]).some((each) => same(value, each))) return undefined
  return `${named(path)} must be one of ${(allowed as readonly Json[]).map((each) => JSON.stringify(each)).join(', ')}, got ${short(value)}`
}

const same = (a: Json | undefined, b: Json): boolean =>
  a === b || (typeof a === 'object' && typeof b === 'object' && canonical(a) === canonical(b))

function short(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

function textProblem(value: string, schema: JsonObject, path: string): string | undefined {
  const { minLength, maxLength, pattern } = schema
  if (typeof minLength === 'number' && length(value) < minLength)
    return `${named(path)} must have at least ${minLength} characters, got ${length(value)}`
  if (typeof maxLength === 'number' && length(value) > maxLength)
    return `${named(path)} must have at most ${maxLength} characters, got ${length(value)}`
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(value))
    return `${named(path)} must match ${pattern}, got ${short(value)}`
  return undefined
}

/** Characters as JSON Schema counts them: code points. */
const length = (text: string): number => [...text].length

function numberProblem(value: number, schema: JsonObject, path: string): string | undefined {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: under, multipleOf } = schema
  if (typeof minimum === 'number' && value < minimum) return `${named(path)} must be at least ${minimum}, got ${value}`
  if (typeof maximum === 'number' && value > maximum) return `${named(path)} must be at most ${maximum}, got ${value}`
  if (typeof above === 'number' && value <= above) return `${named(path)} must be more than ${above}, got ${value}`
  if (typeof under === 'number' && value >= under) return `${named(path)} must be less than ${under}, got ${value}`
  if (typeof multipleOf === 'number' && !Number.isInteger(Number((value / multipleOf).toPrecision(12))))
    return `${named(path)} must be a multiple of ${multipleOf}, got ${value}`
  return undefined
}

function listProblem(value: readonly Json[], schema: JsonObject, root: JsonSchema, path: string): string | undefined {
  const { minItems, maxItems, items, prefixItems, uniqueItems } = schema
  if (typeof minItems === 'number' && value.length < minItems)
    return `${named(path)} must have at least ${minItems} items, got ${value.length}`
  if (typeof maxItems === 'number' && value.length > maxItems)
    return `${named(path)} must have at most ${maxItems} items, got ${value.length}`
  if (uniqueItems === true && new Set(value.map((each) => canonical(each))).size < value.length)
    return `${named(path)} must not have the same item twice`
  const first: readonly Json[] = Array.isArray(prefixItems) ? (prefixItems as readonly Json[]) : []
  for (let i = 0; i < value.length; i++) {
    const problem = schemaProblem(value[i], i < first.length ? first[i] : items, root, below(path, i))
    if (problem !== undefined) return problem
  }
  return undefined
}

function objectProblem(value: JsonObject, schema: JsonObject, root: JsonSchema, path: string): string | undefined {
  const { properties, required, additionalProperties } = schema
  const known: JsonObject = isObject(properties) ? properties : {}
  for (const key of Array.isArray(required) ? (required as readonly Json[]) : []) {
    if (typeof key === 'string' && own(value, key) === undefined) return `${named(below(path, key))} is missing`
  }
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    const sub = Object.hasOwn(known, key) ? known[key] : additionalProperties
    if (sub === false)
      return `${named(below(path, key))} is not expected; known are ${Object.keys(known)
        .map((each) => `"${each}"`)
        .join(', ')}`
    const problem = schemaProblem(member, sub, root, below(path, key))
    if (problem !== undefined) return problem
  }
  return undefined
}

function combinedProblem(
  value: Json | undefined,
  schema: JsonObject,
  root: JsonSchema,
  path: string,
): string | undefined {
  const { allOf, anyOf, oneOf, not } = schema
  const problems = (list: Json): (string | undefined)[] =>
    (list as readonly Json[]).map((each) => schemaProblem(value, each, root, path))
  if (Array.isArray(allOf)) {
    const problem = problems(allOf).find((each) => each !== undefined)
    if (problem !== undefined) return problem
  }
  if (Array.isArray(anyOf)) {
    const found = problems(anyOf)
    if (!found.includes(undefined))
      return found.length === 1
        ? found[0]
        : `${named(path)} fits none of ${found.length} forms: ${[...new Set(found)].join('; or ')}`
  }
  if (Array.isArray(oneOf)) {
    const found = problems(oneOf)
    const fitting = found.filter((each) => each === undefined).length
    if (fitting === 0) return `${named(path)} fits none of ${found.length} forms: ${[...new Set(found)].join('; or ')}`
    if (fitting > 1) return `${named(path)} fits ${fitting} of ${found.length} forms, and only one is allowed`
  }
  return not !== undefined && schemaProblem(value, not, root, path) === undefined
    ? `${named(path)} has a form that is not allowed`
    : undefined
}
