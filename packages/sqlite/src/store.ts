/**
 * The store in an SQLite file: opens it and puts its parts together.
 *
 * Owns: one connection, and what is done with the file as a whole. Does not own: SQL (batch.ts, reader.ts, lease.ts),
 * how a store is opened (schema.ts).
 */
import type { DatabaseSync } from 'node:sqlite'
import { andThen, runOf, systemClock, type Clock, type Now, type ReeveError, type RunId } from '@reeve/core'
import { defaultLossLimit, type HostOptions, warning } from '@reeve/engine/host'
import {
  admittedRuns,
  type Batch,
  type BatchResult,
  type ClaimCandidate,
  type Claimed,
  type ClaimFilter,
  type InboxRow,
  refusedBy,
  type Store,
  type Unread,
} from '@reeve/engine/storage'
import { Archive, Archiver } from './archive.ts'
import { SqliteContents } from './contents.ts'
import { Identity } from './identity.ts'
import { SqliteIndex } from './run-index.ts'
import { SqliteLease } from './lease.ts'
import { SqliteQueries } from './queries.ts'
import { SqliteReader } from './reader.ts'
import { RedactedStore } from './redacted.ts'
import { removeRun } from './remove.ts'
import { isRefusal, openStore, storeError, type OpenOptions } from './schema.ts'
import { shrink } from './maintenance.ts'
import { SqliteBatchWriter } from './batch.ts'
import { closeWithoutCheckpoint, WriteAheadLog } from './write-ahead-log.ts'

/** How a file is kept. Of what the host is told, it has to know these. */
export interface SqliteOptions extends Pick<
  HostOptions,
  'clock' | 'lossLimit' | 'onWarning' | 'redact' | 'retentionMs'
> {
  /** Path of the store. Created if it does not exist. */
  readonly file: string
  /**
   * What a power failure may take. A killed process loses nothing, whatever stands here. `full` (default): answers of
   * models and what was read, of the last moments; they are asked for again. Everything else leaves, is told or is
   * shown only when what it depends on is on disk. `strict`: nothing; every commit waits for the disk, before a model is
   * asked, too. `relaxed`: the last moments, whatever was told of them.
   */
  readonly durability?: Durability
  /**
   * After this long without a heartbeat a process counts as dead on other hosts (other containers, too). A thread of
   * its own writes the heartbeat, so code that blocks the event loop does not stop it, for ten minutes. On one host a
   * process that has died is found at once, and one that lives is not taken for dead; only where a signal has stopped
   * it this time counts. With another `clock` than the system's there is no thread. Milliseconds, default 3,000.
   */
  readonly leaseMs?: number
  /** How long to wait for another process's lock on the file. Milliseconds, default 5,000. */
  readonly busyMs?: number
  /**
   * The journal of a run that ended so long ago is compressed in the file, little by little, by processes that drive
   * runs. Everything reads as before. Milliseconds, default an hour; `Infinity`: never.
   */
  readonly archiveAfterMs?: number
}

/** What a power failure may take (`SqliteOptions.durability`). */
export type Durability = 'full' | 'strict' | 'relaxed'

/** The default of `archiveAfterMs`. */
const hour = 3_600_000

export class SqliteStore implements Store {
  readonly name: string
  readonly kind = 'sqlite'
  readonly isPrivate = false
  readonly commitsFree = false
  readonly reader: SqliteReader
  readonly queries: SqliteQueries
  readonly index: SqliteIndex
  readonly contents: SqliteContents
  readonly lease: SqliteLease
  /** For tests and tools: the connection. */
  readonly db: DatabaseSync
  readonly #writer: SqliteBatchWriter
  readonly #archiver: Archiver
  readonly #archiveAfterMs: number
  /** For tests and tools. */
  readonly log: WriteAheadLog
  readonly #durability: Durability
  readonly #identity: Identity
  readonly #redacted: RedactedStore
  readonly #clock: Clock
  /** The last inbox row that was told. */
  #told: number
  /** Runs that were claimed and have not been asked for since: of them what was told before counts, too. */
  readonly #claimed = new Set<RunId>()

  /** Throws `store.*`. */
  constructor(options: SqliteOptions) {
    const { file } = options
    const { durability = 'full' } = options
    const open: OpenOptions = {
      file,
      busyMs: options.busyMs ?? 5_000,
      shrinks: options.retentionMs !== undefined,
    }
    this.name = file
    this.db = openStore(open)
    try {
      this.log = new WriteAheadLog(this.db, file, () => this.#identity.fileChanged)
    } catch (thrown) {
      closeWithoutCheckpoint(this.db)
      throw storeError(thrown, file)
    }
    this.#redacted = new RedactedStore(this.db, file, options.redact)
    const archive = new Archive(this.db)
    this.reader = new SqliteReader(this.db, archive)
    this.queries = new SqliteQueries(this.db, this.reader)
    this.index = new SqliteIndex(this.db, this.queries, () => this.log.wrote())
    this.contents = new SqliteContents(this.db, () => this.#wroteContents())
    this.#told = this.reader.lastInboxPosition()
    this.#clock = options.clock ?? systemClock
    this.#identity = new Identity(this.db, file)
    this.#writer = new SqliteBatchWriter(this.db, archive)
    this.#archiver = new Archiver(this.db)
    this.#archiveAfterMs = options.archiveAfterMs ?? hour
    this.#durability = durability
    this.lease = new SqliteLease(this.db, this.#clock, {
      file,
      leaseMs: options.leaseMs ?? 3_000,
      lossLimit: options.lossLimit ?? defaultLossLimit,
      warn: options.onWarning ?? warning,
    })
  }

  id(): string {
    return this.#identity.id
  }
  /**
   * Throws or rejects with what SQLite says; then nothing was written. What was written to a file that is not the store
   * any more counts as not written: it will not be read. Where commits are synced, that is looked at with each sync.
   */
  commit(batch: Batch): Now<BatchResult> {
    if (this.log.failed !== undefined) throw this.log.failed
    let result: BatchResult
    try {
      result = this.#writer.apply(batch)
    } catch (thrown) {
      throw this.#identity.fileChanged ?? thrown
    }
    const changed = this.#durability === 'relaxed' ? this.#identity.fileChanged : undefined
    if (changed !== undefined) throw changed
    this.#identity.reached(result.position)
    this.log.wrote()
    if (this.#durability === 'strict') return andThen(this.synced(), () => result)
    if (this.#durability === 'full') this.log.soon()
    return result
  }
  /** As a commit: what could not be read again must not count as kept. */
  #wroteContents(): Now<void> {
    const changed = this.log.failed ?? this.#identity.fileChanged
    if (changed !== undefined) throw changed
    this.log.wrote()
    if (this.#durability === 'strict') return this.synced()
    if (this.#durability === 'full') this.log.soon()
  }
  synced(): Now<void> {
    if (this.#durability !== 'relaxed') return this.log.synced()
  }
  /** One transaction for all of them: a claim each with its own `fsync` would be ten times as slow. */
  claim(wanted: ClaimFilter, admits: (candidate: ClaimCandidate) => boolean): Claimed[] {
    const admitted = admittedRuns(this.reader, this.lease.id, wanted, admits)
    if (admitted.size === 0) return []
    // a commit that is under way may hold them under the epoch before
    this.#writer.forget()
    return this.lease.claim([...admitted.keys()], (id, epoch) => {
      this.#claimed.add(id)
      return {
        run: admitted.get(id)!,
        epoch,
        accounts: this.reader.accounts(id),
        questions: this.reader.questionCount(id),
        children: this.reader.children(id),
        past: this.reader,
        mail: this.reader.unreadOf(id),
      }
    })
  }

  unread(held: ReadonlyMap<RunId, { readonly lastRow: number }>): Unread {
    const news = this.reader.unread(this.#told)
    const others = new Set<RunId>()
    const rows: InboxRow[] = []
    for (const id of this.#claimed) {
      const holder = held.get(id)
      if (holder === undefined) continue
      this.#claimed.delete(id)
      rows.push(
        ...this.reader.unreadOf(id).filter(({ position }) => position > holder.lastRow && position <= this.#told),
      )
    }
    for (const row of news) {
      const run = runOf(row.act)
      const holder = held.get(run)
      if (holder === undefined) others.add(run)
      else if (row.position > holder.lastRow) rows.push(row)
    }
    this.#told = news.at(-1)?.position ?? this.#told
    return { rows, others: [...others] }
  }
  moved(): 'all' | undefined {
    return this.#writer.moved() ? 'all' : undefined
  }
  listen(): void {
    // SQLite sends no notifications: the host polls it
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
  changed(): ReeveError | undefined {
    return this.log.failed ?? this.#identity.changed
  }
  mustHaveRules(): void {
    this.#redacted.mustHaveRules()
  }
  time(): number {
    const now = this.#clock.now()
    return this.#clock === systemClock || this.reader.hasOwnClock() ? now : Math.max(now, systemClock.now())
  }
  useOwnClock(): void {
    this.db.exec("INSERT OR IGNORE INTO meta VALUES('own-clock', '1')")
  }
  remove(run: RunId): void {
    removeRun(this.db, run)
    this.log.wrote()
    this.#writer.forget()
  }
  archive(now: number): boolean {
    const isMore = this.#archiver.some(now - this.#archiveAfterMs)
    this.log.wrote()
    return isMore
  }
  shrink(): boolean {
    const isMore = shrink(this.db)
    this.log.wrote()
    return isMore
  }
  leave(): void {
    // the answer of a file is never lost
  }
  async stop(): Promise<void> {
    await this.log.close()
    await this.lease.stop()
  }
  letGo(except: readonly RunId[]): void {
    this.lease.letGo(except)
  }
  release(): void {
    this.lease.end()
  }
  close(): void {
    if (this.log.mayCheckpoint) this.db.close()
    else closeWithoutCheckpoint(this.db)
  }
}
