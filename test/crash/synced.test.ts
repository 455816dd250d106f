/** What waits for the disk, and what does not: with a disk that takes its time, or fails (K5). */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import { agent, step as stepOf } from '@reeve/public'
import { SqliteStore } from '@reeve/sqlite/store'
import { createRuntime } from '@reeve/runtime'
import { answer, ask, begin, errorOf, inFolder, open, outcome, registry, step, until, type Opened } from './hand.ts'

type Told = (error: NodeJS.ErrnoException | null) => void
const real = fs.fdatasync
/** Syncs that have not ended; undefined: the disk takes no time. */
let waiting: Told[] | undefined
let syncs = 0

beforeEach(() => {
  waiting = undefined
  syncs = 0
  Object.assign(fs, {
    fdatasync: (descriptor: number, told: Told) => {
      syncs++
      if (waiting === undefined) real(descriptor, told)
      else waiting.push(told)
    },
  })
  syncBuiltinESMExports()
})
afterEach(() => {
  release()
  Object.assign(fs, { fdatasync: real })
  syncBuiltinESMExports()
})

/** The disk is done, or has failed. */
function release(error: NodeJS.ErrnoException | null = null): void {
  for (const told of waiting?.splice(0) ?? []) told(error)
  waiting = undefined
}
const failing = (code: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${code}: i/o error, fdatasync`), { code })

/** Whether a promise has an answer by now. */
function noted<T>(promise: Promise<T>): { readonly promise: Promise<T>; readonly isDone: () => boolean } {
  let isDone = false
  promise.then(
    () => (isDone = true),
    () => (isDone = true),
  )
  return { promise, isDone: () => isDone }
}

/** So many turns of the event loop: what could have happened has. */
async function turns(count = 30): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

const left: string[] = []
let [asked, paid] = [(): void => undefined, (): void => undefined]
const note = (what: string) => (): string => {
  left.push(what)
  return what
}
const agents = registry({
  worker: async (ctx) => [
    await step(ctx, 'model', () => (asked(), note('model')()), { effect: 'model' }),
    await step(ctx, 'read', note('read'), { effect: 'read' }),
    // idempotent: a `once` that was begun would be in doubt after it
    await step(ctx, 'pay', () => (paid(), note('pay')())),
  ],
  asks: (ctx) => ask(ctx),
  quick: (ctx) => step(ctx, 'one', () => 1, { effect: 'model' }),
})
beforeEach(() => {
  left.splice(0)
  asked = paid = () => undefined
})

function driven(file: string, durability: 'full' | 'strict' | 'relaxed' = 'full'): Opened {
  const engine = open(file, { durability, leaseMs: 300 })
  engine.drive(agents)
  return engine
}

test('K5: a start waits for the disk, and the first word of its run with it; then model calls and reads do not, a tool and an outcome do', async () => {
  const engine = driven(inFolder())
  waiting = []
  const started = noted(begin(engine, 'r', 'worker'))
  const ended = noted(outcome(engine, 'r'))
  await turns()
  expect([left, started.isDone(), ended.isDone()]).toEqual([[], false, false])
  asked = () => (waiting = [])
  release()
  await started.promise
  await until('the tool has its turn', () => left.length === 2)
  await turns()
  expect([left, ended.isDone()]).toEqual([['model', 'read'], false])
  paid = () => (waiting = [])
  release()
  await until('the tool has left', () => left.length === 3)
  // its end is committed and not synced
  await turns()
  expect([left, ended.isDone()]).toEqual([['model', 'read', 'pay'], false])
  release()
  expect(await ended.promise).toEqual({ status: 'completed', output: left })
})

test('K5: an answer is acknowledged, a value told and a question shown only when they are on disk', async () => {
  const file = inFolder()
  const engine = driven(file)
  const other = open(file, { pollMs: 2 })
  waiting = []
  const started = noted(begin(engine, 'r', 'asks'))
  await turns()
  const shown = [engine, other].map((each) => noted(each.questions()))
  await turns()
  expect([started, ...shown].map(({ isDone }) => isDone())).toEqual([false, false, false])
  release()
  for (const { promise } of shown) expect(await promise).toHaveLength(1)
  await started.promise
  waiting = []
  const [answered, told] = [noted(answer(other, 'r', 'yes')), noted(engine.stream('ses_x').update('k', () => 1))]
  const ended = noted(outcome(engine, 'r'))
  await turns()
  expect([answered, told, ended].map(({ isDone }) => isDone())).toEqual([false, false, false])
  release()
  expect([await answered.promise, await told.promise]).toEqual(['accepted', 1])
  expect(await ended.promise).toMatchObject({ status: 'completed' })
})

test('K5: the feed is shown when it is on disk, in this process and in another one, which syncs it itself', async () => {
  const file = inFolder()
  const engine = driven(file)
  const other = open(file, { pollMs: 2 })
  waiting = []
  begin(engine, 'r', 'quick').catch(() => undefined)
  await until('it is committed', () => engine.store.reader.feed('r' as RunId, 0).length > 1)
  const shown = [noted(engine.read('r' as RunId)), noted(other.read('r' as RunId)), noted(other.feed(0, 10))]
  await turns()
  expect(shown.map(({ isDone }) => isDone())).toEqual([false, false, false])
  release()
  for (const { promise } of shown) await promise
  expect((await shown[1]!.promise) as unknown[]).toHaveLength(2)
  await outcome(engine, 'r')
  expect(await other.read('r' as RunId)).toHaveLength(4)
  // what is on disk is shown at once
  waiting = []
  expect(await other.read('r' as RunId)).toHaveLength(4)
})

test('K5: one sync serves all that were committed before it, whoever waits', async () => {
  const engine = driven(inFolder())
  await begin(engine, 'first', 'quick')
  await outcome(engine, 'first')
  waiting = []
  const begun = syncs
  const all = Array.from({ length: 50 }, (_, i) => begin(engine, `r${i}`, 'asks'))
  await turns()
  expect(syncs - begun).toBe(1)
  release()
  await Promise.all(all)
  expect(syncs - begun).toBeLessThanOrEqual(3)
})

test.each(['EIO', 'ENOSPC'])(
  'K5: where a sync fails with %s the process stops: nothing leaves, every call gets the error, the next process goes on',
  async (code) => {
    const file = inFolder()
    const engine = driven(file)
    await begin(engine, 'before', 'asks')
    asked = () => (waiting = [])
    await begin(engine, 'r', 'worker')
    await until('the tool has its turn', () => left.length === 2)
    const calls = [begin(engine, 'last', 'quick'), outcome(engine, 'r'), answer(engine, 'before', 'yes')].map((call) =>
      errorOf(() => call),
    )
    const read = errorOf(() => engine.read('r' as RunId))
    release(failing(code))
    for (const error of [...(await Promise.all(calls)), await read])
      expect(error).toMatchObject({
        code: 'store.unsynced',
        retryable: false,
        message: expect.stringContaining(code) as string,
      })
    // a second sync would succeed: it is not asked for
    expect(await errorOf(() => begin(engine, 'later', 'quick'))).toMatchObject({ code: 'store.unsynced' })
    expect(engine.warnings).toContain('store.unsynced')
    await turns()
    expect(left).toEqual(['model', 'read'])
    await engine.close()
    const next = driven(file)
    expect(await outcome(next, 'r')).toEqual({ status: 'completed', output: ['model', 'read', 'pay'] })
    expect(left.filter((what) => what === 'pay')).toHaveLength(1)
  },
)

test('K5: a process that only reads stops as well', async () => {
  const file = inFolder()
  const engine = driven(file)
  await begin(engine, 'r', 'asks')
  const reader = open(file, { pollMs: 2 })
  waiting = []
  const read = errorOf(() => reader.read('r' as RunId))
  await turns()
  release(failing('EIO'))
  expect(await read).toMatchObject({ code: 'store.unsynced' })
  await until('it has stopped', () => reader.warnings.includes('store.unsynced'))
  expect(await errorOf(() => reader.questions())).toMatchObject({ code: 'store.unsynced' })
})

test('K5: closing waits for what was written', async () => {
  const engine = driven(inFolder())
  await begin(engine, 'r', 'asks')
  waiting = []
  const told = noted(answer(engine, 'r', 'yes'))
  const closed = noted(engine.close())
  await turns()
  expect([told.isDone(), closed.isDone()]).toEqual([false, false])
  release()
  expect(await told.promise).toBe('accepted')
  await closed.promise
})

test('strict: a model is asked only when its commit is on disk', async () => {
  const engine = driven(inFolder(), 'strict')
  waiting = []
  begin(engine, 'r', 'worker').catch(() => undefined)
  await turns()
  expect(left).toEqual([])
  release()
  expect(await outcome(engine, 'r')).toMatchObject({ status: 'completed' })
})

test('relaxed: nothing waits for the disk', async () => {
  const engine = driven(inFolder(), 'relaxed')
  await begin(engine, 'r', 'worker')
  expect(await outcome(engine, 'r')).toMatchObject({ status: 'completed' })
  expect(syncs).toBe(0)
})

test('a durability that there is not is refused, with the one that was meant', async () => {
  expect(await errorOf(() => createRuntime({ durability: 'strickt' as never }))).toMatchObject({
    code: 'config.invalid',
    message: expect.stringMatching(
      /durability is the text "strickt", expected "full", "strict" or "relaxed": did you mean "strict"\?/,
    ) as string,
  })
})

const worker = agent({
  name: 'worker',
  run: async (ctx) => {
    await stepOf(ctx, 'one', () => 1, { effect: 'once' })
    return stepOf(ctx, 'two', () => 2, { effect: 'once' })
  },
})

test.each(['a link', 'a URI'])('K5: %s leads to the store, whose own log is synced', async (how) => {
  const file = inFolder('real.db')
  {
    await using first = await createRuntime({ store: file, agents: [worker] })
    await first.run(worker, 'go')
  }
  const link = join(dirname(file), 'link.db')
  fs.symlinkSync(file, link)
  // of another store
  fs.writeFileSync(`${link}-wal`, '')
  const synced = new Set<number>()
  const below = fs.fdatasync
  Object.assign(fs, {
    fdatasync: (descriptor: number, told: Told) => {
      synced.add(fs.fstatSync(descriptor).ino)
      below(descriptor, told)
    },
  })
  syncBuiltinESMExports()
  await using second = await createRuntime({ store: how === 'a URI' ? `file:${file}` : link, agents: [worker] })
  expect(await second.run(worker, 'again')).toMatchObject({ status: 'completed' })
  expect([...synced]).toEqual([fs.statSync(`${file}-wal`).ino])
})

test('K5: what was written cannot be asked for once: it is synced anyway, and the run goes on', async () => {
  const prepare: (this: DatabaseSync, text: string) => StatementSync = Reflect.get(DatabaseSync.prototype, 'prepare')
  let failures = 0
  DatabaseSync.prototype.prepare = function (text: string) {
    const statement = prepare.call(this, text)
    const get = statement.get.bind(statement)
    if (text.includes('total_changes()'))
      statement.get = () => {
        if (failures === 0) return get()
        failures--
        throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 })
      }
    return statement
  }
  try {
    await using runtime = await createRuntime({ store: inFolder(), agents: [worker] })
    failures = 1
    const before = syncs
    expect(await runtime.run(worker, 'go')).toMatchObject({ status: 'completed', output: 2 })
    expect([failures, syncs > before]).toEqual([0, true])
  } finally {
    DatabaseSync.prototype.prepare = prepare
  }
})

function inFile({ store }: Opened): SqliteStore {
  if (!(store instanceof SqliteStore)) throw new Error('no store in a file')
  return store
}

test('the log is put into the store whenever it is long, and begun anew', async () => {
  const file = inFolder()
  const engine = open(file)
  inFile(engine).log.checkpointPages = 20
  const writes = 400
  for (let i = 0; i < writes; i++) await engine.stream('ses_x').update('k', () => 'x'.repeat(6_000))
  // each write is two pages at least
  expect(fs.statSync(`${file}-wal`).size).toBeLessThan((writes * 2 * 4_096) / 5)
  expect(fs.statSync(file).size).toBeGreaterThan(0)
})

test('K5: what another process has left in the log is written anew by the next one, before it tells or puts it into the store', async () => {
  const file = inFolder()
  const engine = open(file)
  await begin(engine, 'r', 'quick')
  const log = `${file}-wal`
  const before = fs.readFileSync(log)
  const written: string[] = []
  const [write, sync] = [fs.writeSync, fs.fdatasyncSync]
  Object.assign(fs, {
    writeSync: (descriptor: number, bytes: Buffer, ...where: [number, number, number]) => {
      const [from, length, at] = where
      written.push(`${at}: ${bytes.compare(before, at, at + length, from, from + length)}, ${length}`)
      return write(descriptor, bytes, ...where)
    },
    fdatasyncSync: (descriptor: number) => {
      written.push(`sync ${String(fs.fstatSync(descriptor).ino === fs.statSync(log).ino)}`)
      sync(descriptor)
    },
  })
  syncBuiltinESMExports()
  try {
    open(file)
  } finally {
    Object.assign(fs, { writeSync: write, fdatasyncSync: sync })
    syncBuiltinESMExports()
  }
  expect(written).toEqual(['0: 0, 32', 'sync true', `32: 0, ${before.length - 32}`, 'sync true'])
  expect(fs.readFileSync(log).equals(before)).toBe(true)
})

test('K5: a log that the disk may not have is left as it is: by a store whose sync has failed, and by one that is not opened', async () => {
  const file = inFolder()
  const engine = driven(file)
  await begin(engine, 'r', 'quick')
  inFile(engine).db.exec('PRAGMA user_version=99')
  const copy = inFolder()
  for (const end of ['', '-wal']) fs.copyFileSync(`${file}${end}`, `${copy}${end}`)
  const [before, log] = [fs.readFileSync(copy), fs.readFileSync(`${copy}-wal`)]
  expect(() => open(copy)).toThrow(expect.objectContaining({ code: 'store.newer' }))
  expect([fs.readFileSync(copy).equals(before), fs.readFileSync(`${copy}-wal`).equals(log)]).toEqual([true, true])

  waiting = []
  const asked = noted(engine.post({ type: 'cancel', run: 'r' as RunId, reason: 'no' }))
  asked.promise.catch(() => undefined)
  begin(engine, 'other', 'quick').catch(() => undefined)
  await until('a sync is under way', () => waiting?.length === 1)
  release(failing('EIO'))
  expect(await errorOf(() => asked.promise)).toMatchObject({ code: 'store.unsynced' })
  await engine.close()
  expect(fs.statSync(`${file}-wal`).size).toBeGreaterThanOrEqual(log.length)
})
