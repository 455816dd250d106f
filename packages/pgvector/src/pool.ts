/**
 * The database of a memory: the application's own pool, or one that is opened here from an address.
 *
 * Owns: opening and closing, the meaning of errors. Does not own: SQL (table.ts), connections (@reeve/postgres).
 * Holds: no password in any message. A pool of the application stays open.
 */
import { isFunction, ReeveError } from '@reeve/core'
import { addressOf, readAddress } from '@reeve/postgres/address'
import { configOf, driver, driverFor, made } from '@reeve/postgres/connection'
import { storeError } from '@reeve/postgres/errors'

/** What sends one statement: a `Pool` or `Client` of `pg`, PGlite, or anything else of this form. */
export interface QueryPool {
  query(text: string, values?: unknown[]): PromiseLike<{ readonly rows: readonly unknown[] }>
}

/** Whether it has what a memory calls; a pool is an instance of a class, so inherited members count. */
export const isQueryPool = (given: unknown): given is QueryPool =>
  typeof given === 'object' && given !== null && isFunction((given as { readonly query?: unknown }).query)

/** A database that answers statements. */
export interface SqlConnection {
  /** Server and database, without the password. */
  readonly name: string
  /** Resolves to the rows. Rejects with `store.*`. */
  query<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]>
  close(): Promise<void>
}

/** Connections that are opened for one memory at most. */
const poolSize = 4

/** The schema that an address names at its end. */
export const schemaIn = (url: string): string | undefined => addressOf(url).schema

/** Opens the database. Rejects with `config.invalid` if `pg` is missing or the address is not one. */
export async function openConnection({
  url,
  pool,
}: {
  readonly url?: string
  readonly pool?: QueryPool
}): Promise<SqlConnection> {
  if (pool !== undefined) return connectionOf(pool, 'the pool of the memory', () => Promise.resolve())
  const target = { address: addressOf(url!).url, schema: 'memory' }
  const { name } = readAddress(target.address)
  const loaded = driverFor(target, await driver())
  const config = configOf(target, loaded, { query_timeout: 60_000 })
  const opened = made(() => new loaded.Pool({ ...config, Client: loaded.Client, max: poolSize, allowExitOnIdle: true }))
  // an idle connection that breaks is replaced when it is needed
  opened.on('error', () => undefined)
  opened.on('connect', (client) => void client.on('error', () => undefined))
  let closed: Promise<void> | undefined
  return connectionOf(opened, name, () => (closed ??= opened.end()))
}

const connectionOf = (pool: QueryPool, name: string, close: () => Promise<void>): SqlConnection => ({
  name,
  close,
  async query<Row>(text: string, values: readonly unknown[]) {
    try {
      return (await pool.query(text, [...values])).rows as readonly Row[]
    } catch (thrown) {
      throw meant(thrown, name)
    }
  },
})

/** The code of PostgreSQL's errors. */
export const stateOf = (thrown: unknown): string => {
  const code = (thrown as { readonly code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : ''
}

/** A table that is gone is no damaged store: it is made again at the next start. */
const meant = (thrown: unknown, name: string): ReeveError =>
  stateOf(thrown) === '42P01'
    ? new ReeveError('store.unavailable', `${name}: the table of the memory is missing`, {
        hint: 'It was dropped while this process used it. Start the process again: pgvectorMemory() makes a new one.',
        cause: thrown,
      })
    : storeError(thrown, name)
