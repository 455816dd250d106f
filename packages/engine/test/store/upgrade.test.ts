/** K12: a file that 0.2.0 wrote is upgraded when it is opened. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openStore } from '../../../sqlite/src/schema.ts'
import { expectUpgraded } from './upgraded.ts'

test('K12: a store of 0.2.0 in a file is upgraded: its runs are there, go on, and are taken into the index', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-upgrade-'))
  try {
    const file = join(folder, 'reeve.db')
    const old = new DatabaseSync(file)
    old.exec(readFileSync(new URL('golden/sqlite-0.2.0.sql', import.meta.url), 'utf8'))
    old.close()
    await expectUpgraded(file)
    const db = new DatabaseSync(file)
    const shape = (of: DatabaseSync): unknown =>
      of.prepare("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name").all()
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: 8 })
    // the same tables and indexes as in a file that is new
    const fresh = openStore({ file: join(folder, 'fresh.db'), busyMs: 1_000 })
    expect(shape(db)).toEqual(shape(fresh))
    for (const each of [db, fresh]) each.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
