/**
 * The JSON Schema that Anthropic takes: of a tool's input, and the smaller part of it for strict tools and typed output.
 *
 * Owns: those rules. Does not own: the root of a tool's input (anthropic-rules.ts).
 */
import { isObject, type Json, type JsonObject } from '@reeve/core'
import { schemasIn } from './openai-schemas.ts'
import type { ProviderRequest, ProviderRule } from './wire.ts'
import { firstOf, listAt, memberOf, objectAt, objectsAt, textAt } from './wire.ts'

const guide = 'https://platform.claude.com/docs/en/build-with-claude/structured-outputs'

const rule = (name: string, what: string, source: string, check: ProviderRule['check']): ProviderRule => ({
  id: `anthropic/${name}`,
  providers: ['anthropic'],
  what,
  source,
  check,
})

type Placed = readonly [schema: JsonObject, at: string, strict: boolean]

function inputsOf({ body }: ProviderRequest): readonly Placed[] {
  return objectsAt(body, 'tools').flatMap((tool, index) => {
    const schema = objectAt(tool, 'input_schema')
    return schema === undefined
      ? []
      : [[schema, `tools.${index}.custom.input_schema`, memberOf(tool, 'strict') === true] as const]
  })
}

/** Schemas that are compiled to a grammar. */
function strictOf(request: ProviderRequest): readonly Placed[] {
  const { body } = request
  const current = objectAt(objectAt(objectAt(body, 'output_config'), 'format'), 'schema')
  const former = objectAt(objectAt(body, 'output_format'), 'schema')
  return [
    ...(current === undefined ? [] : [[current, 'output_config.format.schema', true] as const]),
    ...(former === undefined ? [] : [[former, 'output_format.schema', true] as const]),
    ...inputsOf(request).filter(([, , strict]) => strict),
  ]
}

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties']
const isSchema = (value: Json | undefined): boolean => typeof value === 'boolean' || isObject(value)
const isTextList = (value: Json | undefined): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') && new Set(value).size === value.length

/** What the meta-schema of 2020-12 demands of a schema's own keywords. */
const demands: { readonly [keyword: string]: (value: Json) => boolean } = {
  type: (value) =>
    typeof value === 'string'
      ? types.includes(value)
      : isTextList(value) && (value as string[]).every((one) => types.includes(one)),
  enum: (value) => Array.isArray(value),
  required: isTextList,
  properties: (value) => isObject(value) && Object.values(value).every(isSchema),
  patternProperties: (value) => isObject(value) && Object.values(value).every(isSchema),
  additionalProperties: isSchema,
  items: isSchema,
  prefixItems: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  anyOf: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  oneOf: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  allOf: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  not: isSchema,
  pattern: (value) => typeof value === 'string',
  description: (value) => typeof value === 'string',
  $ref: (value) => typeof value === 'string',
  $defs: isObject,
  ...Object.fromEntries(numbers.map((keyword) => [keyword, (value: Json) => typeof value === 'number'])),
  ...Object.fromEntries(
    counts.map((keyword) => [keyword, (value: Json) => Number.isInteger(value) && (value as number) >= 0]),
  ),
}

const misused = (schema: JsonObject): string | undefined =>
  Object.entries(schema).find(
    ([keyword, value]) => Object.hasOwn(demands, keyword) && demands[keyword]?.(value) === false,
  )?.[0]

const keywordList = (list: string): readonly string[] => list.split(' ')
const formats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']
const known = new Set(
  keywordList(
    '$schema $id $ref $defs definitions type title description default examples enum const anyOf allOf ' +
      'properties required additionalProperties items format pattern minItems',
  ),
)

/** What a grammar cannot be made of, in the vendor's words. */
function unsupported(schema: JsonObject): string | undefined {
  const type = textAt(schema, 'type') ?? (memberOf(schema, 'properties') === undefined ? '' : 'object')
  if (type === 'object' && memberOf(schema, 'additionalProperties') !== false)
    return "For 'object' type, 'additionalProperties' must be explicitly set to false"
  const least = memberOf(schema, 'minItems')
  if (least !== undefined && least !== 0 && least !== 1)
    return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
  if (memberOf(schema, 'oneOf') !== undefined) return "Schema type 'oneOf' is not supported"
  const strange = Object.keys(schema).find((keyword) => !known.has(keyword))
  if (strange !== undefined) return `For '${type}' type, property '${strange}' is not supported`
  const format = textAt(schema, 'format')
  if (format !== undefined && !formats.includes(format)) return `For 'string' type, format '${format}' is not supported`
  if (/\(\?[=!<]|\\\d|\\[bB]/.test(textAt(schema, 'pattern') ?? ''))
    return "For 'string' type, 'pattern' with look-around, back-references or word boundaries is not supported"
  const reference = textAt(schema, '$ref')
  if (reference !== undefined && !reference.startsWith('#')) return `External $ref '${reference}' is not supported`
  const choices = listAt(schema, 'enum')
  return choices.some((choice) => isObject(choice) || Array.isArray(choice))
    ? 'Complex types in enums are not supported'
    : undefined
}

/** Whether a schema leads back to itself. */
function isRecursive(root: JsonObject): boolean {
  const open = new Set<string>()
  const done = new Set<string>()
  const visit = (schema: JsonObject): boolean => {
    for (const { schema: each } of schemasIn(schema)) {
      const reference = textAt(each, '$ref')
      if (reference === undefined || done.has(reference)) continue
      if (open.has(reference)) return true
      open.add(reference)
      const target = atPointer(root, reference)
      if (target !== undefined && visit(target)) return true
      open.delete(reference)
      done.add(reference)
    }
    return false
  }
  open.add('#')
  return visit(root)
}

function atPointer(root: JsonObject, reference: string): JsonObject | undefined {
  if (reference === '#') return root
  let at: Json | undefined = root
  for (const step of reference
    .replace(/^#\//, '')
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')))
    at = isObject(at) ? memberOf(at, step) : undefined
  return isObject(at) ? at : undefined
}

const optionals = (schema: JsonObject): number => {
  const required = new Set(listAt(schema, 'required'))
  return Object.keys(objectAt(schema, 'properties') ?? {}).filter((name) => !required.has(name)).length
}
const isUnion = (schema: JsonObject): boolean =>
  memberOf(schema, 'anyOf') !== undefined || Array.isArray(memberOf(schema, 'type'))

const total = (request: ProviderRequest, count: (schema: JsonObject) => number): number =>
  strictOf(request)
    .flatMap(([schema]) => [...schemasIn(schema)])
    .reduce((sum, { schema }) => sum + count(schema), 0)

/** What Anthropic refuses of schemas. */
export const anthropicSchemaRules: readonly ProviderRule[] = [
  rule(
    'tool-schema',
    'The input of a tool is a schema of draft 2020-12: no list of `items`, no `exclusiveMinimum: true`.',
    'https://github.com/anthropics/claude-code/issues/63673',
    (request) =>
      firstOf(inputsOf(request), ([schema, at]) =>
        [...schemasIn(schema)].some((place) => misused(place.schema) !== undefined)
          ? `${at}: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).`
          : undefined,
      ),
  ),
  rule(
    'strict-subset',
    'A strict schema has closed objects, no bounds of numbers and lengths, no `oneOf` and no `not`.',
    'https://github.com/agentjido/req_llm/issues/302',
    (request) =>
      firstOf(strictOf(request), ([schema, at]) => {
        const found = firstOf(schemasIn(schema), (place) => unsupported(place.schema))
        return found === undefined ? undefined : `${at}: ${found}`
      }),
  ),
  rule('strict-recursion', 'A strict schema does not lead back to itself.', guide, (request) =>
    firstOf(strictOf(request), ([schema, at]) =>
      isRecursive(schema) ? `${at}: Recursive schemas are not supported` : undefined,
    ),
  ),
  rule(
    'strict-count',
    'At most 20 tools of a request are strict.',
    'https://github.com/langchain4j/langchain4j/issues/5128',
    (request) => {
      const count = inputsOf(request).filter(([, , strict]) => strict).length
      return count > 20
        ? `Too many strict tools (${count}). The maximum number of strict tools supported is 20.`
        : undefined
    },
  ),
  rule(
    'strict-optionals',
    'All strict schemas of a request have at most 24 optional members.',
    'https://github.com/genkit-ai/genkit/issues/5230',
    (request) => {
      const count = total(request, optionals)
      return count > 24
        ? `Schemas contains too many optional parameters (${count}), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: 24).`
        : undefined
    },
  ),
  rule(
    'strict-unions',
    'All strict schemas of a request have at most 16 members of several types.',
    'https://github.com/mozilla/bugbug/pull/6129',
    (request) => {
      const count = total(request, (schema) => (isUnion(schema) ? 1 : 0))
      return count > 16
        ? `Schemas contains too many parameters with union types (${count} parameters with type arrays or anyOf). Reduce the number of nullable or union-typed parameters (limit: 16 parameters with unions).`
        : undefined
    },
  ),
]
