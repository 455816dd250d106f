/**
 * The embedded engine: the host over an SQLite file, for one process or several, or over a store in memory. No server.
 *
 * Owns: its options. Does not own: moving runs (../host), the file (store.ts).
 */
import type { Registry } from '@reeve/engine'
import { HostEngine, type HostOptions } from '@reeve/engine/host'
import { MemoryStore } from '@reeve/engine/memory'
import { SqliteStore, type SqliteOptions } from './store.ts'

/** How the embedded engine is set up. Everything but the file has a default. */
export interface EmbeddedOptions extends SqliteOptions, HostOptions {
  /** Path of the store, or `:memory:`. Created if it does not exist. */
  readonly file: string
}

/** It answers at once: it drives when `drive` returns, unless code of its agents is still to be loaded. */
export interface EmbeddedEngine extends HostEngine<SqliteStore | MemoryStore> {
  drive(registry: Registry): void
}

/**
 * Opens the embedded engine. Throws `store.*`: a foreign, newer, corrupt, locked or unwritable file is left as it is.
 */
export function createEmbeddedEngine(options: EmbeddedOptions): EmbeddedEngine {
  // SQLite's own name for a database that has none
  const isInMemory = options.file === ':memory:' || options.file === ''
  const store = isInMemory ? new MemoryStore(options) : new SqliteStore(options)
  return new HostEngine(store, options)
}
