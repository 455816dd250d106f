/**
 * The source: an event store of the Restate engine of 0.1, in an SQLite file or in a schema of a PostgreSQL database,
 * as it is at one moment.
 *
 * Owns: recognising it, reading its tables in one snapshot, and seeing whether its workers still run. Never writes to
 * it. Does not own: what its rows mean (old-run.ts, old-stream.ts).
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { Client } from 'pg'
import { ReeveError } from '@reeve/core'
import { isStore, storeError } from '@reeve/sqlite/schema'
import { eventStoreId } from '@reeve/engine/storage'
import { readAddress } from '@reeve/postgres/address'
import { configOf, driver, driverFor, made } from '@reeve/postgres/connection'
import { storeError as postgresError } from '@reeve/postgres/errors'
import type { StoreLocation } from './store-location.ts'

/** The version of its tables; no other was ever released. */
const eventStoreVersion = 1

export interface MigrationSource {
  /** As errors name it: never with a password. */
  readonly name: string
  /** Rows of its tables; `$1` … are the parameters. All that is read is as it was at one moment. */
  rows<Row>(text: string, params?: readonly (string | number)[]): Promise<readonly Row[]>
  /** The sign that processes still work on it; undefined if there is none. */
  users(): Promise<string | undefined>
  /** Changes whenever anything was written to it. Not of the snapshot: as it is now. */
  mark(): Promise<string>
  close(): Promise<void>
}

/** Throws `store.foreign` if it is not an event store of 0.1, and `store.*` if it cannot be read. */
export const openSource = (place: StoreLocation): Promise<MigrationSource> =>
  place.kind === 'file' ? openFile(place.file) : openSchema(place)

const foreign = (
  what: string,
  hint = 'Name the event store that the Restate engine of 0.1 wrote. Nothing was changed.',
): ReeveError => new ReeveError('store.foreign', `${what} is not an event store of the Restate engine of 0.1`, { hint })
const isOfToday = 'It is a store of today and needs no migration: name it as the store. Nothing was changed.'

const marks = `SELECT (SELECT count(*) FROM run) AS runs, (SELECT sum(position) FROM run) AS entries, (SELECT sum(seq) FROM stream) AS written,
  (SELECT count(*) FROM inbox) AS rows, (SELECT sum(taken) FROM inbox) AS taken, (SELECT sum(epoch) FROM activation) AS epochs, (SELECT max(num) FROM question) AS questions`

// ---- SQLite
// ------------------------------------------------------------------------------------------------------------------------------

async function openFile(file: string): Promise<MigrationSource> {
  const guarded = <T>(work: () => T): T => {
    try {
      return work()
    } catch (thrown) {
      throw storeError(thrown, file)
    }
  }
  if (!existsSync(file))
    throw new ReeveError('store.unavailable', `there is no file at ${file}`, {
      hint: 'Check the path. Nothing was created.',
    })
  const open = (): DatabaseSync => guarded(() => connect(file))
  const db = open()
  try {
    guarded(() => mustBeEventStore(db, file))
  } catch (thrown) {
    db.close()
    throw thrown
  }
  db.exec('BEGIN')
  const all = <Row>(on: DatabaseSync, text: string, params: readonly SQLInputValue[] = []): Row[] =>
    guarded(() => on.prepare(text.replaceAll(/\$(\d+)/g, '?$1')).all(...params) as Row[])
  return {
    name: file,
    rows: async (text, params) => all(db, text, params),
    users: async () => usersOf(file),
    mark: async () => {
      const now = open()
      try {
        return JSON.stringify(all(now, marks))
      } finally {
        now.close()
      }
    },
    close: async () => db.close(),
  }
}

/**
 * A file that was closed in order has no log beside it and is opened as it is: even the companions that SQLite makes
 * for reading are not made.
 */
function connect(file: string): DatabaseSync {
  if (existsSync(`${file}-wal`)) return new DatabaseSync(file, { readOnly: true })
  const url = pathToFileURL(file)
  url.search = '?immutable=1'
  return new DatabaseSync(url, { readOnly: true })
}

function mustBeEventStore(db: DatabaseSync, file: string): void {
  const { application_id: id } = db.prepare('PRAGMA application_id').get() as { application_id: number }
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  if (id === eventStoreId && version === eventStoreVersion) return
  throw isStore(db) ? foreign(file, isOfToday) : foreign(file)
}

/** The processes that have this file open: SQLite holds a lock on it, which Linux lists. Unknown on other systems. */
function usersOf(file: string): string | undefined {
  let locks: string
  try {
    locks = readFileSync('/proc/locks', 'utf8')
  } catch {
    return undefined
  }
  const { ino } = statSync(file)
  const pids = new Set(
    [...locks.matchAll(/^\d+: POSIX +ADVISORY +\w+ +(\d+) [\da-f]+:[\da-f]+:(\d+) /gm)].flatMap(([, pid, inode]) =>
      Number(inode) === ino ? [pid!] : [],
    ),
  )
  pids.delete(String(process.pid))
  return pids.size === 0 ? undefined : `it is open in process ${[...pids].join(', ')}`
}

// ---- PostgreSQL
// --------------------------------------------------------------------------------------------------------------------------

const snapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

async function openSchema({ address, schema }: Extract<StoreLocation, { kind: 'schema' }>): Promise<MigrationSource> {
  const server = readAddress(address).name
  const name = `the schema "${schema}" of ${server}`
  const loaded = driverFor({ address, schema }, await driver())
  const client = made(
    () => new loaded.Client(configOf({ address, schema }, loaded, { application_name: 'reeve migrate' })),
  )
  client.on('error', () => undefined)
  const ask = async <Row>(text: string, params: readonly (string | number)[] = []): Promise<readonly Row[]> => {
    try {
      return (await client.query(text, [...params])).rows as Row[]
    } catch (thrown) {
      throw postgresError(thrown, server)
    }
  }
  try {
    await client.connect().catch((thrown: unknown) => {
      throw postgresError(thrown, server)
    })
    await mustBeSchema(client, schema, name)
    await ask(`SET search_path TO "${schema}"`)
    await ask(snapshot)
  } catch (thrown) {
    await client.end().catch(() => undefined)
    throw thrown
  }
  return {
    name,
    rows: ask,
    async users() {
      const known = `SELECT pid, client_addr::text AS host FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()`
      const found = await ask<{ pid: number; host: string | null }>(known, [`reeve ${schema}`.slice(0, 63)])
      const hosts = new Set(found.map(({ host }) => host ?? 'this host'))
      return found.length === 0
        ? undefined
        : `${found.length} connections to it are open, from ${[...hosts].join(', ')}`
    },
    async mark() {
      await ask('COMMIT')
      const now = JSON.stringify(await ask(marks))
      await ask(snapshot)
      return now
    },
    close: () => client.end().catch(() => undefined),
  }
}

async function mustBeSchema(client: Client, schema: string, name: string): Promise<void> {
  const { rows: columns } = await client.query<{ name: string }>(
    'SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped',
    [`"${schema}".meta`],
  )
  const names = columns.map(({ name: column }) => column)
  if (names.includes('key')) throw foreign(name, isOfToday)
  if (!names.includes('program')) throw foreign(name)
  const { rows } = await client.query<{ version: number }>(
    `SELECT version FROM "${schema}".meta WHERE program = 'reeve'`,
  )
  if (rows[0]?.version !== eventStoreVersion) throw foreign(name)
}
