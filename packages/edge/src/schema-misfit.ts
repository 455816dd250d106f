/**
 * Schema misfit: whether values of one JSON Schema can be values of another one, before there is any value.
 *
 * Owns: that comparison. It says what certainly does not fit; where it cannot tell, it says nothing. Does not own: the
 * check of a value (json-schema.ts), where schemas come from (schema.ts).
 */
import { isObject, own, type Json, type JsonObject } from '@reeve/core'
import { resolve, type JsonSchema } from './json-schema.ts'

/** A part of a schema, and the whole that its references are read from. */
interface SchemaPart {
  readonly schema: Json | undefined
  readonly root: JsonSchema
}

/** Levels that are compared. */
const deepest = 12

/** What is known of two schemas; undefined while they are compared. Schemas may refer to themselves, many times over. */
type KnownMisfits = Map<JsonObject, Map<JsonObject, string | undefined>>

/**
 * Why no value of `given` is a value of `taken`, in one sentence; undefined if one can be, or if that cannot be told.
 * Pure.
 */
export const schemaMisfit = (given: JsonSchema, taken: JsonSchema): string | undefined =>
  misfit({ schema: given, root: given }, { schema: taken, root: taken }, '', 0, new Map())

function misfit(
  givenPart: SchemaPart,
  takenPart: SchemaPart,
  path: string,
  depth: number,
  known: KnownMisfits,
): string | undefined {
  const [given, taken] = [resolved(givenPart), resolved(takenPart)]
  if (depth > deepest || given === undefined || taken === undefined) return undefined
  const before = known.get(given) ?? new Map<JsonObject, string | undefined>()
  if (before.has(taken)) return before.get(taken)
  known.set(given, before.set(taken, undefined))
  const why = compared(given, taken, path, (a, b, at) =>
    misfit({ schema: a, root: givenPart.root }, { schema: b, root: takenPart.root }, at, depth + 1, known),
  )
  before.set(taken, why)
  return why
}

type Next = (given: Json | undefined, taken: Json | undefined, path: string) => string | undefined

function compared(given: JsonObject, taken: JsonObject, path: string, next: Next): string | undefined {
  const [ways, waysIn] = [alternatives(given), alternatives(taken)]
  if (ways !== undefined) return ofAll(ways.map((each) => next(each, taken, path)))
  if (waysIn !== undefined) return ofAll(waysIn.map((each) => next(given, each, path)))
  const all = taken['allOf']
  const inAll = Array.isArray(all) ? (all as readonly Json[]).map((each) => next(given, each, path)) : []
  return (
    inAll.find((each) => each !== undefined) ?? typeMisfit(given, taken, path) ?? partMisfit(given, taken, path, next)
  )
}

const resolved = ({ schema, root }: SchemaPart): JsonObject | undefined => {
  const found = isObject(schema) && typeof schema['$ref'] === 'string' ? resolve(schema['$ref'], root) : schema
  return isObject(found) ? found : undefined
}

function alternatives(schema: JsonObject): readonly Json[] | undefined {
  const given = schema['anyOf'] ?? schema['oneOf']
  return Array.isArray(given) && given.length > 0 ? (given as readonly Json[]) : undefined
}

/** The first reason if there is one for each of them. */
const ofAll = (reasons: readonly (string | undefined)[]): string | undefined =>
  reasons.every((each) => each !== undefined) ? reasons[0] : undefined

function typeMisfit(given: JsonObject, taken: JsonObject, path: string): string | undefined {
  const [from, to] = [typesOf(given), typesOf(taken)]
  if (from === undefined || to === undefined || from.some((type) => to.includes(type))) return undefined
  return `${named(path)} is ${from.join(' or ')}, expected ${to.join(' or ')}`
}

/** The types that a value may have; a whole number is a number. Undefined: any. */
function typesOf(schema: JsonObject): readonly string[] | undefined {
  const values = Array.isArray(schema['enum']) ? (schema['enum'] as readonly Json[]) : undefined
  const { type, const: one } = schema
  const said =
    one !== undefined
      ? [kindOf(one)]
      : (values?.map(kindOf) ?? (type === undefined ? undefined : [type].flat().map(String)))
  if (said === undefined) return undefined
  const types = said.map((each) => (each === 'integer' ? 'number' : each))
  return [...new Set(schema['nullable'] === true ? [...types, 'null'] : types)]
}

const kindOf = (value: Json): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

function partMisfit(given: JsonObject, taken: JsonObject, path: string, next: Next): string | undefined {
  const [types, typesIn] = [typesOf(given), typesOf(taken)]
  const isOnly = (type: string): boolean =>
    types?.length === 1 && typesIn?.length === 1 && types[0] === type && typesIn[0] === type
  if (isOnly('array')) return next(given['items'], taken['items'], `${path}[]`)
  if (!isOnly('object') || !isObject(given['properties'])) return undefined
  const { properties, additionalProperties } = given
  const required = Array.isArray(taken['required']) ? (taken['required'] as readonly Json[]) : []
  for (const name of required.filter((each) => typeof each === 'string')) {
    const at = path === '' ? name : `${path}.${name}`
    const there = own(properties, name)
    if (there === undefined && additionalProperties === false) return `${named(at)} is missing`
    const expected = isObject(taken['properties']) ? own(taken['properties'], name) : undefined
    const why = next(there, expected, at)
    if (why !== undefined) return why
  }
  return undefined
}

const named = (path: string): string => (path === '' ? 'the value' : `"${path}"`)
