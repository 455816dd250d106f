/**
 * A store in which everything waits: nothing is looked at again and again in vain, nothing that is due is overlooked
 * (K2).
 */
import { expect, test, vi } from 'vitest'
import {
  completed,
  rootActivation,
  systemClock,
  type ActivationId,
  type Clock,
  type Json,
  type RunId,
} from '@reeve/core'
import { manualClock } from '../../packages/testing/src/manual-clock.ts'
import { answer, ask, begin, behind, inFolder, open, outcome, registry, step, until, type Opened } from './hand.ts'

const epochOf = (file: string, run: string): number =>
  behind(file, (db) => (db.prepare('SELECT epoch FROM run WHERE id = ?').get(run) as { epoch: number }).epoch)
const unread = (file: string): unknown[] =>
  behind(file, (db) => db.prepare('SELECT act, key FROM inbox WHERE taken = 0').all())

/** Several sweeps later. */
async function later(clock: ReturnType<typeof manualClock>): Promise<void> {
  for (let k = 0; k < 4; k++) {
    clock.advance(1_100)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}

test('K2: a refusal that comes with the end of its sender wakes no activation', async () => {
  const file = inFolder()
  const clock = manualClock()
  const engine = open(file, { clock, pollMs: 2, parkAfterMs: 100 })
  engine.drive(
    registry({
      worker: (ctx) => {
        ctx.send('act_nobody' as ActivationId, 'hello')
        return Promise.resolve(1)
      },
      lead: async (ctx) => {
        await ctx.next(ctx.start('worker', null))
        return ask(ctx)
      },
    }),
  )
  await begin(engine, 'r', 'lead')
  await until('it waits', () => engine.driver.runs.size === 0)
  const [epoch, commits] = [epochOf(file, 'r'), engine.driver.commits]
  await later(clock)
  expect([epochOf(file, 'r'), engine.driver.commits, unread(file)]).toEqual([epoch, commits, []])
})

test('K2: an answer in the commit that ends its asker comes too late and wakes no activation', async () => {
  const file = inFolder()
  const clock = manualClock()
  const engine = open(file, { clock, pollMs: 2, parkAfterMs: 100 })
  let finish: ((value: Json) => void) | undefined
  engine.drive(
    registry({
      worker: async (ctx) => {
        ctx.ask('q', { as: { type: 'interrupt.raised', id: ctx.id('int'), question: 'well?', path: [] } })
        return step(ctx, 'work', () => new Promise<Json>((resolve) => (finish = resolve)))
      },
      lead: async (ctx) => {
        await ctx.next(ctx.start('worker', null))
        return ask(ctx)
      },
    }),
  )
  await begin(engine, 'r', 'lead')
  await until('it asks, and works', async () => (await engine.questions()).length === 1 && finish !== undefined)
  finish!(1)
  for (let k = 0; k < 3; k++) await Promise.resolve()
  const worker = `${rootActivation('r' as RunId)}>worker` as ActivationId
  expect(await engine.post({ type: 'answer', activation: worker, address: 'q', outcome: completed('yes') })).toBe(
    'closed',
  )
  await until(
    'it waits',
    async () => (await engine.questions())[0]?.activation === 'act_r' && engine.driver.runs.size === 0,
  )
  const [epoch, commits] = [epochOf(file, 'r'), engine.driver.commits]
  await later(clock)
  expect([epochOf(file, 'r'), engine.driver.commits, unread(file)]).toEqual([epoch, commits, []])
})

test('K2: a row unread by an activation that ended is consumed by the next reader', async () => {
  const file = inFolder()
  const clock = manualClock()
  const engine = open(file, { clock, pollMs: 2, parkAfterMs: 100 })
  engine.drive(
    registry({
      worker: () => Promise.resolve(1),
      lead: async (ctx) => {
        await ctx.next(ctx.start('worker', null))
        return ask(ctx)
      },
    }),
  )
  await begin(engine, 'r', 'lead')
  await until('it waits', () => engine.driver.runs.size === 0)
  behind(file, (db) =>
    db.exec(`INSERT INTO inbox(act, key, body) VALUES('act_r>worker', 'x', '{"type":"message","id":"x","body":1}')`),
  )
  await until('it is used up', () => (clock.advance(1_100), unread(file).length === 0))
  await until('it waits again', () => engine.driver.runs.size === 0)
  const epoch = epochOf(file, 'r')
  await later(clock)
  expect(epochOf(file, 'r')).toBe(epoch)
})

test('K2: a deadline whose row is taken already does not ring again and again', async () => {
  const file = inFolder()
  const engine = open(file, { pollMs: 2 })
  engine.drive(
    registry({
      agent: async (ctx) => {
        const until = new Date(ctx.now().getTime() + 200)
        const id = ctx.ask('q', {
          until,
          as: { type: 'interrupt.raised', id: ctx.id('int'), question: 'well?', path: [] },
        })
        return (await ctx.next(id)).type
      },
    }),
  )
  await begin(engine, 'r', 'agent')
  // However it came there: the row of the answer exists, and nobody will read it.
  behind(file, (db) => db.exec('INSERT INTO inbox(act, key, taken) SELECT act, key, 1 FROM question'))
  const due = (): unknown => behind(file, (db) => db.prepare('SELECT until FROM question').get())
  await until('the deadline is over', () => (due() as { until: number | null }).until === null)
  const { commits } = engine.driver
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(engine.driver.commits - commits).toBeLessThan(5)
})

test('K2: a timer that became due while the machine slept fires at the next look', async () => {
  let skew = 0
  // Its timers count only time that they were awake for.
  const clock: Clock = { now: () => Date.now() + skew, timer: (at, call) => systemClock.timer(at - skew, call) }
  const engine = open(inFolder(), { clock })
  engine.drive(
    registry({
      sleeper: async (ctx) => {
        await ctx.next(ctx.ask('sleep', { until: new Date(ctx.now().getTime() + 60_000) }))
        return 'slept'
      },
    }),
  )
  await begin(engine, 'r', 'sleeper')
  skew = 3_600_000
  expect(await outcome(engine, 'r')).toEqual({ status: 'completed', output: 'slept' })
})

test('K2: the real clock asks for the time at least once a minute', () => {
  vi.useFakeTimers()
  try {
    let rung = 0
    systemClock.timer(Date.now() + 3_600_000, () => rung++)
    vi.setSystemTime(Date.now() + 4_000_000)
    vi.advanceTimersByTime(60_001)
    expect(rung).toBe(1)
  } finally {
    vi.useRealTimers()
  }
})

test('K2: runs without a capable process do not block the others', async () => {
  const file = inFolder()
  const starter = open(file, { durability: 'relaxed' })
  const many = Array.from({ length: 1_100 }, (_, k) => k)
  await Promise.all(many.map((k) => begin(starter, `x${k}`, 'elsewhere')))
  await new Promise((resolve) => setTimeout(resolve, 5))
  await begin(starter, 'mine', 'agent')
  await starter.close()
  const engine = open(file)
  engine.drive(registry({ agent: () => Promise.resolve('done') }))
  expect(await outcome(engine, 'mine')).toEqual({ status: 'completed', output: 'done' })
})

async function parked(engine: Opened, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, k) => begin(engine, `r${k}`, 'agent')))
  await until('all wait', () => engine.driver.runs.size === 0)
}

test('K9: an answer costs the same however many outcomes are awaited, and the end of each is heard of', async () => {
  const file = inFolder()
  const engine = open(file, { durability: 'relaxed' })
  engine.drive(registry({ agent: ask }))
  await parked(engine, 200)
  const ends = Array.from({ length: 200 }, (_, k) => outcome(engine, `r${k}`))
  for (const end of ends) end.catch(() => undefined)
  const asked = [vi.spyOn(engine.store.reader, 'run'), vi.spyOn(engine.store.reader, 'end')]
  for (let k = 0; k < 5; k++) {
    await answer(engine, `r${k}`, k)
    expect(await ends[k]).toEqual({ status: 'completed', output: completed(k) })
  }
  expect(asked.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBeLessThan(60)
  // Another process answers and drives the rest of them.
  const other = open(file, { durability: 'relaxed' })
  other.drive(registry({ agent: ask }))
  for (let k = 5; k < 10; k++) {
    await answer(other, `r${k}`, k)
    expect(await ends[k]).toEqual({ status: 'completed', output: completed(k) })
  }
})
