/** Plain JSON Schema: the official suite, patterns, references, what cannot be read, and what becomes of the rest. */
import { jsonSchema } from 'ai'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agent, human, sessionValue, tool } from '@reeve/public'
import type { Json, JsonObject } from '@reeve/core'
import { compileSchema, schemaProblem, type JsonSchema } from '../src/index.ts'
import { CompiledJsonSchema } from '../src/json-schema.ts'
import { Budget } from '../src/json-schema/budget.ts'
import { isUnread, readPattern } from '../src/json-schema/pattern.ts'
import { runSuite } from './json-schema-suite/suite.ts'

function problem(schema: JsonObject, value: Json): string | undefined {
  const checked = compileSchema(schema, 'here').check(value)
  return checked.ok ? undefined : checked.problem
}

/** `then` as a name of data: an object literal with it could be taken for a promise. */
const when = (condition: Json, result: Json, otherwise: Json = true): JsonObject =>
  Object.fromEntries([
    ['if', condition],
    // oxlint-disable-next-line unicorn/no-thenable -- data
    ['then', result],
    ['else', otherwise],
  ])

describe('the official suite', () => {
  test.each(runSuite().map((each) => [each.name, each] as const))(
    '%s: every case of a schema that is not refused at definition is right',
    (_name, { wrong, right, cases, refused, reasons }) => {
      expect(wrong).toEqual([])
      expect(right + [...refused.values()].reduce((sum, each) => sum + each, 0)).toBe(cases)
      // what is refused names another document or another dialect, never a keyword
      const files = ['definitions', 'defs', 'dynamicRef', 'ref', 'refRemote', 'vocabulary']
      expect([...refused.keys()].filter((each) => !files.includes(each))).toEqual([])
      expect([...reasons].filter((each) => !/is not in this schema|the dialect/.test(each))).toEqual([])
      expect(right / cases).toBeGreaterThan(0.95)
    },
  )
})

describe('patterns', () => {
  const matches = (pattern: string, text: string): boolean => {
    const read = readPattern(pattern)
    if (isUnread(read)) throw new Error(read.problem)
    return read.test(text, new Budget())
  }
  test.each<[string, string, string]>([
    [String.raw`^https\:\/\/`, 'https://a.example', 'http://a.example'],
    [String.raw`^[\w-\.]+@`, 'a.b-c@x', 'a b@x'],
    [String.raw`(?P<id>\d+)`, 'no 7', 'none'],
    [String.raw`(?<id>\d+)`, 'no 7', 'none'],
    ['(?i)abc', 'xABCx', 'ab'],
    ['a(?i:b)c', 'aBc', 'ABc'],
    [String.raw`\Aab\Z`, 'ab', 'ab '],
    [String.raw`\Aab\z`, 'ab', 'xab'],
    ['^[[:alpha:]_]+$', 'ab_c', 'ab1'],
    [String.raw`^\x{41}\u{42}\x43\u0044$`, 'ABCD', 'abcd'],
    [String.raw`^\ud83d\ude00$`, '😀', '😁'],
    ['^.$', '😀', 'ab'],
    [String.raw`^\p{L}+$`, 'äß', 'a1'],
    [String.raw`^\p{Greek}+$`, 'αβ', 'ab'],
    ['^{x}$', '{x}', 'x'],
    ['a]', 'a]', 'a'],
    [String.raw`^(?=.*\d)(?=.*[A-Z]).{8,}$`, 'abcdefG1', 'abcdefgh'],
    ['(?<=ab)c', 'abc', 'bc'],
    ['(?<!ab)c', 'xc', 'abc'],
    [String.raw`^\d{4}-\d{2}-\d{2}$`, '2026-11-29', '26-11-29'],
    ['^[a-z0-9]+(-[a-z0-9]+)*$', 'a-b-c1', 'a--b'],
    ['^(a*)*$', 'aaa', 'ab'],
    ['^(?:a{0}){100000}b$', 'b', 'a'],
    ['^[^]$', '\n', 'ab'],
    [String.raw`\bcat\B`, 'cats', 'a cat'],
    [String.raw`^[\d-x]+$`, '1-x', 'a'],
  ])('%s', (pattern, good, bad) => {
    expect([matches(pattern, good), matches(pattern, bad)]).toEqual([true, false])
  })

  test.each<[string, RegExp]>([
    [String.raw`(a)\1`, /back reference "\\1"/],
    [String.raw`(?<a>b)\k<a>`, /back reference/],
    ['(?P<a>b)(?P=a)', /back reference/],
    ['(?>a)', /a group "\(\?>a/],
    ['a++', /possessive/],
    ['(?#note)', /a group/],
    ['(a', /not closed/],
    ['a)', /a "\)" too many/],
    ['[a', /not closed/],
    ['*a', /nothing to repeat/],
    ['a{3,1}', /out of order/],
    ['[z-a]', /out of order/],
    ['a{,3}', /read differently/],
    [String.raw`\Qa\E`, /escape "\\Q"/],
    [String.raw`\p{Nothing}`, /does not have/],
    ['((a{1,999}){1,999}){1,999}', /too large/],
    ['a'.repeat(10_001), /more than 10000 characters/],
    ['('.repeat(200) + ')'.repeat(200), /nests more than/],
  ])('what has no certain meaning, or no bound, is named: %s', (pattern, words) => {
    const read = readPattern(pattern)
    expect(isUnread(read) ? read.problem : 'read').toMatch(words)
  })

  test.each<[string, string]>([
    ['^(a+)+$', `${'a'.repeat(20_000)}!`],
    ['^(a|a)*$', `${'a'.repeat(20_000)}!`],
    ['^(a|aa)+$', `${'a'.repeat(20_000)}!`],
    ['(x+x+)+y', 'x'.repeat(20_000)],
    ['(.*)*(.*)*(.*)*=x', 'x'.repeat(3_000)],
    ['.*.*.*.*=.*', 'x'.repeat(20_000)],
    [`^${'(a|a)'.repeat(40)}$`, `${'a'.repeat(39)}!`],
    [`^${'(a?)'.repeat(40)}${'a'.repeat(40)}!$`, 'a'.repeat(40)],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(20_000)],
    ['^(?=(a+)+$)b', `${'a'.repeat(2_000)}!`],
  ])('a pattern that would take for ever has the right verdict soon: %s', (pattern, text) => {
    const began = performance.now()
    expect(matches(pattern, text)).toBe(false)
    expect(performance.now() - began).toBeLessThan(2_000)
  })

  test('a pattern is compiled once', () => {
    expect(readPattern('^once$')).toBe(readPattern('^once$'))
  })

  test('verdicts are those of JavaScript under the flag u', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '[^a]',
      '[a-c-]',
      String.raw`\d`,
      String.raw`\w`,
      String.raw`\W`,
      String.raw`\u{1F600}`,
      '^',
      '$',
      String.raw`\b`,
      String.raw`\B`,
    )
    const repeatable = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', String.raw`\d`, String.raw`\w`)
    const times = fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{2,}', '*?', '+?')
    const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
      part: fc.oneof(
        { depthSize: 'small' },
        atom,
        fc.tuple(repeatable, times).map((each) => each.join('')),
        fc.tuple(tie('pattern'), times).map(([inner, many]) => `(${inner})${many}`),
        fc
          .tuple(fc.constantFrom('(?=', '(?!', '(?<=', '(?<!', '(?:', '('), tie('pattern'))
          .map(([open, inner]) => `${open}${inner})`),
      ),
      pattern: fc
        .array(
          fc.array(tie('part'), { maxLength: 4 }).map((each) => each.join('')),
          { minLength: 1, maxLength: 2 },
        )
        .map((ways) => ways.join('|')),
    }))
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', ' ', '-', '\n', '😀'), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (source, given) => {
        // V8 looks for an empty match between the halves of a surrogate pair, too, where no position is under this flag
        fc.pre(!/\\B|\(\?[=!<]/.test(source) || !given.includes('😀'))
        expect([source, given, matches(source, given)]).toEqual([source, given, new RegExp(source, 'u').test(given)])
      }),
      { numRuns: 4_000 },
    )
  })
})

describe('keywords', () => {
  test.each<[string, JsonObject, Json, Json, RegExp]>([
    [
      'if/then',
      {
        properties: { kind: { type: 'string' }, card: { type: 'string' } },
        ...when({ properties: { kind: { const: 'card' } }, required: ['kind'] }, { required: ['card'] }),
      },
      { kind: 'cash' },
      { kind: 'card' },
      /"card" is missing/,
    ],
    [
      'dependentRequired',
      { dependentRequired: { from: ['to'] } },
      { from: 1, to: 2 },
      { from: 1 },
      /"to" is missing, and must be there where "from" is/,
    ],
    ['minProperties', { minProperties: 1 }, { a: 1 }, {}, /at least 1 members, got 0/],
    ['maxProperties', { maxProperties: 1 }, { a: 1 }, { a: 1, b: 2 }, /at most 1 members, got 2/],
    ['propertyNames', { propertyNames: { pattern: '^[a-z]+$' } }, { ab: 1 }, { 'A B': 1 }, /the name of "A B"/],
    [
      'contains',
      { properties: { to: { contains: { const: 'me' } } } },
      { to: ['you', 'me'] },
      { to: ['you'] },
      /"to" must have at least 1 item that fits "contains", got 0: "to\[0\]" must be "me"/,
    ],
    ['maxContains', { contains: { const: 1 }, maxContains: 1 }, [1, 2], [1, 1], /at most 1 item that fits/],
    [
      'items as a list',
      { items: [{ type: 'number' }, { type: 'string' }] },
      [1, 'x'],
      ['x'],
      /"\[0\]" must be a number/,
    ],
    ['exclusiveMinimum: true', { minimum: 0, exclusiveMinimum: true }, 1, 0, /must be more than 0, got 0/],
    [
      'unevaluatedProperties',
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { a: 1 },
      { a: 1, b: 2 },
      /"b" is not expected/,
    ],
    [
      'beside a $ref',
      { $defs: { s: { type: 'string' } }, properties: { x: { $ref: '#/$defs/s', maxLength: 2 } } },
      { x: 'ab' },
      { x: 'long' },
      /at most 2 characters/,
    ],
    [
      'patternProperties',
      { patternProperties: { '^x-': { type: 'number' } }, additionalProperties: false },
      { 'x-a': 1 },
      { y: 1 },
      /"y" is not expected/,
    ],
    [
      'an anchor',
      { items: { $ref: '#t' }, $defs: { a: { $anchor: 't', type: 'string' } } },
      ['x'],
      [1],
      /"\[0\]" must be a string/,
    ],
    [
      'a tree',
      { properties: { kids: { items: { $ref: '#' } } }, required: ['name'] },
      { name: 'a', kids: [{ name: 'b' }] },
      { name: 'a', kids: [{}] },
      /"kids\[0\]\.name" is missing/,
    ],
  ])('%s', (_name, schema, good, bad, words) => {
    expect(problem(schema, good)).toBeUndefined()
    expect(problem(schema, bad)).toMatch(words)
  })

  test('a draft that is named decides what stands beside a reference', () => {
    const schema = {
      definitions: { s: { type: 'string' } },
      properties: { x: { $ref: '#/definitions/s', maxLength: 2 } },
    }
    expect(problem({ ...schema, $schema: 'http://json-schema.org/draft-07/schema#' }, { x: 'long' })).toBeUndefined()
    expect(problem(schema, { x: 'long' })).toMatch(/at most 2/)
  })

  test('names that objects inherit are names like any other, in patterns, references and dependencies too', () => {
    const hostile = JSON.parse('{"__proto__": 1, "constructor": 2}') as Json
    expect(problem({ patternProperties: { '^__': { type: 'string' } } }, hostile)).toMatch(
      /"__proto__" must be a string/,
    )
    expect(problem(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}') as JsonObject, hostile)).toMatch(
      /string/,
    )
    expect(problem({ dependentRequired: { constructor: ['a'] } }, {})).toBeUndefined()
    expect(problem({ dependentRequired: { constructor: ['a'] } }, hostile)).toMatch(/"a" is missing/)
    expect(problem({ propertyNames: { maxLength: 3 } }, hostile)).toMatch(/the name of "__proto__"/)
    expect(problem({ unevaluatedProperties: false }, hostile)).toMatch(/"__proto__" is not expected/)
    expect(problem({ $defs: { toString: { type: 'number' } }, $ref: '#/$defs/toString' }, 'x')).toMatch(/a number/)
  })
})

describe('what cannot be read', () => {
  const bad: readonly (readonly [string, JsonSchema, RegExp])[] = [
    [
      'a pattern',
      { type: 'object', properties: { a: { pattern: '(?>a)' } } },
      /at "\/properties\/a\/pattern": the pattern/,
    ],
    ['a name that is a pattern', { type: 'object', patternProperties: { '(a': {} } }, /"\/patternProperties"/],
    [
      'a reference to nothing',
      { type: 'object', properties: { a: { $ref: '#/$defs/no' } } },
      /names a place that is not in/,
    ],
    ['an anchor that is not there', { type: 'object', properties: { a: { $ref: '#no' } } }, /names an anchor/],
    ['what every object inherits', { type: 'object', properties: { a: { $ref: '#/constructor' } } }, /names a place/],
    ['another document', { type: 'object', properties: { a: { $ref: 'https://x.example/a.json' } } }, /not fetched/],
    [
      'a reference to itself',
      { type: 'object', properties: { a: { $ref: '#/properties/a' } } },
      /comes back to its own/,
    ],
    [
      'two that name one another',
      {
        type: 'object',
        properties: { a: { $ref: '#/$defs/x' } },
        $defs: { x: { $ref: '#/$defs/y' }, y: { allOf: [{ $ref: '#/$defs/x' }] } },
      },
      /comes back/,
    ],
    ['a dialect', { $schema: 'http://json-schema.org/draft-03/schema#', type: 'object' }, /the dialect/],
    ['a slip', { type: 'object', properties: { a: { type: 'string', minLenght: 1 } } }, /did you mean "minLength"\?/],
    [
      'a keyword in lower case',
      { type: 'object', additionalproperties: false },
      /did you mean "additionalProperties"\?/,
    ],
    ['a type', { type: 'object', properties: { a: { type: 'int' } } }, /the text "int", expected one of/],
    [
      'the required of draft 3',
      { type: 'object', properties: { a: { required: true } } },
      /true, expected a list of names/,
    ],
    ['a bound that is a text', { type: 'object', properties: { a: { minimum: '3' } } }, /expected a number/],
  ]
  test.each(bad)('%s is said when a tool, an agent or a session value is defined', (_name, schema, words) => {
    const refused = (code: string) =>
      expect.objectContaining({ code, message: expect.stringMatching(words) as string }) as Error
    expect(() => compileSchema(schema, 'here')).toThrow(refused('input.invalid'))
    expect(() => tool({ name: 't', description: 'd', input: schema, execute: () => 1 })).toThrow(
      refused('tool.invalid'),
    )
    expect(() => tool({ name: 't', description: 'd', input: jsonSchema(schema), execute: () => 1 })).toThrow(
      refused('tool.invalid'),
    )
    expect(() => agent({ name: 'a', model: 'x/y', output: schema })).toThrow(words)
    expect(() => agent({ name: 'a', input: schema, run: () => 1 })).toThrow(words)
    expect(() => human({ name: 'h', output: schema })).toThrow(words)
    expect(() => sessionValue('k', { schema, initial: {} })).toThrow(words)
  })

  test('names that no draft knows are notes, as libraries and OpenAPI write them', () => {
    const notes = {
      title: 't',
      example: 1,
      examples: [1],
      'x-order': 1,
      xml: {},
      discriminator: {},
      markdownDescription: '',
      errorMessage: '',
      propertyOrdering: ['a'],
      enumNames: [],
      externalDocs: {},
      format: 'date',
      deprecated: true,
      $comment: '',
      contentEncoding: 'base64',
      id: 'n',
      meta: {},
    }
    expect(() => compileSchema({ type: 'string', ...notes }, 'here')).not.toThrow()
  })

  test('of a schema of others it is left, and never makes the rest stricter', () => {
    // each unread pattern stands for one that can be read: whatever fits the readable schema must pass
    const unread = '(?>a)'
    const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small', maxDepth: 4 },
        fc.constantFrom<JsonObject>(
          { pattern: unread },
          { type: 'string' },
          { type: 'number' },
          { minLength: 2 },
          {},
          { const: 'a' },
        ),
        fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((all) => ({ allOf: all })),
        fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((all) => ({ anyOf: all })),
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((all) => ({ oneOf: all })),
        tie('schema').map((not) => ({ not })),
        fc.tuple(tie('schema'), tie('schema'), tie('schema')).map(([a, b, c]) => when(a, b, c)),
        fc
          .tuple(tie('schema'), fc.boolean())
          .map(([a, closed]) => ({ properties: { a }, ...(closed ? { additionalProperties: false } : {}) })),
        tie('schema').map((a) => ({ patternProperties: { [unread]: a, '^b': {} }, additionalProperties: false })),
        tie('schema').map((a) => ({
          allOf: [{ patternProperties: { [unread]: a } }, a],
          unevaluatedProperties: false,
        })),
        fc
          .tuple(tie('schema'), tie('schema'))
          .map(([a, b]) => ({ ...when(a, { properties: { a: b } }), unevaluatedProperties: false })),
        tie('schema').map((a) => ({ contains: a, maxContains: 1 })),
        tie('schema').map((a) => ({ prefixItems: [a], unevaluatedItems: false })),
        tie('schema').map((a) => ({ propertyNames: a })),
      ),
    }))
    const value = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', maxDepth: 2 },
        fc.constantFrom<Json>('a', 'ab', 'b', 'xx', 1, null),
        fc.dictionary(fc.constantFrom('a', 'b', 'ab', 'x'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
        fc.array(tie('value'), { maxLength: 3 }),
      ),
    })).value
    const stricter: Json[] = []
    let relaxed = 0
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 5, maxLength: 10 }), (given, values) => {
        const readable = JSON.parse(JSON.stringify(given).replaceAll(unread, '^a')) as JsonObject
        const left = compileSchema(given, 'here', undefined, { unread: 'leave' })
        const whole = compileSchema(readable, 'here')
        for (const each of values) {
          const [of, by] = [whole.check(each).ok, left.check(each).ok]
          if (of && !by) stricter.push([given, each])
          if (by && !of) relaxed += 1
        }
        expect(stricter).toEqual([])
      }),
      { numRuns: 3_000 },
    )
    expect(relaxed).toBeGreaterThan(0)
  })

  test('what does not depend on it is checked all the same', () => {
    const left = compileSchema(
      {
        type: 'object',
        properties: { a: { pattern: '(?>a)', maxLength: 2 }, b: { type: 'number' } },
        required: ['b'],
        additionalProperties: false,
      },
      'here',
      undefined,
      { unread: 'leave' },
    )
    expect(left.check({ a: 'zz', b: 1 }).ok).toBe(true)
    for (const value of [{ a: 'zzz', b: 1 }, { a: 'zz' }, { a: 'zz', b: 'x' }, { b: 1, c: 1 }])
      expect(left.check(value).ok).toBe(false)
  })
})

describe('bounds', () => {
  const doubling: JsonObject = {
    $ref: '#/$defs/d0',
    $defs: {
      ...Object.fromEntries(
        Array.from({ length: 40 }, (_, i) => [
          `d${i}`,
          { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
        ]),
      ),
      d40: { type: 'string' },
    },
  }
  test('references that unfold without end end at a number of steps: refused, or left to the server that wrote them', () => {
    expect(compileSchema(doubling, 'here').check(1)).toEqual({
      ok: false,
      problem: 'the value cannot be checked against its schema: it takes too many steps',
    })
    expect(compileSchema(doubling, 'here', undefined, { unread: 'leave' }).check(1).ok).toBe(true)
  })
  test('a value that is too deep is refused, not thrown', () => {
    let deep: Json = 0
    for (let i = 0; i < 20_000; i++) deep = { a: deep }
    const tree = { properties: { a: { $ref: '#' } } }
    expect(new CompiledJsonSchema(tree).problem(deep)).toMatch(
      /cannot be checked against its schema: it nests too deeply/,
    )
    expect(new CompiledJsonSchema({ uniqueItems: true }).problem([deep, deep])).toMatch(/nests too deeply/)
  })
  test('a problem is a bounded sentence of whole characters', () => {
    const many = Array.from({ length: 10_000 }, (_, i) => `👍${i}`)
    for (const schema of [
      { enum: many },
      { anyOf: many.map((each) => ({ const: each })) },
      { pattern: 'b'.repeat(9_000) },
    ]) {
      const said = problem(schema, '👍'.repeat(500))!
      expect(said.length).toBeLessThan(3_000)
      expect(said.isWellFormed()).toBe(true)
    }
  })
  test('long ways of references are read without the stack', () => {
    const $defs = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }]))
    const schema = { $ref: '#/$defs/d0', $defs: { ...$defs, d5000: { type: 'string' } } }
    expect(new CompiledJsonSchema(schema).problem('x')).toMatch(/nests too deeply/)
  })
})

describe('null for what is left out', () => {
  const form = (kind: string, more: JsonObject): JsonObject => ({
    type: 'object',
    properties: { kind: { const: kind }, ...more },
    required: ['kind'],
    additionalProperties: false,
  })
  const union = [form('card', { number: { type: 'string' } }), form('cash', { note: { type: 'string' } })]
  test.each<[string, JsonObject]>([
    ['oneOf', { oneOf: union }],
    ['anyOf', { anyOf: union }],
    ['allOf', { allOf: [{ oneOf: union }] }],
    ['$ref', { $ref: '#/$defs/u', $defs: { u: { oneOf: union } } }],
    ['then', when({ required: ['kind'] }, { anyOf: union })],
  ])('in the form of a union that the rest fits: %s', (_name, schema) => {
    expect(compileSchema(schema, 'here').check({ kind: 'cash', note: null })).toEqual({
      ok: true,
      value: { kind: 'cash' },
    })
    expect(compileSchema(schema, 'here').check({ kind: null }).ok).toBe(false)
  })
  test('in items, in a tuple, beside members that are required elsewhere', () => {
    const item = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } }
    const check = (schema: JsonObject, value: Json): unknown => compileSchema(schema, 'here').check(value)
    expect(check({ prefixItems: [item], items: item }, [{ a: null }, { b: null }])).toEqual({
      ok: true,
      value: [{}, {}],
    })
    expect(check({ items: [item] }, [{ a: null }])).toEqual({ ok: true, value: [{}] })
    expect(check({ additionalProperties: item }, { x: { a: null } })).toEqual({ ok: true, value: { x: {} } })
    expect(check({ allOf: [item, { required: ['a'] }] }, { a: null, b: null })).toMatchObject({ ok: false })
  })
  test('a null that one form takes stays', () => {
    const schema = {
      anyOf: [
        { type: 'object', properties: { a: { type: ['string', 'null'] } } },
        { type: 'object', properties: { a: { type: 'number' } } },
      ],
    }
    expect(compileSchema(schema, 'here').check({ a: null })).toEqual({ ok: true, value: { a: null } })
  })
})

test('a part of a schema is checked with the references of the whole', () => {
  const root: JsonObject = { properties: { a: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'number' } } }
  const part = (root['properties'] as JsonObject)['a']
  expect(schemaProblem('x', part, root, 'a')).toBe('"a" must be a number, got a string')
  const document: JsonObject = {
    paths: { a: { schema: { items: { $ref: '#/components/schemas/N' } } } },
    components: { schemas: { N: { type: 'number' } } },
  }
  const inside = ((document['paths'] as JsonObject)['a'] as JsonObject)['schema']
  expect(schemaProblem(['x'], inside, document)).toBe('"[0]" must be a number, got a string')
  expect(schemaProblem('x', false, document, 'a')).toBe('"a" is not expected')
})
