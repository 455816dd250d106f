/** The SQLite store under an embedded engine, for tests of the file itself. */
import type { EmbeddedEngine } from '../../src/engine/embedded/index.ts'
import { SqliteStore } from '../../src/engine/embedded/store.ts'

export function sqliteOf({ store }: Pick<EmbeddedEngine, 'store'>): SqliteStore {
  if (store instanceof SqliteStore) return store
  throw new Error('this engine has its store in memory')
}
