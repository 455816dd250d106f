/**
 * The store in an SQLite file: opens it and puts its parts together.
 *
 * Owns: one connection, and what is done with the file as a whole. Does not own: SQL (batch.ts, reader.ts, lease.ts), how a store is opened (schema.ts).
 */
import type { DatabaseSync } from 'node:sqlite'
import { systemClock, type ReeveError, type RunId } from '../../core/index.ts'
import { defaultLossLimit, warning, type HostOptions } from '../host/index.ts'
import type { Batch, BatchResult, Store } from '../store.ts'
import { Identity } from './identity.ts'
import { Lease } from './lease.ts'
import { Reader } from './reader.ts'
import { RedactedStore } from './redacted.ts'
import { removeRun } from './remove.ts'
import { isRefusal, openStore, refusedBy, storeError, type OpenOptions } from './schema.ts'
import { shrink } from './upkeep.ts'
import { Writer, type WriterMode } from './writer.ts'

/** How a file is kept. Of what the host is told, it has to know these. */
export interface SqliteOptions extends Pick<HostOptions, 'clock' | 'lossLimit' | 'onWarning' | 'redact' | 'retentionMs'> {
  /** Path of the store, or `:memory:`. Created if it does not exist. */
  readonly file: string
  /** `full` (default): what is committed survives power loss. `relaxed`: it survives a killed process only. */
  readonly durability?: 'full' | 'relaxed'
  /**
   * After this long without a heartbeat a process counts as dead on other hosts (other containers, too). A thread of its own writes the heartbeat, so code that blocks the event loop does not stop it,
   * for ten minutes. On one host a process that has died is found at once, and one that lives is not taken for dead; only where a signal has stopped it this time counts. With another `clock`
   * than the system's there is no thread. Milliseconds, default 3,000.
   */
  readonly leaseMs?: number
  /** How long to wait for another process's lock on the file. Milliseconds, default 5,000. */
  readonly busyMs?: number
  readonly writer?: WriterMode
}

export class SqliteStore implements Store {
  readonly name: string
  readonly isPrivate: boolean
  readonly reader: Reader
  readonly lease: Lease
  /** For tests and tools: the connection. */
  readonly db: DatabaseSync
  readonly #writer: Writer
  readonly #identity: Identity
  readonly #redacted: RedactedStore

  /** Throws `store.*`. */
  constructor(options: SqliteOptions) {
    const { file } = options
    const open: OpenOptions = {
      file,
      durability: options.durability ?? 'full',
      busyMs: options.busyMs ?? 5_000,
      shrinks: options.retentionMs !== undefined,
    }
    this.name = file
    this.isPrivate = file === ':memory:'
    this.db = openStore(open)
    this.#redacted = new RedactedStore(this.db, file, options.redact)
    this.reader = new Reader(this.db)
    this.#identity = new Identity(this.db, file)
    this.#writer = new Writer(this.db, this.#identity, open, options.writer ?? 'auto')
    this.lease = new Lease(this.db, options.clock ?? systemClock, {
      file,
      leaseMs: options.leaseMs ?? 3_000,
      lossLimit: options.lossLimit ?? defaultLossLimit,
      warn: options.onWarning ?? warning,
    })
  }

  commit(batch: Batch): BatchResult | Promise<BatchResult> {
    return this.#writer.commit(batch)
  }
  get mayLag(): boolean {
    return this.#writer.mode === 'thread'
  }
  moved(): boolean {
    return this.#writer.moved()
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
  get changed(): ReeveError | undefined {
    return this.#identity.changed
  }
  mustHaveRules(): void {
    this.#redacted.mustHaveRules()
  }
  useOwnClock(): void {
    this.db.exec("INSERT OR IGNORE INTO meta VALUES('own-clock', '1')")
  }
  remove(run: RunId): void {
    removeRun(this.db, run)
    this.#writer.forget()
  }
  shrink(): boolean {
    return shrink(this.db)
  }
  async stop(): Promise<void> {
    await this.#writer.close()
    await this.lease.stop()
  }
  release(): void {
    this.lease.end()
  }
  close(): void {
    this.db.close()
  }
}
