/**
 * The store of `:memory:`: plain objects in the process. It is lost with it.
 *
 * Owns: putting its parts together, how many ended runs are kept. Does not own: what a batch means (batch.ts), reading
 * (reader.ts), queries (../queries-over.ts).
 */
import { messageOf, newId, ReeveError, runOf, systemClock, type Clock, type RunId } from '@reeve/core'
import type { HostOptions } from '../host/index.ts'
import { admittedRuns } from '../admission.ts'
import type {
  Batch,
  BatchResult,
  ClaimCandidate,
  Claimed,
  ClaimFilter,
  InboxRow,
  Store,
  StoreContents,
  StoreQueries,
  Unread,
} from '../store.ts'
import { unknownRun } from '../port.ts'
import { queriesOver } from '../queries-over.ts'
import { refusedBy } from '../refusal.ts'
import { apply, Refused } from './batch.ts'
import { MemoryLease } from './lease.ts'
import { MemoryReader } from './reader.ts'
import { inboxRow, MemoryTables } from './tables.ts'

/** Ended runs beyond so many are removed, the oldest first, some at a time. */
const endedRunsKept = 1_000
const removedAtOnce = 100

/** How a store in memory is kept. */
export interface MemoryOptions extends Pick<HostOptions, 'clock' | 'retentionMs'> {
  /** After it stood still for this long the process looks at its runs anew. Milliseconds, default 3,000. */
  readonly leaseMs?: number
}

export class MemoryStore implements Store {
  readonly name = ':memory:'
  readonly kind = 'memory'
  readonly isPrivate = true
  readonly commitsFree = true
  readonly reader: MemoryReader
  readonly queries: StoreQueries
  readonly lease: MemoryLease
  readonly contents: StoreContents
  readonly #id = newId('sto')
  #held: MemoryTables | undefined
  readonly #clock: Clock
  readonly #keepsAll: boolean
  #hasOwnClock = false
  /** The last inbox row that was told. */
  #told = 0
  /** Runs that were claimed and have not been asked for since: of them what was told before counts, too. */
  readonly #claimed = new Set<RunId>()

  constructor({ clock = systemClock, leaseMs = 3_000, retentionMs }: MemoryOptions) {
    this.#clock = clock
    this.#keepsAll = retentionMs !== undefined
    const open = (): MemoryTables => this.#tables
    this.lease = new MemoryLease(open, clock, leaseMs)
    this.#held = new MemoryTables(this.lease.id)
    this.reader = new MemoryReader(open)
    this.contents = {
      keep: (run, pieces) => {
        const kept = this.#tables.runs.get(run)?.contents
        if (kept === undefined) throw unknownRun(run)
        for (const [key, body] of pieces) kept.set(key, body)
      },
      piece: (run, key) => this.#tables.runs.get(run)?.contents.get(key),
    }
    this.queries = queriesOver({
      runs: (of) => this.reader.scan(of),
      processes: (_now, most) => this.lease.process(most),
    })
  }

  get #tables(): MemoryTables {
    if (this.#held !== undefined) return this.#held
    throw new ReeveError('store.unavailable', `${this.name}: the store was closed`, { hint: 'Create a new runtime.' })
  }

  id(): string {
    return this.#id
  }
  commit(batch: Batch): BatchResult {
    const { result, ends } = apply(this.#tables, batch)
    if (ends.length === 0) return result
    this.reader.heard(ends)
    if (!this.#keepsAll) this.#removeOldest(new Set(ends.map(({ id }) => id)))
    return result
  }

  synced(): undefined {
    // no power failure leaves anything of it
  }

  /** What has just ended is asked for yet. */
  #removeOldest(ended: ReadonlySet<RunId>): void {
    const over = this.#tables.ended.size - endedRunsKept
    if (over < removedAtOnce) return
    const oldest: RunId[] = []
    for (const { id } of this.#tables.ended) {
      if (oldest.length >= over) break
      if (!ended.has(id) && this.reader.children(id).length === 0) oldest.push(id)
    }
    this.#tables.remove(oldest)
  }

  claim(wanted: ClaimFilter, admits: (candidate: ClaimCandidate) => boolean): Claimed[] {
    const admitted = admittedRuns(this.reader, this.lease.id, wanted, admits)
    if (admitted.size > 0) this.lease.guard()
    return [...admitted].map(([id, before]): Claimed => {
      const run = this.#tables.runs.get(id)!
      Object.assign(run, { owner: this.lease.id, epoch: run.epoch + 1, isParked: false })
      this.#tables.place(run)
      this.#claimed.add(id)
      return {
        run: before,
        epoch: run.epoch,
        accounts: this.reader.accounts(id),
        questions: this.reader.questionCount(id),
        children: this.reader.children(id),
        past: this.reader,
        mail: this.reader.unreadOf(id),
      }
    })
  }

  unread(held: ReadonlyMap<RunId, { readonly lastRow: number }>): Unread {
    const told = this.#told
    const { arrivals } = this.#tables
    if (this.#claimed.size === 0 && arrivals.length === 0) return nothing
    this.#tables.arrivals = []
    const rows: InboxRow[] = []
    for (const id of this.#claimed) {
      const holder = held.get(id)
      if (holder === undefined) continue
      this.#claimed.delete(id)
      rows.push(...this.reader.unreadOf(id).filter(({ position }) => position > holder.lastRow && position <= told))
    }
    const others = new Set<RunId>()
    for (const row of arrivals) {
      if (row.body === undefined) continue
      const run = runOf(row.act.id)
      const holder = held.get(run)
      if (holder === undefined) others.add(run)
      else if (row.position > holder.lastRow) rows.push(inboxRow(row))
    }
    this.#told = this.#tables.lastMail
    return { rows, others: [...others] }
  }
  moved(): undefined {
    return undefined
  }
  listen(): void {
    // nobody else writes
  }
  errorOf(thrown: unknown): ReeveError {
    if (ReeveError.is(thrown)) return thrown
    return new ReeveError('store.unavailable', `${this.name}: ${messageOf(thrown)}`, { retryable: true, cause: thrown })
  }
  isRefusal(thrown: unknown): boolean {
    return thrown instanceof Refused
  }
  refusedBy(thrown: unknown, run: string | undefined): ReeveError {
    return refusedBy(thrown, this.name, run)
  }
  changed(): undefined {
    return undefined
  }
  mustHaveRules(): void {
    // no other process was here, with rules or without
  }
  time(): number {
    const now = this.#clock.now()
    return this.#clock === systemClock || this.#hasOwnClock ? now : Math.max(now, systemClock.now())
  }
  useOwnClock(): void {
    this.#hasOwnClock = true
  }
  remove(run: RunId): void {
    this.#tables.remove([run])
  }
  archive(): boolean {
    return false
  }
  shrink(): boolean {
    return false
  }
  leave(): void {
    // its answer is never lost
  }
  async stop(): Promise<void> {
    // nothing works beside the event loop
  }
  letGo(): void {
    // there is no other process
  }
  release(): void {
    this.lease.end()
  }
  close(): void {
    this.#held = undefined
  }
}

const nothing: Unread = { rows: [], others: [] }
