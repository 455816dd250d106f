/** Thoughts that models write into their text: reasoning, whatever the pieces of the stream. */
import { describe, expect, test } from 'vitest'
import { orphanThoughts, ThoughtSplitter, withoutThoughts, type TextPiece } from '../src/thoughts.ts'

/** A text that comes in pieces of this many characters. */
function split(text: string, size: number): { readonly thoughts: string; readonly text: string } {
  const splitter = new ThoughtSplitter()
  const pieces: TextPiece[] = []
  for (let at = 0; at < text.length; at += size) pieces.push(...splitter.take(text.slice(at, at + size)))
  pieces.push(...splitter.rest())
  const all = (type: string): string => pieces.map((piece) => (piece.type === type ? piece.text : '')).join('')
  return { thoughts: all('reasoning'), text: all('text') }
}

const cases: readonly (readonly [text: string, thoughts: string, said: string])[] = [
  ['<think>Hm.</think>\n\n{"v":1}', 'Hm.', '{"v":1}'],
  [' \n<thinking>a < b </thinkin </thinking>Yes.', 'a < b </thinkin ', 'Yes.'],
  ['<Reasoning>x</REASONING>\n<think>y</think> z', 'xy', 'z'],
  ['[THINK]x[/THINK]y', 'x', 'y'],
  ['<think></think>\n\nok', '', 'ok'],
  ['<think>never closed, 😀', 'never closed, 😀', ''],
  ['<thin', '', '<thin'],
  ['<b>bold</b>', '', '<b>bold</b>'],
  ['  indented', '', '  indented'],
  ['The tag <think>a</think> is text', '', 'The tag <think>a</think> is text'],
  ['```\n<think>x</think>\n```', '', '```\n<think>x</think>\n```'],
  ['> <think>x</think>', '', '> <think>x</think>'],
  ['<think>a</think>b <think>c</think>', 'a', 'b <think>c</think>'],
]

test.each(cases)('%j', (text, thoughts, said) => {
  for (const size of [1, 2, 3, 5, 8, 1_000]) expect([size, split(text, size)]).toEqual([size, { thoughts, text: said }])
  expect(withoutThoughts(text)).toBe(said)
})

describe('a tag that no other began', () => {
  test.each([
    ['hm\n</think>\n\nYes.', 'Yes.'],
    ['Perhaps no.</think>{"v":"yes"}', '{"v":"yes"}'],
    ['İ…</thinking> ok', 'ok'],
  ])('ends thoughts: %j', (text, said) => {
    expect(orphanThoughts(text)?.text).toBe(said)
    expect(withoutThoughts(text)).toBe(said)
  })
  test.each([
    'The tag `</think>` ends thoughts.',
    '```html\n</think>\n```',
    '{"html":"</think>"}',
    'Write "</think>" there.',
    'First <think> and then </think>.',
  ])('is text: %j', (text) => expect(withoutThoughts(text)).toBe(text))
})
