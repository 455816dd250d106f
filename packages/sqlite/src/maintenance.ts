/**
 * Upkeep of a store's file while processes work on it: a copy that can be restored, and giving space back.
 *
 * Owns: what is done to the file as a whole. Does not own: which runs are removed (engine.ts, remove.ts).
 */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { ReeveError } from '@reeve/core'
import { isStore, makePrivate, storeError } from './schema.ts'
import { closeWithoutCheckpoint, rewriteLogOf } from './write-ahead-log.ts'

/** How long another process's lock is waited for, in milliseconds. */
const busyMs = 30_000
/** Pages given back in one transaction: others write in between. */
const pagesAtOnce = 1_000
/** Of a file, so much may lie free for what comes next. */
const freeShare = 0.25

/**
 * Copies a store into a new file, also while processes drive its runs: they are not held up, and the copy has
 * everything that was committed when it was begun. A store of its own: it names no process, so the process that opens
 * it takes its open runs up. Rejects with `input.invalid` where `to` exists, and with `store.*`; then there is no file
 * at `to`.
 */
export async function backupStore(store: string, to: string): Promise<void> {
  if (existsSync(to))
    throw new ReeveError('input.invalid', `${to} exists already`, {
      hint: 'Name a file that does not exist for the backup; an existing one is never overwritten.',
    })
  const part = `${to}.part`
  const source = openExisting(store)
  try {
    rmSync(part, { force: true })
    makePrivate(part)
    // All pages at once: in steps it would begin anew whenever another process writes.
    await backup(source, part, { rate: 2 ** 31 - 1 })
    withoutOwners(part)
    renameSync(part, to)
  } catch (thrown) {
    rmSync(part, { force: true })
    throw storeError(thrown, to)
  } finally {
    source.close()
  }
}

function withoutOwners(copy: string): void {
  const db = new DatabaseSync(copy)
  try {
    db.exec('BEGIN; DELETE FROM process; UPDATE run SET owner = NULL WHERE owner IS NOT NULL; COMMIT')
  } finally {
    db.close()
  }
}

/**
 * Rewrites a store without what lies free in it, and lets it shrink by itself from then on. Returns its size in bytes
 * before and after. Blocks the process, and delays all writers of the store. Throws `store.*`.
 */
export function compactStore(store: string): { readonly before: number; readonly after: number } {
  const db = openExisting(store)
  try {
    const before = sizeOf(db)
    // each commit is synced here: SQLite's own `synchronous=FULL`
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
    return { before, after: sizeOf(db) }
  } catch (thrown) {
    throw storeError(thrown, store)
  } finally {
    db.close()
  }
}

/**
 * Gives some of the free space back if much lies free. True: there is more. A store that was made without
 * that possibility keeps its size (`compactStore`).
 */
export function shrink(db: DatabaseSync): boolean {
  const { pages, free, mode } = db.prepare(space).get() as { pages: number; free: number; mode: number }
  const tooMuch = Math.floor(free - pages * freeShare)
  if (mode !== incremental || tooMuch < 1) return false
  db.exec(`PRAGMA incremental_vacuum(${Math.min(tooMuch, pagesAtOnce)})`)
  return tooMuch > pagesAtOnce
}

const incremental = 2
const space = `SELECT (SELECT page_count FROM pragma_page_count) AS pages, (SELECT freelist_count FROM pragma_freelist_count) AS free,
  (SELECT auto_vacuum FROM pragma_auto_vacuum) AS mode`

const sizeOf = (db: DatabaseSync): number =>
  (db.prepare('SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size').get() as { n: number }).n

/** A connection that neither makes a store nor changes its version. */
function openExisting(store: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    if (!existsSync(store))
      throw new ReeveError('store.unavailable', `there is no store at ${store}`, {
        hint: 'Check the path. Nothing was created.',
      })
    db = new DatabaseSync(store)
    db.exec(`PRAGMA busy_timeout=${busyMs}; PRAGMA wal_autocheckpoint=0; PRAGMA fullfsync=1`)
    if (!isStore(db))
      throw new ReeveError('store.foreign', `${store} is not a Reeve store`, {
        hint: 'Name another file. Nothing was changed.',
      })
    // SQLite makes a checkpoint when the last connection is closed
    rewriteLogOf(db)
    return db
  } catch (thrown) {
    if (db !== undefined) closeWithoutCheckpoint(db)
    throw storeError(thrown, store)
  }
}
