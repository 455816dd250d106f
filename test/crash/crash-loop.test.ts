/** A run that kills every process that takes it up is set aside after some deaths, and takes no other run with it. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RunId } from '../../src/core/index.ts'
import { steadyMs, Steadiness } from '../../src/engine/host/steadiness.ts'
import { behind, inFolder, launch, open, outcome, registry, until } from './hand.ts'

const killer = 'killer' as RunId

describe('a run that kills its process', () => {
  test('is stuck after the fifth process, with the reason; other runs go on; resume tries it once more; cancel runs none of its code', async () => {
    const file = inFolder()
    for (let deaths = 1; deaths <= 5; deaths++) {
      const { gone } = launch('killer', file)
      expect(await gone).toEqual([null, 'SIGKILL'])
    }
    const sixth = launch('killer', file)
    await sixth.line('innocent has ended')
    const engine = open(file)
    expect(await engine.summary(killer)).toMatchObject({
      status: 'stuck',
      failure: { code: 'run.crash-loop', hint: expect.stringMatching(/reeve resume/) as string },
      reason: expect.stringMatching(/5 times in a row/) as string,
    })
    expect(await engine.summary('innocent' as RunId)).toMatchObject({ status: 'completed' })

    expect(await engine.post({ type: 'resume', run: killer, by: 'ann' })).toBe('accepted')
    expect(await sixth.gone).toEqual([null, 'SIGKILL'])
    const seventh = launch('killer', file)
    await seventh.line('driving')
    await until('it is stuck again', async () => (await engine.summary(killer))?.reason?.includes('6 times') === true)

    expect(await engine.post({ type: 'cancel', run: killer, reason: 'enough', by: 'ann' })).toBe('accepted')
    expect(await outcome(engine, killer)).toMatchObject({ status: 'cancelled' })
    expect(seventh.child.exitCode ?? seventh.child.signalCode).toBeNull()
  }, 60_000)

  test('is not counted where its process closes in order', async () => {
    const file = inFolder()
    for (let k = 0; k < 7; k++) {
      const engine = open(file)
      engine.drive(registry({ waits: () => new Promise<never>(() => undefined) }))
      await engine.start({ run: 'r' as RunId, agent: 'waits', version: '1', input: null })
      await engine.close()
    }
    expect(behind(file, (db) => db.prepare('SELECT losses, stuck FROM run').get())).toEqual({ losses: 0, stuck: null })
  })
})

describe('runs that were lost with their process, at the next one', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())
  const run = (k: number): RunId => `r${k}` as RunId

  test('are all taken up after one loss; after two, one of them, then twice as many each time that one has stood the test', () => {
    const steadiness = new Steadiness(5)
    for (let k = 0; k < 50; k++) {
      expect(steadiness.admits(1, 0)).toBe(true)
      steadiness.takenUp(run(k), 1)
    }
    const admitted = (): number => {
      let n = 0
      for (; steadiness.admits(2, 0); n++) steadiness.takenUp(`s${n}-${performance.now()}` as RunId, 2)
      return n
    }
    expect(admitted()).toBe(1)
    vi.advanceTimersByTime(steadyMs - 1)
    expect(steadiness.takeSteady()).toEqual([])
    expect(steadiness.admits(2, 0)).toBe(false)
    vi.advanceTimersByTime(1)
    expect(steadiness.takeSteady()).toHaveLength(51)
    expect(admitted()).toBe(2)
    vi.advanceTimersByTime(steadyMs)
    steadiness.takeSteady()
    expect(admitted()).toBe(4)
  })

  test('a suspect that leaves memory makes room for the next one, and the lease is as long as the worst of those that stay needs', () => {
    const steadiness = new Steadiness(5)
    steadiness.takenUp(run(1), 4)
    steadiness.takenUp(run(2), 1)
    expect([steadiness.worst, steadiness.admits(2, 0)]).toEqual([4, false])
    expect(steadiness.left(run(1))).toBe(true)
    expect([steadiness.worst, steadiness.admits(2, 0)]).toEqual([1, true])
  })
})
