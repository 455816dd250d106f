/**
 * The embedded engine: the host over an SQLite file. One process or several, no server.
 *
 * Owns: its options. Does not own: moving runs (../host), the file (store.ts).
 */
import type { Registry } from '../context.ts'
import { HostEngine, type HostOptions } from '../host/index.ts'
import { digestsOf } from './digests.ts'
import { SqliteStore, type SqliteOptions } from './store.ts'

/** How the embedded engine is set up. Everything but the file has a default. */
export interface EmbeddedOptions extends SqliteOptions, HostOptions {}

/** A file answers at once: it drives when `drive` returns. */
export interface EmbeddedEngine extends HostEngine<SqliteStore> {
  drive(registry: Registry): void
}

/**
 * Opens the embedded engine. Throws `store.*`: a foreign, newer, corrupt, locked or unwritable file is left as it is.
 */
export function createEmbeddedEngine(options: EmbeddedOptions): EmbeddedEngine {
  return new HostEngine(new SqliteStore(options), options, digestsOf(options.redact))
}
