/**
 * Batches and dead processes: one that dies at any point loses no run of the batch and does none twice, and what has
 * changed in between is seen (K1, K5, K6).
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { agent, step } from '@reeve/agent'
import { interrupt } from '@reeve/oversight'
import { createRuntime, type BatchVerb, type Runtime, type RuntimeOptions } from '@reeve/runtime'
import { bury } from '../../packages/testing/src/dead-process.ts'

let folder = ''
let isBroken = true
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-batches-'))
  isBroken = true
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const shop = agent({
  name: 'shop',
  description: 'Sells.',
  run: (ctx) =>
    step(
      ctx,
      'sell',
      () => {
        if (isBroken) throw new Error('out of order')
        return 'sold'
      },
      { retry: { attempts: 1 } },
    ),
})
const asks = agent({ name: 'asks', description: 'Asks.', run: (ctx) => interrupt(ctx, 'Go on?') })
const ids = ['run_1', 'run_2', 'run_3']
const open = (store: string, options: Omit<RuntimeOptions, 'store'>): Promise<Runtime> =>
  createRuntime({ store, leaseMs: 100, onWarning: () => {}, ...options })

/** A store with runs that have failed, or that wait for an answer. */
async function prepared(root: typeof shop | typeof asks): Promise<string> {
  const store = join(folder, 'before.db')
  await using runtime = await open(store, { agents: [shop, asks] })
  for (const runId of ids) await runtime.start(root, 'go', { runId })
  const rests = root === shop ? 'failed' : 'waiting'
  await vi.waitUntil(async () => (await runtime.runs({ status: [rests] })).length === ids.length, 25_000)
  return store
}

type CrashPoint = Parameters<NonNullable<RuntimeOptions['crash']>>[0]
const points: readonly CrashPoint[] = ['append', 'commit.before', 'commit.after', 'release']

/** Begins the batch in a process that dies at the nth of these points. False: it did not come to it. */
async function diesAt(store: string, verb: BatchVerb, point: CrashPoint, nth: number): Promise<boolean> {
  let count = 0
  let isDead = false
  const crash = (at: CrashPoint): boolean => (isDead ||= at === point && count++ === nth)
  const runtime = await open(store, { drive: 'batches', crash })
  const begun = runtime.batch(verb, { agent: verb === 'retry' ? 'shop' : 'asks' }, { id: 'b1', by: 'ann' })
  begun.catch(() => undefined)
  const end = begun.then((batch) => batch.outcome()).then(() => 'ended')
  end.catch(() => undefined)
  await Promise.race([end, vi.waitUntil(() => isDead, { timeout: 25_000, interval: 1 })])
  await runtime.close({ graceMs: 0 }).catch(() => undefined)
  return isDead
}

const expectedEnd: Readonly<Partial<Record<BatchVerb, string>>> = {
  retry: 'completed',
  cancel: 'cancelled',
  pause: 'paused by 1 command',
}

/** How the runs of the batch end, or rest: of retried ones their retries. */
async function endsOf(runtime: Runtime, verb: BatchVerb): Promise<readonly string[]> {
  if (verb === 'pause')
    return Promise.all(
      ids.map(async (run) => {
        const handle = runtime.handle(run)
        await vi.waitUntil(async () => (await handle.summary()).status === 'paused', 25_000)
        return `paused by ${(await handle.control.state()).ops.filter(({ op }) => op === 'pause').length} command`
      }),
    )
  const runs = (await runtime.runs()).filter(({ status }) => verb !== 'retry' || status !== 'failed')
  return Promise.all(runs.map(async ({ run }) => (await runtime.handle(run).outcome()).status))
}

const deaths: readonly (readonly [BatchVerb, CrashPoint])[] = [
  ...points.map((point) => ['retry', point] as const),
  ['cancel', 'append'],
  ['cancel', 'commit.after'],
  ['pause', 'append'],
]

describe('K5, K6: a process that dies', () => {
  test.each(deaths)(
    '%s of many, dead at every %s: every run once, with its result',
    async (verb, point) => {
      const before = await prepared(verb === 'retry' ? shop : asks)
      let died = 0
      for (let nth = 0; ; nth++) {
        const store = join(folder, `${nth}.db`)
        copyFileSync(before, store)
        if (!(await diesAt(store, verb, point, nth))) break
        died++
        bury(store)
        await using runtime = await open(store, { drive: 'batches' })
        const filter = { agent: verb === 'retry' ? 'shop' : 'asks' }
        // the first start may have died before it was recorded
        const batch = await runtime.batch(verb, filter, { id: 'b1', by: 'ann' })
        const view = await batch.outcome()
        expect([nth, view.total, view.done + view.before, view.refused, view.left]).toEqual([nth, 3, 3, 0, 0])
        const steps = (await runtime.handle('b1').journal()).flatMap(({ event }) =>
          event.type === 'step.settled' ? [event.address] : [],
        )
        expect(new Set(steps).size).toBe(steps.length)
        // one retry each; one command each that counts
        expect(await runtime.runs()).toHaveLength(verb === 'retry' ? 6 : 3)
        isBroken = false
        await using agents = await open(store, { agents: [shop, asks] })
        expect(await endsOf(agents, verb)).toEqual(ids.map(() => expectedEnd[verb]))
        isBroken = true
        rmSync(store, { force: true })
      }
      expect(died).toBeGreaterThan(point === 'release' ? 0 : 3)
    },
    300_000,
  )
})

/** A process that dies as soon as it is recorded which runs match. */
async function diesSelected(store: string, verb: BatchVerb, filter: object): Promise<void> {
  let isDead = false
  const hasSelected = (): boolean => {
    using db = new DatabaseSync(store, { readOnly: true })
    const { n } = db.prepare(`SELECT count(*) AS n FROM log WHERE body LIKE '%"next":null%'`).get() as { n: number }
    return n > 0
  }
  const crash = (point: CrashPoint): boolean => (isDead ||= point === 'commit.after' && hasSelected())
  const runtime = await open(store, { drive: 'batches', crash })
  await runtime.batch(verb, filter, { id: 'b1' })
  await vi.waitUntil(() => isDead, { timeout: 25_000, interval: 1 })
  await runtime.close({ graceMs: 0 }).catch(() => undefined)
  bury(store)
}

test('a run that was removed meanwhile is refused, and the others are done', async () => {
  const store = await prepared(shop)
  await diesSelected(store, 'retry', { agent: 'shop' })
  {
    await using runtime = await open(store, { drive: false })
    await runtime.remove('run_2')
  }
  await using runtime = await open(store, { drive: 'batches' })
  expect(await runtime.batches.of('b1').outcome()).toMatchObject({
    total: 3,
    done: 2,
    refused: 1,
    causes: [{ code: 'run.unknown', count: 1, runs: ['run_2'] }],
  })
})

test('a run that has ended meanwhile is refused, and the others are done', async () => {
  const store = await prepared(asks)
  await diesSelected(store, 'cancel', { agent: 'asks' })
  {
    await using runtime = await open(store, { drive: false })
    await runtime.handle('b1').control.pause()
  }
  await using runtime = await open(store, { agents: [asks] })
  await vi.waitUntil(async () => (await runtime.handle('b1').summary()).status === 'paused', 25_000)
  const [question] = await runtime.questions({ run: 'run_1' })
  await runtime.answer({ interruptId: question!.id, value: 1 })
  expect(await runtime.handle('run_1').outcome()).toMatchObject({ status: 'completed' })
  await runtime.handle('b1').control.resume()
  expect(await runtime.batches.of('b1').outcome()).toMatchObject({
    total: 3,
    done: 2,
    refused: 1,
    causes: [{ code: 'run.ended', count: 1, runs: ['run_1'] }],
  })
})

test('two processes work on batches: each run once, whoever does it', async () => {
  const store = await prepared(shop)
  await using one = await open(store, { drive: 'batches' })
  await using two = await open(store, { drive: 'batches' })
  const begun = await Promise.all([one, two].map((each) => each.batch('retry', { agent: 'shop' }, { id: 'b1' })))
  expect(begun.filter(({ created }) => created)).toHaveLength(1)
  const second = await two.batch('retry', { agent: 'shop' }, { id: 'b2' })
  const views = [await begun[0]!.outcome(), await second.outcome()]
  expect(views.map(({ total, refused }) => [total, refused])).toEqual([
    [3, 0],
    [3, 0],
  ])
  // those that the other batch had retried are told as such
  expect(views.reduce((sum, { done }) => sum + done, 0)).toBe(3)
  expect(await one.runs()).toHaveLength(6)
})
