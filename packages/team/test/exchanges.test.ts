/** Mail that goes to and fro: the pure half of livelock and loop detection. */
import { describe, expect, test } from 'vitest'
import { Exchanges, mostRepeats } from '../src/progress/mail-loops.ts'

/** Two who answer each other, so often; what was said of the last. */
function pingPong(exchanges: Exchanges, times: number, say: (i: number) => string): unknown {
  let last: unknown
  for (let i = 0; i < times; i++) {
    const [from, to] = i % 2 === 0 ? ['a', 'b'] : ['b', 'a']
    exchanges.read(from)
    last = exchanges.wrote(from, to, say(i))
  }
  return last
}

describe('exchanges', () => {
  test('as many replies as are allowed are fine, one more is a livelock of those who write', () => {
    expect(pingPong(new Exchanges(10), 10, String)).toBeUndefined()
    expect(pingPong(new Exchanges(10), 11, String)).toEqual({ kind: 'livelock', cycle: ['a', 'b'], isNew: true })
  })

  test('the same reply the same way is a loop long before that', () => {
    expect(pingPong(new Exchanges(1_000), 2 * mostRepeats, () => 'ping')).toBeUndefined()
    expect(pingPong(new Exchanges(1_000), 2 * mostRepeats + 1, () => 'ping')).toEqual({
      kind: 'loop',
      cycle: ['a', 'b'],
      isNew: true,
    })
  })

  test('unasked mail, of any amount, is no circle', () => {
    const exchanges = new Exchanges(10)
    for (let i = 0; i < 10_000; i++) expect(exchanges.wrote('a', 'b', 'same')).toBeUndefined()
  })

  test('one who reads and writes to those who never answer is no round', () => {
    const exchanges = new Exchanges(3)
    for (let i = 0; i < 50; i++) {
      exchanges.read('a')
      expect(exchanges.wrote('a', 'b', i)).toBeUndefined()
    }
  })

  test('a refused circle stays refused, and is news once, until something moves', () => {
    const exchanges = new Exchanges(10)
    pingPong(exchanges, 11, String)
    for (let i = 0; i < 5; i++)
      expect(exchanges.wrote('a', 'b', `again ${i}`)).toEqual({ kind: 'livelock', cycle: ['a', 'b'], isNew: false })
    exchanges.moved()
    expect(exchanges.wrote('a', 'b', 'unasked')).toBeUndefined()
    expect(pingPong(exchanges, 11, String)).toMatchObject({ isNew: true })
  })

  test('when something moves, it begins anew', () => {
    const exchanges = new Exchanges(10)
    pingPong(exchanges, 10, String)
    exchanges.moved()
    expect(pingPong(exchanges, 10, String)).toBeUndefined()
  })

  test('0 is no limit', () => {
    expect(pingPong(new Exchanges(0), 1_000, () => 'ping')).toBeUndefined()
  })
})
