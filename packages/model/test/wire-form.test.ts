/**
 * Schemas, typed output and tools over every wire, to servers that refuse what the vendors refuse: nothing is refused, and
 * the answer has the form that was asked for, whatever form was sent.
 */
import { createOpenAI } from '@ai-sdk/openai'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import * as z3 from 'zod/v3'
import { tool } from '@reeve/agent'
import { isObject, jsonIn, type Json, type JsonObject } from '@reeve/core'
import { compileSchema, schemaProblem, type SchemaLike } from '@reeve/edge'
import { resolveModel, type ToolSpec } from '../src/index.ts'
import { limitsOfId, limitsOfObject } from '../src/provider-limits.ts'
import { isStrict, outputSchema, toolSchema } from '../src/schema-dialect.ts'
import { unwrapped } from '../src/wire-form.ts'
import { strictProvider, strictProviderNames, type ProviderRequest } from '../../testing/src/providers/index.ts'
import { dice } from '../../../test/dice.ts'
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
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
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
  return tool === undefined ? JSON.stringify(said) : { calls: [{ name: tool['name'] as string, input: said }] }
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

describe('looser, never stricter', () => {
  const dialects = ['openai', 'anthropic', 'google', 'openrouter', 'vllm', 'groq', 'mine'].map(
    (name) => limitsOfId(name, 'm').dialect,
  )
  const fits = (value: Json, schema: JsonObject) => schemaProblem(value, schema, schema)

  test('what an author’s schema takes, the schema that is sent takes: the forms above', () => {
    for (const [name, [schema, value]] of [...objectForms, ...Object.entries(roots)]) {
      const json = jsonOf(schema)
      for (const dialect of [...dialects, ...dialects.flatMap(({ strict }) => strict ?? [])]) {
        const asTool = isObject(value) ? fits(value, toolSchema(json, dialect)) : undefined
        expect([name, dialect.id, asTool]).toEqual([name, dialect.id, undefined])
        const sent = outputSchema(json, dialect, true)
        expect([name, dialect.id, fits(sent.wrapped ? { value } : value, sent.schema)]).toEqual([
          name,
          dialect.id,
          undefined,
        ])
      }
    }
  })

  const names = ['a', 'b', 'c']
  const values: readonly Json[] = [null, true, 1, 2.5, -3, '', 'ab', 'x', [], [1], ['x', 1], {}]

  /** A random schema; a form of a union at the root is closed. */
  function schemaOf(roll: () => number, depth: number, closed = false): JsonObject {
    const pick = <T>(list: readonly T[]): T => list[Math.floor(roll() * list.length)]!
    const inner = () => (roll() < 0.1 ? roll() < 0.5 : schemaOf(roll, depth - 1))
    const some = () => Array.from({ length: 1 + Math.floor(roll() * 2) }, inner)
    const kind =
      depth <= 0
        ? pick(['number', 'string', 'values', 'any'])
        : pick(['number', 'string', 'values', 'list', 'tuple', 'object', 'object', 'union', 'all', 'beside', 'loop'])
    switch (closed ? 'object' : kind) {
      case 'number':
        return pick<JsonObject>([
          { type: 'number' },
          { type: 'integer', minimum: 0 },
          { type: ['number', 'null'], exclusiveMaximum: 2 },
          { type: 'number', not: { const: 1 } },
        ])
      case 'string':
        return pick<JsonObject>([
          { type: 'string' },
          { type: 'string', minLength: 1 },
          { type: 'string', pattern: '^a' },
          { type: 'string', nullable: true },
        ])
      case 'values':
        return pick<JsonObject>([
          { enum: [1, 'x', null] },
          { const: true },
          { type: 'string', const: 'x' },
          { enum: ['ab'] },
          { enum: [[1], 2.5] },
        ])
      case 'list':
        return { type: 'array', items: inner(), ...(roll() < 0.3 && { minItems: 1, uniqueItems: true }) }
      case 'tuple':
        return { type: 'array', prefixItems: some(), items: roll() < 0.5 ? false : inner() }
      case 'object': {
        const members = names.filter(() => roll() < 0.6).map((name) => [name, inner()] as const)
        const more = roll()
        return {
          type: 'object',
          properties: Object.fromEntries(members),
          ...(roll() < 0.5 && { required: names.filter(() => roll() < 0.3) }),
          ...(closed || more < 0.4
            ? { additionalProperties: false }
            : more < 0.6
              ? { additionalProperties: inner() }
              : {}),
          ...(!closed && roll() < 0.2 && { patternProperties: { '^b': inner() } }),
          ...(roll() < 0.1 && { maxProperties: 2 }),
        }
      }
      case 'union':
        return { [pick(['anyOf', 'oneOf'])]: some() }
      case 'all':
        return { allOf: some() }
      case 'beside':
        return { ...schemaOf(roll, depth - 1), [pick(['anyOf', 'oneOf', 'allOf'])]: some() }
      case 'loop':
        // a reference that leads to itself at once means nothing
        return {
          type: 'object',
          properties: { a: { $ref: '#/$defs/it' }, b: { anyOf: [{ $ref: '#/$defs/it' }, inner()] } },
        }
      default:
        return {}
    }
  }

  /** Values near to the schemas above. */
  const valueOf = (roll: () => number, depth: number): Json => {
    const pick = <T>(list: readonly T[]): T => list[Math.floor(roll() * list.length)]!
    if (depth <= 0 || roll() < 0.4) return pick(values)
    return roll() < 0.3
      ? Array.from({ length: Math.floor(roll() * 3) }, () => valueOf(roll, depth - 1))
      : Object.fromEntries(names.filter(() => roll() < 0.5).map((name) => [name, valueOf(roll, depth - 1)]))
  }

  test('what an author’s schema takes, the schema that is sent takes: 1,500 random schemas', () => {
    const roll = dice(7)
    let taken = 0
    for (let i = 0; i < 1_500; i++) {
      const it = schemaOf(roll, 2)
      const isClosed = roll() < 0.3
      const form: JsonObject = isClosed
        ? { anyOf: [schemaOf(roll, 2, true), schemaOf(roll, 2, true)] }
        : schemaOf(roll, 3)
      const json: JsonObject = { ...form, $defs: { it } }
      // of open forms a tool's input keeps what each says of a member, although another takes anything there
      const isExact = isClosed || !['anyOf', 'oneOf', 'allOf'].some((word) => form[word] !== undefined)
      for (let n = 0; n < 12; n++) {
        const value = valueOf(roll, 3)
        if (fits(value, json) !== undefined) continue
        taken++
        for (const dialect of dialects) {
          const tool = toolSchema(json, dialect)
          if (isObject(value) && isExact && fits(value, tool) !== undefined)
            throw new Error(JSON.stringify({ json, value, tool, dialect: dialect.id }))
          const sent = outputSchema(json, dialect, true)
          if (fits(sent.wrapped ? { value } : value, sent.schema) !== undefined)
            throw new Error(JSON.stringify({ json, value, sent, dialect: dialect.id }))
          expect(sent.strict && !isStrict(sent.schema)).toBe(false)
        }
      }
    }
    expect(taken).toBeGreaterThan(1_000)
  })

  test('a schema that grows with every look at it has an end', () => {
    const wide: JsonObject = {
      $defs: Object.fromEntries(
        Array.from({ length: 8 }, (_, i) => [
          `d${i}`,
          {
            type: 'object',
            properties: Object.fromEntries(Array.from({ length: 8 }, (_, j) => [`p${j}`, { $ref: `#/$defs/d${j}` }])),
          },
        ]),
      ),
      $ref: '#/$defs/d0',
    }
    const text = JSON.stringify(toolSchema(wide, limitsOfId('google', 'gemini-3').dialect))
    expect(text.length).toBeLessThan(1_000_000)
    expect(outputSchema(wide, limitsOfId('google', 'gemini-3').dialect, false).tooLarge).toBe(true)
  })
})

describe('the root of a tool', () => {
  const { dialect } = limitsOfId('openai', 'gpt-5')
  const refusal = (input: SchemaLike) => () => tool({ name: 't', effect: 'read', input, execute: () => 1 })

  test('holds the members of all forms, and those that all require; the forms are told', () => {
    const sent = toolSchema(jsonOf(kinds), dialect)
    expect(sent).toMatchObject({
      type: 'object',
      properties: { k: { type: 'string', enum: ['a', 'b'] }, x: { type: 'number' }, y: { type: 'string' } },
      required: ['k'],
      additionalProperties: false,
    })
    expect(sent['description']).toContain('one of these forms')
  })

  test('is an object where null may stand as well', () => {
    const sent = toolSchema({ type: ['object', 'null'], properties: { a: { type: 'string' } } }, dialect)
    expect(sent).toEqual({ type: 'object', properties: { a: { type: 'string' } } })
  })

  test('that can be no object is refused when the tool is defined', () => {
    expect(refusal(z.union([z.string(), z.number()]))).toThrow('the input must be an object')
    expect(refusal(z.array(z.string()))).toThrow('the input must be an object')
    expect(refusal({ $ref: '#/$defs/x', $defs: { x: { type: 'string' } } })).toThrow('the input must be an object')
    expect(refusal(z.union([z.string(), z.object({})]))).not.toThrow()
    expect(refusal(z.object({}).nullable())).not.toThrow()
  })

  test('on Groq takes null for what only other forms of a union have', () => {
    const sent = toolSchema(jsonOf(kinds), limitsOfId('groq', 'm').dialect)
    expect(schemaProblem({ k: 'a', x: 1, y: null }, sent, sent)).toBeUndefined()
    expect(schemaProblem({ k: null, x: 1 }, sent, sent)).toBeDefined()
  })

  test.each(['openai', 'anthropic', 'google', 'groq', 'vllm'])(
    'whatever is odd in it goes out looser, and never empty: %s',
    (name) => {
      const sent = toolSchema(
        {
          type: 'object',
          properties: {
            none: { type: 'string', enum: [] },
            never: { anyOf: [false, { not: {} }] },
            listed: { type: 'string', nullable: true, enum: ['a'] },
            only: { const: 'a', nullable: true },
            old: { description: 'x', required: true },
          },
        },
        limitsOfId(name, 'm').dialect,
      )
      expect(JSON.stringify(sent)).not.toMatch(/"(?:enum|anyOf)":\[\]/)
      for (const value of [
        { listed: null, only: null, old: 'x' },
        { listed: 'a', only: 'a', old: 1 },
      ])
        expect(schemaProblem(value, sent, sent)).toBeUndefined()
    },
  )

  test.each(['allOf', 'anyOf', 'oneOf'])('%s of references that meet again and again has an end', (word) => {
    const levels = Array.from({ length: 12 }, (_, i): [string, JsonObject] => [
      `a${i}`,
      { [word]: Array.from({ length: 10 }, (_each, k) => ({ description: `${k}`, $ref: `#/$defs/a${i + 1}` })) },
    ])
    const last: JsonObject = { type: 'object', properties: { x: { type: 'string' } }, additionalProperties: false }
    const bomb: JsonObject = {
      type: 'object',
      [word]: [{ $ref: '#/$defs/a0' }, { properties: { y: {} } }],
      $defs: Object.fromEntries([...levels, ['a12', last]]),
    }
    for (const name of ['openai', 'google']) {
      const sent = toolSchema(structuredClone(bomb), limitsOfId(name, 'm').dialect)
      expect(sent['type']).toBe('object')
      expect(schemaProblem({ x: 'x' }, sent, sent)).toBeUndefined()
    }
  })

  test('on Groq takes null for what may be left out', () => {
    const json = jsonOf(
      z.object({ a: z.string(), b: z.string().optional(), e: z.enum(['x']).optional(), k: kinds.optional() }),
    )
    const sent = toolSchema(json, limitsOfId('groq', 'm').dialect)
    for (const value of [
      { a: 'x' },
      { a: 'x', b: null, e: null, k: null },
      { a: 'x', b: 'y', e: 'x', k: { k: 'a', x: 1 } },
    ])
      expect(schemaProblem(value, sent, sent)).toBeUndefined()
    expect(schemaProblem({ a: null }, sent, sent)).toBeDefined()
  })
})

describe('the wrapper', () => {
  test.each([
    ['{"value":["a"]}', '["a"]'],
    [' { "value" : 2512292042121000001 } ', '2512292042121000001'],
    ['```json\n{"value":{"a":1}}\n```', '{"a":1}'],
    ['<think>{"value":1}</think>\n{"value":2}', '<think>{"value":1}</think>2'],
    ['["a"]', '["a"]'],
    ['{"value":1,"more":2}', '{"value":1,"more":2}'],
    ['{"value":1', '{"value":1'],
    ['No.', 'No.'],
  ])('%s is read as %s', (text, value) => expect(unwrapped(text)).toBe(value))

  test('a text of many spaces and brackets is read at once', () => {
    const hostile = `{"value":${' '.repeat(200_000)}${'}'.repeat(200_000)}`
    expect(unwrapped(hostile)).toBe(hostile)
  })
})

describe('the tool for the answer', () => {
  const output = jsonOf(z.object({ verdict: z.enum(['ship', 'hold']) }))
  const tools = [toolOf({ type: 'object', properties: {} })]
  const answered = async (
    answer: Parameters<typeof strictProvider>[0]['answer'],
    more: Partial<Parameters<typeof asking>[1]> = {},
  ) => {
    await using provider = await strictProvider({ preset: 'groq', answer })
    const { emit, parts } = sink()
    const made = await resolveModel(provider.model, provider.options).call(
      asking('go', { tools, outputSchema: output, emit, ...more }),
    )
    return { made, parts, request: provider.requests[0]! }
  }

  test('its call is the answer, and words beside it are not', async () => {
    const { made, parts } = await answered([
      { text: 'Here it is:', calls: [{ name: 'final_answer', input: { verdict: 'ship' } }] },
    ])
    expect([made.text, made.calls, made.finish]).toEqual(['{"verdict":"ship"}', [], 'stop'])
    expect(parts.some((part) => part.type.startsWith('tool-input'))).toBe(false)
  })

  test('beside other calls it is early: those are made first', async () => {
    const { made } = await answered([
      { text: 'Looking.', calls: [{ name: 'do_it' }, { name: 'final_answer', input: { verdict: 'ship' } }] },
    ])
    expect([made.text, made.calls.map(({ name }) => name), made.finish]).toEqual(['Looking.', ['do_it'], 'tool-calls'])
  })

  test('two answers that differ are no answer, the same twice is one', async () => {
    const say = (verdict: string) => ({ name: 'final_answer', input: { verdict } })
    expect((await answered([{ calls: [say('ship'), say('ship')] }])).made.text).toBe('{"verdict":"ship"}')
    const { made } = await answered([{ calls: [say('ship'), say('hold')] }])
    expect(made.text).toBe('{"verdict":"ship"}\n{"verdict":"hold"}')
  })

  test('a text is an answer as well, and a tool of that name keeps it', async () => {
    expect((await answered(['{"verdict":"hold"}'])).made.text).toBe('{"verdict":"hold"}')
    const own = [toolOf({ type: 'object', properties: {} }, 'final_answer')]
    const { made, request } = await answered([{ calls: [{ name: 'final_answer' }] }], { tools: own })
    expect(made.calls.map(({ name }) => name)).toEqual(['final_answer'])
    expect(request.text).toContain('final_answer_2')
  })

  test('without tools, or where none may be called, there is none', async () => {
    expect((await answered(['{"verdict":"hold"}'], { tools: [] })).request.body['tools']).toBeUndefined()
    expect((await answered(['{"verdict":"hold"}'], { toolChoice: 'none' })).request.text).not.toContain('final_answer')
  })
})

describe('tools', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, i) => toolOf({ type: 'object', properties: {} }, `t${i}`))

  test.each([
    ['openai', 128],
    ['openai-chat', 128],
    ['google', 512],
  ] as const)(
    '%s is asked with %i of them, and with one more the call fails before it is sent',
    async (preset, most) => {
      await using provider = await strictProvider({ preset, answer: () => 'ok' })
      const model = resolveModel(provider.model, provider.options)
      expect((await model.call(asking('go', { tools: many(most) }))).text).toBe('ok')
      const failed = await failureOf(model, asking('go', { tools: many(most + 1) }))
      expect(failed).toMatchObject({ code: 'tool.invalid', class: 'validation' })
      expect(failed.message).toContain(`${most + 1} tools are offered`)
      expect(provider.requests).toHaveLength(1)
    },
  )

  test('a description that is too long goes on in the system message, never in the middle of a character', async () => {
    await using provider = await strictProvider({ preset: 'openai-chat', answer: () => 'ok' })
    const description = `${'w'.repeat(1_024 - ' […] (continued in the system message)'.length - 1)}😀 and ${'more '.repeat(400)}`
    const tools = [{ ...toolOf({ type: 'object', properties: {} }), description }]
    await resolveModel(provider.model, provider.options).call(asking('go', { tools }))
    expect(provider.refused).toEqual([])
    const { text } = provider.requests[0]!
    expect(text.isWellFormed()).toBe(true)
    expect(text).toContain('(continued in the system message)')
    expect(text).toContain(JSON.stringify(description).slice(1, -1))
  })
})

describe('model objects of the AI SDK', () => {
  test.each([
    ['openai.responses', 'gpt-5', 'strict', 'strict'],
    ['azure.chat', 'gpt-4o', 'strict', 'strict'],
    ['anthropic.messages', 'claude-sonnet-5', 'schema', 'schema'],
    ['google.vertex.anthropic.messages', 'claude-sonnet-5', 'schema', 'schema'],
    ['google.generative-ai', 'gemini-2.5-pro', 'schema', 'schema'],
    ['google.vertex.chat', 'gemma-3', 'none', 'answer-tool'],
    ['groq.chat', 'llama-3.3-70b', 'none', 'answer-tool'],
    ['mistral.chat', 'mistral-large', 'schema', 'answer-tool'],
    ['amazon-bedrock', 'anthropic.claude', 'schema', 'answer-tool'],
    ['deepseek.chat', 'deepseek-chat', 'json', 'answer-tool'],
    ['somebody.else', 'm', 'schema', 'answer-tool'],
  ])('%s %s: %s, beside tools %s', (provider, modelId, output, beside) => {
    const limits = limitsOfObject(provider, modelId)
    expect([limits.output, limits.outputBesideTools]).toEqual([output, beside])
    expect(limits.sources.length).toBeGreaterThan(0)
  })

  test('a schema that is not strict is not declared strict', async () => {
    await using provider = await strictProvider({ preset: 'openai', answer: () => '{"a":"x"}' })
    const openai = createOpenAI({ baseURL: `${provider.url}/v1`, apiKey: provider.options.apiKeys['openai'] ?? '' })
    const outputSchema = jsonOf(z.object({ a: z.string(), b: z.string().optional() }))
    await resolveModel(openai('gpt-5')).call(asking('go', { tools: [], outputSchema }))
    expect(provider.refused).toEqual([])
    expect(provider.requests[0]!.body['text']).toMatchObject({ format: { strict: false } })
  })
})
