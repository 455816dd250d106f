/**
 * Schemas, typed output and tools over every wire, to servers that refuse what the vendors refuse: nothing is refused, and
 * the answer has the form that was asked for, whatever form was sent.
 */
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import * as z3 from 'zod/v3'
import { isObject, jsonIn, type Json, type JsonObject } from '../../src/core/index.ts'
import { compileSchema, type SchemaLike } from '../../src/edge/index.ts'
import { resolveModel, type ToolSpec } from '../../src/model/index.ts'
import { limitsOfId, limitsOfObject } from '../../src/model/provider-limits.ts'
import { isStrict, outputSchema, toolSchema } from '../../src/model/schema-dialect.ts'
import { unwrapped } from '../../src/model/wire-form.ts'
import { strictProvider, strictProviderNames, type ProviderRequest } from '../../src/testing/providers/index.ts'
import { asking, failureOf, sink } from './requests.ts'

const Node4 = z.object({
  v: z.string(),
  get kids() {
    return z.array(Node4)
  },
})
const Node3: z3.ZodType = z3.lazy(() => z3.object({ left: Node3.nullable(), right: Node3.nullable() }))
const Mini = mini.object({
  name: mini.string(),
  get below() {
    return mini.array(Mini)
  },
})
const kinds = z.discriminatedUnion('k', [
  z.strictObject({ k: z.literal('a'), x: z.number() }),
  z.strictObject({ k: z.literal('b'), y: z.string().min(2) }),
])

/** Schemas of every library, each with a value. */
const forms: Readonly<Record<string, readonly [SchemaLike, Json]>> = {
  'zod: an object': [z.object({ a: z.string(), b: z.number().optional() }), { a: 'x' }],
  'zod: a strict object with a union': [z.strictObject({ v: kinds }), { v: { k: 'b', y: 'yes' } }],
  'zod: a union at the root': [kinds, { k: 'a', x: 1 }],
  'zod: an intersection': [
    z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
    { a: 'x', b: 'y' },
  ],
  'zod: a record': [z.record(z.string(), z.number()), { one: 1 }],
  'zod: a partial record': [z.partialRecord(z.enum(['a', 'b']), z.number()), { a: 1 }],
  'zod: a schema that contains itself': [Node4, { v: 'x', kids: [{ v: 'y', kids: [] }] }],
  'zod: any JSON': [z.object({ j: z.json() }), { j: [1, { a: null }] }],
  'zod: tuples': [z.object({ t: z.tuple([z.string(), z.number()]) }), { t: ['x', 1] }],
  'zod: formats': [
    z.object({ at: z.iso.datetime(), mail: z.email(), url: z.url(), id: z.uuid() }),
    { at: '2026-01-01T00:00:00Z', mail: 'a@b.co', url: 'https://a.b', id: '00000000-0000-4000-8000-000000000000' },
  ],
  'zod: a date that is made of a text': [z.object({ d: z.iso.date() }), { d: '2026-01-01' }],
  'zod: defaults, nullish, literals': [
    z.object({ d: z.string().default('x'), n: z.string().nullish(), l: z.literal([1, 'a', null]), t: z.literal(true) }),
    { l: null, t: true },
  ],
  'zod: lengths': [
    z.strictObject({ s: z.string().min(1).max(9_000), l: z.array(z.int()).min(2).max(3) }),
    { s: 'x', l: [1, 2] },
  ],
  'zod: an empty object': [z.object({}), {}],
  'zod: forty unions': [
    z.strictObject(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`m${i}`, z.string().nullable()]))),
    Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`m${i}`, null])),
  ],
  'zod: a large enum': [
    z.strictObject({ e: z.enum(Array.from({ length: 1_200 }, (_, i) => `value-${i}`) as [string]) }),
    { e: 'value-7' },
  ],
  'zod 3: an object': [z3.object({ a: z3.string().nullish(), u: z3.undefined() }), { a: null }],
  'zod 3: a schema that contains itself twice': [z3.object({ tree: Node3 }), { tree: { left: null, right: null } }],
  'zod/mini: an object': [mini.object({ a: mini.string(), o: mini.optional(mini.int()) }), { a: 'x', o: 1 }],
  'zod/mini: a schema that contains itself': [Mini, { name: 'x', below: [{ name: 'y', below: [] }] }],
  'valibot: a variant': [
    v.variant('k', [v.object({ k: v.literal('a') }), v.object({ k: v.literal('b'), n: v.optional(v.number()) })]),
    { k: 'b', n: 1 },
  ],
  'arktype: an object': [type({ a: 'string', 'b?': 'number', u: '"x"|"y"|null' }), { a: 'x', u: null }],
  'arktype: a union at the root': [type({ k: '"a"' }).or({ k: '"b"', n: 'number' }), { k: 'b', n: 1 }],
  'JSON Schema: no properties': [{ type: 'object' }, {}],
  'JSON Schema: a reference at the root': [
    { $ref: '#/$defs/x', $defs: { x: { type: 'object', properties: { q: { type: 'string' } } } } },
    { q: 'x' },
  ],
  'JSON Schema: OpenAPI 3.0': [
    {
      type: 'object',
      properties: { n: { type: 'number', minimum: 0, exclusiveMinimum: true }, s: { type: 'string', nullable: true } },
    },
    { n: 1, s: null },
  ],
  'JSON Schema: names of properties': [
    {
      type: 'object',
      properties: { 'straße und nummer': { type: 'string' }, a: {} },
      required: ['straße und nummer'],
      additionalProperties: false,
    },
    { 'straße und nummer': 'x' },
  ],
  'JSON Schema: conditions': [
    {
      type: 'object',
      properties: { a: { type: 'string', pattern: '^(?=x)' }, l: { type: 'array' }, b: true, c: false },
      required: ['z'],
      if: { properties: { a: { const: 'x' } } },
      then: { required: ['l'] },
      not: { required: ['q'] },
      dependentRequired: { a: ['l'] },
      patternProperties: { '^x-': { type: 'string' } },
      propertyNames: { maxLength: 9 },
      additionalProperties: false,
    },
    { z: 1, l: [] },
  ],
}

/** Outputs that are no objects. */
const roots: Readonly<Record<string, readonly [SchemaLike, Json]>> = {
  'a list': [z.array(z.object({ a: z.string() })), [{ a: 'x' }]],
  'an enum': [z.enum(['yes', 'no']), 'yes'],
  'a number': [z.number(), 12],
  'a boolean': [z.boolean(), false],
  'a union with null': [z.union([z.strictObject({ a: z.string() }), z.null()]), null],
  'a tuple': [z.tuple([z.string(), z.number()]), ['x', 1]],
  'a list of what contains itself': [z.array(Node4), [{ v: 'x', kids: [] }]],
}

const jsonOf = (schema: SchemaLike): JsonObject => compileSchema(schema, 'test').json
const toolOf = (parameters: JsonObject, name = 'do_it'): ToolSpec => ({ name, description: 'Does it.', parameters })
const objectForms = Object.entries(forms)

/** Every object inside a body that is a list of the given name's items, or the item itself. */
function everyObject(at: Json): JsonObject[] {
  if (Array.isArray(at)) return (at as readonly Json[]).flatMap(everyObject)
  return isObject(at) ? [at, ...Object.values(at).flatMap(everyObject)] : []
}

/** The tool that is there for the answer: Reeve's, or that of the AI SDK. */
const answerToolIn = ({ body }: ProviderRequest): JsonObject | undefined =>
  everyObject(body).find(({ name }) => typeof name === 'string' && /^(?:final_answer(?:_\d+)?|json)$/.test(name))

const schemaKeys = [
  'schema',
  'parameters',
  'input_schema',
  'parametersJsonSchema',
  'responseJsonSchema',
  'response_json_schema',
]

/** Answers as a model does that obeys: by the tool if there is one, inside the wrapper if the schema has it. */
function obedient(request: ProviderRequest, value: Json) {
  const tool = answerToolIn(request)
  const schemas = (within: JsonObject | undefined): JsonObject[] =>
    within === undefined
      ? []
      : everyObject(within).flatMap((each) => schemaKeys.flatMap((key) => (isObject(each[key]) ? [each[key]] : [])))
  const format = ['response_format', 'text', 'output_config', 'output_format', 'generationConfig'].flatMap((key) =>
    isObject(request.body[key]) ? schemas(request.body[key]) : [],
  )
  const [schema] = tool === undefined ? format : schemas(tool)
  const isWrapped = isObject(schema?.['properties']) && Object.keys(schema['properties']).join() === 'value'
  const said =
    isWrapped || (schema === undefined && /"required":\["value"\]/.test(request.text.replaceAll('\\', '')))
      ? { value }
      : value
  return tool === undefined ? JSON.stringify(said) : { calls: [{ name: String(tool['name']), input: said }] }
}

/** The models of a vendor that differ in how typed output is asked for. */
const models = strictProviderNames.flatMap((preset) => {
  const others: { readonly [preset: string]: readonly string[] } = {
    google: ['gemini-2.5-flash'],
    anthropic: ['claude-3-5-haiku-latest'],
    groq: ['openai/gpt-oss-120b'],
    'openai-chat': ['gpt-4-turbo', 'gpt-4'],
    openrouter: ['openai/gpt-5'],
  }
  return [undefined, ...(others[preset] ?? [])].map((other) => ({ preset, other, name: other ?? 'its usual model' }))
})

describe.each(models)('$preset, $name', ({ preset, other }) => {
  const modelOf = (provider: { readonly model: string; readonly options: object }) =>
    resolveModel(other === undefined ? provider.model : `${preset}/${other}`, provider.options)

  test('every schema form goes out as the input of a tool, and nothing is refused', async () => {
    await using provider = await strictProvider({
      preset,
      answer: () => ({ calls: [{ name: 'do_it', input: { a: 1 } }] }),
    })
    for (const [, [schema]] of objectForms)
      await modelOf(provider).call(asking('go', { tools: [toolOf({ type: 'object', ...jsonOf(schema) })] }))
    expect(provider.refused.map(({ why }) => why)).toEqual([])
    expect(provider.requests).toHaveLength(objectForms.length)
  })

  test.each([true, false])('every schema form comes back as output, beside tools: %s', async (hasTools) => {
    const all = [...objectForms, ...Object.entries(roots)]
    for (const [name, [schema, value]] of all) {
      await using provider = await strictProvider({ preset, answer: (request) => obedient(request, value) })
      const { emit, parts } = sink()
      const compiled = compileSchema(schema, 'test')
      const request = asking('go', {
        tools: hasTools ? [toolOf({ type: 'object', properties: {} })] : [],
        outputSchema: compiled.json,
        emit,
      })
      const answer = await modelOf(provider)
        .call(request)
        .catch((error: unknown) => ({ text: String(error), calls: [], finish: 'failed' }))
      expect([name, ...provider.refused.map(({ why }) => why)]).toEqual([name])
      expect([name, answer.calls, jsonIn(answer.text)]).toEqual([name, [], value])
      expect(answer.finish).toBe('stop')
      const shown = parts.map((part) => (part.type === 'text.delta' ? part.text : '')).join('')
      expect(shown).toBe(answer.text)
    }
  })
})
