/**
 * The indexer behind the log: whatever process is killed, and whenever, each run is in the index once, as its journal
 * says, and is counted once.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { agent, createRuntime } from '@reeve/public'
import { hasTerms, termsOf } from '@reeve/engine/storage'
import { SqliteStore } from '@reeve/sqlite/store'
import { IndexedRunFold } from '../src/figures/indexed-run.ts'
import { messagePattern } from '../src/figures/cause.ts'
import { SeriesBound, mostSeries } from '../src/figures/counters.ts'

function driving(file: string, name: string): ChildProcess {
  const child = join(import.meta.dirname, 'indexer-child.ts')
  return spawn(process.execPath, ['--no-warnings', child, file, name], { stdio: 'inherit' })
}

const exited = (child: ChildProcess): Promise<unknown> => new Promise((resolve) => child.once('exit', resolve))

test('K1: after kill -9 of processes that drive and index at once, each run is kept and counted once, as its journal says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-indexer-'))
  try {
    const file = join(folder, 'reeve.db')
    // the file is there before the processes are
    await (await createRuntime({ store: file, index: false })).close()
    const seen = new DatabaseSync(file, { readOnly: true })
    const indexed = (): number => (seen.prepare('SELECT count(*) AS n FROM indexed').get() as { n: number }).n
    for (const round of [1, 2]) {
      const before = indexed()
      const children = ['a', 'b'].map((name) => driving(file, `${name}${round}`))
      const ends = Promise.all(children.map(exited))
      try {
        await expect.poll(indexed, { timeout: 60_000, interval: 5 }).toBeGreaterThan(before + 5)
      } finally {
        for (const child of children) child.kill('SIGKILL')
        await ends
      }
    }
    seen.close()
    {
      await using runtime = await createRuntime({ store: file, drive: false, onWarning: () => {} })
      await expect.poll(() => runtime.unindexed(), { timeout: 20_000 }).toBe(0)
      const all = await runtime.runs({ limit: 100_000 })
      const ended = all.filter(({ status }) => status === 'completed')
      const counters = await runtime.counters()
      const sum = (name: string): number =>
        counters.reduce((total, each) => total + (each.name === name ? each.value : 0), 0)
      expect(ended.length).toBeGreaterThan(10)
      expect([sum('runs'), sum('calls'), sum('usd')]).toEqual([ended.length, ended.length, ended.length / 2])
      expect((await runtime.totals()).all).toMatchObject({ runs: all.length, ends: { completed: ended.length } })
    }
    const store = new SqliteStore({ file })
    for (const { run, input } of store.queries.summaries({ limit: 100_000 })) {
      const fold = new IndexedRunFold(run)
      for (const recorded of store.reader.feed(run, 0)) fold.take(recorded)
      const made = fold.indexed(store.reader.run(run)!)
      expect(input).toEqual(made.input)
      const word = made.input!.text.split(' ')[0]!
      expect(hasTerms(made.words, termsOf(word))).toBe(true)
      expect(store.queries.summaries({ text: word }).map((each) => each.run)).toEqual([run])
    }
    await store.stop()
    store.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 150_000)

test('K10: what was redacted is in no text, word or cause; the words of a run that was removed are not in the file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-indexer-'))
  try {
    const file = join(folder, 'reeve.db')
    const echo = agent({
      name: 'echo',
      description: 'Echoes.',
      run: (_ctx, input: string) =>
        input.includes('fail') ? Promise.reject(new Error(`no: ${input}`)) : Promise.resolve(input),
    })
    const redact = { values: ['hunter2'] }
    await using runtime = await createRuntime({ store: file, agents: [echo], redact, onWarning: () => {} })
    await runtime.run(echo, 'the password is hunter2', { runId: 'run_a' })
    await runtime.run(echo, 'fail with hunter2', { runId: 'run_b' })
    expect(await runtime.unindexed()).toBe(0)
    expect(await runtime.runs({ text: 'hunter2' })).toEqual([])
    expect(await runtime.runs({ text: 'password' })).toHaveLength(1)
    expect(JSON.stringify([await runtime.runs(), await runtime.causes()])).not.toContain('hunter2')
    const words = (): unknown => {
      const db = new DatabaseSync(file, { readOnly: true })
      const found = db.prepare("SELECT group_concat(hex(block), '') AS all_blocks FROM words_data").get()
      db.close()
      return found
    }
    const hex = Buffer.from('assword').toString('hex').toUpperCase()
    expect(JSON.stringify(words())).toContain(hex)
    await runtime.remove('run_a')
    expect(JSON.stringify(words())).not.toContain(hex)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a fork waits and costs as its own journal says; child runs count with their root', async () => {
  const asks = agent({
    name: 'asks',
    description: 'Asks.',
    run: async (ctx) => ((await ctx.approve('pay', { input: {} })).approved ? 'paid' : 'no'),
  })
  await using runtime = await createRuntime({ agents: [asks], onWarning: () => {} })
  const run = await runtime.start(asks, 'pay', { runId: 'origin' })
  await run.until('waiting')
  const [open] = await runtime.approvals()
  await runtime.decide({ approvalId: open!.id, decision: 'approve' })
  await run.outcome()
  const fork = await runtime.fork({ run: 'origin', at: 'last', runId: 'fork' })
  await fork.outcome()
  const { all } = await runtime.totals()
  expect(all).toMatchObject({ runs: 2, ends: { completed: 2 } })
  expect(all.waitMs!.p50).toBe(0)
})

test.each([
  ['order 12 of "Ann" failed', "order 9 of 'Bob' failed", true],
  ['run run_5fz2 at 10:15:07', 'run run_9ab3 at 23:59:59', true],
  ['no key 7f3a-22', 'no key 1-2', true],
  ['cannot open file', 'cannot close file', false],
  ['no answer  from «eve»', 'no answer\nfrom “Adam”', true],
])('%j and %j are one cause: %j', (one, other, same) => {
  expect(messagePattern(one) === messagePattern(other)).toBe(same)
})

test('of each counter so many series are begun; what comes later counts under `other`', () => {
  const bound = new SeriesBound()
  const counter = (i: number, le?: string) => ({
    name: 'duration' as const,
    labels: { tenant: `t${i}`, ...(le === undefined ? {} : { le }) },
    value: 1,
  })
  for (let i = 0; i < mostSeries; i++) bound.bounded([counter(i, '1'), counter(i, '+Inf')])
  expect(bound.bounded([counter(3, '5'), counter(mostSeries, '5')]).map(({ labels }) => labels)).toEqual([
    { tenant: 't3', le: '5' },
    { tenant: 'other', le: '5' },
  ])
  expect(bound.bounded([{ name: 'runs', labels: { tenant: 'new', status: 'failed' }, value: 1 }])[0]!.labels).toEqual({
    tenant: 'new',
    status: 'failed',
  })
})
