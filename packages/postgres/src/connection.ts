/**
 * Connections to PostgreSQL: how they are made, and one that comes back by itself when it was lost.
 *
 * Owns: the driver (loaded when it is needed), which of several hosts is connected to, checks of the server, and `StoreConnection`.
 * Does not own: the address (address.ts), SQL, what errors mean (errors.ts).
 * Holds: no password in any name or message. Statements name the schema, so nothing but LISTEN, advisory locks and
 * prepared statements depends on the session.
 */
import type pg from 'pg'
import type { Client, ClientBase, ClientConfig } from 'pg'
import { delay, detached, optionalPeer, ReeveError } from '@reeve/core'
import { badAddress, readAddress } from './address.ts'
import { closedStore, isAnswer } from './errors.ts'

export type PgModule = Pick<typeof pg, 'Client' | 'Pool' | 'types'>
export type Params = readonly (string | number | boolean | null | readonly (string | number | boolean | null)[])[]
/** A statement under a name: the server parses and plans it once for each connection. */
export type NamedStatement = readonly [name: string, text: string]

/** Loaded on first use: a process that keeps runs in SQLite need not have it installed. `at`: its URL, where known. */
export const driver = async (at = 'pg'): Promise<PgModule> =>
  (await optionalPeer<{ readonly default: PgModule }>(at)).default

/**
 * Everything here is found by an index, and a plan that is kept may be older than the table is large: made while it was
 * empty, it would read it from one end to the other.
 */
const plans = 'SET enable_seqscan = off; SET jit = off'
/**
 * How long a statement waits for a lock. A process that is idle in a transaction for longer is ended by the server.
 * Milliseconds.
 */
const lockMs = 10_000
const sessionSetup = `SET lock_timeout = ${lockMs}; SET idle_in_transaction_session_timeout = ${lockMs + 5_000}; ${plans}`

export interface SchemaAddress {
  readonly address: string
  readonly schema: string
  /** The URL of the driver's module, if it is not found by its name. */
  readonly driver?: string
}

export function configOf(
  { address, schema }: SchemaAddress,
  { types }: PgModule,
  more: ClientConfig = {},
): ClientConfig {
  const { hosts, isBound } = readAddress(address)
  return {
    connectionString: hosts[0],
    ...(isBound ? { enableChannelBinding: true } : undefined),
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: `reeve ${schema}`.slice(0, 63),
    // Numbers beyond 2^53 do not occur; the setting is these connections' alone.
    types: {
      getTypeParser: (oid, format) => (Number(oid) === 20 ? Number : (types.getTypeParser(oid, format) as never)),
    },
    pipeline: true,
    ...more,
  }
}

interface ServerPlace {
  readonly host: string
  readonly port: number
}

/**
 * The driver with a client that connects to the host of its address that takes writes. Of several hosts each is asked
 * for every new connection, first the one that took writes last: which one it is may have changed since.
 */
export function driverFor({ address, schema }: SchemaAddress, loaded: PgModule): PgModule {
  const { hosts } = readAddress(address)
  if (hosts.length === 1) return loaded
  let last = 0
  const asked = async (host: string): Promise<ServerPlace | 'standby'> => {
    const probe = made(() => new loaded.Client({ ...configOf({ address, schema }, loaded), connectionString: host }))
    probe.on('error', () => undefined)
    try {
      await probe.connect()
      const { rows } = await probe.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
      return rows[0]!.standby ? 'standby' : { host: probe.host, port: probe.port }
    } finally {
      probe.end().catch(() => undefined)
    }
  }
  const find = async (): Promise<ServerPlace> => {
    let thrown: unknown
    for (let i = 0; i < hosts.length; i++) {
      const at = (last + i) % hosts.length
      try {
        const found = await asked(hosts[at]!)
        if (found === 'standby') continue
        last = at
        return found
      } catch (problem) {
        thrown ??= problem
      }
    }
    if (thrown !== undefined) throw thrown as Error
    throw new ReeveError('store.read-only', `${readAddress(address).name}: every host is a standby`, {
      hint: 'Name the primary among the hosts. Nothing was changed.',
    })
  }
  class FailoverClient extends loaded.Client {
    override connect(): Promise<Client>
    override connect(callback: (error: Error | null, client: Client) => void): void
    override connect(callback?: (error: Error | null, client: Client) => void): Promise<Client> | void {
      if (callback === undefined) return this.#join()
      detached(
        () => this.#tell(callback),
        () => undefined,
      )
    }

    async #join(): Promise<Client> {
      Object.assign(this, await find())
      await super.connect()
      return this
    }

    async #tell(callback: (error: Error | null, client: Client) => void): Promise<void> {
      try {
        await this.#join()
      } catch (thrown) {
        return callback(thrown as Error, this)
      }
      callback(null, this)
    }
  }
  return { Client: FailoverClient, Pool: loaded.Pool, types: loaded.types }
}

/** A connection that is ready for use. Throws `store.*` or the driver's error, without the password. */
export async function connect(target: SchemaAddress, more: ClientConfig = {}): Promise<Client> {
  const loaded = driverFor(target, await driver(target.driver))
  const client = made(() => new loaded.Client(configOf(target, loaded, more)))
  // A connection that breaks fails its own statements.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(sessionSetup)
    return client
  } catch (thrown) {
    client.end().catch(() => undefined)
    throw thrown
  }
}

/** The driver reads the address when it makes a client, and repeats it where it cannot. */
export function made<T>(make: () => T): T {
  try {
    return make()
  } catch {
    throw badAddress()
  }
}

export const setUp = (client: ClientBase): void => {
  client.on('error', () => undefined)
  client.query(sessionSetup).catch(() => undefined)
}

/** Throws where the server takes no writes. */
export async function mustTakeWrites(client: ClientBase, name: string): Promise<void> {
  const { rows } = await client.query<{ standby: boolean; reading: string }>(
    "SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only') AS reading",
  )
  const { standby, reading } = rows[0]!
  if (!standby && reading !== 'on') return
  throw new ReeveError(
    'store.read-only',
    `${name} takes no writes: ${standby ? 'it is a standby' : 'default_transaction_read_only is on'}`,
    {
      hint: 'Name the primary as the store. Nothing was changed.',
    },
  )
}

/**
 * Throws where a pooler between this process and the server gives every transaction another session (PgBouncer in
 * transaction mode): locks, LISTEN and prepared statements would be another client's. A pooler shows in that the
 * server's process is not the one that was named at the beginning; whether it keeps sessions, in that what one
 * connection has set is not seen by another.
 */
export async function mustKeepSessions(
  first: ClientBase & { processID?: number | null },
  second: () => Promise<Client>,
  name: string,
): Promise<void> {
  const { rows } = await first.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  if (rows[0]?.pid === first.processID) return
  const token = `reeve-${process.pid}-${first.processID}`
  // a setting that no pooler knows of
  await first.query("SELECT set_config('reeve.session', $1, false)", [token])
  const other = await second()
  const seen = (client: ClientBase): Promise<string | undefined> =>
    client
      .query<{ name: string | null }>("SELECT current_setting('reeve.session', true) AS name")
      .then((result) => result.rows[0]?.name ?? undefined)
  try {
    await other.query('BEGIN')
    const shared = (await seen(other)) === token
    const kept = (await seen(first)) === token
    await other.query('ROLLBACK')
    if (!shared && kept) return
  } finally {
    await other.end().catch(() => undefined)
  }
  throw new ReeveError('config.invalid', `${name} is behind a pooler that gives every transaction another session`, {
    hint: 'Use its session mode (PgBouncer: pool_mode = session for this database), or the address of the server itself. Nothing was changed.',
  })
}

/** How long a connection may take to be closed. Milliseconds. */
export const farewellMs = 2_000

interface Socket {
  cork(): void
  uncork(): void
  ref(): void
  unref(): void
  destroy(): void
}
const socketOf = (client: ClientBase): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream

/** Closes without a good-bye: pending statements fail. */
export const hangUp = (client: ClientBase): void => socketOf(client).destroy()

/**
 * One connection that is made when it is needed and again after it was lost. It does not keep the process alive but
 * while `busy`.
 */
export class StoreConnection {
  readonly #make: () => Promise<Client>
  readonly #name: string
  readonly #onConnect: (client: Client) => Promise<void> | void
  readonly #onLost: () => void
  #client: Client | undefined
  #connecting: Promise<Client> | undefined
  /** Rejects when waiting for a connection is given up. */
  #broken = Promise.withResolvers<never>()
  #busy = 0
  #closed = false

  /** `onConnect` runs before anything else on each new connection. */
  constructor(
    name: string,
    make: () => Promise<Client>,
    onConnect: (client: Client) => Promise<void> | void = () => undefined,
    onLost: () => void = () => undefined,
  ) {
    this.#name = name
    this.#make = make
    this.#onConnect = onConnect
    this.#onLost = onLost
    this.#broken.promise.catch(() => undefined)
  }

  get isUp(): boolean {
    return this.#client !== undefined
  }

  /** The connection; made if it does not exist. Rejects with the driver's error. */
  async client(): Promise<Client> {
    if (this.#client !== undefined) return this.#client
    if (this.#closed) throw closedStore(this.#name)
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined))
    return Promise.race([this.#connecting, this.#broken.promise])
  }

  async #connect(): Promise<Client> {
    const client = await this.#make()
    try {
      await this.#onConnect(client)
    } catch (thrown) {
      client.end().catch(() => undefined)
      throw thrown
    }
    if (this.#closed) {
      client.end().catch(() => undefined)
      throw closedStore(this.#name)
    }
    const lost = (): void => this.drop(client)
    client.on('error', lost)
    client.on('end', lost)
    if (this.#busy === 0) socketOf(client).unref()
    return (this.#client = client)
  }

  /** This connection is not used any more. */
  drop(client: Client): void {
    if (this.#client !== client) return
    this.#client = undefined
    socketOf(client).destroy()
    this.#onLost()
  }

  /** Pending statements fail now, and so does waiting for a connection. The next caller makes another. */
  breakOff(why: ReeveError): void {
    if (this.#client !== undefined) this.drop(this.#client)
    this.#broken.reject(why)
    this.#broken = Promise.withResolvers()
    this.#broken.promise.catch(() => undefined)
  }

  /** Keeps the process alive while it works. */
  async busy<T>(work: (client: Client) => Promise<T>): Promise<T> {
    this.#busy++
    try {
      const client = await this.client()
      socketOf(client).ref()
      return await work(client)
    } finally {
      this.#busy--
      if (this.#busy === 0 && this.#client !== undefined) socketOf(this.#client).unref()
    }
  }

  /** One statement. */
  ask<Row>([name, text]: NamedStatement, params: Params = []): Promise<Row[]> {
    return this.busy(async (client) => {
      try {
        return (await client.query({ name, text, values: params as unknown[] })).rows as Row[]
      } catch (thrown) {
        if (!isAnswer(thrown)) this.drop(client)
        throw thrown
      }
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = this.#client
    this.#client = undefined
    // a server that has vanished or is frozen does not answer the good-bye
    await Promise.race([this.#connecting?.catch(() => undefined), delay(farewellMs)])
    if (client === undefined) return
    await Promise.race([client.end().catch(() => undefined), delay(farewellMs)])
    socketOf(client).destroy()
  }
}

/** How a transaction has ended. `unknown`: no answer came. */
export type TransactionEnd =
  { readonly ended: 'committed' } | { readonly ended: 'failed' | 'unknown'; readonly thrown: unknown }

/**
 * A server that does not answer for this long in the middle of a transaction is given up, and asked on another
 * connection for the result. Milliseconds.
 */
const patienceMs = 20_000

interface QueryResult {
  readonly rows: unknown[]
  readonly command: string
}

/**
 * One transaction, sent as a whole: it waits for no answer before COMMIT is sent. Results are there when `commit` has
 * resolved.
 */
export class Pipeline {
  readonly #client: Client
  readonly #socket: Socket
  /** The first error: the others follow from it. */
  #thrown: { readonly thrown: unknown } | undefined
  /** An error before the statement reached the server: the transaction lacks a statement. */
  #isHere = true
  #isBroken = false

  constructor(client: Client) {
    this.#client = client
    this.#socket = socketOf(client)
    this.#socket.cork()
    this.#send('BEGIN')
  }

  #send(text: string, name?: string, values?: Params, done?: (answer: QueryResult) => void): void {
    const callback = (thrown: unknown, answer: QueryResult): void => {
      // pg gives null where nothing is wrong
      if (thrown !== null && thrown !== undefined) {
        this.#thrown ??= { thrown }
        if (this.#isHere) this.#isBroken = true
      } else done?.(answer)
    }
    this.#client.query({ text, name, values, callback } as never)
  }

  /** Sends a statement; `done` is given its rows. */
  send([name, text]: NamedStatement, values: Params, done?: (rows: never[]) => void): void {
    this.#send(text, name, values, done === undefined ? undefined : ({ rows }) => done(rows as never[]))
  }

  /** Ends the transaction, and resolves when its result is known or cannot be known. */
  async commit(): Promise<TransactionEnd> {
    const ended = new Promise<TransactionEnd>((resolve) => {
      const watch = setTimeout(() => this.#socket.destroy(), patienceMs)
      const callback = (thrown: unknown, answer: QueryResult): void => {
        clearTimeout(watch)
        if (this.#thrown !== undefined) {
          const first = this.#thrown.thrown
          // A transaction that the server refused, or that lacks a statement, is not written.
          resolve({ ended: this.#isBroken || isAnswer(first) ? 'failed' : 'unknown', thrown: first })
        } else if (thrown !== null && thrown !== undefined)
          resolve({ ended: isAnswer(thrown) ? 'failed' : 'unknown', thrown })
        else if (answer.command === 'COMMIT') resolve({ ended: 'committed' })
        else resolve({ ended: 'failed', thrown: new Error('the transaction was rolled back') })
      }
      this.#client.query({ text: this.#isBroken ? 'ROLLBACK' : 'COMMIT', callback } as never)
    })
    this.#isHere = false
    this.#socket.uncork()
    return ended
  }
}
