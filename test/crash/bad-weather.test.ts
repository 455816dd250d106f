/**
 * Several processes on one file, each in bad weather of its own, and killed by and by: every run ends once, and nothing
 * is lost or done twice. K1, K2, K5, K6.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { completed, runId, type Json, type RunId } from '@reeve/core'
import { SqliteStore, type Durability } from '@reeve/sqlite/store'
import type { Context, Orchestration } from '@reeve/engine'
import type { Mover } from '@reeve/engine/mover'
import { badMover, WakeUps } from '../../packages/contract/src/adversarial/mover.ts'
import {
  adversarialEngine,
  badWeather,
  storm,
  type AdversarialEngine,
  type Weather,
} from '../../packages/contract/src/index.ts'
import { checkJournal, verifyJournal } from '@reeve/testing'
import { dice } from '../dice.ts'
import { registryOf } from '../replay/scenarios.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-weather-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const code = (name: string, body: (ctx: Context, input: Json) => Promise<Json>): Orchestration => ({
  name,
  version: '1',
  run: async (ctx, input) => completed(await body(ctx, input)),
})
const plusOne = (value: Json): Json => ((value as number | null) ?? 0) + 1
const count = (ctx: Context): Promise<Json> => ctx.stream('reg_count').update('n', plusOne)

/** Works, waits for the clock and for its leader's word, and counts itself. */
const worker = code('worker', async (ctx, n) => {
  await ctx.next(ctx.begin('work', () => n))
  await ctx.next(ctx.scope('t').ask('timer', { until: new Date(ctx.now().getTime() + 30) }))
  await ctx.values.update('mine', plusOne)
  const { type } = await ctx.next()
  await count(ctx)
  return type
})
/** Two workers, each told something; every second one asks somebody outside. */
const lead = code('lead', async (ctx, n) => {
  const workers = [0, 1].map((i) => ctx.scope(`w${i}`).start('worker', i))
  await ctx.next(ctx.begin('work', () => n))
  for (const [i, each] of workers.entries()) ctx.send(each, i)
  if ((n as number) % 2 === 0)
    await ctx.next(
      ctx.ask('q', { as: { type: 'interrupt.raised', id: `int_${n as number}`, question: 'well?', path: [] } }),
    )
  const ends: Json[] = []
  for (const each of workers) {
    const { outcome } = await ctx.next(each)
    ends.push(outcome.status === 'completed' ? outcome.output : outcome.status)
  }
  await count(ctx)
  return [...ends, await ctx.values.get('mine')]
})
const registry = registryOf([lead, worker])

/** One process: an engine over a connection of its own. */
class Process {
  readonly store: SqliteStore
  readonly engine: AdversarialEngine
  readonly #file: string

  constructor(file: string, seed: string, weather: Weather, durability: Durability, mover?: Mover) {
    this.#file = file
    this.store = new SqliteStore({ file, durability, onWarning: () => {} })
    this.engine = adversarialEngine({
      seed,
      weather,
      store: this.store,
      strict: true,
      parkAfterMs: 20,
      ...(mover && { mover }),
    })
  }
  async close(): Promise<void> {
    await this.engine.close()
    await this.#let()
  }
  /** The process is this very one, which lives: its row names one that is not there. */
  async kill(): Promise<void> {
    await this.engine.kill()
    await this.#let(() => {
      const db = new DatabaseSync(this.#file)
      db.exec('PRAGMA busy_timeout=5000')
      db.prepare('UPDATE process SET pid = 999999999 WHERE id = ?').run(this.store.lease.id)
      db.close()
    })
  }
  async #let(before: () => void = () => {}): Promise<void> {
    await this.store.stop()
    before()
    this.store.close()
  }
}

const runs = 40
const kills = 4

test.each([
  ['bad weather', 1, badWeather],
  ['bad weather', 2, badWeather],
  ['a storm', 3, storm],
  ['a storm', 4, storm],
  ['bad weather, told by a mover,', 5, badWeather],
  ['a storm, told by a mover,', 6, storm],
] as const)(
  'K2: in %s seed %d, three killed processes drive forty runs: each ends and counts once',
  async (weatherName, seed, weather) => {
    const wakeUps = new WakeUps(badMover, `${seed}`)
    const roll = dice(seed)
    let nth = 0
    const open = async (): Promise<Process> => {
      const process = new Process(
        join(folder, 'reeve.db'),
        `${seed}:${nth}`,
        weather,
        nth++ % 2 === 0 ? 'relaxed' : 'strict',
        weatherName.includes('mover') ? wakeUps.mover() : undefined,
      )
      await process.engine.drive(registry)
      return process
    }
    const live = [await open(), await open(), await open()]
    const some = (): AdversarialEngine => live[Math.floor(roll() * live.length)]!.engine
    const ids = Array.from({ length: runs }, (_, i) => runId(`run_${i}`))
    for (const [i, run] of ids.entries()) await some().start({ run, agent: 'lead', version: '1', input: i })

    const left = new Set<RunId>(ids)
    const answered: string[] = []
    const until = Date.now() + 40_000
    for (let killed = 0; left.size > 0 && Date.now() < until;) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      if (killed < kills && roll() < 0.05) {
        killed++
        await live.splice(Math.floor(roll() * live.length), 1)[0]!.kill()
        live.push(await open())
      }
      for (const { kind, answered: isAnswered, activation, address, id } of await some().questions()) {
        if (kind !== 'interrupt' || isAnswered === true) continue
        const post = { type: 'answer', activation, address, outcome: completed('well') } as const
        if ((await some().post(post)) === 'accepted') answered.push(id)
      }
      for (const { run, endedAt } of await some().runs({ limit: runs })) if (endedAt !== undefined) left.delete(run)
    }

    expect([...left]).toEqual([])
    expect(answered.toSorted()).toEqual(ids.flatMap((_, i) => (i % 2 === 0 ? [`int_${i}`] : [])).toSorted())
    const wrong: unknown[] = []
    for (const run of ids) {
      const { outcome } = await some().outcome(run)
      expect(outcome).toEqual(completed(['message', 'message', 2]))
      const events = await some().read(run)
      wrong.push(...checkJournal(events), ...(await verifyJournal(events, registry)).problems)
    }
    for (const { engine } of live) wrong.push(...engine.store.faults)
    expect(wrong).toEqual([])
    expect(await some().stream('reg_count').get('n')).toBe(3 * runs)
    for (const process of live) await process.close()
    expect(wakeUps.moves > runs, 'a mover had something to do').toBe(weatherName.includes('mover'))
    expect(wakeUps.answers).toBe(wakeUps.moves)
  },
  120_000,
)
