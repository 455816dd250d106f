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
import type { RunId } from '@reeve/core'
import type { Recorded } from '@reeve/journal'
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

test('K11: waits that overlap count once, those that a fork has copied count with its origin; child runs are read, too', () => {
  const run = 'r' as RunId
  const fold = new IndexedRunFold(run)
  let position = 0
  const take = (activation: string, at: number, event: object): void =>
    fold.take({ run, position: ++position, activation, at, event } as unknown as Recorded)
  take('act_r', 100, { type: 'activation.started', agent: 'lead', version: '1', input: { a: [1] } })
  take('act_r', 110, { type: 'approval.requested', op: 'ask', id: 'a', address: 'x' })
  take('act_r', 150, { type: 'worker.started', op: 'worker', address: 'w', agent: 'worker', apart: true })
  take('act_r', 400, { type: 'ask.settled', address: 'x', outcome: { status: 'completed', output: true } })
  take('act_r', 350, { type: 'interrupt.raised', op: 'ask', id: 'b', address: 'y' })
  take('act_r', 500, { type: 'ask.settled', address: 'y', outcome: { status: 'completed', output: true } })
  take('act_r', 800, { type: 'effect.in-doubt', address: 'z' })
  const usage = [
    { agent: 'lead', model: 'm', calls: 1, input: 1, output: 1, cached: 0, usd: 1, unknown: 0, unpriced: 0 },
  ]
  take('act_r', 850, { type: 'step.settled', address: 's', outcome: { status: 'completed', output: 1 }, usage })
  const thinks = { ...usage[0], reasoning: 1, cacheWrite: 3 }
  take('act_r', 855, { type: 'step.attempt-failed', address: 's', usage: [thinks] })
  const failure = { code: 'tool.failed', message: 'gone', class: 'internal', retryable: false }
  take('act_r>w', 860, { type: 'activation.started', agent: 'worker', version: '7', input: null })
  take('act_r>w', 870, { type: 'activation.settled', outcome: { status: 'failed', failure } })
  take('act_r', 900, { type: 'activation.settled', outcome: { status: 'failed', failure } })
  expect(fold.childRuns()).toEqual(['r>>w'])
  expect(fold.childRuns()).toEqual([])
  const { waitMs, shares, failure: cause, input, isFinal } = fold.indexed({ agent: 'lead', created: 200, ended: 900 })
  // from 200, when the fork was begun, to 500, and from 800 to its end
  expect([waitMs, isFinal, input?.text]).toEqual([400, true, '{"a":[1]}'])
  expect(cause).toMatchObject({ code: 'tool.failed', agent: 'worker', message: 'gone' })
  expect(shares).toEqual([{ ...thinks, calls: 2, input: 2, output: 2, usd: 2, version: '1' }])
  const open = fold.indexed({ agent: 'lead', created: 200, ended: null })
  expect([open.isFinal, open.waitMs, open.failure, open.shares]).toEqual([false, undefined, undefined, []])
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
