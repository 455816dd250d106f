/**
 * The event store's database on PostgreSQL: a pool of connections, transactions over them, and news by LISTEN, told when a transaction is over.
 *
 * Owns: connections, transactions and what is tried again inside. Does not own: what is asked (works), what errors mean (errors.ts).
 * Works rely on READ COMMITTED: what is asked after a lock was waited for sees what the other one has written. Sessions are kept (search_path, LISTEN,
 * prepared statements), so a pooler between must pool sessions, not transactions.
 * Statements that nobody waits for travel together with the next question or with COMMIT, so a plain commit costs two round trips.
 */
import type pg from 'pg'
import type { ClientConfig, PoolClient } from 'pg'
import { delay, jitter, newId, ReeveError } from '../../core/index.ts'
import { closedStore, isConflict, postgresError } from './errors.ts'
import { Listening, marks } from './listening.ts'
import { prepareSchema } from './postgres-schema.ts'
import { Telling } from './telling.ts'
import type { Database, News, Request, Rows, Statement, TransactionOptions, Work } from './sql.ts'

export interface PostgresOptions {
  readonly postgres: string
  readonly schema?: string
  readonly poolSize?: number
}

/** How long news is listened to when nobody wants to hear any. Milliseconds. */
const lingerMs = 5_000
/** A transaction that meets others again and again gives up after so many attempts. */
const attempts = 12
/** A process that stands still in a transaction must not hold a run for ever; nor may one wait for ever. */
const session = (schema: string): string =>
  `SET search_path TO "${schema}"; SET idle_in_transaction_session_timeout = 15000; SET lock_timeout = 10000`

export class PostgresDatabase implements Database {
  readonly #options: PostgresOptions
  readonly #schema: string
  readonly #where: string
  readonly #names = new Map<string, string>()
  readonly #listeners = new Set<(news: News | 'all') => void>()
  /** Marks news of this process, which hears it without the server. */
  readonly #origin = newId('org')
  readonly #telling = new Telling((payloads) => this.#notify(payloads))
  #leaving: NodeJS.Timeout | undefined
  #pool: pg.Pool | undefined
  #listening: Listening | undefined

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#schema = options.schema ?? 'reeve'
    this.#where = placeOf(options.postgres)
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(this.#schema))
      throw new ReeveError('config.invalid', `"${this.#schema}" is not a schema name`, {
        hint: 'Use 1 to 63 lower-case letters, digits and "_", beginning with a letter or "_".',
      })
  }

  async open(): Promise<void> {
    const { Client, Pool, types } = await driver()
    const config: ClientConfig = {
      connectionString: this.#options.postgres,
      connectionTimeoutMillis: 5_000,
      query_timeout: 60_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: `reeve ${this.#schema}`.slice(0, 63),
      // Numbers beyond 2^53 do not occur; the setting is this pool's alone.
      types: { getTypeParser: (oid, format) => (Number(oid) === 20 ? Number : (types.getTypeParser(oid, format) as never)) },
      pipeline: true,
    }
    checkAddress(() => new Client(config))
    const pool = new Pool({ ...config, max: this.#options.poolSize ?? 10, allowExitOnIdle: true })
    // An idle connection that breaks is replaced when it is needed; one at work fails its own statements.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => {
      client.on('error', () => undefined)
      client.query(session(this.#schema)).catch(() => undefined)
    })
    try {
      const client = await pool.connect()
      try {
        await prepareSchema(client, this.#schema, this.#where)
        client.release()
      } catch (thrown) {
        client.release(true)
        throw thrown
      }
    } catch (thrown) {
      await pool.end()
      throw postgresError(thrown, this.#where)
    }
    this.#pool = pool
    const listener = (): pg.Client => new Client({ ...config, query_timeout: 5_000 })
    this.#listening = new Listening(listener, this.#schema, this.#origin, (news) => this.#hear(news))
  }

  #hear(news: News | 'all'): void {
    for (const hear of this.#listeners) hear(news)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    clearTimeout(this.#leaving)
    await this.#telling.close()
    const pool = this.#pool
    this.#pool = undefined
    await this.#listening?.stop()
    await pool?.end()
  }

  async transaction<T>(work: () => Work<T>, options: TransactionOptions<T> = {}): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(work, options)
      } catch (thrown) {
        if (!isConflict(thrown) || attempt === attempts) throw postgresError(thrown, this.#where)
        await delay(jitter() * 10 * attempt)
      }
    }
  }

  async #attempt<T>(work: () => Work<T>, { keep, durable }: TransactionOptions<T>): Promise<T> {
    const client = await this.#connect()
    const told: News[] = []
    const talk = new Talk(client, this.#names, (news) => told.push(news))
    try {
      talk.write('BEGIN ISOLATION LEVEL READ COMMITTED')
      if (durable === false) talk.write('SET LOCAL synchronous_commit TO off')
      const result = await talk.carryOut(work())
      const isKept = keep?.(result) !== false
      talk.write(isKept ? 'COMMIT' : 'ROLLBACK')
      await talk.settle()
      client.release()
      if (isKept) this.#tell(told)
      return result
    } catch (thrown) {
      await client.query('ROLLBACK').then(
        () => client.release(),
        () => client.release(true),
      )
      throw thrown
    }
  }

  #tell(told: readonly News[]): void {
    if (told.length === 0) return
    this.#telling.tell(told.map((news) => payloadOf(news, this.#origin)))
    // Told when this is over: what listeners do then is no part of it.
    if (this.#listeners.size > 0) queueMicrotask(() => told.forEach((news) => this.#hear(news)))
  }

  /** News is not kept anywhere, so nobody waits for a disk. */
  async #notify(payloads: readonly string[]): Promise<void> {
    const quick = "WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))"
    const text = `${quick} SELECT pg_notify($1, payload) FROM quick, unnest(CAST($2 AS text[])) AS payload`
    await this.#pool?.query({ name: 'reeve_notify', text, values: [this.#schema, payloads] })
  }

  async read<T>(work: () => Work<T>): Promise<T> {
    let client: PoolClient | undefined
    try {
      client = await this.#connect()
      return await new Talk(client, this.#names, () => undefined).carryOut(work())
    } catch (thrown) {
      throw postgresError(thrown, this.#where)
    } finally {
      client?.release()
    }
  }

  #connect(): Promise<PoolClient> {
    if (this.#pool === undefined) throw closedStore()
    return this.#pool.connect()
  }

  hear(listener: (news: News | 'all') => void): () => void {
    if (this.#pool === undefined) return () => undefined
    this.#listeners.add(listener)
    clearTimeout(this.#leaving)
    this.#listening?.start()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      // Whoever awaits one run after the other should not connect again for each.
      clearTimeout(this.#leaving)
      this.#leaving = setTimeout(() => void this.#listening?.stop().catch(() => undefined), lingerMs)
      this.#leaving.unref()
    }
  }
}

/** One connection that carries out one work. Statements are sent without waiting; their answers come in order. */
class Talk {
  readonly #client: PoolClient
  readonly #names: Map<string, string>
  readonly #tell: (news: News) => void
  #sent: Promise<unknown>[] = []

  constructor(client: PoolClient, names: Map<string, string>, tell: (news: News) => void) {
    this.#client = client
    this.#names = names
    this.#tell = tell
  }

  write(text: string, params: readonly (string | number | null)[] = []): void {
    this.#sent.push(this.#send({ text, params }))
  }

  #send({ text, params }: Statement): Promise<Rows> {
    const name = params.length === 0 ? {} : this.#named(text)
    const sent = this.#client.query({ text, ...name, values: params as (string | number | null)[] }).then(({ rows }) => rows as Rows)
    // Whoever settles hears of it; until then it must not count as an error that nobody handles.
    sent.catch(() => undefined)
    return sent
  }

  /** The server parses and plans a statement once for each connection. Those of unusual lengths are not worth a name. */
  #named(text: string): { name?: string } {
    let name = this.#names.get(text)
    if (name === undefined && this.#names.size < 300 && text.length < 4_000) this.#names.set(text, (name = `reeve_${this.#names.size}`))
    return name === undefined ? {} : { name }
  }

  /** Waits for everything that was sent. Of several errors the first one is the one to tell: the others follow from it. */
  async settle(): Promise<void> {
    const sent = this.#sent
    this.#sent = []
    for (const result of await Promise.allSettled(sent)) if (result.status === 'rejected') throw result.reason as Error
  }

  async carryOut<T>(work: Work<T>): Promise<T> {
    for (let step = work.next([]); ;) {
      if (step.done === true) return step.value
      step = work.next(await this.#answer(step.value))
    }
  }

  async #answer(request: Request): Promise<readonly Rows[]> {
    switch (request.type) {
      case 'read': {
        const answers = request.statements.map((each) => this.#send(each))
        this.#sent.push(...answers)
        await this.settle()
        return Promise.all(answers)
      }
      case 'write':
        this.#sent.push(this.#send(request.statement))
        return []
      case 'guard':
        this.write(`SELECT pg_advisory_xact_lock${request.mode === 'shared' ? '_shared' : ''}(${guardClass}, hashtext(current_schema()))`)
        return []
      case 'tell':
        this.#tell(request.news)
        return []
    }
  }
}

/** "Reeb": one lock for the payloads of each schema. */
const guardClass = 0x52656562

const payloadOf = ({ about, run }: News, origin: string): string => `${marks[about]}${origin} ${run}`

/** Server and database, without the password. */
function placeOf(connection: string): string {
  if (!/^(postgres|postgresql|socket):/.test(connection)) throw badAddress()
  try {
    const { username, host, pathname } = new URL(connection)
    return `PostgreSQL at ${username === '' ? '' : `${username}@`}${host}${pathname}`
  } catch {
    throw badAddress()
  }
}

/** No cause: it would repeat the password. */
const badAddress = (): ReeveError =>
  new ReeveError('config.invalid', 'this is not the address of a PostgreSQL database', {
    hint: 'Write postgres://user:password@host:5432/database, with special characters of the password percent-encoded.',
  })

function checkAddress(parse: () => unknown): void {
  try {
    parse()
  } catch {
    throw badAddress()
  }
}

type Driver = Pick<typeof pg, 'Client' | 'Pool' | 'types'>

/** Loaded when it is needed: who keeps events in SQLite need not have it. */
async function driver(): Promise<Driver> {
  try {
    return (await import('pg')).default
  } catch (thrown) {
    throw new ReeveError('config.invalid', 'the package pg is not installed', { hint: 'npm install pg', cause: thrown })
  }
}
