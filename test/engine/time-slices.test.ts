/** Long work gives way: one slice for each turn of the event loop, whoever works. */
import { expect, test } from 'vitest'
import { nextSlice } from '../../src/core/index.ts'

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
