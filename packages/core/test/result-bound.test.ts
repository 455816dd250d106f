import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  boundedText,
  charactersWithin,
  contentNamesIn,
  contentShown,
  headOf,
  oversizeText,
  shownResult,
  textTokens,
  unkeptText,
  wholeResult,
} from '../src/index.ts'

const texts = fc.string({ unit: 'binary', maxLength: 400 })

describe('the estimate', () => {
  test('the beginning within a bound is the longest that has no more tokens', () => {
    fc.assert(
      fc.property(texts, fc.nat(120), (text, tokens) => {
        const end = charactersWithin(text, tokens)
        expect(textTokens(text.slice(0, end))).toBeLessThanOrEqual(tokens)
        expect(end === text.length || textTokens(text.slice(0, end + 1)) > tokens).toBe(true)
      }),
    )
  })
  test('a question about a bound reads no more of a text than the bound', () => {
    const text = 'x'.repeat(50_000_000)
    const begun = performance.now()
    for (let i = 0; i < 1_000; i++) expect(charactersWithin(text, 100)).toBe(400)
    expect(performance.now() - begun).toBeLessThan(2_000)
  })
})

describe('a head', () => {
  test('is the beginning, is within the limit, and has no half of a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), fc.integer({ min: 1, max: 100 }), (text, tokens) => {
        const head = headOf(text, tokens)
        expect(text.startsWith(head)).toBe(true)
        expect(textTokens(head)).toBeLessThanOrEqual(tokens)
        expect(head.isWellFormed()).toBe(true)
        expect(oversizeText(text, tokens) !== undefined || head === text).toBe(true)
      }),
    )
  })
  test.each([
    ['a line', 'one line\n'.repeat(100), /line\n$/],
    ['an element', JSON.stringify(Array.from({ length: 100 }, (_, i) => i)), /\d,$/],
    ['a word', 'some words '.repeat(100), /words $/],
    ['anywhere', 'x'.repeat(1_000), /^x{200}$/],
  ])('ends after %s', (_what, text, end) => expect(headOf(text, 50)).toMatch(end))
})

describe('the words', () => {
  const name = `result-${'a'.repeat(32)}`
  test('say name, size and how much is shown, before and after it', () => {
    expect(boundedText('fetch', { $content: name, type: 'json', size: 90 }, '[1,')).toBe(
      `[${name}: "fetch" returned 90 characters of JSON, too many to show. The first 3 follow; read_large_result reads the rest, finds text in it and counts its lines.]\n[1,\n[87 more characters in ${name}]`,
    )
    expect(unkeptText('fetch', 'abcdef', 'abc')).toMatch(
      /the rest cannot be read\. The first 3 follow\.\]\nabc\n\[3 more characters\]$/,
    )
  })
  test('names are found, each once', () => {
    const other = `result-${'b'.repeat(32)}`
    expect(contentNamesIn(`${name}: ${other}, ${name} and result-abc, x${name}0`)).toEqual([name, other])
  })
})

describe('a recorded result with what is shown of it', () => {
  test('code is given the whole of a head, and of other words what is shown', () => {
    expect(contentShown(shownResult('whole', { content: 'head', isHead: true }))).toEqual({
      content: 'head',
      isHead: true,
      output: 'whole',
    })
    expect(contentShown(shownResult('raw', { content: 'head', isHead: true, whole: 'shown' }))).toMatchObject({
      output: 'shown',
    })
    expect(contentShown(shownResult('raw', { content: 'words' }))).toEqual({ content: 'words' })
  })
  test("what looks like it is a tool's own", () => {
    const forged = structuredClone(shownResult('raw', { content: 'head', isHead: true }))
    expect(contentShown(wholeResult(forged))).toEqual({ content: forged })
  })
})
