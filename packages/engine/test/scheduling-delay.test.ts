/**
 * Leases follow the delay of the machine: how it is measured, and how much longer a lease is for it.
 */
import { afterEach, expect, test, vi } from 'vitest'
import { graceFor, leaseFor, SchedulingDelay } from '../src/host/scheduling-delay.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('the delay is the ninety-ninth percentile of the last two windows, and is forgotten after them', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const delay = new SchedulingDelay()
  expect(delay.p99Ms).toBe(0)
  for (let i = 0; i < 99; i++) delay.note(0.2)
  delay.note(400)
  expect(delay.p99Ms).toBe(0)
  for (let i = 0; i < 10; i++) delay.note(400)
  expect(delay.p99Ms).toBe(384)
  vi.advanceTimersByTime(10_500)
  delay.note(3)
  expect(delay.p99Ms).toBe(384)
  vi.advanceTimersByTime(10_500)
  delay.note(3)
  expect(delay.p99Ms).toBe(3)
  vi.advanceTimersByTime(60_000)
  delay.note(0)
  expect(delay.p99Ms).toBe(0)
})

test('a delay is told whole, an eighth too short at most, however long it is', () => {
  for (const ms of [0, 0.9, 1, 15.5, 16, 17, 31, 33, 100, 999, 5_000, 123_456]) {
    const delay = new SchedulingDelay()
    delay.note(ms)
    expect(delay.p99Ms).toBeLessThanOrEqual(ms)
    expect(delay.p99Ms).toBeGreaterThanOrEqual(Math.floor(ms) * (7 / 8))
    expect(Number.isInteger(delay.p99Ms)).toBe(true)
  }
})

test('a lease is as long as it was set, or outlasts eight delays, up to eight times its length', () => {
  expect([0, 10, 50, 100, 400, 10_000].map((delay) => leaseFor(400, delay))).toEqual([400, 400, 400, 800, 3_200, 3_200])
  expect([leaseFor(3_000, 100), leaseFor(3_000, 1_000)]).toEqual([3_000, 8_000])
  expect([graceFor(500, 0), graceFor(500, 1_000)]).toEqual([500, 2_000])
})
