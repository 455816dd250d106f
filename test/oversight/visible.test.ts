/** What somebody wrote, as it is shown to somebody else. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bar,
  columnsOfText,
  cut,
  visible,
  visibleJson,
  visibleLine,
  visibleLines,
  wrapped,
} from '../../src/core/index.ts'

describe('nothing that is shown moves a cursor, hides, turns writing round or passes for another character', () => {
  test.each([
    ['an escape of the terminal, also of eight bits', '\u001b[2J\u009b2J', String.raw`\u001b[2J\u009b2J`],
    ['line ends and tabs', 'a\r\n\tb\u2028\u2029\u0085', String.raw`a\r\n\tb\u2028\u2029\u0085`],
    ['writing from right to left', 'acct-\u202e1234\u202c\u2066\u200f', String.raw`acct-\u202e1234\u202c\u2066\u200f`],
    ['no width', 'a\u200bb\u200d\u2060\ufeff\u00adc', String.raw`a\u200bb\u200d\u2060\ufeff\u00adc`],
    ['tags beyond the first plane', 'a\u{e0061}', String.raw`a\udb40\udc61`],
    ['no ink', 'a\u2800\u3164\u115f\u034f', String.raw`a\u2800\u3164\u115f\u034f`],
    ['spaces that are none', 'a\u00a0b\u2003c\u3000d', String.raw`a\u00a0b\u2003c\u3000d`],
    ['half a character, no character', '\ud800x\uffff\ue000', String.raw`\ud800x\uffff\ue000`],
    ['letters of another script in a Latin word', 'p\u0430ypal g\u03bfogle', String.raw`p\u0430ypal g\u03bfogle`],
    [
      'a word that only looks Latin',
      'pay \u0430\u0440\u0440\u04cf\u0435',
      String.raw`pay \u0430\u0440\u0440\u04cf\u0435`,
    ],
    ['digits of another script', '1\u09ea', String.raw`1\u09ea`],
    ['wide, mathematical and joined letters', '\uff41\u{1d41a}\ufb01', String.raw`\uff41\ud835\udc1a\ufb01`],
    ['signs that look like others', 'a\u2215b\u2236c\u2024d\u037e', String.raw`a\u2215b\u2236c\u2024d\u037e`],
    ['phonetic letters', 'c\u0251t', String.raw`c\u0251t`],
    [
      'marks drawn over a letter, or without one',
      'a\u0338 "\u0301 e\u0301\u0301\u0301',
      String.raw`a\u0338 "\u0301 e` + '\u0301\u0301' + String.raw`\u0301`,
    ],
  ])('%s', (_what, given, shown) => {
    expect(visible(given)).toBe(shown)
    expect(visible(shown)).toBe(shown)
  })

  test('what is ordinary shows itself: words of every script, accents, typography, arrows, emoji', () => {
    for (const text of [
      'Übergröße – “x” … ™ 10 m²',
      'Привет, у нас о том',
      'κόσμος και ρο',
      '日本語のGitHub',
      'שלום',
      'e\u0301 ñ ç',
      '→ ✓ ✗ ├─ 🙂',
      'a\\nb',
    ])
      expect(visible(text)).toBe(text)
  })

  test('a value is shown as JSON from which the same value is read: names of members, too', () => {
    const value = {
      'a\u202e': ['\u200b\n\u001b', { p: '\u0430bc', [String.raw`\u0041`]: '\ud83d\ude42\ud800' }],
      ['__proto__']: 1,
    }
    for (const indent of [undefined, 2]) {
      expect(JSON.parse(visibleJson(value, indent))).toEqual(value)
      expect(visibleJson(value, indent).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u)
    }
  })

  test('lines stay lines where a text may have them, and become spaces where it is one line', () => {
    expect(visibleLines('a\u001b\nb')).toEqual([String.raw`a\u001b`, 'b'])
    expect(visibleLine(' a\r\n\n b\u00a0c ')).toBe(String.raw`a b\u00a0c`)
  })
})

test('nothing is cut without saying how much', () => {
  expect(cut('x'.repeat(100), 100)).toBe('x'.repeat(100))
  expect(cut('x'.repeat(101), 20)).toBe(`${'x'.repeat(15)}…+86`)
  expect(cut('🙂'.repeat(20), 11)).toBe('🙂🙂🙂…+34')
})

describe('a line that is longer than the screen', () => {
  test('is broken between words', () => {
    expect(wrapped('  reason: the price has changed since it was approved', 30)).toEqual([
      '  reason: the price has ',
      '    │ changed since it was ',
      '    │ approved',
    ])
    expect(wrapped('first line behind the bar', 26, bar)).toEqual(['    │ first line behind ', '    │ the bar'])
  })

  test('is broken within a word that is longer than a line, where it stands', () => {
    expect(wrapped(`see ${'x'.repeat(40)} there`, 26)).toEqual([
      `see ${'x'.repeat(22)}`,
      `    │ ${'x'.repeat(18)} `,
      '    │ there',
    ])
  })

  test('wide characters count as two columns; no escape and no letter with its marks is broken', () => {
    expect(wrapped('送金送金送金 送金送金 🙂🙂🙂🙂🙂', 26)).toEqual(['送金送金送金 送金送金 ', '    │ 🙂🙂🙂🙂🙂'])
    expect(wrapped(`${'x'.repeat(18)}${visible('\u200b')}y`, 22)).toEqual(['x'.repeat(18), String.raw`    │ \u200by`])
    expect(wrapped(`${'x'.repeat(21)}e\u0301y`, 22)).toEqual(['x'.repeat(21), '    │ e\u0301y'])
  })

  test('every character is there once, no line is too wide, and no word is broken that fits a line', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '送', '🙂', '\u200b', 'e\u0301', '-'), maxLength: 60 })
    const text = fc.array(fc.oneof(word, fc.constant('')), { maxLength: 30 }).map((words) => visible(words.join(' ')))
    fc.assert(
      fc.property(text, fc.integer({ min: 26, max: 90 }), fc.constantFrom('', bar), (line, columns, before) => {
        const lines = wrapped(line, columns, before)
        const parts = lines.map((each, i) => each.slice((i === 0 ? before : bar).length))
        expect(parts.join('')).toBe(line)
        for (const each of lines) expect(columnsOfText(each)).toBeLessThanOrEqual(columns)
        let at = 0
        for (const part of parts.slice(0, -1)) {
          at += part.length
          if (line[at - 1] === ' ' || line[at] === ' ') continue
          const word = line.slice(line.lastIndexOf(' ', at - 1) + 1).split(' ')[0]!
          expect(columnsOfText(word)).toBeGreaterThan(columns - columnsOfText(bar) - 5)
        }
      }),
    )
  })
})
