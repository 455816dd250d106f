/** A run that kills every process that takes it up is set aside after some deaths, and takes no other run with it. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RunId } from '@reeve/core'
import { steadyMs, CrashLoopGuard } from '../../packages/engine/src/host/crash-loop-guard.ts'
import { dice } from '../dice.ts'
import { behind, inFolder, launch, open, outcome, registry, until } from './hand.ts'

const killer = 'killer' as RunId

describe('a run that kills its process', () => {
  test('stuck after the fifth process, with the reason; others go on; resume retries; cancel runs no code', async () => {
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

  /** Takes up as many of those that were lost so often as it may. */
  const takeUp = (steadiness: CrashLoopGuard, losses: number): RunId[] => {
    const taken: RunId[] = []
    while (steadiness.admits(losses, [])) {
      taken.push(`s${losses}-${taken.length}-${performance.now()}` as RunId)
      steadiness.takenUp(taken.at(-1)!, losses)
    }
    return taken
  }

  test('all are taken up after one loss, 64 after two, eight after three, one before the last allowed', () => {
    for (const [losses, group] of [
      [2, 64],
      [3, 8],
      [4, 1],
    ] as const) {
      const steadiness = new CrashLoopGuard(5)
      for (let k = 0; k < 100; k++) {
        expect(steadiness.admits(1, [])).toBe(true)
        steadiness.takenUp(run(k), 1)
      }
      expect(takeUp(steadiness, losses)).toHaveLength(group)
      expect(steadiness.admits(losses, [])).toBe(false)
      vi.advanceTimersByTime(steadyMs - 1)
      expect(steadiness.takeSteady()).toEqual([])
      vi.advanceTimersByTime(1)
      expect(steadiness.takeSteady()).toHaveLength(100 + group)
      expect(takeUp(steadiness, losses)).toHaveLength(group)
    }
  })

  test('one that recorded an effect’s end makes room for the next, unless it has a single loss left', () => {
    const steadiness = new CrashLoopGuard(5)
    const taken = takeUp(steadiness, 3)
    for (const each of taken) steadiness.moved(each)
    expect(takeUp(steadiness, 3)).toHaveLength(8)
    expect(steadiness.admits(4, [])).toBe(false)
    for (const each of taken) steadiness.left(each)
    vi.advanceTimersByTime(steadyMs)
    steadiness.takeSteady()
    expect(steadiness.admits(4, [3])).toBe(false)
    const [last] = takeUp(steadiness, 4)
    steadiness.moved(last!)
    expect([4, 3, 2, 1].map((losses) => steadiness.admits(losses, []))).toEqual([false, false, false, true])
    expect(new CrashLoopGuard(5).admits(2, [4])).toBe(false)
  })

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'of 300 runs the one that kills is set aside, and no other, however soon the others move: seed %d',
    (seed) => {
      const roll = dice(seed)
      const all = new Map(Array.from({ length: 300 }, (_, k): [RunId, number] => [run(k), 0]))
      const kills = run(Math.floor(roll() * 300))
      let deaths = 0
      for (; all.get(kills)! < 5; deaths++) {
        const steadiness = new CrashLoopGuard(5)
        const held = new Set<RunId>()
        // Everybody who may be taken up is, by losses, the moment there is room; then one that is held goes on, until
        // it is the one that kills.
        for (;;) {
          for (const [id, losses] of [...all].toSorted(([, a], [, b]) => a - b)) {
            if (held.has(id) || !steadiness.admits(losses, [])) continue
            held.add(id)
            steadiness.takenUp(id, losses)
          }
          const next = [...held][Math.floor(roll() * held.size)]!
          if (next === kills) break
          if (roll() < 0.3) steadiness.moved(next)
          if (roll() < 0.2) {
            steadiness.left(next)
            held.delete(next)
            all.delete(next)
          }
        }
        for (const id of held) all.set(id, all.get(id)! + 1)
      }
      expect([...all].filter(([, losses]) => losses >= 5).map(([id]) => id)).toEqual([kills])
      expect(deaths).toBe(5)
    },
  )

  test('a suspect that leaves memory makes room for the next; the lease fits the worst that stay', () => {
    const steadiness = new CrashLoopGuard(5)
    steadiness.takenUp(run(1), 4)
    steadiness.takenUp(run(2), 1)
    expect([steadiness.worst, steadiness.admits(2, [])]).toEqual([4, false])
    expect(steadiness.left(run(1))).toBe(true)
    expect([steadiness.worst, steadiness.admits(2, [])]).toEqual([1, true])
  })
})
