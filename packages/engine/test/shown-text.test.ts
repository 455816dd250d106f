/** The text that an attempt has shown: its length by type, and the text itself for a reader in the middle. */
import { describe, expect, test } from 'vitest'
import type { Json } from '@reeve/core'
import { isDelta, ShownText } from '../src/live-part.ts'

const delta = (type: string, text: string, id = '0'): Json => ({ type: `${type}.delta`, id, text })

/** Takes pieces in; gives the offset of each. */
function show(shown: ShownText, pieces: readonly Json[]): number[] {
  return pieces.map((piece) => {
    if (!isDelta(piece)) throw new Error('expected a delta')
    const offset = shown.offsetOf(piece)
    shown.add(piece)
    return offset
  })
}

describe('the text that an attempt has shown', () => {
  test('an offset is the length of all blocks of its type', () => {
    const pieces = [delta('text', 'ab'), delta('text', 'c', '1'), delta('reasoning', 'xyz'), delta('text', 'd')]
    expect(show(new ShownText(), [...pieces, ...pieces])).toEqual([0, 2, 0, 3, 4, 6, 3, 7])
  })

  test('adjacent pieces of one block are one delta, which keeps its other members', () => {
    const shown = new ShownText()
    show(shown, [
      { type: 'log.delta', level: 'warn', text: 'a' },
      { type: 'log.delta', level: 'warn', text: 'b' },
      delta('text', ''),
      delta('text', 'c'),
      delta('text', 'd', '1'),
    ])
    expect(shown.deltas()).toEqual([
      { part: { type: 'log.delta', level: 'warn', text: 'ab' }, offset: 0 },
      { part: delta('text', 'c'), offset: 0 },
      { part: delta('text', 'd', '1'), offset: 1 },
    ])
  })

  test('a piece that its code changes afterwards is kept as it was shown', () => {
    const shown = new ShownText()
    const piece = { type: 'text.delta', id: '0', text: '' }
    for (const text of ['a', 'b']) show(shown, [Object.assign(piece, { text })])
    expect(shown.deltas()).toEqual([{ part: delta('text', 'ab'), offset: 0 }])
  })

  test('thousands of pieces, read in between', () => {
    const shown = new ShownText()
    let said = ''
    for (const until of [1, 1_023, 1_024, 1_500, 3_000]) {
      for (let i = said.length; i < until; i++) {
        said += String(i % 10)
        show(shown, [delta('text', String(i % 10))])
      }
      expect(shown.deltas()).toEqual([{ part: delta('text', said), offset: 0 }])
    }
  })

  test.each<[string, () => Iterable<Json>, number]>([
    ['a long text', () => Array.from({ length: 600 }, () => delta('text', 'x'.repeat(1024))), 600 * 1024],
    ['empty pieces of many blocks', () => Array.from({ length: 20_000 }, (_, i) => delta('text', '', String(i))), 0],
  ])('%s is not kept; its length is known', (_what, pieces, length) => {
    const shown = new ShownText()
    show(shown, [...pieces()])
    expect(shown.deltas()).toEqual([])
    expect(show(shown, [delta('text', 'end')])).toEqual([length])
    expect(shown.deltas()).toEqual([])
  })

  test('what was dropped is not kept any more; its length is known', () => {
    const shown = new ShownText()
    show(shown, [delta('text', 'ab')])
    shown.drop()
    expect(show(shown, [delta('text', 'c')])).toEqual([2])
    expect(shown.deltas()).toEqual([])
  })
})
