/**
 * Batches: one command for all runs that match, as a run of its own: what matches is recorded first, each run is done
 * once, with its result (K1, K6).
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, step } from '@reeve/agent'
import { ReeveError } from '@reeve/core'
import { interrupt } from '@reeve/oversight'
import type { Batch, BatchResult, Runtime } from '../src/index.ts'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

let folder = ''
let store = ''
let isBroken = true
const sold: string[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-batch-'))
  store = join(folder, 'x.db')
  isBroken = true
  sold.length = 0
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const shop = agent({
  name: 'shop',
  description: 'Sells.',
  run: (ctx, input) =>
    step(
      ctx,
      'sell',
      () => {
        if (isBroken) throw new Error('out of order')
        sold.push(String(input))
        return 'sold'
      },
      { retry: { attempts: 1 } },
    ),
})
const asks = agent({ name: 'asks', description: 'Asks.', run: (ctx) => interrupt(ctx, 'Go on?') })
const done = agent({ name: 'done', description: 'Is done.', run: () => Promise.resolve('done') })
const agents = [shop, asks, done]

const resultsOf = async (batch: Batch): Promise<readonly BatchResult[]> => {
  const results: BatchResult[] = []
  for await (const result of batch.results()) results.push(result)
  return results
}
async function errorOf(work: Promise<unknown>): Promise<ReeveError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!ReeveError.is(thrown)) throw new Error(`expected a ReeveError, got ${String(thrown)}`)
  return thrown
}
const statuses = (results: readonly BatchResult[]): readonly string[] =>
  results.map(({ run, status }) => `${run} ${status}`).toSorted()

/** Starts runs that wait for an answer, and waits until they do. */
async function waiting(runtime: Runtime, ids: readonly string[], options: object = {}): Promise<void> {
  for (const runId of ids) await runtime.start(asks, 'go', { runId, ...options })
  await vi.waitUntil(
    async () => (await runtime.runs({ status: ['waiting'] })).length >= ids.length,
    { timeout: 25_000, interval: 20 },
  )
}

describe('many runs, one command', () => {
  test('retry: each failed run once, with where it goes on; one that is refused stops none', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    for (const runId of ['run_1', 'run_2', 'run_3']) await runtime.run(shop, runId, { runId })
    const early = await runtime.retry('run_1', { by: 'ann' })
    await early.outcome()
    isBroken = false
    const batch = await runtime.batch('retry', { agent: 'shop' }, { reason: 'mended', by: 'ann' })
    expect(batch.created).toBe(true)
    const results = await resultsOf(batch)
    // the retry that had failed in turn matches, too
    expect(statuses(results)).toEqual([`${early.id} done`, 'run_1 before', 'run_2 done', 'run_3 done'].toSorted())
    expect(results.find(({ run }) => run === 'run_1')).toMatchObject({ retry: early.id })
    expect(results.find(({ run }) => run === 'run_2')).toMatchObject({
      from: { agent: 'shop', redoes: 'effect' },
      discarded: { modelCalls: 0, effects: 1 },
    })
    const view = await batch.outcome()
    expect(view).toMatchObject({
      verb: 'retry',
      by: 'ann',
      reason: 'mended',
      filter: { agent: 'shop', status: ['failed'] },
      status: 'completed',
      total: 4,
      done: 3,
      before: 1,
      refused: 0,
      left: 0,
      causes: [],
    })
    for (const result of results)
      if (result.status === 'done')
        expect(await runtime.handle(result.retry!).outcome()).toMatchObject({ status: 'completed', output: 'sold' })
    expect(sold.toSorted()).toEqual(['run_1', 'run_2', 'run_3'])
    const { run } = (await runtime.runs({ agent: 'shop' })).find(({ status }) => status === 'completed')!
    expect((await runtime.handle(run).view()).origin).toMatchObject({ reason: 'mended', by: 'ann' })
  })

  test('cancel, pause and resume, each under the name of who began it', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    const ids = ['run_1', 'run_2', 'run_3']
    await waiting(runtime, ids)
    await runtime.run(done, 'go', { runId: 'run_done' })
    const paused = await (await runtime.batch('pause', { agent: 'asks' }, { by: 'ann', reason: 'lunch' })).outcome()
    expect(paused).toMatchObject({ total: 3, done: 3, refused: 0 })
    await vi.waitUntil(async () => (await runtime.runs({ status: ['paused'] })).length === 3, 25_000)
    expect((await runtime.handle('run_1').control.state()).ops).toMatchObject([
      { op: 'pause', by: 'ann', reason: 'lunch' },
    ])
    const resumed = await (await runtime.batch('resume', { agent: 'asks' }, { by: 'ben' })).outcome()
    expect(resumed).toMatchObject({ total: 3, done: 3 })
    await vi.waitUntil(async () => (await runtime.runs({ status: ['waiting'] })).length === 3, 25_000)
    const cancelled = await (
      await runtime.batch('cancel', { status: ['waiting'] }, { by: 'ben', reason: 'no more', limit: 2 })
    ).outcome()
    expect(cancelled).toMatchObject({ total: 2, done: 2, more: true })
    await vi.waitUntil(async () => (await runtime.runs({ status: ['cancelled'] })).length === 2, 25_000)
    expect((await runtime.runs({ status: ['cancelled'] }))[0]).toMatchObject({ reason: 'no more' })
    expect((await runtime.handle('run_done').summary()).status).toBe('completed')
  })

  test('what is refused is told by its cause, with the first runs of it', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    await waiting(runtime, ['run_1', 'run_2'])
    // a run that was stuck is none of these; one that waits is not paused
    await runtime.handle('run_1').control.pause({ id: 'p1' })
    await vi.waitUntil(async () => (await runtime.runs({ status: ['paused'] })).length === 1, 25_000)
    await runtime.handle('run_1').control.takeOver({ by: 'zoe' })
    const view = await (await runtime.batch('cancel', { agent: 'asks' })).outcome()
    expect(view).toMatchObject({ total: 2, done: 2 })
    isBroken = true
    await runtime.run(shop, 'x', { runId: 'run_s' })
    await runtime.run(agentWithLimit, 'x', { runId: 'run_l' }).catch(() => undefined)
    const retried = await (await runtime.batch('retry', { status: ['failed', 'limited'] })).outcome()
    expect(retried).toMatchObject({ total: 1, done: 1 })
  })
})

const agentWithLimit = agent({ name: 'unknown', description: 'Is not registered.', run: () => Promise.resolve(1) })
