/** K1: an SQLite file of an older version answers every search for its old runs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { withoutArchive, withoutSearch } from './older.ts'
import { beforeAndAfter } from './older-store.ts'

test('K1: a file of an older version answers every search for its old runs as before', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'reeve-older-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'reeve.db')
  const [before, after] = await beforeAndAfter(file, () => {
    const db = new DatabaseSync(file)
    db.exec(`${withoutArchive}; ${withoutSearch()}; PRAGMA user_version = 3`)
    db.close()
  })
  expect(after).toEqual(before)
  expect(before.slice(1)).toEqual([['r3'], ['r2'], ['r3', 'r2'], ['r1'], ['r1'], [['r3', 'interrupt']]])
  const [runs] = before as [readonly { run: string; usage?: object; reason?: string; waitsFor?: object }[]]
  expect(runs.map(({ run, usage, reason }) => [run, usage, reason])).toEqual([
    ['r3', { calls: 1, tokens: expect.any(Number) as number, usd: expect.any(Number) as number }, undefined],
    ['r2', { calls: 0, tokens: 0, usd: 0 }, expect.stringContaining('a defect') as string],
    ['r1', { calls: 1, tokens: expect.any(Number) as number, usd: expect.any(Number) as number }, undefined],
  ])
  expect(runs[0]?.waitsFor).toMatchObject({ questions: 1, oldest: { kind: 'interrupt' } })
})
