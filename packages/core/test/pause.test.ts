/** A wait of real time that a signal ends. */
import { getEventListeners } from 'node:events'
import { afterEach, expect, test, vi } from 'vitest'
import { pause } from '@reeve/core'

afterEach(() => void vi.useRealTimers())

/** What a wait has come to when this is asked. */
function watched(wait: Promise<void>): () => 'waits' | 'over' {
  let state: 'waits' | 'over' = 'waits'
  void wait.then(
    () => (state = 'over'),
    () => undefined,
  )
  return () => state
}

test('it ends at its time, and leaves nothing at the signal', async () => {
  vi.useFakeTimers()
  const { signal } = new AbortController()
  const state = watched(pause(1_000, signal))
  await vi.advanceTimersByTimeAsync(999)
  expect(state()).toBe('waits')
  await vi.advanceTimersByTimeAsync(1)
  expect([state(), getEventListeners(signal, 'abort').length]).toEqual(['over', 0])
})

test('the signal ends it, also one that was aborted before, and no timer is left', async () => {
  vi.useFakeTimers()
  const left = new AbortController()
  const state = watched(pause(1_000, left.signal))
  await vi.advanceTimersByTimeAsync(10)
  expect(state()).toBe('waits')
  left.abort()
  await pause(1_000, left.signal)
  expect([state(), vi.getTimerCount()]).toEqual(['over', 0])
})

test('one of two months does not end at once, as a timer of Node would', async () => {
  vi.useFakeTimers()
  const left = new AbortController()
  const state = watched(pause(60 * 86_400_000, left.signal))
  await vi.advanceTimersByTimeAsync(86_400_000)
  expect(state()).toBe('waits')
  left.abort()
})

test('it keeps a process alive, and does not where that is said', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const left = new AbortController()
  const waits = [pause(60_000, left.signal), pause(60_000, left.signal, 'unref')]
  expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([true, false])
  left.abort()
  await Promise.all(waits)
})
