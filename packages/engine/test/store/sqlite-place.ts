/** SQLite as the store contract needs it: over a file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SqliteStore, type SqliteOptions } from '@reeve/sqlite/store'
import type { StoreSubject } from '../../../contract/src/index.ts'

const leaseMs = 3_000

export function sqlite(name: string, options: Pick<SqliteOptions, 'durability'> = {}): StoreSubject {
  return {
    name,
    keepsIndex: true,
    keepsContents: true,
    create({ clock }) {
      const folder = mkdtempSync(join(tmpdir(), 'reeve-store-'))
      const file = join(folder, 'reeve.db')
      return {
        open: (given) =>
          new SqliteStore({ durability: 'relaxed', ...options, ...given, file, leaseMs, onWarning: () => {} }),
        kill: ({ lease }) => changeProcess(file, lease.id),
        stall: () => clock.advance(leaseMs * 2),
        dispose: () => rmSync(folder, { recursive: true }),
      }
    },
  }
}

/** A process that is this very one would be found alive: its row names one that is not there. */
function changeProcess(file: string, id: string): void {
  const db = new DatabaseSync(file)
  db.prepare('UPDATE process SET pid = 999999999 WHERE id = ?').run(id)
  db.close()
}
