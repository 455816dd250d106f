/**
 * The engine on PostgreSQL: the host over a database. One process or several, on one host or several, and no other
 * server.
 *
 * Owns: its options. Does not own: moving runs (../host), the database (store.ts).
 */
import { HostEngine, type HostOptions } from '@reeve/engine/host'
import { PostgresStore, type PostgresOptions } from './store.ts'

/** How the engine on PostgreSQL is set up. Everything but the address has a default. */
export interface PostgresEngineOptions extends PostgresOptions, HostOptions {}

export type PostgresEngine = HostEngine<PostgresStore>

/**
 * Opens the engine on PostgreSQL. Throws `config.invalid`; what is wrong with the database is said by the first call.
 * Needs the package `pg`.
 */
export function createPostgresEngine(options: PostgresEngineOptions): PostgresEngine {
  return new HostEngine(new PostgresStore(options), options)
}
