/** The SQLite store under an embedded engine, for tests of the file itself. */
import type { EmbeddedEngine } from '@reeve/sqlite'
import { SqliteStore } from '@reeve/sqlite/store'

export function sqliteOf({ store }: Pick<EmbeddedEngine, 'store'>): SqliteStore {
  if (store instanceof SqliteStore) return store
  throw new Error('this engine has its store in memory')
}
