/**
 * A store whose file is taken away, replaced or restored under a process: the process notices, stops, and acknowledges
 * nothing that nobody will read (K5).
 */
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import type { RunId } from '@reeve/core'
import type { Durability } from '@reeve/sqlite/store'
import type { StepIO } from '@reeve/engine'
import { begin, behind, errorOf, inFolder, open, outcome, registry, step, until, type Opened } from './hand.ts'

vi.setConfig({ testTimeout: 60_000 })

const remove = (file: string): void => ['', '-wal', '-shm'].forEach((end) => rmSync(file + end, { force: true }))
/** A copy of the store as it is now. */
async function copyOf(file: string): Promise<string> {
  const source = new DatabaseSync(file)
  await backup(source, `${file}.copy`)
  source.close()
  return `${file}.copy`
}

interface Harm {
  readonly what: string
  readonly harm: (file: string, copy: string) => unknown
}
const harms: Harm[] = [
  { what: 'removed with its companions', harm: remove },
  { what: 'removed', harm: (file) => rmSync(file) },
  { what: 'moved away', harm: (file) => renameSync(file, `${file}.away`) },
  { what: 'replaced by an older copy', harm: (file, copy) => renameSync(copy, file) },
  { what: 'robbed of its write-ahead log', harm: (file) => rmSync(`${file}-wal`) },
  { what: 'robbed of its shared memory', harm: (file) => rmSync(`${file}-shm`) },
  {
    what: 'restored in place from an older copy',
    harm: (file, copy) =>
      behind(file, (db) => {
        db.prepare('ATTACH ? AS older').run(copy)
        db.exec('BEGIN; DELETE FROM log; INSERT INTO log SELECT * FROM older.log; COMMIT')
      }),
  },
  {
    what: 'filled with another store',
    harm: (file) => behind(file, (db) => db.exec("UPDATE meta SET value = 'sto_another' WHERE key = 'id'")),
  },
]

/** A step that is out, and how it hears that it is called off. */
function held(): { readonly effect: (io: StepIO) => Promise<never>; calledOff: boolean; begun: number } {
  const state = {
    calledOff: false,
    begun: 0,
    effect: (io: StepIO) => {
      state.begun++
      io.signal.addEventListener('abort', () => (state.calledOff = true))
      return new Promise<never>(() => undefined)
    },
  }
  return state
}

async function working(
  durability: Durability,
): Promise<{ file: string; copy: string; engine: Opened; work: ReturnType<typeof held> }> {
  const file = inFolder()
  const engine = open(file, { durability })
  const work = held()
  engine.drive(
    registry({ worker: async (ctx) => step(ctx, 'work', work.effect), quick: (ctx) => step(ctx, 'one', () => 1) }),
  )
  await begin(engine, 'before', 'quick')
  await outcome(engine, 'before')
  const copy = await copyOf(file)
  await begin(engine, 'r', 'worker')
  await until('it is at work', () => work.begun === 1)
  return { file, copy, engine, work }
}

describe.each(['full', 'strict'] as const)('a store under a process that drives, durability %s', (durability) => {
  test.each(harms)('$what: the process stops with store.replaced and says so to every caller', async ({ harm }) => {
    const { file, copy, engine, work } = await working(durability)
    const end = errorOf(() => outcome(engine, 'r'))
    await harm(file, copy)
    expect(await end).toMatchObject({
      code: 'store.replaced',
      retryable: false,
      hint: expect.stringMatching(/start the process again/) as string,
    })
    expect(engine.warnings).toContain('store.replaced')
    await until('what was out is called off', () => work.calledOff)
    for (const call of [() => begin(engine, 'late', 'quick'), () => engine.runs(), () => outcome(engine, 'r')])
      expect(await errorOf(call)).toMatchObject({ code: 'store.replaced' })
    await engine.close()
  })

  test('removed just before a start: the start is not acknowledged', async () => {
    const { file, engine } = await working(durability)
    remove(file)
    expect(await errorOf(() => begin(engine, 'late', 'quick'))).toMatchObject({ code: 'store.replaced' })
  })
})

test('a process that only decides is not told that its answer counts, where the file is another one', async () => {
  const file = inFolder()
  const engine = open(file, { pollMs: 60_000 })
  await begin(engine, 'r', 'nobody')
  remove(file)
  expect(await errorOf(() => engine.post({ type: 'cancel', run: 'r' as RunId, reason: 'no' }))).toMatchObject({
    code: 'store.replaced',
  })
})

test('a process that closes after its file was replaced does no harm to the new store', async () => {
  const { file, engine } = await working('full')
  remove(file)
  const other = open(file)
  other.drive(registry({ quick: (ctx) => step(ctx, 'one', () => 1) }))
  await begin(other, 'new', 'quick')
  await until('the first process has noticed', () => engine.warnings.includes('store.replaced'))
  await engine.close()
  expect(existsSync(`${file}-wal`)).toBe(true)
  expect(await outcome(other, 'new')).toEqual({ status: 'completed', output: 1 })
  await begin(other, 'newer', 'quick')
  expect(await outcome(other, 'newer')).toEqual({ status: 'completed', output: 1 })
  expect(behind(file, (db) => db.prepare('PRAGMA integrity_check').get())).toEqual({ integrity_check: 'ok' })
})

test('a store that is copied, compacted and removed from under processes that work is still the same store', async () => {
  const file = inFolder()
  const engine = open(file)
  engine.drive(registry({ quick: (ctx) => step(ctx, 'one', () => 1) }))
  for (let k = 0; k < 5; k++) {
    await begin(engine, `r${k}`, 'quick')
    await outcome(engine, `r${k}`)
    copyFileSync(file, `${file}.copy`)
    behind(file, (db) => db.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM'))
    await engine.remove(`r${k}` as RunId)
  }
  await begin(engine, 'last', 'quick')
  expect(await outcome(engine, 'last')).toEqual({ status: 'completed', output: 1 })
  expect(engine.warnings).toEqual([])
})
