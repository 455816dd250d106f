/**
 * K10 beside the archive: a store whose ended runs are compressed is redacted from some day on. What is of before the
 * rules reads as it was recorded; nothing that is recorded from then on holds what they remove.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { zstdDecompressSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { compactStore } from '@reeve/sqlite'
import { agent, createRuntime, supervisor, tool, type Runtime } from '@reeve/public'
import { manualClock } from '../../packages/testing/src/manual-clock.ts'

const byValue = 'hunter2-hunter2'
const byName = 'another-secret'
const redact = { keys: ['apiKey', 'worker', 'name', 'from'], values: [byValue], secret: 'x'.repeat(32) }

/** Is kept beside the log, because it is long. */
const long = `${byValue} `.repeat(2_000)
const login = tool({
  name: 'login',
  effect: 'idempotent',
  input: { type: 'object' },
  execute: () => ({ text: `a token of ${byValue}`, apiKey: byName, long }),
})
const worker = agent({
  name: 'worker',
  description: 'Logs in.',
  tools: [login],
  model: ({ messages }) =>
    messages.at(-1)!.role === 'tool'
      ? `in with ${byValue}`
      : { calls: [{ name: 'login', input: { apiKey: byName, note: byValue } }] },
})
const lead = supervisor({
  name: 'lead',
  workers: [worker],
  model: ({ messages }) =>
    messages.at(-1)!.role === 'tool'
      ? 'done'
      : { calls: [{ name: 'delegate', input: { worker: 'worker', instructions: `log in as ${byValue}` } }] },
})
const agents = [lead]

function inFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-redaction-archive-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function behind<T>(store: string, look: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(store, { readOnly: true })
  try {
    return look(db)
  } finally {
    db.close()
  }
}
/** The texts of what is archived, by run. */
const archived = (store: string): ReadonlyMap<string, string> =>
  behind(
    store,
    (db) =>
      new Map(
        db
          .prepare('SELECT run, body FROM archive ORDER BY first')
          .all()
          .map(({ run, body }) => [String(run), zstdDecompressSync(body as Uint8Array).toString()]),
      ),
  )

const request = { user: 'ann', metadata: { apiKey: byName } } as const
const input = { apiKey: byName, note: byValue } as never

/** Runs `one` to its end, and has it archived by a process that is closed then; `last` holds the newest position. */
async function endedRun(store: string, rules: typeof redact | undefined, before?: (runtime: Runtime) => Promise<void>) {
  const clock = manualClock(Date.now())
  const runtime = await createRuntime({ store, agents, clock, archiveAfterMs: 0, ...(rules && { redact: rules }) })
  const run = await runtime.start(lead, input, { ...request, runId: 'one' })
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
  await before?.(runtime)
  expect(await runtime.run(lead, 'again', { runId: 'last' })).toMatchObject({ status: 'completed' })
  const events = await run.journal()
  await expect
    .poll(() => {
      clock.advance(60_001)
      return archived(store).has('one')
    })
    .toBe(true)
  await runtime.close()
  return { clock, events }
}

const holding = (value: unknown): readonly string[] =>
  [byValue, byName].filter((each) => JSON.stringify(value).includes(each))

test('K10: what was archived before a store is redacted reads as it was, and its forks hold nothing that rules remove', async () => {
  const store = join(inFolder(), 'reeve.db')
  const { clock, events } = await endedRun(store, undefined)
  expect(holding(events)).toEqual([byValue, byName])
  expect(holding(archived(store).get('one'))).toEqual([byValue, byName])
  await using runtime = await createRuntime({ store, agents, clock, archiveAfterMs: Infinity, redact })
  const one = runtime.handle('one')
  expect(await one.journal()).toEqual(events)
  expect(JSON.stringify(await one.view())).toContain(byValue)
  const end = events.find(({ event }) => event.type === 'step.settled' && event.address.endsWith('/login'))!
  const ends = events.filter(({ event }) => event.type === 'step.settled' || event.type === 'worker.settled')
  expect(ends.length).toBeGreaterThan(4)
  for (const [i, { position }] of [events[0]!, ...ends].entries()) {
    const fork = await runtime.fork({ run: 'one', at: position, runId: `fork-${i}` })
    // one that has not the end of the call asks whether it may call again
    expect(await fork.until('waiting')).toMatchObject(
      position < end.position ? { questions: [{ kind: 'in-doubt' }] } : { status: 'completed', output: 'done' },
    )
    const copy = await fork.journal()
    expect({ i, holds: holding(copy) }).toEqual({ i, holds: [] })
    // no digest of before from which a short secret could be guessed
    const keys = copy.flatMap(({ event }) => ('contentKey' in event ? [event.contentKey] : []))
    expect(keys.filter((key) => key?.startsWith('hmac-') === false)).toEqual([])
    expect(copy.some(({ event }) => 'op' in event && 'inputHash' in event)).toBe(false)
    // the worker is found again under its name, which a rule has, too
    expect(copy.filter(({ event }) => event.type === 'worker.started')).toMatchObject([{ event: { agent: 'worker' } }])
  }
  const rows = behind(store, (db) => [
    db.prepare("SELECT * FROM run WHERE id LIKE 'fork-%'").all(),
    db.prepare("SELECT * FROM tag WHERE run LIKE 'fork-%'").all(),
  ])
  expect(rows[0]!.length).toBe(ends.length + 1)
  expect(holding(rows)).toEqual([])
})

test('K10: a start and a fork of before the rules are found again by the same request, and no other', async () => {
  const store = join(inFolder(), 'reeve.db')
  let at = 0
  const fork = (to: string, note = byValue) =>
    ({ run: 'one', at, runId: to, edit: { type: 'input', input: { note } as never } }) as const
  const { clock, events } = await endedRun(store, undefined, async (runtime) => {
    at = (await runtime.handle('one').journal())[0]!.position
    await runtime.fork(fork('fork'))
  })
  await using runtime = await createRuntime({ store, agents, clock, archiveAfterMs: Infinity, redact })
  const again = await runtime.start(lead, input, { ...request, runId: 'one' })
  expect(await again.journal()).toEqual(events)
  expect((await runtime.fork(fork('fork'))).id).toBe('fork')
  const conflict = { code: 'run.conflict' }
  await expect(runtime.start(lead, 'another', { ...request, runId: 'one' })).rejects.toMatchObject(conflict)
  await expect(runtime.fork(fork('fork', 'another'))).rejects.toMatchObject(conflict)
})

test('K10: what is recorded under rules is archived, read, forked and started again as it was recorded', async () => {
  const folder = inFolder()
  const store = join(folder, 'reeve.db')
  const { clock, events } = await endedRun(store, redact)
  expect(holding(events)).toEqual([])
  expect(archived(store).get('one')).toContain('[redacted]')
  // one reader has no rules: for reading none are needed
  for (const rules of [redact, undefined]) {
    const options = rules === undefined ? { drive: false as const } : { redact: rules }
    await using runtime = await createRuntime({ store, agents, clock, archiveAfterMs: Infinity, ...options })
    expect(await runtime.handle('one').journal()).toEqual(events)
  }
  await using runtime = await createRuntime({ store, agents, clock, archiveAfterMs: Infinity, redact })
  expect((await runtime.start(lead, input, { ...request, runId: 'one' })).id).toBe('one')
  const at = events.findLast(({ event }) => event.type === 'step.settled')!.position
  const fork = await runtime.fork({ run: 'one', at })
  expect(await fork.outcome()).toMatchObject({ status: 'completed', output: 'done' })
  const bytes = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
  expect(holding(bytes)).toEqual([])
})

test('an archived run of before the rules is removed, and after `compact` no file has anything of it', async () => {
  const folder = inFolder()
  const store = join(folder, 'reeve.db')
  const { clock } = await endedRun(store, undefined)
  const runtime = await createRuntime({ store, agents, clock, archiveAfterMs: Infinity, redact })
  for (const run of ['one', 'last']) await runtime.remove(run)
  const texts = behind(store, (db) =>
    ['run', 'log', 'archive', 'blob', 'tag', 'value', 'inbox'].map((table) =>
      db.prepare(`SELECT * FROM ${table}`).all(),
    ),
  )
  expect(holding(texts)).toEqual([])
  compactStore(store)
  await runtime.close()
  const bytes = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
  expect(holding(bytes)).toEqual([])
})
