/** Runs that were left to a mover: which of them are woken again, and when a process takes one up itself. */
import { expect, test } from 'vitest'
import { runId, type RunId } from '@reeve/core'
import { Placement } from '../src/host/placement.ts'
import type { Mover } from '../src/mover.ts'

const lying = runId('lies')

test.each([
  ['woken again', false],
  ['left to a mover that keeps wake-ups, and not woken again', true],
])('K2: an unclaimed run is %s; after three seconds it is taken up here', async (_what, keepsWakeUps) => {
  const woken: RunId[] = []
  const mover: Mover = {
    keepsWakeUps,
    open: () => Promise.resolve(),
    wake: (runs) => void woken.push(...runs),
    close: () => Promise.resolve(),
  }
  const placement = new Placement(mover, () => {})
  const begun = performance.now()
  await expect.poll(() => placement.mayTakeUp(lying), { interval: 50 }).toBe(true)
  expect(performance.now() - begun).toBeGreaterThanOrEqual(2_900)
  expect(woken.length > 0).toBe(!keepsWakeUps)
})

test.each([
  ['told to a mover that keeps wake-ups', true, [lying]],
  ['nothing to a mover that keeps none', false, []],
])(
  'the end of a run that was not moved here is %s; one that was moved is answered',
  async (_what, keepsWakeUps, told) => {
    const woken: RunId[] = []
    const mover: Mover = {
      keepsWakeUps,
      open: () => Promise.resolve(),
      wake: (runs) => void woken.push(...runs),
      close: () => Promise.resolve(),
    }
    const placement = new Placement(mover, () => {})
    placement.left(lying, 'parked')
    placement.left(lying, 'ended')
    const moved = placement.move(runId('moved'))
    placement.left(runId('moved'), 'ended')
    expect(await moved).toBe('ended')
    expect(woken).toEqual(told)
  },
)

test('K2: a run that has waited for longer by what is recorded of it is taken up at once by a process that begins', () => {
  const mover: Mover = { open: () => Promise.resolve(), wake: () => {}, close: () => Promise.resolve() }
  const placement = new Placement(mover, () => {})
  placement.haveWaited([lying])
  expect(placement.mayTakeUp(lying)).toBe(true)
  expect(placement.mayTakeUp(runId('new'))).toBe(false)
})
