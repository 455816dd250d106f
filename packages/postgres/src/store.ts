/**
 * The store in a PostgreSQL database: opens it and puts its parts together.
 *
 * Owns: its connections (one for commits, one for news and heartbeats, some for reading and claiming), and operations
 * on the store as a whole. Does not own: SQL (commit.ts, claim.ts, reader.ts, lease.ts). It connects on its first use,
 * and again whenever a connection was lost. Reads create nothing: a database without tables is an empty store.
 */
import type { Client, Pool, PoolClient } from 'pg'
import {
  delay,
  newId,
  redactor,
  stopwatch,
  systemClock,
  type Clock,
  type Now,
  type ReeveError,
  type RunId,
} from '@reeve/core'
import { openRun, runStream, storeIsRedacted, storeMark } from '@reeve/engine'
import { defaultLossLimit, type HostOptions, warning } from '@reeve/engine/host'
import {
  type Batch,
  type BatchResult,
  callerIn,
  type ClaimCandidate,
  type Claimed,
  type ClaimFilter,
  type InboxRow,
  refusedBy,
  type Store,
  type StoreContents,
  type StoredRun,
  type StoreIndex,
  type StoreLease,
  type StoreParts,
  type StoreQueries,
  type StoreReader,
  tagsOf,
  type Unread,
} from '@reeve/engine/storage'
import { readAddress } from './address.ts'
import { query, type PoolSource } from './asker.ts'
import { Claims, isChildOf } from './claim.ts'
import { PostgresBatchWriter } from './commit.ts'
import { PostgresContents } from './contents.ts'
import {
  configOf,
  connect,
  driver,
  driverFor,
  farewellMs,
  hangUp,
  StoreConnection,
  made,
  mustKeepSessions,
  mustTakeWrites,
  setUp,
  type NamedStatement,
  type SchemaAddress,
} from './connection.ts'
import { closedStore, isMissing, isRefusal, replaced, silentServer, storeError } from './errors.ts'
import { CloseWatch } from './close-watch.ts'
import { PostgresLease } from './lease.ts'
import { Notifier } from './notifier.ts'
import { PostgresQueries } from './queries.ts'
import { PostgresReader } from './reader.ts'
import { PostgresIndex } from './run-index.ts'
import { checkSchemaName, findSchema, prepareSchema, type StoreMeta } from './schema.ts'

/** Options of the store, with those of the host that it needs. */
export interface PostgresOptions extends Pick<HostOptions, 'clock' | 'lossLimit' | 'onWarning' | 'redact'> {
  /**
   * `postgres://user:password@host:5432/database`, as libpq and pg read it. PostgreSQL 14 or newer; a pooler in between
   * must pool sessions, not transactions.
   */
  readonly postgres: string
  /**
   * The schema of its tables; created if it does not exist. Stores in different schemas are independent. Default
   * `reeve`.
   */
  readonly schema?: string
  /**
   * After this long without a heartbeat a process counts as dead. A thread of its own writes the heartbeat, so code may
   * block the event loop for up to ten minutes. A process that has died is found within a second; this time applies
   * where it is frozen or the network is interrupted. With another `clock` than the system's there is no thread.
   * Milliseconds, default 3,000.
   */
  readonly leaseMs?: number
  /** The number of connections that read and claim; two or three more commit, listen and keep the lease. Default 4. */
  readonly poolSize?: number
}

/** How often the store is asked whether it is still the same. Milliseconds. */
const lookEveryMs = 1_000

export class PostgresStore implements Store {
  readonly name: string
  readonly kind = 'postgres'
  readonly isPrivate = false
  readonly commitsFree = false
  readonly reader: StoreReader
  readonly queries: StoreQueries
  readonly index: StoreIndex
  readonly contents: StoreContents
  readonly lease: StoreLease
  readonly parts: StoreParts
  readonly #lease: PostgresLease
  readonly #options: PostgresOptions
  readonly #target: SchemaAddress
  readonly #clock: Clock
  readonly #sql: ReturnType<typeof statements>
  readonly #commits: StoreConnection
  readonly #side: StoreConnection
  readonly #writer: PostgresBatchWriter
  readonly #claims: Claims
  readonly #news: Notifier
  #opening: Promise<Pool> | undefined
  #seeking: Promise<void> | undefined
  /** Undefined: as far as is known there are no tables yet. */
  #meta: StoreMeta | undefined
  #ownClock = false
  #isRedacted = false
  #isClosed = false
  #isStopped = false
  #listens = false
  /** From `leave` to the end of `close`. */
  #farewell: CloseWatch | undefined
  #changed: ReeveError | undefined
  #lastLook = 0
  /** Connections of the pool. */
  readonly #pooled = new Set<PoolClient>()
  /** Claimed, and not yet among the runs whose mail is asked for: what came in since is not missed. */
  readonly #new = new Set<RunId>()

  /** Throws `config.invalid`. */
  constructor(options: PostgresOptions) {
    const schema = options.schema ?? 'reeve'
    checkSchemaName(schema)
    this.name = readAddress(options.postgres).name
    this.#options = options
    this.#target = { address: options.postgres, schema }
    this.#clock = options.clock ?? systemClock
    this.#sql = statements(`"${schema}"`)
    const process = newId('prc')
    const pool = (): Promise<Pool> => this.#open()
    const connected = async (open: Promise<Pool>): Promise<Client> => {
      this.#mustAnswer()
      await open
      return connect(this.#target)
    }
    this.#commits = new StoreConnection(
      this.name,
      () => connected(this.#open()),
      (client) => this.#writer.begin(client, this.#meta!.floor),
    )
    // News need no tables.
    this.#side = new StoreConnection(
      this.name,
      () => connected(this.#reach()),
      undefined,
      () => this.#news.lost(),
    )
    this.#writer = new PostgresBatchWriter(this.#commits, {
      name: this.name,
      schema,
      process,
      serverTime: this.#clock === systemClock,
      isSilent: () => this.#farewell?.isSilent === true,
      onCommit: (committed) => {
        for (const run of committed.left) this.#new.delete(run)
        this.#news.note(committed)
      },
    })
    this.#claims = new Claims(pool, {
      schema,
      process,
      onClaimed: (run, position) => {
        this.#writer.holds(run, position)
        this.#new.add(run)
      },
    })
    const readPool: PoolSource = () => this.#look()
    this.reader = new PostgresReader(readPool, schema)
    const queries = new PostgresQueries(readPool, schema)
    this.queries = queries
    this.index = new PostgresIndex(readPool, queries, schema)
    this.contents = new PostgresContents(readPool, schema)
    const side: Pick<StoreConnection, 'ask'> = {
      ask: async (statement, params) => {
        await this.#open()
        return this.#side.ask(statement, params)
      },
    }
    this.lease = this.#lease = new PostgresLease(side, {
      ...this.#target,
      id: process,
      leaseMs: options.leaseMs ?? 3_000,
      lossLimit: options.lossLimit ?? defaultLossLimit,
      clock: this.#clock,
      warn: options.onWarning ?? warning,
    })
    this.#news = new Notifier(this.#side, {
      channel: schema,
      process,
      hasOthers: () => this.#lease.hasOthers,
      onOther: () => {
        this.#lastLook = 0
        return this.#lease.heardOthers()
      },
      isHeld: (run) => this.#writer.isHeld(run),
    })
    this.parts = this.#news.parts
  }

  /** For writes: creates the tables if they do not exist. */
  async #open(): Promise<Pool> {
    const pool = await this.#reach()
    while (this.#meta === undefined) await this.#seek(pool, prepareSchema)
    return pool
  }

  /** For reads. Undefined: the tables do not exist. */
  async #look(): Promise<Pool | undefined> {
    const pool = await this.#reach()
    if (this.#meta === undefined) await this.#seek(pool, findSchema)
    return this.#meta === undefined ? undefined : pool
  }

  /** Checks that the server is usable. Once; again after it has failed. */
  #reach(): Promise<Pool> {
    if (this.#isClosed) return Promise.reject(closedStore(this.name))
    return (this.#opening ??= this.#begin().catch((thrown: unknown) => {
      this.#opening = undefined
      throw thrown
    }))
  }

  async #begin(): Promise<Pool> {
    const loaded = driverFor(this.#target, await driver())
    // A server that has vanished never answers: pending statements are given up.
    const config = configOf(this.#target, loaded, { query_timeout: 60_000 })
    const pool = made(
      () =>
        new loaded.Pool({ ...config, Client: loaded.Client, max: this.#options.poolSize ?? 4, allowExitOnIdle: true }),
    )
    // An idle connection that breaks is replaced when it is needed; one at work fails its own statements.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => {
      this.#pooled.add(client)
      setUp(client)
    })
    pool.on('remove', (client) => this.#pooled.delete(client))
    try {
      const client = await pool.connect()
      try {
        await this.#check(client)
      } finally {
        client.release()
      }
    } catch (thrown) {
      await pool.end()
      throw thrown
    }
    return pool
  }

  async #check(client: PoolClient): Promise<void> {
    await mustKeepSessions(client, () => connect(this.#target), this.name)
    await mustTakeWrites(client, this.name)
    await this.#found(await findSchema(client, this.#target.schema, this.name), client)
  }

  /** Callers that come while another one looks, or creates the tables, share its result. */
  #seek(pool: Pool, find: typeof findSchema): Promise<void> {
    const seek = async (): Promise<void> => {
      const client = await pool.connect()
      try {
        await this.#found(await find(client, this.#target.schema, this.name), client)
      } finally {
        client.release()
      }
    }
    return (this.#seeking ??= seek().finally(() => (this.#seeking = undefined)))
  }

  async #found(meta: StoreMeta | undefined, client: PoolClient): Promise<void> {
    if (meta === undefined) return
    if (this.#meta !== undefined && this.#meta.id !== meta.id)
      throw (this.#changed = replaced(`${this.name} holds another store`))
    this.#ownClock = meta.ownClock
    const marks = redactor(this.#options.redact) !== undefined
    if (marks) await client.query(query(this.#sql.mark, [storeMark.stream, storeMark.key]))
    this.#isRedacted =
      marks || (await client.query(query(this.#sql.isMarked, [storeMark.stream, storeMark.key]))).rows.length > 0
    this.#meta = meta
    this.#appear()
  }

  async #ask<Row>(statement: NamedStatement, params: Parameters<typeof query>[1]): Promise<Row[]> {
    return (await (await this.#open()).query(query(statement, params))).rows as Row[]
  }

  async id(): Promise<string> {
    await this.#open()
    return this.#meta!.id
  }

  commit(batch: Batch): Promise<BatchResult> {
    if (this.#isStopped) return Promise.reject(closedStore(this.name))
    return this.#meta === undefined ? this.#firstCommit(batch) : this.#writer.commit(batch)
  }

  synced(): undefined {
    // the server answers a commit when it is on its disk
  }

  /** What others take out of this store is known from here on, and whether this process may write. */
  async #firstCommit(batch: Batch): Promise<BatchResult> {
    await this.#open()
    this.mustHaveRules()
    return this.#writer.commit(batch)
  }

  async claim(wanted: ClaimFilter, admits: (candidate: ClaimCandidate) => boolean): Promise<readonly Claimed[]> {
    // An idle process is near the end of its lease, and with a run it must not be taken for dead.
    await this.#lease.freshen()
    const claimed = await this.#claims.claim(wanted, admits)
    // what cannot be said now is said by the thread
    if (claimed.length > 0 && this.#lease.hold()) await this.#lease.beat().catch(() => undefined)
    return claimed
  }

  unread(held: ReadonlyMap<RunId, { readonly lastRow: number }>): Now<Unread> {
    if (this.#isClosed) throw closedStore(this.name)
    const mail = this.#news.takeMail()
    if (mail === undefined && this.#new.size === 0) return nothing
    const runs = new Set(mail?.all === true ? held.keys() : [...(mail?.runs ?? [])].filter((run) => held.has(run)))
    for (const run of this.#new) {
      if (!held.has(run)) continue
      this.#new.delete(run)
      runs.add(run)
    }
    const others = [...(mail?.runs ?? [])].filter((run) => !held.has(run) && !this.#new.has(run))
    if (runs.size === 0) return { rows: [], others }
    const asked = [...runs]
    return this.#ask<InboxRow>(this.#sql.unread, [asked, asked.map((run) => held.get(run)!.lastRow)]).then(
      (rows) => ({ rows, others }),
      (thrown: unknown) => {
        this.#news.giveBack({ runs: new Set([...runs, ...others]), all: mail?.all === true })
        throw thrown
      },
    )
  }

  moved(): ReadonlySet<RunId> | 'all' | undefined {
    return this.#news.moved()
  }

  listen(heard: () => void): void {
    this.#news.listen(heard)
    this.#listens = true
    this.#appear()
  }

  /** Who listens is in the list of processes, as soon as there is one. */
  #appear(): void {
    if (this.#listens && this.#meta !== undefined) this.#lease.appear().catch(() => undefined)
  }

  errorOf(thrown: unknown): ReeveError {
    return storeError(thrown, this.name)
  }
  isRefusal(thrown: unknown): boolean {
    return isRefusal(thrown)
  }
  refusedBy(thrown: unknown, run: string | undefined): ReeveError {
    return refusedBy(thrown, this.name, run)
  }

  /** Called ten times a second; queries once a second. */
  changed(): Now<ReeveError | undefined> {
    if (this.#changed !== undefined || this.#meta === undefined || stopwatch() - this.#lastLook < lookEveryMs)
      return this.#changed
    this.#lastLook = stopwatch()
    return this.#lookAgain()
  }

  async #lookAgain(): Promise<ReeveError | undefined> {
    let row: { id: string | null; clock: boolean; marked: boolean } | undefined
    try {
      ;[row] = await this.#ask<NonNullable<typeof row>>(this.#sql.look, [storeMark.stream, storeMark.key])
    } catch (thrown) {
      if (!isMissing(thrown)) throw thrown
      return (this.#changed ??= replaced(`the schema "${this.#target.schema}" of ${this.name} was removed`))
    }
    if (row!.id !== this.#meta!.id) return (this.#changed ??= replaced(`${this.name} holds another store`))
    this.#ownClock = row!.clock
    this.#isRedacted = row!.marked
    return this.#changed
  }

  mustHaveRules(): void {
    if (this.#options.redact === undefined && this.#isRedacted) throw storeIsRedacted(this.name)
  }

  time(): number {
    const now = this.#clock.now()
    if (this.#clock === systemClock) return now + this.#lease.ahead
    return this.#ownClock ? now : Math.max(now, systemClock.now() + this.#lease.ahead)
  }

  async useOwnClock(): Promise<void> {
    await this.#ask(this.#sql.ownClock, [])
    this.#ownClock = true
  }

  async remove(run: RunId): Promise<void> {
    const client = await (await this.#open()).connect()
    let broken = true
    try {
      await client.query('BEGIN')
      const { rows } = await client.query<Pick<StoredRun, 'ended' | 'caller' | 'created'>>(
        query(this.#sql.lockRun, [run]),
      )
      const [row] = rows
      if (row !== undefined && row.ended === null) throw openRun(run)
      const tags = row === undefined ? [] : tagsOf(callerIn(row))
      const columns = [tags.map(({ name }) => name), tags.map(({ value }) => value)]
      await client.query(query(this.#sql.removeTags, [...columns, row?.created ?? 0, run]))
      for (const statement of this.#sql.remove) await client.query(query(statement, [run]))
      for (const statement of this.#sql.removeStream) await client.query(query(statement, [runStream(run)]))
      await client.query('COMMIT')
      broken = false
    } finally {
      client.release(broken)
    }
  }

  /** Runs are kept as they are; the server compresses long values by itself. */
  archive(): boolean {
    return false
  }

  /** The server does so by itself. */
  shrink(): boolean {
    return false
  }

  leave(mustWait: () => boolean = () => false): void {
    this.#writer.leave()
    this.#farewell ??= new CloseWatch(
      () => connect(this.#target),
      () => this.#breakOff(),
      mustWait,
    )
  }

  /** Stops waiting for a silent server. */
  #breakOff(): void {
    for (const connection of [this.#commits, this.#side]) connection.breakOff(silentServer(this.name))
    for (const client of this.#pooled) hangUp(client)
  }

  #mustAnswer(): void {
    if (this.#farewell?.isSilent === true) throw silentServer(this.name)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#writer.close()
    await this.#lease.stop()
  }

  async letGo(except: readonly RunId[]): Promise<void> {
    this.#news.offer(await this.#lease.letGo(except))
  }

  async release(): Promise<void> {
    if (this.#meta === undefined) return
    this.#mustAnswer()
    await this.#claims.letGo()
    this.#news.offer(await this.#lease.end())
    await this.#writer.end()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.leave()
    try {
      await this.#news.close()
      this.#isClosed = true
      const pool = await this.#opening?.catch(() => undefined)
      await Promise.all([this.#commits.close(), this.#side.close()])
      await Promise.race([pool?.end(), delay(farewellMs)])
    } finally {
      this.#farewell?.end()
    }
  }
}

const nothing: Unread = { rows: [], others: [] }

function statements(s: string) {
  const named = (name: string, text: string): NamedStatement => [`reeve_${name}`, text]
  // a run and its child runs
  const within = (column: string): string => `(${column} = $1 OR ${isChildOf(column, '$1')})`
  return {
    mark: named(
      'mark',
      `INSERT INTO ${s}.value(stream, key, version, body) VALUES($1, $2, 1, 'true') ON CONFLICT DO NOTHING`,
    ),
    isMarked: named('is_marked', `SELECT 1 FROM ${s}.value WHERE stream = $1 AND key = $2`),
    look: named(
      'look',
      `SELECT (SELECT value FROM ${s}.meta WHERE key = 'id') AS id, EXISTS (SELECT 1 FROM ${s}.meta WHERE key = 'own-clock') AS clock,
      EXISTS (SELECT 1 FROM ${s}.value WHERE stream = $1 AND key = $2) AS marked`,
    ),
    ownClock: named('own_clock', `INSERT INTO ${s}.meta VALUES('own-clock', '1') ON CONFLICT DO NOTHING`),
    unread: named(
      'unread',
      `SELECT i.position, i.act, i.key, i.body FROM unnest($1::text[], $2::bigint[]) x(run, last)
      JOIN ${s}.inbox i ON i.run = x.run AND NOT i.taken AND i.position > x.last ORDER BY i.position`,
    ),
    lockRun: named('lock_run', `SELECT ended, caller, created FROM ${s}.run WHERE id = $1 FOR UPDATE`),
    // Its writes to its session's values stay; their idempotency keys are removed, so that a new run of the same id can
    // write.
    remove: [
      named(
        'raise_floor',
        `UPDATE ${s}.meta SET value = GREATEST(value::bigint, (SELECT COALESCE(max(position), 0) FROM ${s}.entry WHERE ${within('run')}))::text WHERE key = 'floor'`,
      ),
      ...['entry', 'summed', 'blob', 'question', 'account', 'done', 'indexed'].map((table) =>
        named(`remove_${table}`, `DELETE FROM ${s}.${table} WHERE ${within('run')}`),
      ),
      named(
        'remove_inbox',
        `DELETE FROM ${s}.inbox WHERE act = 'act_' || $1 OR (act >= 'act_' || $1 || '>' AND act < 'act_' || $1 || '?')`,
      ),
      named('remove_run', `DELETE FROM ${s}.run WHERE ${within('id')}`),
    ],
    removeTags: named(
      'remove_tags',
      `DELETE FROM ${s}.tag t USING unnest($1::text[], $2::text[]) x(name, value) WHERE t.name = x.name AND t.value = x.value AND t.created = $3 AND t.run = $4`,
    ),
    removeStream: ['value', 'value_log'].map((table) =>
      named(`remove_${table}`, `DELETE FROM ${s}.${table} WHERE stream = $1`),
    ),
  }
}
