/** Long work gives way: one slice for each turn of the event loop, whoever works. */
import { expect, test } from 'vitest'
import { nextSlice, Slices } from '@reeve/core'
import { turnsDuring } from '../../../test/turns.ts'

/** Holds the event loop. */
function work(ms: number): void {
  for (const begun = performance.now(); performance.now() - begun < ms;);
}

test('many that work for long leave the event loop a turn after each slice, and nobody is overtaken', async () => {
  const [workers, rounds] = [20, 5]
  const order: number[] = []
  let inTurn = 0
  let most = 0
  let isOver = false
  const turn = (): void => {
    most = Math.max(most, inTurn)
    inTurn = 0
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await Promise.all(
    Array.from({ length: workers }, async (_, n) => {
      for (let i = 0; i < rounds; i++) {
        await nextSlice()
        order.push(n)
        inTurn++
        work(3)
      }
    }),
  )
  isOver = true
  expect(most).toBeGreaterThan(0)
  // a slice of 8 ms has room for three of 3 ms each
  expect(most).toBeLessThanOrEqual(4)
  expect(order).toEqual(Array.from({ length: workers * rounds }, (_, i) => i % workers))
})

test('a long list is worked at in slices, in its order; a short one in one turn', async () => {
  const workedAt = (items: readonly number[], ms: number) =>
    turnsDuring(async () => {
      const done: number[] = []
      for await (const piece of new Slices().of(items)) {
        done.push(...piece)
        work(ms)
      }
      return done
    })
  const items = Array.from({ length: 1_000 }, (_, i) => i)
  // of ten pieces of 5 ms each, no more than two are of one turn
  const { result, turns } = await workedAt(items, 5)
  expect(result).toEqual(items)
  expect(turns).toBeGreaterThanOrEqual(4)
  expect((await workedAt(items.slice(0, 90), 5)).turns).toBe(0)
})
