/** Schemas: plain JSON Schema, Standard Schema, AI SDK schemas, and the nulls that models send. */
import { jsonSchema, zodSchema, type Schema as AiSchema } from 'ai'
import { type } from 'arktype'
import fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import type { Json, JsonObject } from '@reeve/core'
import { checkSchema, compileSchema, schemaProblem } from '../src/index.ts'
import { schemaMisfit } from '../src/schema-misfit.ts'

describe('plain JSON Schema', () => {
  const problem = (schema: JsonObject, value: Json): string | undefined => schemaProblem(value, schema, schema)
  test.each<[string, JsonObject, Json, Json, RegExp]>([
    ['type', { type: 'string' }, 'x', 1, /must be a string, got 1/],
    ['types', { type: ['string', 'null'] }, null, true, /a string or null, got a boolean/],
    ['integer', { type: 'integer' }, 2, 2.5, /must be an integer, got 2.5/],
    ['nullable', { type: 'string', nullable: true }, null, 1, /string/],
    ['enum', { enum: ['a', { b: 1 }] }, { b: 1 }, 'c', /one of "a", \{"b":1\}, got "c"/],
    ['const', { const: 1 }, 1, 2, /must be 1/],
    ['required', { required: ['a'] }, { a: null }, {}, /"a" is missing/],
    [
      'nested',
      { properties: { a: { properties: { b: { type: 'number' } } } } },
      { a: { b: 1 } },
      { a: { b: 'x' } },
      /"a\.b" must be a number/,
    ],
    ['items', { items: { type: 'number' } }, [1], [1, 'x'], /"\[1\]" must be a number/],
    ['prefixItems', { prefixItems: [{ type: 'string' }], items: { type: 'number' } }, ['x', 1], [1], /"\[0\]"/],
    ['uniqueItems', { uniqueItems: true }, [{ a: 1 }, { a: 2 }], [{ a: 1 }, { a: 1 }], /twice/],
    ['minItems', { minItems: 1 }, [1], [], /at least 1 items/],
    ['maxItems', { maxItems: 1 }, [1], [1, 2], /at most 1 items/],
    ['minLength', { minLength: 2 }, '👍👍', '👍', /at least 2 characters, got 1/],
    ['maxLength', { maxLength: 1 }, '👍', 'ab', /at most 1/],
    ['pattern', { pattern: '^a+$' }, 'aa', 'b', /must match/],
    ['minimum', { minimum: 3 }, 3, 2, /at least 3/],
    ['maximum', { maximum: 3 }, 3, 4, /at most 3/],
    ['exclusive', { exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5, 1, /less than 1/],
    ['multipleOf', { multipleOf: 0.1 }, 0.3, 0.35, /multiple/],
    [
      'no more',
      { properties: { a: true }, additionalProperties: false },
      { a: 1 },
      { b: 1 },
      /"b" is not expected; known are "a"/,
    ],
    ['more of a type', { additionalProperties: { type: 'number' } }, { b: 1 }, { b: 'x' }, /"b" must be a number/],
    ['anyOf', { anyOf: [{ type: 'string' }, { type: 'number' }] }, 1, true, /fits none of 2 forms/],
    ['oneOf', { oneOf: [{ type: 'number' }, { minimum: 3 }] }, 1, 4, /only one is allowed/],
    ['allOf', { allOf: [{ type: 'number' }, { minimum: 3 }] }, 4, 2, /at least 3/],
    ['not', { not: { type: 'null' } }, 1, null, /not allowed/],
    [
      '$ref',
      { $defs: { n: { type: 'number' } }, properties: { a: { $ref: '#/$defs/n' } } },
      { a: 1 },
      { a: 'x' },
      /"a" must be a number/,
    ],
  ])('%s', (_name, schema, good, bad, words) => {
    expect(problem(schema, good)).toBeUndefined()
    expect(problem(schema, bad)).toMatch(words)
  })
})

describe('compiled schemas', () => {
  test('zod says what it looks like, checks, and gives defaults', () => {
    const schema = compileSchema(z.object({ n: z.number().min(3), unit: z.string().default('m') }), 'here')
    expect(schema.json).toMatchObject({ type: 'object', properties: { n: { type: 'number', minimum: 3 } } })
    expect(schema.check({ n: 3 })).toEqual({ ok: true, value: { n: 3, unit: 'm' } })
    expect(schema.check({ n: 1 })).toMatchObject({ ok: false, problem: expect.stringMatching(/^"n": ./) as string })
  })
  test('valibot says what goes in, checks, and gives defaults', () => {
    const schema = compileSchema(
      v.object({
        n: v.pipe(v.number(), v.integer(), v.minValue(3), v.maxValue(9)),
        unit: v.optional(v.pipe(v.string(), v.minLength(1), v.description('Of length.')), 'm'),
        kind: v.picklist(['a', 'b']),
        list: v.array(v.nullable(v.union([v.string(), v.literal(7)]))),
        text: v.pipe(v.string(), v.maxLength(4), v.transform(Number), v.minValue(4)),
        pair: v.tuple([v.string(), v.boolean()]),
        more: v.strictObject({ any: v.optional(v.unknown()), by: v.record(v.string(), v.number()) }),
      }),
      'here',
    )
    expect(schema.json).toEqual({
      type: 'object',
      properties: {
        n: { type: 'integer', minimum: 3, maximum: 9 },
        unit: { type: 'string', minLength: 1, description: 'Of length.', default: 'm' },
        kind: { enum: ['a', 'b'] },
        list: {
          type: 'array',
          items: { anyOf: [{ anyOf: [{ type: 'string' }, { enum: [7] }] }, { type: 'null' }] },
        },
        text: { type: 'string', maxLength: 4 },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'boolean' }], minItems: 2 },
        more: {
          type: 'object',
          properties: { any: {}, by: { type: 'object', additionalProperties: { type: 'number' } } },
          required: ['by'],
          additionalProperties: false,
        },
      },
      required: ['n', 'kind', 'list', 'text', 'pair', 'more'],
    })
    const value = { n: 4, kind: 'a', list: [null, 7], text: '44', pair: ['x', true], more: { by: { a: 1 } } }
    expect(schema.check(value)).toEqual({ ok: true, value: { ...value, unit: 'm', text: 44 } })
    expect(schema.check({ ...value, n: 'x' })).toMatchObject({ ok: false })
    expect(() => compileSchema(v.object({ d: v.date() }), 'here')).toThrow('"date" has no form in JSON Schema')
    expect(compileSchema(v.date(), 'here', { type: 'string' }).json).toEqual({ type: 'string' })
  })
  test('arktype says what goes in, checks, and gives defaults', () => {
    const schema = compileSchema(
      type({
        n: '3 <= number.integer <= 9',
        unit: "string = 'm'",
        kind: "'a' | 'b'",
        list: '(string | 7 | null)[]',
        text: 'string.numeric.parse',
        'more?': { '+': 'reject', by: 'Record<string, number>' },
      }),
      'here',
    )
    expect(schema.json).toMatchObject({
      type: 'object',
      properties: {
        n: { type: 'integer', minimum: 3, maximum: 9 },
        unit: { type: 'string' },
        kind: { enum: ['a', 'b'] },
        list: { type: 'array', items: { anyOf: [{ type: 'string' }, { const: 7 }, { type: 'null' }] } },
        text: { type: 'string' },
        more: {
          type: 'object',
          properties: { by: { type: 'object', additionalProperties: { type: 'number' } } },
          required: ['by'],
          additionalProperties: false,
        },
      },
    })
    expect(new Set(schema.json['required'] as string[])).toEqual(new Set(['n', 'kind', 'list', 'text']))
    const value = { n: 4, kind: 'a', list: [null, 7], text: '44' }
    expect(schema.check(value)).toEqual({ ok: true, value: { ...value, unit: 'm', text: 44 } })
    expect(schema.check({ ...value, more: null })).toEqual({ ok: true, value: { ...value, unit: 'm', text: 44 } })
    expect(schema.check({ ...value, n: 'x' })).toMatchObject({
      ok: false,
      problem: expect.stringContaining('n must be') as string,
    })
    // what has no words in JSON Schema is left open, and checked by the library
    const day = compileSchema(type({ day: 'string.date.iso.parse' }), 'here')
    expect(day.json).toMatchObject({ properties: { day: { type: 'string' } } })
    expect(day.check({ day: 'soon' })).toMatchObject({ ok: false })
  })
  test('zod 3 says what goes in, checks, and gives defaults', () => {
    interface Tree {
      name: string
      below?: Tree[] | undefined
    }
    const tree: z3.ZodType<Tree> = z3.object({ name: z3.string(), below: z3.lazy(() => z3.array(tree)).optional() })
    const schema = compileSchema(
      z3.object({
        n: z3.number().int().min(3).lt(9),
        unit: z3.string().min(1).max(4).describe('Of length.').default('m'),
        kind: z3.enum(['a', 'b']).nullable(),
        list: z3.array(z3.union([z3.string(), z3.literal(7)])).min(1),
        text: z3.string().transform(Number).pipe(z3.number().min(4)),
        any: z3.unknown(),
        both: z3.intersection(z3.object({ a: z3.boolean() }).strict(), z3.object({ b: z3.null() }).passthrough()),
        by: z3.record(z3.number()),
        any2: z3.preprocess((value) => value, z3.number()),
      }),
      'here',
    )
    expect(schema.json).toEqual({
      type: 'object',
      properties: {
        n: { type: 'integer', minimum: 3, exclusiveMaximum: 9 },
        unit: { type: 'string', minLength: 1, maxLength: 4, description: 'Of length.', default: 'm' },
        kind: { anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] },
        list: { type: 'array', items: { anyOf: [{ type: 'string' }, { enum: [7] }] }, minItems: 1 },
        text: { type: 'string' },
        any: {},
        both: {
          allOf: [
            { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'], additionalProperties: false },
            { type: 'object', properties: { b: { type: 'null' } }, required: ['b'] },
          ],
        },
        by: { type: 'object', additionalProperties: { type: 'number' } },
        any2: {},
      },
      required: ['n', 'kind', 'list', 'text', 'both', 'by'],
    })
    expect(
      schema.check({ n: 4, kind: null, list: ['x'], text: '44', both: { a: true, b: null }, by: {} }),
    ).toMatchObject({ ok: false })
    expect(schema.check({ n: 9 })).toMatchObject({ ok: false })
    expect(compileSchema(tree, 'here').check({ name: 'a', below: [{ name: 'b' }] }).ok).toBe(true)
    expect(() => compileSchema(z3.object({ d: z3.date() }), 'here')).toThrow('"ZodDate" has no form in JSON Schema')
    const { '~standard': _, ...older } = { _def: { typeName: 'ZodString' }, '~standard': 0 }
    expect(() => compileSchema(older as never, 'here')).toThrow('zod before 3.24')
  })
  test('AI SDK schemas, with and without their own check', () => {
    const plain = compileSchema(
      jsonSchema({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }),
      'here',
    )
    expect([plain.check({ n: 1 }).ok, plain.check({}).ok]).toEqual([true, false])
    const own = compileSchema(
      jsonSchema<number>(
        { type: 'number' },
        {
          validate: (value) =>
            value === 7 ? { success: true, value: 7 } : { success: false, error: new Error('not seven') },
        },
      ),
      'here',
    )
    expect([own.check(7), own.check(8)]).toEqual([
      { ok: true, value: 7 },
      { ok: false, problem: 'not seven' },
    ])
  })
  test('what validates asynchronously, and what is no schema, is refused', () => {
    const later = compileSchema(
      z.string().refine(async () => true),
      'here',
    )
    expect(() => later.check('x')).toThrow(expect.objectContaining({ code: 'input.invalid' }))
    expect(() => compileSchema(7 as never, 'here')).toThrow(expect.objectContaining({ code: 'input.invalid' }))
  })
  test.each([
    [
      'zod',
      compileSchema(
        z.object({ a: z.string(), b: z.number().optional(), c: z.object({ d: z.string().optional() }).optional() }),
        'z',
      ),
    ],
    [
      'JSON Schema',
      compileSchema(
        {
          type: 'object',
          properties: {
            a: { type: 'string' },
            b: { type: 'number' },
            c: { type: 'object', properties: { d: { type: 'string' } } },
          },
          required: ['a'],
        },
        'j',
      ),
    ],
  ])('delegation 6: null for something optional counts as left out, also inside (%s)', (_name, schema) => {
    expect(checkSchema(schema, { a: 'x', b: null, c: { d: null } })).toEqual({ ok: true, value: { a: 'x', c: {} } })
    expect(checkSchema(schema, { a: null }).ok).toBe(false)
  })
  test('a null that the schema takes stays', () => {
    const schema = compileSchema(z.object({ a: z.string().nullish(), b: z.number().optional() }), 'z')
    expect(schema.check({ a: null, b: null })).toEqual({ ok: true, value: { a: null } })
  })
})

describe('own members only', () => {
  const form: JsonObject = {
    type: 'object',
    properties: {
      to: { type: 'string', enum: ['ann', 'bob'] },
      amount: { type: 'number', maximum: 100 },
      note: { type: 'string' },
      more: {
        type: 'array',
        items: { type: 'object', properties: { n: { type: 'integer', maximum: 3 } }, additionalProperties: false },
      },
    },
    required: ['to', 'amount'],
    additionalProperties: false,
  }
  const name = fc.constantFrom(
    'to',
    'amount',
    'note',
    'more',
    'n',
    'shell',
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'valueOf',
  )
  const { value: hostile } = fc.letrec<{ value: string; object: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('null', '"ann"', '"mallory"', '1', '4', '1000000', 'true', '{}', '[]'),
      tie('object'),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    ),
    // as text: only JSON.parse makes "__proto__" a member like any other
    object: fc
      .uniqueArray(fc.tuple(name, tie('value')), { maxLength: 6, selector: ([key]) => key })
      .map((members) => `{${members.map(([key, member]) => `${JSON.stringify(key)}:${member}`).join(',')}}`),
  }))
  const fits = (value: unknown): boolean => {
    const own = new Map(Object.entries(value as object))
    const item = (each: unknown): boolean =>
      Object.getPrototypeOf(each) === Object.prototype &&
      Object.entries(each as object).every(([key, n]) => key === 'n' && Number.isInteger(n) && n <= 3)
    return (
      Object.getPrototypeOf(value) === Object.prototype &&
      [...own.keys()].every((key) => ['to', 'amount', 'note', 'more'].includes(key)) &&
      ['ann', 'bob'].includes(own.get('to') as string) &&
      typeof own.get('amount') === 'number' &&
      (own.get('amount') as number) <= 100 &&
      (!own.has('note') || typeof own.get('note') === 'string') &&
      (!own.has('more') || (own.get('more') as unknown[]).every(item))
    )
  }
  test.each([
    ['plain JSON Schema', compileSchema(form, 'here')],
    ['jsonSchema() of the AI SDK', compileSchema(jsonSchema(form), 'here')],
  ])('a value with any members, "__proto__" among them, passes only if its own members fit: %s', (_name, schema) => {
    fc.assert(
      fc.property(hostile, (text) => {
        const checked = schema.check(JSON.parse(text) as Json)
        return !checked.ok || fits(checked.value)
      }),
      {
        numRuns: 3_000,
        examples: [
          ['{"to":"mallory","amount":1000000,"shell":"rm -rf","note":null,"__proto__":{}}'],
          ['{"note":null,"__proto__":{"to":"ann","amount":1000000}}'],
          ['{"to":"ann","amount":1,"more":[{"n":null,"__proto__":{"n":9}}]}'],
        ],
      },
    )
  })
  test('what every object inherits is no member: not of a value, not of a schema', () => {
    const problem = (schema: JsonObject, value: Json): string | undefined => schemaProblem(value, schema, schema)
    expect(problem({ required: ['toString'] }, {})).toBe('"toString" is missing')
    expect(problem({ properties: {}, additionalProperties: false }, { constructor: 1 })).toContain(
      '"constructor" is not expected',
    )
    expect(problem({ $ref: '#/constructor' }, { any: 1 })).toBeUndefined()
    expect(
      compileSchema({ properties: {}, additionalProperties: false }, 'here').check({ constructor: null }),
    ).toMatchObject({ ok: false })
  })
  test('an object that is not plain is checked like any other', () => {
    const inherits = Object.create({ amount: 1 }) as Json
    expect(schemaProblem(inherits, form, form)).toBe('"to" is missing')
  })
})

describe('a check that throws', () => {
  const parsed = (text: string): unknown => JSON.parse(text)
  test.each([
    ['zod 4', z.object({ a: z.string().transform(parsed) })],
    ['zod 3', z3.object({ a: z3.string().transform(parsed) })],
    ['valibot', v.object({ a: v.pipe(v.string(), v.transform(parsed)) })],
    [
      'the AI SDK',
      jsonSchema(
        { type: 'object' },
        { validate: (value) => ({ success: true, value: parsed((value as { a: string }).a) }) },
      ),
    ],
  ])('of %s says that the value does not fit, and throws nothing', (_name, schema) => {
    const checked = compileSchema(schema, 'here').check({ a: '{' })
    expect(checked).toMatchObject({ ok: false, problem: expect.stringContaining('its check failed') })
    expect(compileSchema(schema, 'here').check({ a: '{"b":1}' }).ok).toBe(true)
  })
  test('that answers nothing says that the value does not fit', () => {
    const nothing = jsonSchema({ type: 'object' }, { validate: (() => undefined) as never })
    expect(compileSchema(nothing, 'here').check({})).toMatchObject({ ok: false })
  })
  test.each([
    ['zod 4', z.object({ a: z.string().refine(async () => true) })],
    ['zod 3', z3.object({ a: z3.string().refine(async () => true) })],
  ])('is told apart from one that answers later: %s', (_name, schema) => {
    expect(() => compileSchema(schema, 'here').check({ a: 'x' })).toThrow('validates asynchronously')
  })
})

describe('schemas of the AI SDK', () => {
  test('zodSchema() answers later, which is said when it is defined', () => {
    expect(() => compileSchema(zodSchema(z.object({ a: z.string() })), 'here')).toThrow('validates asynchronously')
  })
  test('a function that makes a schema is asked for it', () => {
    const lazy = (): AiSchema<unknown> => jsonSchema({ type: 'object', properties: { a: { type: 'string' } } })
    const schema = compileSchema(lazy as never, 'here')
    expect(schema.json).toEqual({ type: 'object', properties: { a: { type: 'string' } } })
    expect(schema.check({ a: 1 })).toMatchObject({ ok: false })
  })
})

test('null of a member that only another form of a union has is left out', () => {
  const union = z.discriminatedUnion('k', [
    z.strictObject({ k: z.literal('a'), x: z.number() }),
    z.strictObject({ k: z.literal('b'), y: z.string() }),
  ])
  const schema = compileSchema(union, 'here')
  expect(schema.check({ k: 'a', x: 1, y: null })).toEqual({ ok: true, value: { k: 'a', x: 1 } })
  expect(schema.check({ k: 'a', x: 1, y: 'y' }).ok).toBe(false)
  expect(schema.check({ k: 'a', x: 1, z: null }).ok).toBe(false)
  expect(schema.check({ k: 'a', x: null, y: null }).ok).toBe(false)
})

describe('schemas that meet themselves again and again', () => {
  /** 8 levels of 10 references each. */
  const meeting = (word: string): JsonObject => ({
    type: 'object',
    [word]: [{ $ref: '#/$defs/a0' }],
    $defs: Object.fromEntries([
      ...Array.from({ length: 8 }, (_, i) => [
        `a${i}`,
        { [word]: Array.from({ length: 10 }, () => ({ $ref: `#/$defs/a${i + 1}` })) },
      ]),
      ['a8', { type: 'object', properties: { x: { type: 'string' } }, required: ['y'] }],
    ]),
  })
  test.each(['allOf', 'anyOf', 'oneOf'])('%s: a check of a schema of others ends at its bound', (word) => {
    const schema = compileSchema(meeting(word), 'here', undefined, { unread: 'leave' })
    expect(schema.check({ x: null, z: null })).toBeDefined()
  })
  test('are compared once with each other', () => {
    const names = Array.from({ length: 9 }, (_, i) => `c${i}`)
    const tree: JsonObject = {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])),
      required: names,
    }
    expect(schemaMisfit(tree, structuredClone(tree))).toBeUndefined()
    const list = {
      type: 'object',
      properties: { ...(tree['properties'] as JsonObject), c8: { type: 'array' } },
      required: names,
    }
    expect(schemaMisfit(tree, list)).toContain('c8')
  })
  test('what was taken out spreads over thousands of dynamic references', () => {
    const schema: JsonObject = {
      $dynamicAnchor: 'n',
      type: 'object',
      properties: {
        ...Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`p${i}`, { $dynamicRef: '#n' }])),
        bad: { pattern: '(' },
      },
      not: { required: ['q'], properties: { p1: { $dynamicRef: '#n' } } },
    }
    const checked = compileSchema(schema, 'here', undefined, { unread: 'leave' })
    expect(checked.check({ q: 1, p1: { bad: 'x' } }).ok).toBe(true)
  })
})
