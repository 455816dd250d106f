/**
 * Vendor schemas: what zod 3 and valibot have made, as JSON Schema. Those libraries do not say it themselves.
 *
 * Owns: the two readers, over what both libraries publish of a schema's structure (zod 3: `_def`; valibot: `type` and
 * its members). They describe what goes in. Does not own: the check of values, which stays the library's own.
 * Holds: what is described is never narrower than what the library takes; a kind that JSON has no words for is named in
 * the error.
 */
import type { Json, JsonObject } from '../core/index.ts'
import type { JsonSchema } from './json-schema.ts'

/** Members of a schema of a library, read by their own names. */
type Members = Readonly<Record<string, unknown>>

/** Levels that are described; below them everything is allowed. Schemas may contain themselves. */
const deepest = 32

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
const asked = (given: unknown): unknown => (typeof given === 'function' ? (given as () => unknown)() : given)

/** An object schema: `isOptional` of each member's schema. */
function objectForm(
  entries: Members,
  read: (schema: unknown) => JsonSchema,
  isOptional: (schema: unknown) => boolean,
  additional: Json | undefined,
): JsonSchema {
  const names = Object.keys(entries)
  const required = names.filter((name) => !isOptional(entries[name]))
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, read(entries[name])])),
    ...(required.length === 0 ? undefined : { required }),
    ...(additional === undefined ? undefined : { additionalProperties: additional }),
  }
}

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
export function zod3Json(given: unknown, depth = 0): JsonSchema {
  if (depth > deepest) return {}
  const def = membersOf(membersOf(given)['_def'])
  const inner = (schema: unknown): JsonSchema => zod3Json(schema, depth + 1)
  const { description } = def
  const json = zod3Kind(def, inner)
  return typeof description === 'string' ? { ...json, description } : json
}

function zod3Kind(def: Members, inner: (schema: unknown) => JsonSchema): JsonSchema {
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
      return objectForm(membersOf(asked(def['shape'])), inner, isZod3Optional, others)
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
      const value = asked(def['defaultValue'])
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
      return inner(asked(def['getter']))
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
export function valibotJson(given: unknown, depth = 0): JsonSchema {
  if (depth > deepest) return {}
  const schema = membersOf(given)
  const inner = (each: unknown): JsonSchema => valibotJson(each, depth + 1)
  const [, ...actions] = listOf(schema['pipe']).map(membersOf)
  // what comes after a transform is said of another value
  const transform = actions.findIndex(({ kind }) => kind === 'transformation' || kind === 'schema')
  const checks = transform === -1 ? actions : actions.slice(0, transform)
  const json = valibotKind(schema, checks, inner)
  const described = actions.find(({ type }) => type === 'description')?.['description']
  return typeof described === 'string' ? { ...json, description: described } : json
}

function valibotKind(schema: Members, checks: readonly Members[], inner: (schema: unknown) => JsonSchema): JsonSchema {
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
      const value = asked(schema['default'])
      return { ...inner(schema['wrapped']), ...(isConstant(value) ? { default: value } : undefined) }
    }
    case 'lazy':
      return inner(asked(schema['getter']))
    default:
      throw new UnknownKind(String(kind))
  }
}

const isValibotOptional = (schema: unknown): boolean =>
  ['optional', 'exact_optional', 'nullish', 'any', 'unknown'].includes(String(membersOf(schema)['type']))

const valibotLengths =
  (of: 'Length' | 'Items'): Bound =>
  ({ type, requirement }) =>
    type === 'min_length' ? [`min${of}`, requirement] : type === 'max_length' ? [`max${of}`, requirement] : undefined
const valibotNumbers: Bound = ({ type, requirement }) =>
  type === 'min_value' ? ['minimum', requirement] : type === 'max_value' ? ['maximum', requirement] : undefined
