/** How long a run rests that goes from process to process, before one takes it up again (K2). */
import { afterEach, expect, test, vi } from 'vitest'
import { runId } from '@reeve/core'
import { CrashLoopGuard } from '../src/host/crash-loop-guard.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('after its second loss in a row a run rests for a time of chance, longer after each further one, within a bound', () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] })
  vi.spyOn(Math, 'random').mockReturnValue(0.999)
  const guard = new CrashLoopGuard(100)
  const run = runId('r')
  expect([guard.rests(run, 0), guard.rests(run, 1)]).toEqual([false, false])
  const restOf = (losses: number): number => {
    let ms = 0
    for (; guard.rests(run, losses); ms += 50) vi.advanceTimersByTime(50)
    // it has rested: it is taken up, however often that is asked
    expect(guard.rests(run, losses)).toBe(false)
    return ms
  }
  expect([2, 3, 4, 5, 9].map(restOf)).toEqual([250, 500, 1_000, 2_000, 2_000])
  guard.takenUp(run, 9)
  expect(guard.rests(run, 9)).toBe(true)
})
