/**
 * Vendor schemas: what zod 3, zod/mini and valibot have made, as JSON Schema. Those libraries do not say it themselves.
 *
 * Owns: the readers, over what the libraries publish of a schema's structure (zod 3: `_def`; zod/mini: `_zod.def`;
 * valibot: `type` and its members), and what arktype leaves open. They describe what goes in. Does not own: the check of values, which stays the library's own.
 * Holds: what is described is never narrower than what the library takes; a kind that JSON has no words for is named in
 * the error.
 */
import { present } from '@reeve/core'
import type { Json, JsonObject } from '@reeve/core'
import type { JsonSchema } from './json-schema.ts'

/** Members of a schema of a library, read by their own names. */
type Members = Readonly<Record<string, unknown>>

/** Levels that are described; below them everything is allowed. */
const deepest = 32
/** Parts that are described; beyond them everything is allowed. A schema may make new ones each time it is asked. */
const mostParts = 2_000

/** Reads the schema of a part. */
type Read = (schema: unknown) => JsonSchema

/**
 * A schema of a library as JSON Schema. A schema that contains itself becomes a reference: `#` for the whole, else one
 * of the definitions.
 */
function described(root: unknown, form: (schema: unknown, inner: Read) => JsonSchema): JsonSchema {
  const within = new Map<unknown, string>([[root, '#']])
  const looped = new Set<unknown>()
  const definitions: [string, JsonSchema][] = []
  let parts = 0
  const inner: Read = (schema) => {
    const known = within.get(schema)
    if (known !== undefined) {
      looped.add(schema)
      return { $ref: known }
    }
    if (within.size > deepest || ++parts > mostParts) return {}
    const name = `part${parts}`
    within.set(schema, `#/definitions/${name}`)
    const json = form(schema, inner)
    within.delete(schema)
    if (!looped.has(schema)) return json
    definitions.push([name, json])
    return { $ref: `#/definitions/${name}` }
  }
  const json = form(root, inner)
  return definitions.length === 0 ? json : { ...json, definitions: Object.fromEntries(definitions) }
}

/** What no value fits: a member that may only be left out. */
const nothing: JsonSchema = { not: {} }

/** A kind of schema that has no words in JSON Schema. */
class UnknownKind extends Error {
  constructor(kind: string) {
    super(`"${kind}" has no form in JSON Schema`)
  }
}

const membersOf = (given: unknown): Members =>
  (typeof given === 'object' || typeof given === 'function') && given !== null ? (given as Members) : {}
const listOf = (given: unknown): readonly unknown[] =>
  Array.isArray(given) ? (given as readonly unknown[]) : given instanceof Map ? [...given.values()] : []
const valueOf = (given: unknown): unknown => (typeof given === 'function' ? (given as () => unknown)() : given)

/** An object schema: `isOptional` of each member's schema. */
function objectForm(
  entries: Members,
  read: Read,
  isOptional: (schema: unknown) => boolean,
  additional: Json | undefined,
): JsonSchema {
  const names = Object.keys(entries)
  const required = names.filter((name) => !isOptional(entries[name]))
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, read(entries[name])])),
    ...(required.length === 0 ? undefined : { required }),
    ...present({ additionalProperties: additional }),
  }
}

const dateText: JsonSchema = { type: 'string', format: 'date-time' }
const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })
const oneOf = (values: readonly unknown[]): JsonSchema => ({ enum: values.filter(isConstant) })
const isConstant = (value: unknown): value is Json => value === null || /^(string|number|boolean)$/.test(typeof value)
/** The values of an enum of TypeScript: its numbers also stand there backwards. */
const enumValues = (given: unknown): readonly unknown[] =>
  Object.entries(membersOf(given)).flatMap(([name, value]) =>
    typeof membersOf(given)[String(value)] === 'number' && /^\d/.test(name) ? [] : [value],
  )

/** Whether this was made by zod before version 4. */
export const isZod3 = (given: object): boolean => {
  const { _def: made } = given as { readonly _def?: { readonly typeName?: unknown } }
  return typeof made?.typeName === 'string' && made.typeName.startsWith('Zod')
}

/** What a schema of zod 3 takes. Throws `UnknownKind`. */
export const zod3Json = (given: unknown): JsonSchema => described(given, zod3Form)

function zod3Form(given: unknown, inner: Read): JsonSchema {
  const def = membersOf(membersOf(given)['_def'])
  const { description } = def
  const json = zod3Kind(def, inner)
  return typeof description === 'string' ? { ...json, description } : json
}

function zod3Kind(def: Members, inner: Read): JsonSchema {
  const { typeName: kind } = def
  switch (kind) {
    case 'ZodString':
      return { type: 'string', ...bounds(listOf(def['checks']), zodTextBounds) }
    case 'ZodNumber': {
      const checks = listOf(def['checks'])
      const isWhole = checks.some((check) => membersOf(check)['kind'] === 'int')
      return { type: isWhole ? 'integer' : 'number', ...bounds(checks, zodNumberBounds) }
    }
    case 'ZodBoolean':
      return { type: 'boolean' }
    case 'ZodNull':
      return { type: 'null' }
    case 'ZodAny':
    case 'ZodUnknown':
      return {}
    case 'ZodNever':
    case 'ZodUndefined':
    case 'ZodVoid':
      return nothing
    case 'ZodDate':
      // it makes a date of a text
      if (def['coerce'] === true) return dateText
      throw new UnknownKind('ZodDate')
    case 'ZodLiteral':
      return oneOf([def['value']])
    case 'ZodEnum':
      return oneOf(listOf(def['values']))
    case 'ZodNativeEnum':
      return oneOf(enumValues(def['values']))
    case 'ZodArray':
      return {
        type: 'array',
        items: inner(def['type']),
        ...amount('minItems', membersOf(def['exactLength'] ?? def['minLength'])['value']),
        ...amount('maxItems', membersOf(def['exactLength'] ?? def['maxLength'])['value']),
      }
    case 'ZodTuple': {
      const items = listOf(def['items'])
      const rest =
        def['rest'] === null || def['rest'] === undefined ? { maxItems: items.length } : { items: inner(def['rest']) }
      return { type: 'array', prefixItems: items.map(inner), minItems: items.length, ...rest }
    }
    case 'ZodObject': {
      const { catchall, unknownKeys } = def
      const others =
        membersOf(membersOf(catchall)['_def'])['typeName'] === 'ZodNever'
          ? unknownKeys === 'strict'
            ? false
            : undefined
          : inner(catchall)
      return objectForm(membersOf(valueOf(def['shape'])), inner, isZod3Optional, others)
    }
    case 'ZodRecord':
      return { type: 'object', additionalProperties: inner(def['valueType']) }
    case 'ZodUnion':
    case 'ZodDiscriminatedUnion':
      return { anyOf: listOf(def['options']).map(inner) }
    case 'ZodIntersection':
      return { allOf: [inner(def['left']), inner(def['right'])] }
    case 'ZodNullable':
      return nullable(inner(def['innerType']))
    case 'ZodDefault': {
      const value = valueOf(def['defaultValue'])
      return { ...inner(def['innerType']), ...(isConstant(value) ? { default: value } : undefined) }
    }
    case 'ZodOptional':
    case 'ZodReadonly':
      return inner(def['innerType'])
    case 'ZodCatch':
      return {}
    case 'ZodEffects':
      // what is done before the check may take anything
      return membersOf(def['effect'])['type'] === 'preprocess' ? {} : inner(def['schema'])
    case 'ZodBranded':
      return inner(def['type'])
    case 'ZodPipeline':
      return inner(def['in'])
    case 'ZodLazy':
      return inner(valueOf(def['getter']))
    default:
      throw new UnknownKind(String(kind))
  }
}

/** Whether a member may be left out. */
function isZod3Optional(schema: unknown): boolean {
  const def = membersOf(membersOf(schema)['_def'])
  switch (def['typeName']) {
    case 'ZodOptional':
    case 'ZodDefault':
    case 'ZodCatch':
    case 'ZodAny':
    case 'ZodUnknown':
    case 'ZodUndefined':
    case 'ZodVoid':
      return true
    case 'ZodNullable':
    case 'ZodReadonly':
      return isZod3Optional(def['innerType'])
    case 'ZodBranded':
      return isZod3Optional(def['type'])
    case 'ZodEffects':
      return membersOf(def['effect'])['type'] === 'preprocess' || isZod3Optional(def['schema'])
    case 'ZodPipeline':
      return isZod3Optional(def['in'])
    case 'ZodUnion':
      return listOf(def['options']).some(isZod3Optional)
    default:
      return false
  }
}

/** What a limit of a library is called in JSON Schema; undefined: it has no words there. */
type Bound = (check: Members) => readonly [string, unknown] | undefined

const bounds = (checks: readonly unknown[], bound: Bound): JsonObject =>
  Object.assign({}, ...checks.map((check) => amount(...(bound(membersOf(check)) ?? ['', undefined])))) as JsonObject
const amount = (name: string, value: unknown): JsonObject =>
  typeof value === 'number' && Number.isFinite(value) ? { [name]: value } : {}

const zodTextBounds: Bound = ({ kind, value }) =>
  kind === 'min' ? ['minLength', value] : kind === 'max' ? ['maxLength', value] : undefined
const zodNumberBounds: Bound = ({ kind, value, inclusive }) => {
  if (kind === 'multipleOf') return ['multipleOf', value]
  if (kind !== 'min' && kind !== 'max') return undefined
  const names = kind === 'min' ? (['minimum', 'exclusiveMinimum'] as const) : (['maximum', 'exclusiveMaximum'] as const)
  return [names[inclusive === false ? 1 : 0], value]
}

/** Whether this was made by valibot. */
export const isValibot = (given: object): boolean => {
  const { kind, type, '~standard': standard } = given as Members
  return kind === 'schema' && typeof type === 'string' && membersOf(standard)['vendor'] === 'valibot'
}

/** What a schema of valibot takes. Throws `UnknownKind`. */
export const valibotJson = (given: unknown): JsonSchema => described(given, valibotForm)

function valibotForm(given: unknown, inner: Read): JsonSchema {
  const schema = membersOf(given)
  const [, ...actions] = listOf(schema['pipe']).map(membersOf)
  // what comes after a transform is said of another value
  const transform = actions.findIndex(({ kind }) => kind === 'transformation' || kind === 'schema')
  const checks = transform === -1 ? actions : actions.slice(0, transform)
  const json = valibotKind(schema, checks, inner)
  const said = actions.find(({ type }) => type === 'description')?.['description']
  return typeof said === 'string' ? { ...json, description: said } : json
}

function valibotKind(schema: Members, checks: readonly Members[], inner: Read): JsonSchema {
  const { type: kind } = schema
  switch (kind) {
    case 'string':
      return { type: 'string', ...bounds(checks, valibotLengths('Length')) }
    case 'number':
      return {
        type: checks.some(({ type }) => type === 'integer') ? 'integer' : 'number',
        ...bounds(checks, valibotNumbers),
      }
    case 'boolean':
      return { type: 'boolean' }
    case 'null':
      return { type: 'null' }
    case 'any':
    case 'unknown':
      return {}
    case 'never':
    case 'undefined':
    case 'void':
      return nothing
    case 'literal':
      return oneOf([schema['literal']])
    case 'picklist':
    case 'enum':
      return oneOf(listOf(schema['options']))
    case 'array':
      return { type: 'array', items: inner(schema['item']), ...bounds(checks, valibotLengths('Items')) }
    case 'tuple':
    case 'loose_tuple':
    case 'strict_tuple':
    case 'tuple_with_rest': {
      const items = listOf(schema['items'])
      const rest =
        kind === 'tuple_with_rest'
          ? { items: inner(schema['rest']) }
          : kind === 'strict_tuple'
            ? { maxItems: items.length }
            : {}
      return { type: 'array', prefixItems: items.map(inner), minItems: items.length, ...rest }
    }
    case 'object':
    case 'loose_object':
    case 'strict_object':
    case 'object_with_rest': {
      const others = kind === 'strict_object' ? false : kind === 'object_with_rest' ? inner(schema['rest']) : undefined
      return objectForm(membersOf(schema['entries']), inner, isValibotOptional, others)
    }
    case 'record':
      return { type: 'object', additionalProperties: inner(schema['value']) }
    case 'union':
    case 'variant':
      return { anyOf: listOf(schema['options']).map(inner) }
    case 'intersect':
      return { allOf: listOf(schema['options']).map(inner) }
    case 'nullable':
    case 'nullish':
      return nullable(inner(schema['wrapped']))
    case 'optional':
    case 'exact_optional':
    case 'undefinedable':
    case 'non_optional':
    case 'non_nullable':
    case 'non_nullish': {
      const value = valueOf(schema['default'])
      return { ...inner(schema['wrapped']), ...(isConstant(value) ? { default: value } : undefined) }
    }
    case 'lazy':
      return inner(valueOf(schema['getter']))
    default:
      throw new UnknownKind(String(kind))
  }
}

const isValibotOptional = (schema: unknown): boolean =>
  ['optional', 'exact_optional', 'nullish', 'undefinedable', 'any', 'unknown', 'undefined', 'void'].includes(
    String(membersOf(schema)['type']),
  )

const valibotLengths =
  (of: 'Length' | 'Items'): Bound =>
  ({ type, requirement }) =>
    type === 'min_length' ? [`min${of}`, requirement] : type === 'max_length' ? [`max${of}`, requirement] : undefined
const valibotNumbers: Bound = ({ type, requirement }) =>
  type === 'min_value' ? ['minimum', requirement] : type === 'max_value' ? ['maximum', requirement] : undefined

/** Whether this was made by zod 4, of which `zod/mini` does not say what its schemas look like. */
export const isZod4 = (given: object): boolean =>
  typeof membersOf(membersOf((given as { readonly _zod?: unknown })._zod)['def'])['type'] === 'string'

const zod4Of = (given: unknown): Members => membersOf(membersOf(given)['_zod'])

/** What a schema of zod 4 or zod/mini takes. Throws `UnknownKind`. */
export const zod4Json = (given: unknown): JsonSchema => described(given, zod4Form)

function zod4Form(given: unknown, inner: Read): JsonSchema {
  const { title, description } = zod4Texts(given)
  return {
    ...zod4Kind(given, membersOf(zod4Of(given)['def']), inner),
    ...(typeof title === 'string' ? { title } : undefined),
    ...(typeof description === 'string' ? { description } : undefined),
  }
}

/** What is said of a schema stands in a registry that all copies of zod share. */
function zod4Texts(given: unknown): Members {
  const { __zod_globalRegistry: registry } = globalThis as { readonly __zod_globalRegistry?: unknown }
  const { get } = membersOf(registry)
  return typeof get === 'function' ? membersOf((get as (schema: unknown) => unknown).call(registry, given)) : {}
}

function zod4Kind(given: unknown, def: Members, inner: Read): JsonSchema {
  const { type: kind, checks: further } = def
  // a format is a check of its own
  const checks = [def, ...listOf(further).map((check) => membersOf(zod4Of(check)['def']))]
  switch (kind) {
    case 'string':
      return { type: 'string', ...bounds(checks, zod4Lengths('Length')), ...zod4Text(checks) }
    case 'number': {
      const isWhole = checks.some(({ check, format }) => check === 'number_format' && /int/.test(String(format)))
      return { type: isWhole ? 'integer' : 'number', ...bounds(checks, zod4Numbers) }
    }
    case 'boolean':
      return { type: 'boolean' }
    case 'null':
      return { type: 'null' }
    case 'any':
    case 'unknown':
    case 'catch':
      return {}
    case 'never':
      return nothing
    case 'date':
      if (def['coerce'] === true) return dateText
      throw new UnknownKind('date')
    case 'literal':
      return oneOf(listOf(def['values']))
    case 'enum':
      return oneOf(enumValues(def['entries']))
    case 'template_literal':
      return { type: 'string', ...patternOf(zod4Of(given)['pattern']) }
    case 'array':
      return { type: 'array', items: inner(def['element']), ...bounds(checks, zod4Lengths('Items')) }
    case 'tuple': {
      const items = listOf(def['items'])
      const least = items.findLastIndex((item) => zod4Of(item)['optin'] === undefined) + 1
      const rest =
        def['rest'] === null || def['rest'] === undefined ? { maxItems: items.length } : { items: inner(def['rest']) }
      return { type: 'array', prefixItems: items.map(inner), minItems: least, ...rest }
    }
    case 'object': {
      const { catchall } = def
      const others =
        catchall === undefined || catchall === null
          ? undefined
          : membersOf(zod4Of(catchall)['def'])['type'] === 'never'
            ? false
            : inner(catchall)
      return objectForm(membersOf(def['shape']), inner, isZod4Optional, others)
    }
    case 'record':
      return { type: 'object', additionalProperties: inner(def['valueType']) }
    case 'union':
      return { anyOf: listOf(def['options']).filter(isPresent).map(inner) }
    case 'intersection':
      return { allOf: [inner(def['left']), inner(def['right'])] }
    case 'nullable':
      return nullable(inner(def['innerType']))
    case 'default':
    case 'prefault': {
      const { defaultValue: value } = def
      return { ...inner(def['innerType']), ...(isConstant(value) ? { default: value } : undefined) }
    }
    case 'optional':
    case 'nonoptional':
    case 'readonly':
    case 'success':
    case 'promise':
      return inner(def['innerType'])
    case 'pipe':
      // what is done before the check may take anything
      return membersOf(zod4Of(def['in'])['def'])['type'] === 'transform' ? {} : inner(def['in'])
    case 'transform':
      return {}
    case 'custom':
      // no JSON value is of a class
      if (membersOf(zod4Of(given)['bag'])['Class'] !== undefined) throw new UnknownKind('class')
      return {}
    case 'lazy':
      return inner(valueOf(def['getter']))
    default:
      throw new UnknownKind(String(kind))
  }
}

const zod4KindOf = (schema: unknown): unknown => membersOf(zod4Of(schema)['def'])['type']
const isZod4Optional = (schema: unknown): boolean => zod4Of(schema)['optin'] !== undefined
/** JSON has no `undefined`: a union with it takes the rest, a member that is only that can never be given. */
const isPresent = (schema: unknown): boolean => !/^(?:undefined|void)$/.test(String(zod4KindOf(schema)))

const zod4Lengths =
  (of: 'Length' | 'Items'): Bound =>
  ({ check, minimum, maximum }) =>
    check === 'min_length' ? [`min${of}`, minimum] : check === 'max_length' ? [`max${of}`, maximum] : undefined
const zod4Numbers: Bound = ({ check, value, inclusive }) =>
  check === 'multiple_of'
    ? ['multipleOf', value]
    : check === 'greater_than'
      ? [inclusive === false ? 'exclusiveMinimum' : 'minimum', value]
      : check === 'less_than'
        ? [inclusive === false ? 'exclusiveMaximum' : 'maximum', value]
        : undefined

/** The names that JSON Schema has for formats of zod. */
const zod4Formats: Readonly<Record<string, string>> = {
  datetime: 'date-time',
  date: 'date',
  time: 'time',
  duration: 'duration',
  email: 'email',
  url: 'uri',
  guid: 'uuid',
  uuid: 'uuid',
  ipv4: 'ipv4',
  ipv6: 'ipv6',
}

function zod4Text(checks: readonly Members[]): JsonObject {
  const formats = checks.filter(({ check }) => check === 'string_format')
  const known = formats.map(({ format }) => zod4Formats[String(format)]).find((each) => each !== undefined)
  const pattern = formats.find(({ format }) => format === 'regex')?.['pattern']
  return { ...present({ format: known }), ...patternOf(pattern) }
}

/** A pattern without flags; with them it means something else in JSON Schema. */
const patternOf = (given: unknown): JsonObject =>
  given instanceof RegExp && /^u?$/.test(given.flags) ? { pattern: given.source } : {}

/** What arktype leaves open in JSON Schema, because no JSON value fits it; undefined if nothing. */
export function arktypeGap(given: unknown): string | undefined {
  const { in: input } = given as { readonly in?: { readonly toJsonSchema?: (options: object) => unknown } }
  let gap: string | undefined
  try {
    input?.toJsonSchema?.({
      fallback: ({
        code,
        base,
        domain,
      }: {
        readonly code: string
        readonly base: unknown
        readonly domain?: string
      }) => {
        if (code === 'date' || code === 'proto' || code === 'domain')
          gap ??= domain ?? (code === 'date' ? 'Date' : 'class')
        return base
      },
    })
  } catch {
    // an arktype that describes schemas in another way
  }
  return gap
}
