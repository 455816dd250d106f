/**
 * The part of JSON Schema that OpenAI takes: for the parameters of a function, for an output, and for both if `strict`.
 *
 * Owns: that part, as functions that say what is wrong in words like OpenAI's.
 * Does not own: where in a request schemas stand (openai-chat-rules.ts, openai-responses-rules.ts).
 *
 * Sources: https://developers.openai.com/api/docs/guides/structured-outputs (supported schemas), and the reports named
 * at the rules.
 */
import { isObject, type Json, type JsonObject } from '@reeve/core'
import { listAt, memberOf, objectAt, textAt } from './wire.ts'

/** A schema inside a schema, and where it is. */
interface SchemaPosition {
  readonly schema: JsonObject
  readonly path: readonly string[]
  /** How many objects it is inside of, itself included. */
  readonly depth: number
}

const maps = ['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas']
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items']
const single = [
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
]

/** Every schema inside a schema, itself first. */
export function* schemasIn(schema: JsonObject, path: readonly string[] = [], above = 0): Generator<SchemaPosition> {
  const depth = above + (isObjectSchema(schema) ? 1 : 0)
  yield { schema, path, depth }
  for (const name of maps)
    for (const [key, inner] of Object.entries(objectAt(schema, name) ?? {}))
      if (isObject(inner)) yield* schemasIn(inner, [...path, name, key], depth)
  for (const name of lists)
    for (const [at, inner] of listAt(schema, name).entries())
      if (isObject(inner)) yield* schemasIn(inner, [...path, name, String(at)], depth)
  for (const name of single) {
    const inner = objectAt(schema, name)
    if (inner !== undefined) yield* schemasIn(inner, [...path, name], depth)
  }
}

const typesOf = (schema: JsonObject): readonly Json[] => {
  const type = memberOf(schema, 'type')
  return type === undefined ? [] : Array.isArray(type) ? (type as readonly Json[]) : [type]
}

const isObjectSchema = (schema: JsonObject): boolean =>
  typesOf(schema).includes('object') || memberOf(schema, 'properties') !== undefined

const context = (path: readonly string[]): string => {
  const names = path.map((name) => `'${name}'`).join(', ')
  return `In context=(${names}${path.length === 1 ? ',' : ''})`
}

/** The first problem of all the schemas inside. */
function firstInside(schema: JsonObject, problem: (place: SchemaPosition) => string | undefined): string | undefined {
  for (const place of schemasIn(schema)) {
    const found = problem(place)
    if (found !== undefined) return `${context(place.path)}, ${found}`
  }
  return undefined
}

/** The root of the parameters of a function: an object with properties that is no union. */
export function parametersRootProblem(schema: JsonObject): string | undefined {
  const type = memberOf(schema, 'type')
  if (type !== 'object')
    return `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(type ?? 'None')}'.`
  const atRoot = ['oneOf', 'anyOf', 'allOf', 'enum', 'const', 'not'].some(
    (name) => memberOf(schema, name) !== undefined,
  )
  if (atRoot)
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level."
  return objectAt(schema, 'properties') === undefined ? 'In context=(), object schema missing properties.' : undefined
}

/** Every array says what its items are. */
export const itemsProblem = (schema: JsonObject): string | undefined =>
  firstInside(schema, ({ schema: inner }) =>
    typesOf(inner).includes('array') && memberOf(inner, 'items') === undefined
      ? 'array schema missing items.'
      : undefined,
  )

/** The root of an output: an object, and no union. */
export function outputRootProblem(schema: JsonObject): string | undefined {
  const type = memberOf(schema, 'type')
  if (type === 'object')
    return memberOf(schema, 'anyOf') === undefined
      ? undefined
      : "In context=(), 'anyOf' is not permitted at the root of the schema."
  return `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(type ?? 'None')}'.`
}

/** Words that the strict subset does not have. */
const unsupported = [
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'minContains',
  'maxContains',
  'uniqueItems',
  'prefixItems',
  'default',
]

const formats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']

/** The words of the strict subset. */
const strictKeywordProblem = (schema: JsonObject): string | undefined =>
  firstInside(schema, ({ schema: inner }) => {
    const word = unsupported.find((name) => memberOf(inner, name) !== undefined)
    return word === undefined ? undefined : `'${word}' is not permitted.`
  })

/** Every object is closed and every property required. */
export const strictObjectsProblem = (schema: JsonObject): string | undefined =>
  firstInside(schema, ({ schema: inner }) => {
    if (!isObjectSchema(inner)) return undefined
    if (memberOf(inner, 'additionalProperties') !== false)
      return "'additionalProperties' is required to be supplied and to be false."
    const wanted = listAt(inner, 'required')
    const missing = Object.keys(objectAt(inner, 'properties') ?? {}).find((name) => !wanted.includes(name))
    return missing === undefined
      ? undefined
      : `'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
  })

/** Every schema says what it is. */
const strictTypeProblem = (schema: JsonObject): string | undefined =>
  firstInside(schema, ({ schema: inner }) =>
    ['type', 'anyOf', '$ref', 'enum', 'const'].some((name) => memberOf(inner, name) !== undefined)
      ? undefined
      : "schema must have a 'type' key.",
  )

/** The formats of the strict subset. */
const strictFormatProblem = (schema: JsonObject): string | undefined =>
  firstInside(schema, ({ schema: inner }) => {
    const format = textAt(inner, 'format')
    return format === undefined || formats.includes(format) ? undefined : `'${format}' is not a valid format.`
  })

/** Patterns without look-around. */
const strictPatternProblem = (schema: JsonObject): string | undefined =>
  firstInside(schema, ({ schema: inner }) =>
    /\(\?<?[=!]/.test(textAt(inner, 'pattern') ?? '') ? "'pattern' must not use look-around." : undefined,
  )

/** References stand alone, and lead to a definition at the root, which is there. */
const strictRefProblem = (schema: JsonObject): string | undefined =>
  firstInside(schema, ({ schema: inner }) => {
    const ref = textAt(inner, '$ref')
    if (ref === undefined) return undefined
    const beside = Object.keys(inner).filter((name) => name !== '$ref')
    if (beside.length > 0) return `$ref cannot have keywords {${beside.map((name) => `'${name}'`).join(', ')}}.`
    if (ref === '#') return undefined
    const [, group = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? []
    if (group === '') return 'reference can only point to definitions defined at the top level of the schema.'
    const wanted = decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
    return memberOf(objectAt(schema, group), wanted) === undefined
      ? `reference to component '${ref}' which was not found in the schema.`
      : undefined
  })

/** How large a strict schema may be: depth, properties, names and values. */
function strictSizeProblem(schema: JsonObject): string | undefined {
  let properties = 0
  let values = 0
  let characters = 0
  for (const { schema: inner, depth } of schemasIn(schema)) {
    if (depth > 10) return `${depth} levels of nesting exceeds limit of 10.`
    const names = ['properties', '$defs', 'definitions'].flatMap((name) => Object.keys(objectAt(inner, name) ?? {}))
    properties += Object.keys(objectAt(inner, 'properties') ?? {}).length
    const choices = [...listAt(inner, 'enum'), ...(memberOf(inner, 'const') === undefined ? [] : [inner.const ?? null])]
    values += listAt(inner, 'enum').length
    const length = [...names, ...choices].reduce<number>((sum, each) => sum + lengthOf(each), 0)
    characters += length
    if (choices.length > 250 && choices.reduce<number>((sum, each) => sum + lengthOf(each), 0) > 15_000)
      return 'an enum of more than 250 values has more than 15000 characters in all.'
  }
  if (properties > 5000) return `${properties} object properties exceed the limit of 5000.`
  if (values > 1000) return `${values} enum values exceed the limit of 1000.`
  return characters > 120_000 ? `${characters} characters of names and values exceed the limit of 120000.` : undefined
}

const lengthOf = (value: Json | undefined): number => (typeof value === 'string' ? value.length : 0)

/** What is wrong with a schema, each with the id of its rule, its source and what must be so. */
export const strictParts: readonly {
  readonly id: string
  readonly what: string
  readonly source: string
  readonly problem: (schema: JsonObject) => string | undefined
}[] = [
  {
    id: 'strict-words',
    what: 'A strict schema has only words of the subset: no oneOf, allOf, not, if, default, uniqueItems and others.',
    source: 'https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas',
    problem: strictKeywordProblem,
  },
  {
    id: 'strict-objects',
    what: 'In a strict schema every object is closed (additionalProperties: false) and requires all its properties.',
    source: 'https://github.com/bytedance/trae-agent/issues/173',
    problem: strictObjectsProblem,
  },
  {
    id: 'strict-types',
    what: 'In a strict schema every schema has a type, an anyOf, a $ref, an enum or a const.',
    source: 'https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas',
    problem: strictTypeProblem,
  },
  {
    id: 'strict-formats',
    what: 'A strict schema has only nine formats; uri is none of them.',
    source: 'https://github.com/can1357/oh-my-pi/issues/206',
    problem: strictFormatProblem,
  },
  {
    id: 'strict-patterns',
    what: 'A pattern of a strict schema has no look-around.',
    source: 'https://github.com/vercel/ai/blob/main/packages/openai/src/normalize-openai-json-schema.ts',
    problem: strictPatternProblem,
  },
  {
    id: 'strict-references',
    what: 'A $ref of a strict schema stands alone and leads to a definition at the root.',
    source: 'https://github.com/defog-ai/defog/pull/244',
    problem: strictRefProblem,
  },
  {
    id: 'strict-size',
    what: 'A strict schema has at most 10 levels, 5000 properties, 1000 enum values and 120000 characters of names.',
    source: 'https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai',
    problem: strictSizeProblem,
  },
]
