/**
 * Contents in an SQLite file: in the tables of the journal's long strings, so that they are removed, archived and
 * shared as these are.
 *
 * Owns: writing and reading pieces. Does not own: what becomes of them when a run is removed (remove.ts) or forked
 * (batch.ts), how durable a commit is (store.ts).
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Now, RunId } from '@reeve/core'
import { unknownRun } from '@reeve/engine'
import type { StoreContents } from '@reeve/engine/storage'
import { prepared } from './statements.ts'

export class SqliteContents implements StoreContents {
  readonly #sql: Record<keyof typeof statements, StatementSync>
  readonly #wrote: () => Now<void>

  /** `wrote`: makes what was written as durable as a commit. */
  constructor(db: DatabaseSync, wrote: () => Now<void>) {
    this.#sql = prepared(db, statements)
    this.#wrote = wrote
  }

  keep(run: RunId, pieces: ReadonlyMap<string, string>): Now<void> {
    const s = this.#sql
    s.begin.run()
    try {
      if (s.run.get(run) === undefined) throw unknownRun(run)
      for (const [key, body] of pieces) {
        s.keep.run(key, body)
        s.use.run(run, key)
      }
      s.commit.run()
    } catch (thrown) {
      try {
        s.rollback.run()
      } catch {
        // a failed COMMIT may have rolled back by itself; the first error is the one to tell
      }
      throw thrown
    }
    return this.#wrote()
  }

  piece(run: RunId, key: string): string | undefined {
    return (this.#sql.piece.get(key, run) as { body: string } | undefined)?.body
  }
}

const statements = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  run: 'SELECT 1 FROM run WHERE id = ?',
  keep: 'INSERT OR IGNORE INTO blob(hash, body) VALUES(?, ?)',
  use: 'INSERT OR IGNORE INTO blob_use(run, hash) VALUES(?, ?)',
  piece: 'SELECT b.body FROM blob b JOIN blob_use u ON u.hash = b.hash WHERE b.hash = ? AND u.run = ?',
} as const
