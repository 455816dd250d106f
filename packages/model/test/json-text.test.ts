/** The one reading of JSON that others wrote: exact numbers, one value, nothing that is quoted. */
import { describe, expect, test } from 'vitest'
import { inexactPlace, jsonIn, jsonOf, readJson, valueTyped, type Json } from '@reeve/core'
import { dice } from '../../../test/dice.ts'

const problemOf = (text: string, reread = false): string | undefined => {
  const read = readJson(text, { path: 'x', reread })
  return read.ok ? undefined : read.problem
}
const fenced = (value: unknown, language = 'json'): string => `\`\`\`${language}\n${JSON.stringify(value)}\n\`\`\``

describe('numbers', () => {
  test.each([
    ['{"account":2512292042121000001}', 'x.account is 2512292042121000001, which a number cannot hold exactly'],
    ['[0,{"b":-9007199254740993}]', 'x[1].b is -9007199254740993, which a number cannot hold exactly'],
    ['9007199254740993', 'x is 9007199254740993, which a number cannot hold exactly'],
    ['{"a b":12345678901234567.89}', 'x.a b is 12345678901234567.89, which a number cannot hold exactly'],
    ['2512292042121000001.0', 'x is 2512292042121000001.0, which a number cannot hold exactly'],
    ['2512292042121000001e0', 'x is 2512292042121000001e0, which a number cannot hold exactly'],
    ['{"a":1e400}', 'x.a is 1e400, which is beyond what a number can hold'],
    ['-1E999', 'x is -1E999, which is beyond what a number can hold'],
  ])('%s is refused by its place', (text, problem) => {
    expect(problemOf(text)).toBe(`${problem}: send it as a text`)
    expect(jsonIn(text)).toBeUndefined()
  })

  test.each([
    '9007199254740992',
    '1000000000000000000',
    '1e21',
    '1e23',
    '6.02214076e23',
    '0.1',
    '1.50',
    '-1e-7',
    '1E+2',
  ])('%s is kept', (text) => expect(readJson(text)).toEqual({ ok: true, value: Number(text) }))

  test('digits inside of texts and names are no numbers', () => {
    const value = { '9007199254740993': '9007199254740993', a: 'x "9007199254740993', b: '\\"' }
    expect(readJson(JSON.stringify(value))).toEqual({ ok: true, value })
  })

  test('a whole number that another program has read before is refused from 2^53 on; one with an exponent is not', () => {
    expect(problemOf('{"a":2512292042121000000}', true)).toContain('x.a is 2512292042121000000')
    expect(problemOf('9007199254740991', true)).toBeUndefined()
    expect(problemOf('6.022e+23', true)).toBeUndefined()
  })

  test('a minus zero is zero, as it would be recorded', () => {
    const read = readJson('[-0,-0.0,{"a":-0e5},-0.5,"-0"]')
    expect(read.ok && JSON.stringify(read.value)).toBe('[0,0,{"a":0},-0.5,"-0"]')
    expect(read.ok && (read.value as Json[]).slice(0, 2).every((each) => Object.is(each, 0))).toBe(true)
  })

  test('of random whole numbers exactly those are taken that are read back as they were written', () => {
    const roll = dice(7)
    const int = (below: number): number => Math.floor(roll() * below)
    for (let i = 0; i < 5_000; i++) {
      const digits = Array.from({ length: 1 + int(24) }, (_, at) => (at === 0 ? 1 + int(9) : int(10))).join('')
      const text = `${int(2) === 0 ? '' : '-'}${digits}`
      const isExact = Math.abs(Number(text)) < 2 ** 53 || plainDigits(Number(text)) === text
      expect([text, problemOf(text) === undefined]).toEqual([text, isExact])
    }
  })
})

/** A whole number as JavaScript writes it, without an exponent. */
function plainDigits(value: number): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e\+(\d+))?$/.exec(
    `${value}`,
  )!
  return `${sign}${whole}${fraction.padEnd(Number(exponent), '0')}`
}

describe('form', () => {
  test.each([
    ['{"a":1,"a":1}', 'x.a stands twice in its object'],
    [String.raw`{"b":{"a":1,"\u0061":2}}`, 'x.b.a stands twice in its object'],
    [`${'['.repeat(1_001)}${']'.repeat(1_001)}`, 'x nests deeper than 1000 levels'],
    ['{}{}', 'x is not valid JSON'],
    ['', 'x is not valid JSON'],
    ["{'a':1}", 'x is not valid JSON'],
  ])('%s', (text, problem) => expect(problemOf(text)).toBe(problem))

  test('equal names in different objects, and __proto__ as a member', () => {
    expect(problemOf('[{"a":1},{"a":{"a":2}}]')).toBeUndefined()
    const read = readJson('{"__proto__":{"x":1}}')
    expect(read.ok && Object.hasOwn(read.value as object, '__proto__')).toBe(true)
    expect(({} as { x?: number }).x).toBeUndefined()
  })

  test('megabytes are read in one pass, also of quotation marks, backslashes and brackets', () => {
    for (const text of [
      JSON.stringify({ a: '"'.repeat(500_000) }),
      JSON.stringify({ a: '\\'.repeat(500_001) }),
      JSON.stringify(Array.from({ length: 200_000 }, (_, i) => ({ i }))),
    ])
      expect(readJson(text)).toEqual({ ok: true, value: JSON.parse(text) })
    for (const digits of [`1${'0'.repeat(500_000)}1`, `0.${'0'.repeat(500_000)}1`, `-0.${'0'.repeat(500_000)}`])
      readJson(`[${digits}]`)
    for (const line of [`\`\`\`${'a'.repeat(500_000)}\``, ' '.repeat(500_000), `x${'`'.repeat(500_000)}`]) jsonIn(line)
    const open = `${'{['.repeat(200_000)}"`
    expect(jsonOf(open).ok).toBe(false)
  })
})

describe('the value of a text', () => {
  const [yes, no] = [{ approved: true }, { approved: false }]
  test.each<[string, string, unknown]>([
    ['the whole text', JSON.stringify(no), no],
    ['a fence alone', fenced(no), no],
    ['a fence without a language, with tildes', `~~~\n${JSON.stringify(no)}\n~~~`, no],
    ['one fence in prose', `So:\n${fenced(no)}\nBye.`, no],
    ['the same said twice', `${fenced(no)}\nAgain:\n${fenced(no, '')}`, no],
    ['a quotation in Markdown beside it', `> ${fenced(yes).replaceAll('\n', '\n> ')}\n\n${fenced(no)}`, no],
    ['code of another language beside it', `${fenced(yes, 'js')}\n${fenced(no)}`, no],
    ['references in prose', `See [1] and [2, 3].\n${fenced(no)}`, no],
    ['a fence that begins in a line', `It is \`\`\`json\n${JSON.stringify(no)}\n\`\`\``, no],
    ['two fences that differ', `${fenced(yes)}\nMine:\n${fenced(no)}`, undefined],
    ['a fence, and another value in prose', `${fenced(yes)}\nMine: ${JSON.stringify(no)}`, undefined],
    ['a value in prose alone', `Mine: ${JSON.stringify(no)}`, undefined],
    ['a fence that is not closed', '```json\n{"approved":true}', undefined],
    ['no JSON', 'I approve.', undefined],
  ])('%s', (_, text, value) => expect(jsonIn(text)).toEqual(value))

  test('what was given counts only where nothing stands beside it', () => {
    const quotable = [`Review this:\n${fenced({ approved: true })}`]
    const own = `The text holds ${JSON.stringify(yes)}, a verdict of its own.\n${fenced(no)}`
    expect(jsonOf(own, { quotable })).toEqual({ ok: true, value: no })
    expect(jsonOf(`It says\n${fenced(yes)}\nand I do not.`, { quotable })).toMatchObject({
      ok: false,
      problem: expect.stringContaining('quoted') as string,
    })
    expect(jsonOf(JSON.stringify(yes), { quotable })).toEqual({ ok: true, value: yes })
    expect(jsonOf(fenced(yes), { quotable })).toEqual({ ok: true, value: yes })
    // data is no quotation
    expect(jsonOf(`So:\n${fenced(yes)}`, { quotable: [JSON.stringify(yes)] })).toEqual({ ok: true, value: yes })
  })

  test('texts in data may be quoted, and a value is found behind any number of brackets', () => {
    const code = '+ if (a) { b }\n'.repeat(300)
    const quoted = `It says:\n${fenced(yes)}\nand I do not.`
    for (const given of [
      JSON.stringify({ path: 'a.md', diff: `x\n${fenced(yes)}\ny` }),
      `${code}+ ${JSON.stringify(yes, undefined, 1).replaceAll('\n', '\n+ ')}\n${code}`,
    ])
      expect(jsonOf(quoted, { quotable: [given] })).toMatchObject({
        ok: false,
        problem: expect.stringContaining('quoted') as string,
      })
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    expect(jsonOf(quoted, { quotable: [deep] })).toEqual({ ok: true, value: yes })
  })

  test('a whole number that another program may have rounded is found by its place', () => {
    expect(inexactPlace({ a: [{ id: 2 ** 53 }] }, 'x')).toBe('x.a[0].id')
    expect(inexactPlace({ a: [2 ** 53 - 1, 0.1, '9007199254740993', null] })).toBeUndefined()
  })

  test('a plan may stand in prose, if it is the only one', () => {
    expect(jsonOf('The plan: {"subtasks":[]} It is short.', { inProse: true })).toEqual({
      ok: true,
      value: { subtasks: [] },
    })
    expect(jsonOf('Not {"a":1} but {"a":2}', { inProse: true }).ok).toBe(false)
  })

  test('what a person typed is its JSON or its text; a number that would be rounded is refused', () => {
    expect(valueTyped('{"a":1}', 'the input')).toEqual({ a: 1 })
    expect(valueTyped('hello {', 'the input')).toBe('hello {')
    expect(() => valueTyped('{"a":9007199254740993}', 'the input')).toThrow('the input.a is 9007199254740993')
  })
})
