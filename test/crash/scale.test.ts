/**
 * What must not grow with the number of runs that wait: memory, wake-ups, timers, queries (K2). Counts, not
 * times.
 */
import { describe, expect, test, vi } from 'vitest'
import { systemClock, type Clock, type RunId } from '@reeve/core'
import {
  answer,
  ask,
  begin,
  behind,
  inFolder,
  open,
  outcome,
  registry,
  until,
  type Agent,
  type Opened,
} from './hand.ts'
import { sqliteOf } from '../../packages/engine/test/sqlite-of.ts'

const many = 2_000

/** An agent that asks, and the runs whose code was run. */
function asking(): { woken: string[]; agent: Agent } {
  const woken: string[] = []
  return { woken, agent: (ctx) => (woken.push(ctx.place.run), ask(ctx)) }
}

async function park(engine: Opened, agent: string, runs: number): Promise<void> {
  await Promise.all(Array.from({ length: runs }, (_, k) => begin(engine, `r${k}`, agent)))
  await until('all are parked', () => engine.driver.runs.size === 0, 20_000)
}

describe(`${many} runs that wait for an answer`, () => {
  test('are not in memory; opening wakes none; an answer from another process wakes exactly its run', async () => {
    const file = inFolder()
    const first = open(file)
    first.drive(registry({ asker: asking().agent }))
    await park(first, 'asker', many)
    expect(
      behind(file, (db) => db.prepare('SELECT count(*) AS n FROM run WHERE parked = 1 AND owner IS NULL').get()),
    ).toEqual({ n: many })
    await first.close()

    const { woken, agent } = asking()
    const second = open(file)
    const wake = vi.spyOn(second.driver.cache, 'wake')
    const claim = vi.spyOn(sqliteOf(second).lease, 'claim')
    second.drive(registry({ asker: agent }))
    // A run of its own from begin to end: whatever opening had wanted to wake would be awake by now.
    await begin(second, 'own', 'asker')
    await until('its own run asks', async () => (await second.questions({ run: 'own' as RunId })).length === 1)
    await until('its own run is parked', () => second.driver.runs.size === 0)
    expect({
      woken,
      wakes: wake.mock.calls.flatMap(([runs]) => [...runs]).length,
      claims: claim.mock.calls.length,
    }).toEqual({
      woken: ['own'],
      wakes: 0,
      claims: 0,
    })

    const other = open(file)
    expect(await answer(other, 'r1234', 'yes')).toBe('accepted')
    expect(await outcome(other, 'r1234')).toMatchObject({ status: 'completed', output: { output: 'yes' } })
    expect(woken).toEqual(['own', 'r1234'])
    expect(claim).toHaveBeenCalledTimes(1)
    await until('nothing is in memory again', () => second.driver.runs.size === 0)
  }, 40_000)
})

/** The real clock, with a count of the timers that are armed. */
class CountingClock implements Clock {
  readonly armed = new Map<object, number>()
  most = 0
  now = (): number => systemClock.now()
  timer(at: number, call: () => void): () => void {
    const timer = {}
    this.armed.set(timer, at)
    this.most = Math.max(this.most, this.armed.size)
    const done = (): boolean => this.armed.delete(timer)
    const off = systemClock.timer(at, () => (done(), call()))
    return () => (done(), off())
  }
}

describe('500 runs that wait for the clock', () => {
  test('share one timer, one watch and a handful of queries, and all wake when their time has come', async () => {
    const clock = new CountingClock()
    const intervals = vi.spyOn(globalThis, 'setInterval')
    const engine = open(inFolder(), { clock, parkAfterMs: 1 })
    const deadlines = vi.spyOn(engine.store.reader, 'nextDeadline')
    const due = vi.spyOn(engine.store.reader, 'due')
    const at = Date.now() + 2_500
    engine.drive(
      registry({
        sleeper: async (ctx) =>
          (await ctx.next(ctx.ask('nap', { until: new Date(at + (Number(ctx.place.run.slice(1)) % 7)) }))).outcome
            .status,
      }),
    )
    await park(engine, 'sleeper', 500)
    expect(clock.armed.size).toBe(1)
    expect(clock.most).toBe(1)
    expect(intervals).toHaveBeenCalledTimes(1)
    const ends = await Promise.all(Array.from({ length: 500 }, (_, k) => outcome(engine, `r${k}`)))
    expect(ends.every((end) => end.status === 'completed' && end.output === 'timed-out')).toBe(true)
    expect(Date.now()).toBeGreaterThanOrEqual(at)
    // Once a second by the watch, and once or twice for each of the seven moments.
    expect(deadlines.mock.calls.length + due.mock.calls.length).toBeLessThan(60)
    expect(clock.most).toBe(1)
  }, 20_000)
})

test.each([
  ['nearer one first', [0, 1]],
  ['farther one first', [1, 0]],
] as const)('the one timer is set to the nearest deadline: %s', async (_, order) => {
  const clock = new CountingClock()
  const engine = open(inFolder(), { clock, parkAfterMs: 1 })
  const deadlines = [Date.now() + 60_000, Date.now() + 120_000]
  engine.drive(
    registry({
      sleeper: async (ctx) =>
        (await ctx.next(ctx.ask('nap', { until: new Date(deadlines[Number(ctx.input)]!) }))).outcome.status,
    }),
  )
  for (const which of order) await begin(engine, `r${which}`, 'sleeper', which)
  // At once: in a moment the sweep will have looked, too.
  expect([...clock.armed.values()]).toEqual([deadlines[0]])
})

test('100 watchers of runs share the one watch', async () => {
  const intervals = vi.spyOn(globalThis, 'setInterval')
  const clock = new CountingClock()
  const file = inFolder()
  const driving = open(file)
  driving.drive(registry({ asker: asking().agent }))
  await park(driving, 'asker', 100)
  intervals.mockClear()
  const watching = open(file, { clock })
  const ends = Array.from({ length: 100 }, (_, k) => outcome(watching, `r${k}`))
  expect(intervals).toHaveBeenCalledTimes(1)
  expect(clock.most).toBe(0)
  for (let k = 0; k < 100; k++) expect(await answer(watching, `r${k}`, k)).toBe('accepted')
  expect((await Promise.all(ends)).map((end) => end.status)).toEqual(Array.from({ length: 100 }, () => 'completed'))
}, 20_000)
