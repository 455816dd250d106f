/** What of the results of a plan an answer is made of: spec team 1.11, R-11. */
import { describe, expect, test } from 'vitest'
import type { Json, TaskResult } from '@reeve/core'
import { filtered, isUninformative, looksLikeJson, withoutEmptyTalk } from '../src/result/filters.ts'

const result = (task: string, output: Json | undefined, status: TaskResult['status'] = 'succeeded'): TaskResult => ({
  task,
  member: `${task}_1`,
  role: 'generalist',
  status,
  attempts: 1,
  ...(output === undefined ? undefined : { output }),
  usage: [],
})
/** Results by the letters of the alphabet. */
const results = (...outputs: readonly (Json | undefined)[]): readonly TaskResult[] =>
  outputs.map((output, i) => result(String.fromCharCode(97 + i), output))
const kept = (list: readonly TaskResult[], options = {}): readonly string[] =>
  filtered(list, options).usable.map(({ task }) => task)
const words = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `w${from + i}`).join(' ')

describe('what is left out', () => {
  test('team R-11: what did not succeed and what is empty, each with its reason, in this order', () => {
    const list = [
      result('failed', 'partly', 'failed'),
      result('skipped', undefined, 'skipped'),
      result('called-off', 'half', 'cancelled'),
      result('nothing', undefined),
      result('null', null),
      result('blank', ' \n\t '),
      result('good', 'Cats sleep.'),
      result('again', '  cats SLEEP. '),
      result('talk', 'No information available.'),
    ]
    const { usable, dropped } = filtered(list)
    expect(usable).toEqual([result('good', 'Cats sleep.')])
    expect(dropped).toEqual([
      { task: 'failed', reason: 'not-succeeded' },
      { task: 'skipped', reason: 'not-succeeded' },
      { task: 'called-off', reason: 'not-succeeded' },
      { task: 'nothing', reason: 'empty' },
      { task: 'null', reason: 'empty' },
      { task: 'blank', reason: 'empty' },
      { task: 'again', reason: 'duplicate' },
      { task: 'talk', reason: 'uninformative' },
    ])
  })

  test('team R-11: falsy JSON is a result', () => {
    expect(kept(results(0, false, {}, []))).toEqual(['a', 'b', 'c', 'd'])
  })

  test('team C56: two results that are the same after trim and lower case are one; the first is used', () => {
    expect(filtered(results(' Growth is strong ', 'GROWTH IS STRONG', 'growth  is strong'))).toEqual({
      usable: results(' Growth is strong '),
      dropped: [
        { task: 'b', reason: 'duplicate' },
        { task: 'c', reason: 'near-duplicate' }, // two blanks: other text, the same words
      ],
    })
  })

  test.each([
    [0.93, 93, 100, ['a']],
    [0.92, 23, 25, ['a', 'b']], // exactly 0.92
    [0.92, 92, 100, ['a', 'b']],
    [0.9, 90, 100, ['a', 'b']],
    [0.9201, 924, 1_004, ['a', 'b'].slice(0, 1)],
  ])('team C56: a Jaccard similarity of %d (%i of %i words)', (_, common, all, expected) => {
    const list = results(words(0, common), words(0, all))
    expect(kept(list)).toEqual(expected)
    expect(kept(list.toReversed())).toEqual(expected.length === 1 ? ['b'] : ['b', 'a'])
  })

  test('team C56: near duplicates are measured against those that are kept, not those that were dropped', () => {
    const [a, b, c] = [words(0, 100), words(4, 100), words(8, 100)] // b is 0.96 of a; c is 0.958 of b, and 0.92 of a
    expect(kept(results(a, b, c))).toEqual(['a', 'c'])
  })

  test('team R-11: words are compared without case, order and punctuation around them; in any script', () => {
    expect(kept(results('Größe, Größe: zählt!', 'zählt GRÖSSE größe'))).toEqual(['a', 'b'])
    expect(kept(results('ΑΘΗΝΑ είναι', 'είναι "αθηνα"'))).toEqual(['a'])
    expect(kept(results('✅', '❌'))).toEqual(['a', 'b'])
    expect(kept(results('!!', '??'))).toEqual(['a', 'b']) // no words at all are not the same words
  })

  test('team R-11: JSON is compared as text whose names are in order, and text with JSON', () => {
    expect(kept(results({ a: 1, b: [2] }, { b: [2], a: 1 }, '{"a":1,"b":[2]}', { a: 1, b: [3] }))).toEqual(['a', 'd'])
    expect(kept(results(1, '1', 2))).toEqual(['a', 'c'])
  })

  test('team R-11: every step may be switched off by itself', () => {
    const twice = results('same words here', 'Same words here')
    expect(kept(twice, { dedupe: false })).toEqual(['a', 'b'])
    const near = results(words(0, 99), words(0, 100))
    expect(kept(near, { similarAbove: 1 })).toEqual(['a', 'b'])
    expect(kept(near, { dedupe: false })).toEqual(['a', 'b'])
    expect(kept(results('same words here', 'here words same'), { similarAbove: 1 })).toEqual(['a', 'b'])
    expect(kept(results('a b c', 'a b d'), { similarAbove: 0.49 })).toEqual(['a'])
    expect(kept(results('a b c', 'x y z'), { similarAbove: 0 })).toEqual(['a', 'b'])
    expect(kept(results('a b c', 'a y z'), { similarAbove: 0 })).toEqual(['a'])
    expect(filtered(results('No information found.'), { dropUninformative: false })).toEqual({
      usable: results('No information found.'),
      dropped: [],
    })
  })

  test('team R-11: nothing at all is nothing, and what is given is not changed', () => {
    expect(filtered([])).toEqual({ usable: [], dropped: [] })
    const given = Object.freeze(results('Fine.\nUnable to access the site').map((each) => Object.freeze(each)))
    expect(filtered(given).usable[0]!.output).toBe('Fine.')
    expect(given[0]!.output).toBe('Fine.\nUnable to access the site')
  })

  test('team R-11: five hundred long results are compared in a moment', () => {
    const many = Array.from({ length: 500 }, (_, i) => result(`t${i}`, words(i * 1_000, i * 1_000 + 400)))
    const began = performance.now()
    expect(filtered(many).usable).toHaveLength(500)
    expect(performance.now() - began).toBeLessThan(3_000)
  })
})

describe('lines that say nothing', () => {
  test('team C57: a line that says nothing was found is dropped, unless it has a figure, a price, an address', () => {
    const text = [
      'Cats sleep.',
      'Unable to access the site',
      'Unable to access the site: 403 at https://x',
      'They purr.',
    ].join('\n')
    expect(withoutEmptyTalk(text)).toBe('Cats sleep.\nUnable to access the site: 403 at https://x\nThey purr.')
  })

  test.each([
    'Unable to access the site',
    '- unable to find any sources.',
    '  * I was unable to retrieve the report',
    'We were not able to open the page.',
    'Sorry, I cannot access the page.',
    "Unfortunately, I couldn't find anything about it",
    'I can’t access the internet',
    'Could not load the document',
    'No information available',
    'No information.',
    'No info',
    'There is no information about its owner',
    'There was no relevant data found for this period.',
    'no results were found',
    'I do not have access to current prices',
    'I don’t have enough information',
    'I did not find any sources',
    'The page could not be found.',
    'The requested information is not available',
    'This website is currently unavailable.',
    'Access denied.',
    'Not found',
    'Nothing found.',
    'N/A',
  ])('team R-11: says nothing: %s', (line) => {
    expect(isUninformative(line)).toBe(true)
  })

  test.each([
    'Cats sleep.',
    '',
    'Unable to access the site: it is closed',
    'Unable to access 12 of the sites',
    'Could not find the $ price',
    'No information on 5% of them',
    'No information, see HTTP',
    'Small firms are unable to obtain credit',
    'The information is available to everybody',
    'The form asks for no personal information',
    'Nobody found the data wanting',
    'There is no data centre nearby',
    `Unable to access the site ${'x'.repeat(200)}`,
  ])('team R-11: says something: %s', (line) => {
    expect(isUninformative(line)).toBe(false)
  })

  test('team R-11: 199 characters are a short line, 200 are not; characters, not bytes, count', () => {
    const line = (length: number, by = 'x'): string => `Unable to access the site ${by.repeat(length - 26)}`
    expect([line(199), line(200)].map(isUninformative)).toEqual([true, false])
    expect([line(199, '😀'), line(200, '😀')].map(isUninformative)).toEqual([true, false])
  })

  test('team R-11: one digit is no figure, two are', () => {
    expect(isUninformative('Unable to access site 4')).toBe(true)
    expect(isUninformative('Unable to access site 44')).toBe(false)
  })

  test('team R-11: a text without such lines is the same text, with its ends of lines', () => {
    const text = 'One.\r\n\r\nTwo.\r\n'
    expect(withoutEmptyTalk(text)).toBe(text)
    expect(withoutEmptyTalk('One.\r\nNo information found.\r\nTwo.\r\n')).toBe('One.\r\nTwo.\r\n')
  })

  test('team R-11: JSON and code keep their lines', () => {
    const json = '{\n"note" "not found"\n}'
    expect(withoutEmptyTalk(json)).toBe(json)
    expect(withoutEmptyTalk(['No info', 'fine'])).toEqual(['No info', 'fine'])
    const code = 'See\n```\nunable to access the site\n```\nunable to access the site'
    expect(withoutEmptyTalk(code)).toBe('See\n```\nunable to access the site\n```')
  })

  test('team C55: what begins with a brace or a bracket looks like JSON, and so does what is no text', () => {
    expect(['{', ' \n[1]', {}, [], 1, null].map(looksLikeJson)).toEqual([true, true, true, true, true, true])
    expect(['', 'a {', '"quoted"', '1'].map(looksLikeJson)).toEqual([false, false, false, false])
  })
})
