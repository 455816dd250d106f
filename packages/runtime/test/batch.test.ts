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
import type { BatchHandle, BatchResult, Runtime } from '../src/index.ts'
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

const resultsOf = async (batch: BatchHandle): Promise<readonly BatchResult[]> => {
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

const retryOutcome = (runtime: Runtime, result: BatchResult) =>
  runtime.handle(('retry' in result && result.retry) || 'none').outcome()

/** Starts runs that wait for an answer, and waits until they do. */
async function waiting(runtime: Runtime, ids: readonly string[], options: object = {}): Promise<void> {
  for (const runId of ids) await runtime.start(asks, 'go', { runId, ...options })
  const isWaiting = async (run: string): Promise<boolean> => (await runtime.handle(run).summary()).status === 'waiting'
  await vi.waitUntil(async () => (await Promise.all(ids.map(isWaiting))).every(Boolean), {
    timeout: 25_000,
    interval: 20,
  })
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
    for (const result of results.filter(({ status }) => status === 'done'))
      expect(await retryOutcome(runtime, result)).toMatchObject({ status: 'completed', output: 'sold' })
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
    const limited = agent({
      name: 'limited',
      description: 'Calls.',
      model: () => ({ calls: [{ name: 'no', input: {} }] }),
    })
    await using runtime = await runtimeUnderTest({ agents: [...agents, limited] })
    for (const runId of ['run_l', 'run_m']) await runtime.run(limited, 'x', { runId, limits: { turns: 1 } })
    await runtime.run(shop, 'x', { runId: 'run_s' })
    const view = await (await runtime.batch('retry', { status: ['failed', 'limited'] })).outcome()
    expect(view).toMatchObject({ total: 3, done: 1, refused: 2, left: 0 })
    expect(view.causes).toMatchObject([{ code: 'fork.invalid', count: 2 }])
    expect(view.causes[0]!.runs.toSorted()).toEqual(['run_l', 'run_m'])
    expect(view.causes[0]!.message).toContain('limit of turns')
  })

  test('cancelled, it leaves the runs that it has not got to as they are', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    const count = 60
    for (let n = 0; n < count; n++) await runtime.run(shop, 'x', { runId: `run_${n}` })
    isBroken = false
    const batch = await runtime.batch('retry', { agent: 'shop' })
    for await (const _first of batch.results()) break
    await batch.cancel('enough', 'ann')
    const view = await batch.outcome()
    expect(view).toMatchObject({ status: 'cancelled', total: count, refused: 0, left: count - view.done })
    const retried = (await runtime.runs()).length - count
    expect(retried).toBeGreaterThanOrEqual(view.done)
    // those that were under way when it was stopped have no result
    expect(retried).toBeLessThanOrEqual(view.done + 16)
    expect(view.left).toBeGreaterThan(0)
  })

  test('paused, it begins nothing more; resumed, it does the rest, and none twice', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    const count = 30
    for (let n = 0; n < count; n++) await runtime.run(shop, 'x', { runId: `run_${n}` })
    isBroken = false
    const batch = await runtime.batch('retry', { agent: 'shop' })
    await runtime.handle(batch.id).control.pause({ by: 'ann' })
    await vi.waitUntil(async () => ['paused', 'completed'].includes((await batch.view()).status), 25_000)
    // it may have been quicker than the pause
    if ((await batch.view()).status === 'paused') await runtime.handle(batch.id).control.resume({ by: 'ann' })
    expect(await batch.outcome()).toMatchObject({ status: 'completed', total: count, done: count })
    expect(await runtime.runs()).toHaveLength(2 * count)
  })

  test('it is the same batch under the same id; another request under it is refused', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    await runtime.run(shop, 'x', { runId: 'run_1' })
    const first = await runtime.batch('retry', { agent: 'shop' }, { id: 'b1' })
    await first.outcome()
    const again = await runtime.batch('retry', { agent: 'shop' }, { id: 'b1' })
    expect(again.created).toBe(false)
    expect(await again.view()).toMatchObject({ total: 1, done: 1 })
    expect((await errorOf(runtime.batch('cancel', { agent: 'shop' }, { id: 'b1' }))).code).toBe('run.conflict')
    expect((await errorOf(runtime.batch('cancel', { agent: 'shop' }, { id: 'run_1' }))).code).toBe('run.conflict')
    expect((await errorOf(runtime.batch('cancel', { agent: 'shop' }, { id: '../x' }))).code).toBe('run.invalid-id')
  })
})

describe('what a batch is not', () => {
  test('it is no run of the user’s: not listed, not counted, unless it is asked for', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    await runtime.run(shop, 'x', { runId: 'run_1', tenant: 'acme', metadata: { n: 1 } })
    const batch = await runtime.batch('retry', { agent: 'shop' }, { scope: { tenant: 'acme' }, by: 'ann' })
    const { id } = await batch.outcome()
    for await (const result of batch.results())
      if (result.status === 'done') await runtime.handle(result.retry!).outcome()
    const shown = async (filter: object): Promise<boolean> => (await runtime.runs(filter)).some(({ run }) => run === id)
    for (const filter of [{}, { status: ['completed'] }, { tenant: 'acme' }, { user: 'ann' }, { since: 0 }])
      expect([filter, await shown(filter)]).toEqual([filter, false])
    expect(await shown({ agent: 'reeve:batch' })).toBe(true)
    expect((await runtime.system()).runs).toEqual({ failed: { count: 2 } })
    expect((await runtime.system({ tenant: 'acme' })).runs).toEqual({ failed: { count: 2 } })
    expect((await runtime.batches.list()).map((each) => each.id)).toEqual([id])
    expect(await runtime.batches.list({ tenant: 'globex' })).toEqual([])
  })

  test('no caller starts its agent, and it is neither forked nor retried: its input says whose runs it reaches', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    await runtime.run(shop, 'x', { runId: 'run_1' })
    const batch = await runtime.batch('retry', { agent: 'shop' })
    await batch.outcome()
    const input = { verb: 'cancel', filter: { status: ['waiting'] }, limit: 10 }
    expect((await errorOf(runtime.start('reeve:batch', input))).code).toBe('agent.not-registered')
    expect((await errorOf(runtime.fork({ run: batch.id, edit: { type: 'input', input } }))).code).toBe('fork.invalid')
    expect((await errorOf(runtime.fork({ run: batch.id }))).code).toBe('fork.invalid')
    expect((await errorOf(runtime.retry(batch.id))).code).toBe('fork.invalid')
    expect(runtime.agents().map(({ name }) => name)).not.toContain('reeve:batch')
    expect((await errorOf(runtime.batches.of('run_1').view())).code).toBe('run.unknown')
    expect((await errorOf(runtime.batches.of('run_1').cancel())).code).toBe('run.unknown')
  })

  test.each([
    ['a verb that there is not', 'retire', { agent: 'shop' }, {}, 'verb'],
    ['no filter', 'cancel', undefined, {}, 'filter is missing'],
    ['a filter that chooses nothing', 'cancel', {}, {}, 'chooses nothing'],
    ['a filter of members that are absent', 'cancel', { agent: undefined }, {}, 'chooses nothing'],
    ['a page', 'cancel', { agent: 'shop', limit: 5 }, {}, 'filter.limit'],
    ['batches', 'cancel', { agent: 'reeve:batch' }, {}, 'not for batches'],
    ['a status of runs that cannot be retried', 'retry', { status: ['completed'] }, {}, 'completed'],
    ['ended runs to cancel', 'cancel', { status: ['failed'] }, {}, 'failed'],
    ['an unknown condition', 'cancel', { agnt: 'shop' }, {}, 'agnt'],
    ['too many', 'cancel', { agent: 'shop' }, { limit: 10_001 }, 'limit'],
    ['an option of another verb', 'pause', { agent: 'shop' }, { undo: false }, 'undo is an option of "cancel"'],
    ['an unknown option', 'pause', { agent: 'shop' }, { dryRun: true }, 'dryRun'],
  ])('with %s it is refused, and nothing begins', async (_what, verb, filter, options, words) => {
    await using runtime = await runtimeUnderTest({ agents })
    const error = await errorOf(runtime.batch(verb as never, filter as never, options as never))
    expect(error.code).toBe('input.invalid')
    expect(error.message).toContain(words)
    expect(await runtime.batches.list()).toEqual([])
  })
})

describe('whose runs it reaches', () => {
  test('those of its scope alone, also where a filter names others', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    await waiting(runtime, ['run_1', 'run_2'], { tenant: 'acme' })
    await waiting(runtime, ['run_g'], { tenant: 'globex' })
    await waiting(runtime, ['run_none'])
    const scoped = { scope: { tenant: 'acme' } }
    const view = await (await runtime.batch('cancel', { tenant: 'globex', agent: 'asks' }, scoped)).outcome()
    expect(view).toMatchObject({ total: 2, done: 2, scope: { tenant: 'acme' } })
    for (const run of ['run_1', 'run_2'])
      expect(await runtime.handle(run).outcome()).toMatchObject({ status: 'cancelled' })
    for (const run of ['run_g', 'run_none']) expect((await runtime.handle(run).summary()).status).toBe('waiting')
  })

  test('of some agents: their runs one agent after the other, up to the limit', async () => {
    await using runtime = await runtimeUnderTest({ agents })
    await waiting(runtime, ['run_1', 'run_2', 'run_3'])
    await runtime.run(shop, 'x', { runId: 'run_s' })
    const of = async (names: readonly string[], filter: object, limit: number): Promise<object> =>
      (await runtime.batch('pause', filter, { scope: { agents: names }, limit })).outcome()
    expect(await of(['shop'], { status: ['waiting'] }, 10)).toMatchObject({ total: 0 })
    expect(await of([], { status: ['waiting'] }, 10)).toMatchObject({ total: 0 })
    expect(await of(['shop'], { agent: 'asks' }, 10)).toMatchObject({ total: 0 })
    expect(await of(['shop', 'asks'], { status: ['waiting'] }, 2)).toMatchObject({ total: 2, done: 2, more: true })
  })
})

test('a process without agents works on batches; another one goes on with what it began', async () => {
  {
    await using runtime = await runtimeUnderTest({ agents, store })
    for (const runId of ['run_1', 'run_2']) await runtime.run(shop, runId, { runId })
  }
  isBroken = false
  {
    // a process that drives nothing begins it
    await using asking = await runtimeUnderTest({ store, drive: false })
    const { id } = await asking.batch('retry', { status: ['failed'] }, { id: 'b1' })
    expect(await asking.batches.of(id).view()).toMatchObject({ status: 'running', done: 0 })
    await using working = await runtimeUnderTest({ store, drive: 'batches' })
    expect(await working.batches.of('b1').outcome()).toMatchObject({ total: 2, done: 2 })
    // it drives no run of an agent
    expect((await working.runs({ status: ['running'] })).length).toBe(2)
  }
  await using runtime = await runtimeUnderTest({ agents, store })
  for (const { run } of await runtime.runs({ status: ['running'] }))
    expect(await runtime.handle(run).outcome()).toMatchObject({ output: 'sold' })
  expect(sold.toSorted()).toEqual(['run_1', 'run_2'])
})
