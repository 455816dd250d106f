/**
 * Runs that are archived while processes work, are killed and close: no event is lost, doubled or out of order (K1), and
 * what is done with an archived run is what is done with any other.
 */
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
import { createRuntime } from '@reeve/runtime'
import { manualClock } from '../../packages/testing/src/manual-clock.ts'
import { sqliteOf } from '../../packages/engine/test/sqlite-of.ts'
import {
  answer,
  ask,
  begin,
  behind,
  inFolder,
  launch,
  open,
  outcome,
  registry,
  step,
  until,
  type Opened,
} from './hand.ts'

const agents = registry({
  steps: async (ctx, input) => {
    for (let k = 0; k < Number(input); k++) await step(ctx, `s${k}`, () => k)
    return 'done'
  },
  lead: async (ctx) => {
    const worked = await ctx.next(ctx.start('steps', 3))
    await ctx.values.update('count', (count) => Number(count ?? 0) + 1)
    return [await ask(ctx), worked.outcome as never]
  },
})
const id = (run: string): RunId => run as RunId
const rows = (file: string, table: string): number =>
  behind(file, (db) => (db.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n)
const feeds = async (engine: Opened, runs: readonly string[]): Promise<readonly (readonly Recorded[])[]> =>
  Promise.all(runs.map((run) => engine.read(id(run))))

/** Begins runs of so many steps one after the other, until each has ended, and one more that holds the newest position. */
async function many(engine: Opened, count: number, steps: number): Promise<readonly string[]> {
  const runs = Array.from({ length: count }, (_, k) => `r${k}`)
  for (const run of runs) await begin(engine, run, 'steps', steps)
  for (const run of runs) await outcome(engine, run)
  await begin(engine, 'open', 'lead')
  await until('it asks', async () => (await engine.questions()).length === 1)
  return runs
}

test('K1: a process archives what ended long ago, little by little; closed halfway, the next one goes on', async () => {
  const file = inFolder()
  const clock = manualClock()
  const first = open(file, { clock, pollMs: 2, archiveAfterMs: 600_000 })
  first.drive(agents)
  const runs = await many(first, 60, 20)
  clock.advance(300_000)
  await begin(first, 'late', 'steps', 1)
  await outcome(first, 'late')
  await begin(first, 'later', 'steps', 1)
  await outcome(first, 'later')
  const before = await feeds(first, [...runs, 'late', 'open'])
  expect(rows(file, 'archive')).toBe(0)
  clock.advance(301_000)
  await until('the first of them are archived', () => rows(file, 'archive') > 0)
  // it has its turn again when the clock has moved: until then it does nothing
  expect(rows(file, 'archive')).toBeLessThan(runs.length)
  await first.close()
  const second = open(file, { clock, pollMs: 2, archiveAfterMs: 600_000 })
  second.drive(agents)
  for (let archived = rows(file, 'archive'); archived < runs.length; archived = rows(file, 'archive')) {
    // as long as there is more, it is not a minute until it goes on
    clock.advance(150)
    await until('some more are archived', () => rows(file, 'archive') > archived)
  }
  expect(rows(file, 'archive')).toBe(runs.length)
  expect(behind(file, (db) => db.prepare("SELECT 1 FROM archive WHERE run = 'late'").get())).toBeUndefined()
  expect(await feeds(second, [...runs, 'late', 'open'])).toEqual(before)
  await second.close()
  const never = open(file, { clock, pollMs: 2, archiveAfterMs: Infinity })
  never.drive(agents)
  clock.advance(10_000_000)
  await answer(never, 'open', 'yes')
  await outcome(never, 'open')
  expect(rows(file, 'archive')).toBe(runs.length)
})

test.each([-1, NaN, '1h'])(
  'an age of %s, after which runs are archived, is refused before anything is opened',
  async (age) => {
    const store = inFolder()
    await expect(createRuntime({ store, archiveAfterMs: age as number })).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('archiveAfterMs') as string,
    })
    expect(existsSync(store)).toBe(false)
  },
)

test.each([
  ['archived runs, and what they took', undefined],
  [
    'archived runs that cannot be read any more, and goes on',
    "UPDATE archive SET body = x'00' WHERE first = (SELECT min(first) FROM archive)",
  ],
])('K1: retention removes %s', async (_what, damage) => {
  const file = inFolder()
  const clock = manualClock()
  const engine = open(file, { clock, pollMs: 2, archiveAfterMs: 0, retentionMs: 3_600_000 })
  engine.drive(agents)
  await many(engine, 5, 3)
  await until('they are archived', () => {
    clock.advance(60_001)
    return rows(file, 'archive') === 5
  })
  if (damage !== undefined) sqliteOf(engine).db.exec(damage)
  clock.advance(3_600_000)
  await until('they are removed', async () => (await engine.runs()).length === 1)
  expect(rows(file, 'archive')).toBe(0)
})

test('K1: a run that is archived is forked, started again and posted to like one that is not', async () => {
  const file = inFolder()
  const engine = open(file)
  engine.drive(agents)
  await begin(engine, 'r', 'lead')
  await until('it asks', async () => (await engine.questions()).length === 1)
  await answer(engine, 'r', 'yes')
  await outcome(engine, 'r')
  await begin(engine, 'next', 'lead')
  await until('it asks, too', async () => (await engine.questions()).length === 1)
  const at = (await engine.read(id('r'))).find(({ event }) => event.type === 'interrupt.raised')!.position
  const words = async (run: string) =>
    (await engine.read(id(run))).map(({ activation, event }) => [activation.replace(run, ''), event.type])
  const forked = async (to: string): Promise<unknown> => {
    await engine.fork({ run: id('r'), at, to: id(to) })
    await until('it asks again', async () => (await engine.questions({ run: id(to) })).length === 1)
    await answer(engine, to, 'no')
    return [await outcome(engine, to), await words(to)]
  }
  const post = () => answer(engine, 'r', 'no')
  const before = [await post(), await forked('f1')]
  while (sqliteOf(engine).archive(Number.MAX_SAFE_INTEGER));
  expect(behind(file, (db) => db.prepare("SELECT 1 FROM activation WHERE id GLOB 'act_r*'").get())).toBeUndefined()
  expect([await post(), await forked('f2')]).toEqual(before)
  expect(await engine.start({ run: id('r'), agent: 'lead', version: '1', input: null })).toEqual({ created: false })
  await expect(begin(engine, 'r', 'steps')).rejects.toMatchObject({ code: 'run.conflict' })
  expect(await outcome(engine, 'r')).toMatchObject({ status: 'completed' })
})

test('K1: a process that is killed between two chunks leaves every run whole, and another one goes on', async () => {
  const file = inFolder()
  const engine = open(file)
  engine.drive(agents)
  const runs = await many(engine, 6, 300)
  const before = await feeds(engine, runs)
  for (let kills = 0; kills < 4; kills++) {
    const { child, lines, gone } = launch('archive', file, '10')
    await until('some chunks are archived', () => lines.length > 20 * kills)
    child.kill('SIGKILL')
    await gone
    expect(await feeds(engine, runs)).toEqual(before)
  }
  expect(rows(file, 'archive')).toBeGreaterThan(0)
  expect(rows(file, 'log')).toBeGreaterThan(20)
  const { line } = launch('archive', file, '1000')
  await line('archived')
  expect(await feeds(engine, runs)).toEqual(before)
  const inLog = rows(file, "log WHERE act IN (SELECT num FROM activation WHERE id GLOB 'act_*')")
  expect(inLog).toBe((await engine.read(id('open'))).length)
  expect(behind(file, (db) => db.prepare('PRAGMA integrity_check').get())).toEqual({ integrity_check: 'ok' })
})

test('K1: who reads all runs while another process archives them sees every event once, in order', async () => {
  const file = inFolder()
  const engine = open(file)
  engine.drive(agents)
  const runs = await many(engine, 6, 300)
  const { reader } = sqliteOf(engine)
  const whole = reader.page(0, 1_000_000)
  const before = await feeds(engine, runs)
  const { lines, line } = launch('archive', file, '3')
  await until('it archives', () => lines.length > 0)
  let rounds = 0
  while (!lines.includes('archived')) {
    const seen: unknown[] = []
    for (let from = 0; from < whole.upTo;) {
      const { events, upTo } = reader.page(from, 50)
      seen.push(...events)
      from = upTo
    }
    expect(seen).toEqual(whole.events)
    const run = rounds++ % runs.length
    expect(reader.feed(id(runs[run]!), 0)).toEqual(before[run])
    // the lines of the other process are heard
    await new Promise((resolve) => setImmediate(resolve))
  }
  await line('archived')
  // how many there are is up to the machine: one reading has more than 70 pages
  expect(rounds).toBeGreaterThan(0)
}, 60_000)
