/** Runs in numbers: totals, causes, the search of runs by their texts, on every store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { agent, supervisor, type Runtime } from '@reeve/public'
import { runUsage } from '@reeve/engine'
import { runtimeUnderTest, engineUnderTest } from '../../../test/engine-under-test.ts'

const folder = mkdtempSync(join(tmpdir(), 'reeve-figures-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

/** A file and memory differ in who keeps the index. */
const stores = engineUnderTest() === 'embedded' ? ['memory', 'file'] : ['server']
const storeOf = (kind: string): string => (kind === 'memory' ? ':memory:' : join(folder, `${kind}-${files++}.db`))

const writer = agent({
  name: 'writer',
  description: 'Writes.',
  model: () => ({ text: 'The answer is Zürich.', usage: { input: 10, output: 4, usd: 0.01 } }),
})
const mystery = agent({
  name: 'mystery',
  description: 'Says no usage.',
  model: () => ({ text: 'a riddle', usage: 'unknown' }),
})
const lead = supervisor({
  name: 'lead',
  model: ({ messages }) =>
    messages.some((message) => message.role === 'tool')
      ? { text: 'done', usage: { input: 7, output: 1, usd: 0.02 } }
      : {
          calls: ['writer', 'mystery'].map((worker) => ({ name: 'delegate', input: { worker, instructions: 'go' } })),
          usage: { input: 5, output: 2, usd: 0.02 },
        },
  workers: [writer, mystery],
})
const breaks = agent({
  name: 'breaks',
  description: 'Fails.',
  run: async (_ctx, order) => {
    throw new TypeError(`order ${order} of "Ann ${order}" is not there`)
  },
})
const asks = agent({
  name: 'asks',
  description: 'Asks.',
  run: async (ctx) => ((await ctx.approve('pay', { input: {} })).approved ? 'paid' : 'no'),
})
const agents = [lead, breaks, asks]

const ids = async (runtime: Runtime, filter: Parameters<Runtime['runs']>[0]): Promise<readonly string[]> =>
  (await runtime.runs(filter)).map(({ run }) => run).sort()

describe.each(stores)('in a store of the kind %s', (kind) => {
  test('totals count runs, ends, usage and durations; groups by agent, version, model, tenant, user, session and code', async () => {
    await using runtime = await runtimeUnderTest({ store: storeOf(kind), agents, strict: true })
    const one = await runtime.run(lead, 'go', { tenant: 'acme', user: 'ann', session: 's1' })
    await runtime.run(writer, 'hi', { tenant: 'other' })
    for (const order of [1, 22]) await runtime.run(breaks, String(order))
    const all = await runtime.totals()
    expect(all).toEqual({
      behind: 0,
      all: {
        runs: 4,
        ends: { completed: 2, failed: 2 },
        usage: { calls: 5, tokens: 43, usd: expect.closeTo(0.06), unknown: 1, unpriced: 1 },
        durationMs: { p50: expect.any(Number), p95: expect.any(Number) },
        waitMs: { p50: 0, p95: 0 },
      },
    })
    const groups = async (by: 'agent' | 'version' | 'model' | 'tenant' | 'user' | 'session' | 'code') =>
      (await runtime.totals({}, { by })).groups!.map(({ key, runs }) => [key, runs])
    expect(await groups('agent')).toEqual([
      ['lead', 1],
      ['writer', 1],
      ['breaks', 2],
    ])
    expect(await groups('tenant')).toEqual([
      ['acme', 1],
      ['other', 1],
      [null, 2],
    ])
    expect(await groups('user')).toEqual([
      ['ann', 1],
      [null, 3],
    ])
    expect(await groups('session')).toEqual([
      ['s1', 1],
      [null, 3],
    ])
    expect(await groups('code')).toEqual([
      [null, 2],
      ['orchestration.threw', 2],
    ])
    const byVersion = (await runtime.totals({}, { by: 'version' })).groups!
    expect(byVersion.map(({ agent: of, runs }) => [of, runs])).toEqual([
      ['lead', 1],
      ['writer', 1],
      ['breaks', 2],
    ])
    const byModel = (await runtime.totals({}, { by: 'model' })).groups!
    expect(byModel.reduce((sum, { usage }) => sum + usage.calls, 0)).toBe(5)
    // what the index has of a run is what its row has
    const { shares } = { shares: byModel.filter(({ key }) => key !== null) }
    expect(shares.reduce((sum, { usage }) => sum + (usage.usd ?? 0), 0)).toBeCloseTo(all.all.usage.usd!)
    expect(runUsage(one.usage).usd).toBeCloseTo(0.05)
    const [day] = (await runtime.totals({}, { by: 'agent', bucket: 'day' })).overTime!
    expect(day).toMatchObject({ runs: 4 })
    expect(day!.at % 86_400_000).toBe(0)
    expect((await runtime.totals({ tenant: 'acme' })).all.runs).toBe(1)
    expect((await runtime.totals({ status: ['failed'] })).all).toMatchObject({ runs: 2, ends: { failed: 2 } })
    expect((await runtime.totals({}, { agents: ['writer', 'breaks'] })).all.runs).toBe(3)
    await expect(runtime.totals({ limit: 3 } as never)).rejects.toThrow('limit is for a list')
    await expect(runtime.totals({}, { by: 'colour' as never })).rejects.toThrow('by is the text "colour"')
  })

  test('equal failures are one cause: what differs in numbers, ids and quoted parts counts together', async () => {
    await using runtime = await runtimeUnderTest({ store: storeOf(kind), agents, strict: true })
    for (const order of [1, 22, 333]) await runtime.run(breaks, String(order), { runId: `run_${order}` })
    await runtime.run(writer, 'hi')
    const { causes, behind } = await runtime.causes()
    expect(behind).toBe(0)
    expect(causes).toEqual([
      {
        cause: expect.stringMatching(/^orchestration\.threw-[0-9a-f]{12}$/),
        code: 'orchestration.threw',
        agent: 'breaks',
        message: expect.stringContaining('order 333 of "Ann 333"'),
        runs: 3,
        newest: 'run_333',
        firstAt: expect.any(Number),
        lastAt: expect.any(Number),
      },
    ])
    expect(await ids(runtime, { cause: causes[0]!.cause })).toEqual(['run_1', 'run_22', 'run_333'])
    expect(await ids(runtime, { code: 'orchestration.threw' })).toHaveLength(3)
    expect(await ids(runtime, { code: 'model.failed' })).toEqual([])
    expect(await ids(runtime, { cause: 'orchestration.threw-000000000000' })).toEqual([])
    expect((await runtime.totals({ cause: causes[0]!.cause })).all.runs).toBe(3)
  })

  test('runs are found by words of their input, output and failure; a query is words, whatever it holds', async () => {
    await using runtime = await runtimeUnderTest({ store: storeOf(kind), agents, strict: true })
    await runtime.run(writer, 'Which city is largest? 東京都 or Zürich', { runId: 'run_a', tenant: 'acme' })
    await runtime.run(writer, "The ORDER of O'Hara: 4711-B", { runId: 'run_b' })
    await runtime.run(breaks, '815', { runId: 'run_c' })
    const found = (text: string) => ids(runtime, { text })
    expect(await found('largest')).toEqual(['run_a'])
    expect(await found('zurich answer')).toEqual(['run_a', 'run_b'])
    expect(await found('LARG*')).toEqual(['run_a'])
    expect(await found('larg')).toEqual([])
    expect(await found('京都')).toEqual(['run_a'])
    expect(await found('都京')).toEqual([])
    expect(await found('"city is"')).toEqual(['run_a'])
    expect(await found('"is city"')).toEqual([])
    expect(await found('"zürich the"')).toEqual([])
    expect(await found('4711-B')).toEqual(['run_b'])
    expect(await found("o'hara")).toEqual(['run_b'])
    expect(await found('order')).toEqual(['run_b', 'run_c'])
    expect(await found('orchestration.threw')).toEqual(['run_c'])
    for (const hostile of ['', '"', '*', "'", '\0', 'a" OR "b', 'NEAR(', '^', ');--', '\ud800', ':*', '&|!', 'words:x'])
      expect(await found(`${hostile} nowhere`), hostile).toEqual([])
    for (const empty of ['', '"', '"" *', '( ) ! & |', '\0']) expect(await found(empty), empty).toEqual([])
    expect(await found('largest AND city')).toEqual([])
    expect(await ids(runtime, { text: 'largest', tenant: 'other' })).toEqual([])
    expect(await ids(runtime, { text: 'largest', tenant: 'acme', status: ['completed'], agent: 'writer' })).toEqual([
      'run_a',
    ])
    await expect(runtime.runs({ text: 'x'.repeat(1_001) })).rejects.toThrow('1,000 characters')
  })

  test('a summary has the beginnings of input and output; a run that was removed is found by nothing', async () => {
    await using runtime = await runtimeUnderTest({ store: storeOf(kind), agents, strict: true })
    await runtime.run(writer, `unusual ${'x'.repeat(1_000)}`, { runId: 'run_a' })
    expect(await runtime.unindexed()).toBe(0)
    const [summary] = await runtime.runs()
    expect(summary).toMatchObject({
      input: { text: `unusual ${'x'.repeat(292)}`, cut: true },
      output: { text: 'The answer is Zürich.' },
    })
    expect(await runtime.handle('run_a').summary()).toMatchObject({ output: { text: 'The answer is Zürich.' } })
    expect(await ids(runtime, { text: 'unusual' })).toEqual(['run_a'])
    await runtime.remove('run_a')
    expect(await ids(runtime, { text: 'unusual' })).toEqual([])
    expect((await runtime.totals()).all.runs).toBe(0)
    expect(await runtime.unindexed()).toBe(0)
  })

  test('an open run is found by its input, and is counted as open; its wait counts when it has ended', async () => {
    await using runtime = await runtimeUnderTest({ store: storeOf(kind), agents, strict: true })
    const run = await runtime.start(asks, 'a delicate matter')
    await expect.poll(() => runtime.approvals()).toHaveLength(1)
    expect(await ids(runtime, { text: 'delicate' })).toEqual([run.id])
    expect((await runtime.totals()).all).toEqual({ runs: 1, ends: {}, usage: expect.anything() })
    const [open] = await runtime.approvals()
    const waitedFrom = open!.askedAt
    await runtime.decide({ approvalId: open!.id, decision: 'approve' })
    await run.outcome()
    const { all } = await runtime.totals()
    expect(all).toMatchObject({ runs: 1, ends: { completed: 1 } })
    expect(all.waitMs!.p50).toBeLessThanOrEqual(all.durationMs!.p50)
    expect(all.waitMs!.p50).toBeGreaterThanOrEqual(0)
    expect(waitedFrom).toBeGreaterThan(0)
    expect(await ids(runtime, { text: 'delicate paid' })).toEqual([run.id])
  })

  test('counters add up what has ended, once, and keep it when a run is removed', async () => {
    await using runtime = await runtimeUnderTest({ store: storeOf(kind), agents, strict: true })
    await runtime.run(lead, 'go', { tenant: 'acme' })
    await runtime.run(breaks, '1', { runId: 'run_x' })
    const sum = async (name: string, labels: Record<string, string> = {}): Promise<number> =>
      (await runtime.counters())
        .filter(
          (each) =>
            each.name === name && Object.entries(labels).every(([label, value]) => each.labels[label] === value),
        )
        .reduce((total, { value }) => total + value, 0)
    expect(await sum('runs')).toBe(2)
    await runtime.remove('run_x')
    expect(await sum('runs')).toBe(2)
    expect(await sum('runs', { status: 'failed', code: 'orchestration.threw', agent: 'breaks' })).toBe(1)
    expect(await sum('calls', { tenant: 'acme' })).toBe(4)
    expect(await sum('calls', { agent: 'writer' })).toBe(1)
    expect(await sum('tokens', { direction: 'input' })).toBe(22)
    expect(await sum('usd', { agent: 'lead' })).toBeCloseTo(0.04)
    expect(await sum('unknown', { agent: 'mystery' })).toBe(1)
    const buckets = (await runtime.counters()).filter(
      ({ name, labels }) => name === 'duration' && labels['agent'] === 'lead' && labels['le'] !== 'sum',
    )
    expect(buckets.reduce((total, { value }) => total + value, 0)).toBe(1)
    expect(buckets.map(({ labels }) => labels['le'])).toContain('+Inf')
  })
})
