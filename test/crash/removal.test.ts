/**
 * Runs that are removed: nothing that somebody remembers of them, a number or an id, is ever taken for something else
 * (K1, K2, K9).
 */
import { expect, test } from 'vitest'
import { rootActivation, type RunId } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { manualClock } from '../../packages/testing/src/manual-clock.ts'
import { begin, behind, inFolder, open, outcome, registry, step, until, type Opened } from './hand.ts'
import { sqliteOf } from '../../packages/engine/test/sqlite-of.ts'

const act = (run: string) => rootActivation(run as RunId)
const remove = (engine: Opened, run: string): Promise<void> => engine.remove(run as RunId)
const types = async (engine: Opened, run: string): Promise<string[]> =>
  (await engine.read(run as RunId)).map(({ event }) => event.type)
const write = (engine: Opened, run: string, body = 'hello', id = 'm') =>
  engine.post({ type: 'message', activation: act(run), id, body })

async function message(ctx: Context) {
  const arrival = await ctx.next((any) => any.type === 'message')
  return arrival.type === 'message' ? arrival.body : null
}

const agents = registry({
  short: (ctx) => step(ctx, 'work', () => 1),
  listener: message,
  waiter: async (ctx) => [await message(ctx), await step(ctx, 'after', () => 2)],
  counter: (ctx) => ctx.values.update('count', (count) => Number(count ?? 0) + 1),
})
const short = ['activation.started', 'step.begun', 'step.settled', 'activation.settled']
const waited = ['activation.started', 'message.received', 'step.begun', 'step.settled', 'activation.settled']

test('K1: a run removed and begun again by another process never writes into its successor’s log', async () => {
  const file = inFolder()
  const driver = open(file)
  driver.drive(agents)
  await begin(driver, 'r1', 'short')
  await outcome(driver, 'r1')
  const other = open(file)
  await remove(other, 'r1')
  await begin(other, 'r2', 'waiter')
  await until(
    'r2 is at work',
    async () => (await types(driver, 'r2')).length > 0 && driver.driver.runs.has('r2' as RunId),
  )
  await begin(other, 'r1', 'short')
  expect(await outcome(driver, 'r1')).toEqual({ status: 'completed', output: 1 })
  await write(other, 'r2')
  expect(await outcome(driver, 'r2')).toEqual({ status: 'completed', output: ['hello', 2] })
  expect(await types(other, 'r1')).toEqual(short)
  expect(await types(other, 'r2')).toEqual(waited)
})

test.each(['full', 'strict'] as const)(
  'K1: the same in one process, and for the values of a run, durability %s',
  async (durability) => {
    const engine = open(inFolder(), { durability })
    engine.drive(agents)
    await begin(engine, 'r1', 'counter')
    expect(await outcome(engine, 'r1')).toEqual({ status: 'completed', output: 1 })
    await remove(engine, 'r1')
    for (const run of ['r2', 'r3', 'r4']) await begin(engine, run, 'waiter')
    await begin(engine, 'r1', 'counter')
    expect(await outcome(engine, 'r1')).toEqual({ status: 'completed', output: 1 })
    for (const run of ['r2', 'r3', 'r4']) {
      await write(engine, run)
      expect(await outcome(engine, run)).toEqual({ status: 'completed', output: ['hello', 2] })
      expect(await types(engine, run)).toEqual(waited)
    }
    const values = sqliteOf(engine)
      .db.prepare("SELECT count(*) AS n FROM log l JOIN activation a ON a.num = l.act WHERE a.id = 'ses_/r1'")
      .get()
    expect(values).toEqual({ n: 1 })
  },
)

test.each(['file', 'memory'])('K2: a message that is sent after a run was removed arrives (%s)', async (where) => {
  const engine = open(where === 'file' ? inFolder() : ':memory:')
  engine.drive(
    registry({
      // Something stays out, so that the run stays in memory and hears of its mail by position only.
      busy: (ctx) => {
        ctx.begin('never ends', () => new Promise<never>(() => {}))
        return message(ctx)
      },
      listener: message,
    }),
  )
  await begin(engine, 'busy', 'busy')
  await begin(engine, 'gone', 'listener')
  for (const id of ['1', '2', '3']) await write(engine, 'gone', 'x', id)
  await outcome(engine, 'gone')
  await remove(engine, 'gone')
  expect(await write(engine, 'busy')).toBe('accepted')
  expect(await outcome(engine, 'busy')).toEqual({ status: 'completed', output: 'hello' })
})

test('K1: no position of the feed is given out twice, and what holds its place does not pile up', async () => {
  const file = inFolder()
  const engine = open(file)
  engine.drive(agents)
  let last = 0
  for (let k = 0; k < 5; k++) {
    await begin(engine, `r${k}`, 'short')
    await outcome(engine, `r${k}`)
    const feed = await engine.read(`r${k}` as RunId)
    expect(feed[0]!.position).toBeGreaterThan(last)
    last = feed.at(-1)!.position
    await remove(engine, `r${k}`)
  }
  expect(behind(file, (db) => db.prepare('SELECT count(*) AS n FROM log').get())).toEqual({ n: 1 })
})

test('K9: a wait for news of a removed run ends', async () => {
  const file = inFolder()
  const engine = open(file)
  engine.drive(agents)
  await begin(engine, 'r', 'short')
  await outcome(engine, 'r')
  const { position } = (await engine.read('r' as RunId)).at(-1)!
  await remove(engine, 'r')
  await engine.changed('r' as RunId, position)
  // One that is just beginning is none that was removed.
  let told = false
  const beginning = begin(engine, 'new', 'short')
  const news = engine.changed('new' as RunId, 0).then(() => (told = true))
  await Promise.resolve()
  expect(told).toBe(false)
  await beginning
  await news
})

test('K2: who awaits a run hears of its end although the process that removes it has not seen the end yet', async () => {
  const file = inFolder()
  const [driver, other] = [open(file), open(file, { pollMs: 60_000 })]
  driver.drive(agents)
  await begin(driver, 'r', 'listener')
  const end = outcome(other, 'r')
  await write(driver, 'r')
  await outcome(driver, 'r')
  await remove(other, 'r')
  expect(await end).toEqual({ status: 'completed', output: 'hello' })
})

test('K1: retention finds the oldest runs however many newer ones there are, in portions', async () => {
  const clock = manualClock()
  const engine = open(inFolder(), { clock, durability: 'relaxed', retentionMs: 3_600_000, pollMs: 2 })
  engine.drive(agents)
  const many = async (name: string, count: number): Promise<void> => {
    await Promise.all(Array.from({ length: count }, (_, k) => begin(engine, `${name}${k}`, 'short')))
    await Promise.all(Array.from({ length: count }, (_, k) => outcome(engine, `${name}${k}`)))
  }
  await many('old', 150)
  clock.advance(3_500_000)
  await many('new', 1_000)
  clock.advance(200_000)
  const left = async (name: string): Promise<number> => {
    const runs = await engine.runs({ limit: 10_000 })
    return runs.filter(({ run }) => run.startsWith(name)).length
  }
  await until('the first hundred are gone', async () => (await left('old')) === 50)
  clock.advance(200)
  await until('the others are gone', async () => (await left('old')) === 0)
  expect(await left('new')).toBe(1_000)
}, 20_000)
