/** How long nothing could move: what a stall is counted without. */
import { expect, test } from 'vitest'
import { Downtime } from './downtime.ts'

test('spans that overlap count once, and only between the two moments', () => {
  const downtime = new Downtime()
  expect(downtime.between(0, 10_000)).toBe(0)
  downtime.add(4_000, 6_000)
  downtime.add(1_000, 5_000)
  downtime.add(1_500, 2_000)
  downtime.add(9_000, 20_000)
  expect(downtime.between(0, 10_000)).toBe(6)
  expect(downtime.between(2_000, 5_500)).toBe(3.5)
  expect(downtime.between(6_000, 9_000)).toBe(0)
})
