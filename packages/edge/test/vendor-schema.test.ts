/** What schemas of zod 3, zod/mini, valibot and arktype look like as JSON Schema, and which have no form there. */
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { z as z3 } from 'zod/v3'
import { compileSchema, type SchemaLike } from '../src/index.ts'

const jsonOf = (schema: SchemaLike) => compileSchema(schema, 'here').json

describe('zod/mini', () => {
  const schema = mini.strictObject({
    name: mini.string().check(mini.minLength(2), mini.maxLength(9), mini.regex(/^a/)),
    mail: mini.optional(mini.email()),
    age: mini._default(mini.int().check(mini.gte(0), mini.lt(150)), 7),
    kind: mini.enum(['a', 'b']),
    pick: mini.literal([1, 'x', null]),
    pair: mini.tuple([mini.string(), mini.optional(mini.number())]),
    by: mini.record(mini.string(), mini.number()),
    many: mini.array(mini.union([mini.string(), mini.nullable(mini.boolean())])).check(mini.minLength(1)),
    both: mini.intersection(mini.object({ p: mini.string() }), mini.looseObject({ q: mini.string() })),
    text: mini.pipe(
      mini.string(),
      mini.transform((text) => text.length),
    ),
    any: mini.unknown(),
    some: mini.union([mini.string(), mini.undefined()]),
    said: mini.string().register(mini.globalRegistry, { description: 'Said.' }),
    code: mini.templateLiteral(['v', mini.number()]),
  })

  test('says what goes in', () => {
    expect(jsonOf(schema)).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 2, maxLength: 9, pattern: '^a' },
        mail: { type: 'string', format: 'email' },
        age: { type: 'integer', minimum: 0, exclusiveMaximum: 150, default: 7 },
        kind: { enum: ['a', 'b'] },
        pick: { enum: [1, 'x', null] },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], minItems: 1, maxItems: 2 },
        by: { type: 'object', additionalProperties: { type: 'number' } },
        many: {
          type: 'array',
          items: { anyOf: [{ type: 'string' }, { anyOf: [{ type: 'boolean' }, { type: 'null' }] }] },
          minItems: 1,
        },
        both: {
          allOf: [
            { type: 'object', properties: { p: { type: 'string' } }, required: ['p'] },
            { type: 'object', properties: { q: { type: 'string' } }, required: ['q'], additionalProperties: {} },
          ],
        },
        text: { type: 'string' },
        any: {},
        some: { anyOf: [{ type: 'string' }] },
        said: { type: 'string', description: 'Said.' },
        code: { type: 'string', pattern: String.raw`^v-?\d+(?:\.\d+)?$` },
      },
      required: ['name', 'kind', 'pick', 'pair', 'by', 'many', 'both', 'text', 'any', 'some', 'said', 'code'],
      additionalProperties: false,
    })
  })

  test('checks, converts and gives defaults', () => {
    const given = { name: 'ann', kind: 'a', pick: null, pair: ['x'], by: {}, many: [true], both: { p: 'p', q: 'q' } }
    expect(
      compileSchema(schema, 'here').check({ ...given, text: 'four', any: 1, some: 's', said: '', code: 'v1' }),
    ).toMatchObject({
      ok: true,
      value: { age: 7, text: 4 },
    })
    expect(compileSchema(schema, 'here').check({ ...given, name: 'b' })).toMatchObject({ ok: false })
  })
})

test('a schema that contains itself is a reference, also one that does so twice', () => {
  const Tree = mini.object({
    get left() {
      return mini.nullable(Tree)
    },
    get right() {
      return mini.nullable(Tree)
    },
  })
  const either = { anyOf: [{ $ref: '#' }, { type: 'null' }] }
  const tree = { type: 'object', properties: { left: either, right: either }, required: ['left', 'right'] }
  expect(jsonOf(Tree)).toEqual(tree)
  const Lazy: z3.ZodType = z3.lazy(() => z3.object({ left: Lazy.nullable(), right: Lazy.nullable() }))
  expect(jsonOf(Lazy)).toEqual(tree)
  const Listed: v.GenericSchema = v.object({
    left: v.nullable(v.lazy(() => Listed)),
    right: v.nullable(v.lazy(() => Listed)),
  })
  expect(jsonOf(Listed)).toEqual(tree)
  expect(jsonOf(z3.object({ tree: Lazy, other: Lazy }))).toMatchObject({
    properties: { tree: { $ref: '#/definitions/part1' } },
    definitions: { part1: { type: 'object' } },
  })
})

test('a schema that is made anew each time it is asked has an end', () => {
  const endless = (): z3.ZodType => z3.lazy(() => z3.object({ left: endless(), right: endless() }))
  expect(JSON.stringify(jsonOf(endless())).length).toBeLessThan(1_000_000)
})

test('a date that is made of a text is a text; what no JSON value fits is refused by its name', () => {
  const text = { type: 'object', properties: { d: { type: 'string', format: 'date-time' } }, required: ['d'] }
  expect(jsonOf(z.object({ d: z.coerce.date() }))).toEqual(text)
  expect(jsonOf(z3.object({ d: z3.coerce.date() }))).toEqual(text)
  const none = [
    [z.object({ d: z.date() }), 'Date cannot be represented'],
    [z.object({ d: z.bigint() }), 'BigInt cannot be represented'],
    [mini.object({ d: mini.date() }), '"date" has no form'],
    [mini.object({ d: mini.undefined() }), '"undefined" has no form'],
    [mini.object({ d: mini.instanceof(URL) }), '"class" has no form'],
    [z3.object({ d: z3.date() }), '"ZodDate" has no form'],
    [v.object({ d: v.bigint() }), '"bigint" has no form'],
    [type({ d: 'Date' }), '"Date" has no form'],
    [type({ d: 'bigint' }), '"bigint" has no form'],
  ] as const
  for (const [schema, why] of none) expect(() => jsonOf(schema)).toThrow(why)
})

test('a member that is never there is optional and named as that', () => {
  expect(jsonOf(z3.object({ u: z3.undefined(), n: z3.never().optional() }))).toEqual({
    type: 'object',
    properties: { u: { not: {} }, n: { not: {} } },
  })
  expect(jsonOf(v.object({ u: v.undefined() }))).toEqual({ type: 'object', properties: { u: { not: {} } } })
})
