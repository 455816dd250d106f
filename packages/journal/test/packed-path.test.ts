/** A path is stored without its repetitions, and read as it was (K10). */
import { describe, expect, test } from 'vitest'
import { decode, encode, type JournalEvent } from '../src/index.ts'
import { packPath, unpackPath } from '../src/packed-path.ts'
import { dice } from '../../../test/dice.ts'

const times = (count: number, ...names: readonly string[]): string[] =>
  Array.from({ length: count }, () => names).flat()

describe('paths in which names repeat', () => {
  test.each<[string, readonly string[], number]>([
    ['a loop', ['loop', ...times(3_200, 'a', 'b')], 2],
    ['a loop in the middle of an iteration', ['all', 'loop', ...times(500, 'a', 'b', 'c'), 'a', 'b'], 5],
    ['a loop with the same agent twice', ['loop', ...times(400, 'a', 'a', 'b')], 2],
    ['a loop in a loop', ['outer', ...times(300, 'x', 'inner'), ...times(200, 'y')], 3],
    ['a router with one worker', times(100, 'Sup', 'W'), 1],
  ])('%s is stored in a few parts', (_what, path, parts) => {
    const packed = packPath(path)!
    expect(packed.length).toBeLessThanOrEqual(parts)
    expect(unpackPath(packed)).toEqual(path)
  })

  test('nothing is packed that is short, or in which nothing repeats', () => {
    expect(packPath(['a', 'a', 'a'])).toBeUndefined()
    expect(packPath(Array.from({ length: 50 }, (_, i) => `n${i}`))).toBeUndefined()
  })

  test('the path is read back unchanged for any names', () => {
    const roll = dice(7)
    for (let i = 0; i < 2_000; i++) {
      const names = 1 + Math.floor(roll() * 4)
      const path = Array.from({ length: Math.floor(roll() * 40) }, () => `n${Math.floor(roll() * names)}`)
      const packed = packPath(path)
      expect(packed === undefined ? path : unpackPath(packed)).toEqual(path)
    }
  })

  test('an event with such a path is stored packed and decoded plain; a plain one is read as it is', () => {
    const event: JournalEvent = {
      type: 'activation.started',
      agent: 'b',
      version: '1',
      input: null,
      path: ['loop', ...times(50, 'a', 'b')],
    }
    const text = encode(event)
    expect(text.length).toBeLessThan(200)
    expect(decode(text)).toEqual(event)
    expect(decode(JSON.stringify(event))).toEqual(event)
  })
})
