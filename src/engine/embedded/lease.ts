/**
 * Leases: which process drives which run (K2). A process keeps one heartbeat for all its runs; a run names its owner.
 *
 * Owns: the process's identity, its heartbeat, finding owners that are dead, claiming runs. Does not own: fencing of writes (batch.ts).
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { newId, type Clock, type RunId } from '../../core/index.ts'

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Where pids mean the same processes: two containers of one machine share its boot and may share its name, but not their pids. */
function pidSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

/** This boot of this machine, so that a pid of another machine or of before a restart is not taken for ours. */
function bootId(): string {
  return `${hostname()}:${pidSpace()}:${read('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown-boot'}`
}

/**
 * When a process started (clock ticks since boot, proc(5) field 22); undefined if there is no such process or no way to know.
 * One that has died and that its parent has not asked about yet (a zombie) is none.
 */
function startOf(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`)
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields?.[0] === 'Z' || fields?.[0] === 'X' ? undefined : fields?.[19]
}

interface ProcessRow {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly started: string
  readonly until: number
}

export class Lease {
  readonly id = newId('prc')
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #host = bootId()
  readonly #started = startOf(process.pid) ?? String(process.pid)
  readonly #sql: Record<keyof typeof statements, StatementSync>
  readonly #db: DatabaseSync
  #until = 0
  /** It stood still for longer than its lease and has not looked since what is left to it. A heartbeat alone does not change that. */
  #suspect = false

  constructor(db: DatabaseSync, clock: Clock, leaseMs: number) {
    this.#db = db
    this.#clock = clock
    this.#leaseMs = leaseMs
    this.#sql = Object.fromEntries(Object.entries(statements).map(([name, text]) => [name, db.prepare(text)])) as Record<
      keyof typeof statements,
      StatementSync
    >
  }

  /** Whether this process may believe that its runs are its own. False after it stood still for longer than the lease: then it must look first. */
  get fresh(): boolean {
    return !this.#suspect && this.#clock.now() < this.#until
  }

  /** Tells the others that this process lives. The lease counts from before the row is written: that may take its time. */
  beat(): void {
    const now = this.#clock.now()
    if (this.#until !== 0 && now >= this.#until) this.#suspect = true
    this.#sql.beat.run(this.id, this.#host, process.pid, this.#started, now + this.#leaseMs)
    this.#until = now + this.#leaseMs
  }

  /** After standing still: takes the lease again, and only then looks which of these runs are still this process's own. */
  lookAgain(runs: Iterable<[RunId, number]>): Set<RunId> {
    this.beat()
    const owned = this.#owned(runs)
    this.#suspect = false
    return owned
  }

  /** Due for another heartbeat. */
  get tired(): boolean {
    return this.#clock.now() > this.#until - (this.#leaseMs * 2) / 3
  }

  /** Takes runs away from owners that are dead: provably on this host, by a missed heartbeat on any other. Returns how many owners. */
  buryDead(): number {
    const now = this.#clock.now()
    let buried = 0
    for (const row of this.#sql.others.all(this.id) as unknown as ProcessRow[]) {
      const provablyDead = row.host === this.#host && !row.host.endsWith('unknown-boot') && startOf(row.pid) !== row.started
      if (!provablyDead && now <= row.until) continue
      this.#transaction(() => {
        this.#sql.release.run(row.id)
        this.#sql.forget.run(row.id)
      })
      buried++
    }
    // Asked first: an UPDATE of nothing would take the file's write lock ten times a second.
    return this.#sql.stray.get() === undefined ? buried : buried + Number(this.#sql.releaseStray.run().changes)
  }

  /** Makes a run this process's own. Returns the new epoch, or undefined if somebody else was faster or it has ended. */
  claim(run: RunId): number | undefined {
    // Not only when the lease is over: whoever has had nothing to do is near its end, and with a run it must not be taken for dead.
    if (this.tired) this.beat()
    // All rows, not the first: SQLite commits after the last one, and only who asks for it hears that this failed (a full disk).
    const [row] = this.#sql.claim.all(this.id, run, this.id) as { epoch: number }[]
    return row?.epoch
  }

  #owned(runs: Iterable<[RunId, number]>): Set<RunId> {
    const owned = new Set<RunId>()
    for (const [run, epoch] of runs) {
      const row = this.#sql.held.get(run) as { owner: string | null; epoch: number } | undefined
      if (row?.owner === this.id && row.epoch === epoch) owned.add(run)
    }
    return owned
  }

  /** Lets everything go. */
  end(): void {
    if (this.#until === 0) return
    this.#transaction(() => {
      this.#sql.release.run(this.id)
      this.#sql.forget.run(this.id)
    })
  }

  #transaction(body: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      body()
      this.#db.exec('COMMIT')
    } catch (thrown) {
      this.#db.exec('ROLLBACK')
      throw thrown
    }
  }
}

const statements = {
  beat: 'INSERT INTO process VALUES(?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET until = excluded.until',
  others: 'SELECT * FROM process WHERE id <> ?',
  release: 'UPDATE run SET owner = NULL WHERE owner = ? AND ended IS NULL',
  stray: 'SELECT 1 FROM run WHERE ended IS NULL AND parked = 0 AND owner IS NOT NULL AND owner NOT IN (SELECT id FROM process) LIMIT 1',
  releaseStray:
    'UPDATE run SET owner = NULL WHERE ended IS NULL AND parked = 0 AND owner IS NOT NULL AND owner NOT IN (SELECT id FROM process)',
  forget: 'DELETE FROM process WHERE id = ?',
  claim:
    'UPDATE run SET owner = ?, epoch = epoch + 1, parked = 0 WHERE id = ? AND ended IS NULL AND (owner IS NULL OR owner = ?) RETURNING epoch',
  held: 'SELECT owner, epoch FROM run WHERE id = ?',
} as const
