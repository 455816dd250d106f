/** The forms of live parts: what is known is told apart, and what is not known is given as it was sent. */
import { describe, expect, test } from 'vitest'
import { sentPart, streamPartOf, type Json, type StreamPart } from '@reeve/core'

const read = (part: Json, address = 'turn/model'): StreamPart => streamPartOf({ address, part })

const known: readonly StreamPart[] = [
  ...(['text', 'reasoning', 'tool-input'] as const).flatMap((kind): StreamPart[] => [
    { type: `${kind}.delta`, id: '0', text: 'a' },
    { type: `${kind}.end`, id: '0' },
  ]),
  { type: 'text.start', id: '0' },
  { type: 'reasoning.start', id: '0' },
  { type: 'tool-input.start', id: '0', name: 'delegate' },
  { type: 'tool.progress', value: null },
  { type: 'tool.progress', value: { percent: 40 } },
]

/** From code, another version or another process: no form that is known. */
const strange: readonly Json[] = [
  null,
  'one',
  7,
  [],
  [{ type: 'text.delta', id: '0', text: 'a' }],
  {},
  { type: 'searching', query: 'x' },
  { type: 'text.delta', id: '0' },
  { type: 'text.delta', id: '0', text: 7 },
  { type: 'text.delta', id: ['0'], text: 'a' },
  { type: ['text.delta'], id: '0', text: 'a' },
  { type: 'text.citation', id: '0', text: 'a' },
  { type: 'tool-input.start', id: '0' },
  { type: 'tool.progress' },
  { type: 'constructor', id: '0' },
  { type: 'custom', value: 1 },
  { type: 'custom', value: { type: 'text.delta', id: '0', text: 'a' } },
  // only a reader's own queue counts what it has dropped
  { type: 'parts.dropped', count: 3 },
]

describe('a live part', () => {
  test.each(known)('$type is what it says', (part) => {
    expect(read(part)).toEqual(part)
  })

  test('without an id, as code emits it, is of the block of that name', () => {
    expect(read({ type: 'text.delta', text: 'a' })).toEqual({ type: 'text.delta', id: '', text: 'a' })
  })

  test('has no members that its form does not have', () => {
    expect(read({ type: 'text.delta', id: '0', text: 'a', agent: 'root' })).toEqual({
      type: 'text.delta',
      id: '0',
      text: 'a',
    })
  })

  test.each(strange)('of no known form is given as it was sent: %j', (value) => {
    expect(read(value)).toEqual({ type: 'custom', value })
  })

  test('of a reader says how many were dropped', () => {
    expect(read({ type: 'parts.dropped', count: 3 }, '')).toEqual({ type: 'parts.dropped', count: 3 })
    const hostile = { type: 'parts.dropped', count: '3' }
    expect(read(hostile, '')).toEqual({ type: 'custom', value: hostile })
  })

  test('is the same after every process that passes it on', () => {
    for (const part of [...known, ...strange]) expect(read(sentPart(read(part)))).toEqual(read(part))
  })
})
