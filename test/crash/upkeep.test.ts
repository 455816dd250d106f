/** A store's file as a whole: copied while processes write, restored, and smaller again after its runs were removed. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { RunId } from '@reeve/core'
import { backupStore, compactStore } from '@reeve/sqlite'
import { ask, begin, behind, errorOf, inFolder, launch, open, outcome, registry, step, until } from './hand.ts'

const large = 'x'.repeat(20_000)
const agents = registry({
  busy: async (ctx) => {
    for (let k = 0; k < 20; k++) await step(ctx, `s${k}`, () => `${Math.random()}${large}`)
    return 'done'
  },
  waiting: async (ctx) => [await step(ctx, 'one', () => 1), await ask(ctx)],
})
const intact = (file: string): unknown => behind(file, (db) => db.prepare('PRAGMA integrity_check').get())

test('a backup that is made while a process writes is whole, and its open runs go on where it is restored', async () => {
  const file = inFolder()
  const engine = open(file)
  engine.drive(agents)
  await begin(engine, 'w', 'waiting')
  await until('it waits', async () => (await engine.questions()).length === 1)
  for (let k = 0; k < 8; k++) {
    const runs = [0, 1, 2].map((n) => begin(engine, `b${k}-${n}`, 'busy').then(() => outcome(engine, `b${k}-${n}`)))
    const copy = join(dirname(file), `copy${k}.db`)
    await backupStore(file, copy)
    expect(intact(copy)).toEqual({ integrity_check: 'ok' })
    await Promise.all(runs)
  }
  const copy = join(dirname(file), 'copy0.db')
  expect(behind(copy, (db) => db.prepare('SELECT count(*) AS n FROM process').get())).toEqual({ n: 0 })
  // The process that had it open when it was copied still lives: the copy does not wait for it.
  const restored = open(copy)
  restored.drive(agents)
  await until('all that was begun has ended', async () => (await restored.runs({ status: ['running'] })).length === 0)
  expect((await restored.questions()).map(({ run }) => run)).toEqual(['w'])
})

test('a backup is made of a store whose process is killed, and overwrites no file', async () => {
  const file = inFolder()
  const { child, line, gone } = launch('hold', file, 'once')
  await line('working')
  const copy = join(dirname(file), 'copy.db')
  writeFileSync(copy, 'mine')
  expect(await errorOf(() => backupStore(file, copy))).toMatchObject({ code: 'input.invalid' })
  expect(readFileSync(copy, 'utf8')).toBe('mine')
  child.kill('SIGKILL')
  await gone
  await backupStore(file, `${copy}2`)
  expect(behind(`${copy}2`, (db) => db.prepare('SELECT id FROM run').all())).toEqual([{ id: 'held' }])
})

test('what is no store is neither copied nor compacted, and nothing is created', async () => {
  const file = inFolder('other.db')
  behind(file, (db) => db.exec('CREATE TABLE t(x)'))
  const copy = `${file}.copy`
  expect(await errorOf(() => backupStore(file, copy))).toMatchObject({ code: 'store.foreign' })
  expect(await errorOf(() => compactStore(file))).toMatchObject({ code: 'store.foreign' })
  expect(await errorOf(() => backupStore(`${file}.none`, copy))).toMatchObject({ code: 'store.unavailable' })
  expect(existsSync(copy) || existsSync(`${copy}.part`) || existsSync(`${file}.none`)).toBe(false)
})

const sizeOf = (file: string): number =>
  behind(file, (db) => (db.exec('PRAGMA wal_checkpoint(TRUNCATE)'), statSync(file).size))

test('retention gives the space of removed runs back to the file system', async () => {
  const file = inFolder()
  const first = open(file, { retentionMs: 3_600_000 })
  first.drive(agents)
  for (let k = 0; k < 30; k++) {
    await begin(first, `r${k}`, 'busy')
    await outcome(first, `r${k}`)
  }
  await first.close()
  const before = sizeOf(file)
  expect(before).toBeGreaterThan(10_000_000)
  const second = open(file, { retentionMs: 1 })
  second.drive(agents)
  await until(
    'all are removed and the file is small',
    async () => (await second.runs()).length === 0 && sizeOf(file) < before / 8,
    20_000,
  )
  await begin(second, 'next', 'busy')
  expect(await outcome(second, 'next')).toEqual({ status: 'completed', output: 'done' })
  expect(intact(file)).toEqual({ integrity_check: 'ok' })
})

test('a store that was made unable to shrink is opened, keeps its runs, and shrinks from the first compact on', async () => {
  const file = inFolder()
  const first = open(file)
  first.drive(agents)
  for (let k = 0; k < 10; k++) {
    await begin(first, `r${k}`, 'busy')
    await outcome(first, `r${k}`)
  }
  await begin(first, 'w', 'waiting')
  await until('it waits', async () => (await first.questions()).length === 1)
  await first.close()
  const second = open(file)
  second.drive(agents)
  expect(behind(file, (db) => db.prepare('SELECT auto_vacuum FROM pragma_auto_vacuum').get())).toEqual({
    auto_vacuum: 0,
  })
  for (let k = 0; k < 10; k++) await second.remove(`r${k}` as RunId)
  const before = sizeOf(file)
  const { after } = compactStore(file)
  expect(after).toBeLessThan(before / 4)
  expect(behind(file, (db) => db.prepare('SELECT auto_vacuum FROM pragma_auto_vacuum').get())).toEqual({
    auto_vacuum: 2,
  })
  expect((await second.questions()).map(({ run }) => run)).toEqual(['w'])
  expect(second.warnings).toEqual([])
})

test('reeve backup and reeve compact work on the store that is named', async () => {
  const file = inFolder()
  const engine = open(file)
  await begin(engine, 'r', 'nobody')
  const bin = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
  const reeve = (...args: string[]) =>
    promisify(execFile)(process.execPath, ['--no-warnings', bin, ...args, '--store', file], { cwd: dirname(file) })
  expect((await reeve('backup', 'copy.db')).stdout).toBe(`Copied ${file} to copy.db.\n`)
  const db = new DatabaseSync(join(dirname(file), 'copy.db'))
  expect(db.prepare('SELECT id FROM run').all()).toEqual([{ id: 'r' }])
  db.close()
  await expect(reeve('backup', 'copy.db')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('exists already') as string,
  })
  expect((await reeve('compact')).stdout).toMatch(/from \d+\.\d MB to \d+\.\d MB\.\n$/)
}, 60_000)
