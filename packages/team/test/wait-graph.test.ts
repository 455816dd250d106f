/** Who waits for ever: the pure half of deadlock detection. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stuckAmong, type Waiter } from '../src/progress/wait-graph.ts'

const moves = (name: string): Waiter => ({ name, needs: 'nothing' })
const all = (name: string, ...of: string[]): Waiter => ({ name, needs: 'all', of })
const any = (name: string, ...of: string[]): Waiter => ({ name, needs: 'any', of })

describe('the wait-for graph', () => {
  test('without waits none is stuck', () => {
    expect(stuckAmong([])).toBeUndefined()
    expect(stuckAmong([moves('a'), all('b', 'a'), all('c', 'b')])).toBeUndefined()
  })

  test('two who wait for each other', () => {
    expect(stuckAmong([any('a', 'b'), any('b', 'a'), moves('c')])).toEqual({ names: ['a', 'b'], cycle: ['a', 'b'] })
  })

  test('a member that waits for mail of a task that waits for it', () => {
    expect(stuckAmong([any('a', 'e'), all('e', 'a', 'b'), moves('b')])).toEqual({
      names: ['a', 'e'],
      cycle: ['a', 'e'],
    })
  })

  test('mail from any sender: stuck only if no member can move', () => {
    expect(stuckAmong([any('a', 'b', 'c'), any('b', 'a', 'c'), moves('c')])).toBeUndefined()
    expect(stuckAmong([any('a', 'b', 'c'), any('b', 'a', 'c'), all('c', 'a')])).toEqual({
      names: ['a', 'b', 'c'],
      cycle: ['a', 'b'],
    })
  })

  test('the cycle leaves out who only leads to it', () => {
    expect(stuckAmong([all('x', 'a'), any('a', 'b'), any('b', 'c'), any('c', 'a')])).toEqual({
      names: ['x', 'a', 'b', 'c'],
      cycle: ['a', 'b', 'c'],
    })
  })

  test('a wait for an ended member: over for tasks, in vain for mail', () => {
    expect(stuckAmong([all('a', 'gone')])).toBeUndefined()
    expect(stuckAmong([any('a', 'gone')])).toEqual({ names: ['a'], cycle: ['a'] })
  })

  test('a stuck member waits for stuck ones only; the others can run in some order', () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const waiter = (name: string): fc.Arbitrary<Waiter> =>
      fc.oneof(
        fc.constant(moves(name)),
        fc.subarray(names).map((of) => all(name, ...of)),
        fc.subarray(names).map((of) => any(name, ...of)),
      )
    fc.assert(
      fc.property(fc.tuple(...names.map(waiter)), (waiters) => {
        const found = stuckAmong(waiters)
        const stuck = new Set(found?.names)
        const isStuck = (each: Waiter): boolean => {
          if (each.needs === 'nothing') return false
          return each.needs === 'all'
            ? each.of.some((name) => stuck.has(name))
            : each.of.every((name) => stuck.has(name))
        }
        expect(waiters.filter(isStuck).map(({ name }) => name)).toEqual(found?.names ?? [])
        const cycle = found?.cycle ?? []
        const leads = cycle.map((name, i) => {
          const at = waiters.find((each) => each.name === name)!
          return at.needs !== 'nothing' && at.of.includes(cycle[(i + 1) % cycle.length]!)
        })
        expect(cycle.length > 1 ? leads : []).toEqual(cycle.length > 1 ? cycle.map(() => true) : [])
      }),
    )
  })
})
