/**
 * Leases: which process drives which run (K2). A process keeps one heartbeat for all its runs; a run names its owner.
 *
 * Owns: the process's identity, finding owners that are dead, counting how often a run was lost with its owner,
 * claiming runs.
 * Does not own: the heartbeat's thread (heartbeat.ts), fencing of writes (batch.ts), when a run that was lost is taken
 * up again (host/crash-loop-guard.ts).
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import {
  failureFrom,
  newId,
  ReeveError,
  rootActivation,
  stopwatch,
  systemClock,
  type Clock,
  type RunId,
} from '@reeve/core'
import { graceFor, steadyMs } from '@reeve/engine/host'
import type { ReleasedOwners, StoreLease } from '@reeve/engine/storage'
import { Heartbeat, hungMs } from './heartbeat.ts'
import { prepared } from './statements.ts'

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * Where pids mean the same processes: two containers of one machine share its boot and may share its name, but not
 * their pids.
 */
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
 * A process of this host as proc(5) tells: when it started (field 22, clock ticks since boot) and whether it stands
 * still (stopped by a signal or a debugger). Undefined if it does not exist or cannot be known; a zombie, which has
 * died without being reaped, does not count.
 */
function processOf(pid: number): { readonly started: string; readonly isStopped: boolean } | undefined {
  const stat = read(`/proc/${pid}/stat`)
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, started] = [fields?.[0], fields?.[19]]
  if (started === undefined || state === 'Z' || state === 'X') return undefined
  return { started, isStopped: state === 'T' || state === 't' }
}

/** A process as the store has it. */
export interface ProcessRow {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly started: string
  readonly until: number
}

/** The name of the host of a process. */
export const hostIn = ({ host }: ProcessRow): string => host.slice(0, host.indexOf(':'))

/**
 * Whether a process lives, for those who only look: its lease holds, or it is one of this host that is there. Undefined:
 * on another host, and its lease is over; an idle process does not lengthen it.
 */
export function isAlive(row: ProcessRow, now: number): boolean | undefined {
  if (now <= row.until) return true
  return row.host === bootId() && !row.host.endsWith('unknown-boot')
    ? processOf(row.pid)?.started === row.started
    : undefined
}

/** A lease is lengthened to so many times its length at most, for runs that are lost again and again. */
const stretchLimit = 4
/**
 * Who has been silent for too long is given this long to say something after this process could write: a lock may have
 * kept both from it. Milliseconds.
 */
const graceMs = 500

/** How a process keeps its lease. */
export interface SqliteLeaseOptions {
  readonly file: string
  readonly leaseMs: number
  /** After this many losses in a row a run is set aside. */
  readonly lossLimit: number
  readonly warn: (code: string, message: string) => void
}

export class SqliteLease implements StoreLease {
  readonly id = newId('prc')
  readonly #clock: Clock
  readonly #options: SqliteLeaseOptions
  readonly #host = bootId()
  readonly #started = processOf(process.pid)?.started ?? String(process.pid)
  readonly #sql: Record<keyof typeof statements, StatementSync>
  readonly #db: DatabaseSync
  readonly #heartbeat = new Heartbeat()
  /** Owners whose lease is over, how it read, and since when this process has waited for a word of theirs. */
  readonly #silent = new Map<string, { readonly until: number; readonly since: number }>()
  #isThreadFailed = false
  /** Of the event loop. Milliseconds. */
  #delayMs = 0

  constructor(db: DatabaseSync, clock: Clock, options: SqliteLeaseOptions) {
    this.#db = db
    this.#clock = clock
    this.#options = options
    this.#sql = prepared(db, statements)
    this.stretch(0)
  }

  /**
   * Whether this process may believe that its runs are its own. False after it stood still for longer than the lease:
   * then it must look first.
   */
  get fresh(): boolean {
    return this.#heartbeat.get('stoodStill') === 0 && this.#clock.now() < this.#heartbeat.get('until')
  }

  /**
   * Among its runs is one that was lost so often: the lease becomes longer, so that whatever takes its time there can
   * come to an end.
   */
  stretch(losses: number): void {
    this.#heartbeat.set('leaseMs', this.#options.leaseMs * Math.min(2 ** losses, stretchLimit))
  }

  /** The event loop moves. */
  moved(delayMs = this.#delayMs): void {
    this.#delayMs = delayMs
    this.#heartbeat.set('moved', this.#clock.now())
  }

  /**
   * Tells the others that this process lives. The lease counts from before the row is written: that may take its time.
   */
  beat(): void {
    const now = this.#clock.now()
    const was = this.#heartbeat.get('until')
    const until = now + this.#heartbeat.leaseMs
    if (was !== 0 && now >= was) this.#heartbeat.set('stoodStill', 1)
    this.#sql.beat.run(this.id, this.#host, process.pid, this.#started, until)
    this.#heartbeat.set('until', until)
  }

  /**
   * From here on there are runs to lose: the lease is not near its end, and a thread keeps it while users' code has the
   * event loop.
   */
  guard(): void {
    if (this.heartbeatDue) this.beat()
    this.moved()
    // A test's clock is moved by the test.
    if (this.#clock !== systemClock || this.#isThreadFailed) return
    this.#heartbeat.start(this.#options.file, this.id, (message) => {
      this.#isThreadFailed = true
      this.#options.warn(
        'lease.no-thread',
        `heartbeats share the event loop with tools: the thread for them did not start (${message}). In a bundle, leave the package "reeve" external.`,
      )
    })
  }

  /**
   * After standing still: takes the lease again, and only then looks which of these runs are still this process's own.
   */
  reclaim(runs: Iterable<[RunId, number]>): Set<RunId> {
    this.beat()
    this.#heartbeat.set('stoodStill', 0)
    return this.#owned(runs)
  }

  /** Due for another heartbeat. */
  get heartbeatDue(): boolean {
    const [until, leaseMs] = [this.#heartbeat.get('until'), this.#heartbeat.leaseMs]
    return this.#clock.now() > until - (leaseMs * 2) / 3
  }

  /** Takes runs away from owners that are dead, and sets those aside that were lost too often. */
  releaseDead(): ReleasedOwners {
    const now = this.#clock.now()
    const aside: ReleasedOwners['aside'][number][] = []
    let owners = 0
    for (const row of this.#sql.others.all(this.id) as unknown as ProcessRow[]) {
      if (!this.#isDead(row, now)) continue
      this.#silent.delete(row.id)
      this.#transaction(() => {
        // It may have said something while this process waited for the lock.
        if ((this.#sql.until.get(row.id) as { until: number } | undefined)?.until !== row.until) return
        this.#sql.lose.run(row.id)
        this.#forget(row.id)
        aside.push(...this.#setAside())
        owners++
      })
    }
    // Asked first: an UPDATE of nothing would take the file's write lock ten times a second.
    if (this.#sql.stray.get() !== undefined) owners += Number(this.#sql.releaseStray.run().changes)
    return { owners, aside }
  }

  /**
   * Whether a process is dead. Another one of this host: if none has its pid and start time; while it lives, and no
   * signal has stopped it, only after a very long silence. Any other: if its lease is over and it says nothing although
   * this process can write.
   */
  #isDead(row: ProcessRow, now: number): boolean {
    if (row.host === this.#host && row.pid !== process.pid && !row.host.endsWith('unknown-boot')) {
      const found = processOf(row.pid)
      if (found?.started !== row.started) return true
      if (!found.isStopped) return now > row.until + hungMs
    }
    if (now <= row.until) return false
    if (this.#clock !== systemClock) return true
    const silent = this.#silent.get(row.id)
    if (silent?.until === row.until) {
      const grace = graceFor(Math.min(graceMs, this.#options.leaseMs), this.#delayMs)
      return stopwatch() - silent.since >= grace
    }
    this.beat()
    this.#silent.set(row.id, { until: row.until, since: stopwatch() })
    return false
  }

  /**
   * Of the runs that no process drives now, those that were lost too often. What an operator said to them was heard by
   * a process that died on it.
   */
  #setAside(): ReleasedOwners['aside'] {
    const { lossLimit } = this.#options
    const lost = this.#sql.lostTooOften.all(lossLimit) as { id: RunId; losses: number }[]
    return lost.map(({ id: run, losses }) => {
      const message = `its process died or stopped answering ${losses} times in a row, within ${steadyMs / 1_000} seconds of taking it up`
      const hint =
        'Look at what it does when it goes on (memory, native code, endless loops), then: reeve resume tries it once more, reeve cancel ends it.'
      const error = new ReeveError('run.crash-loop', `the run "${run}": ${message}`, { hint })
      this.#sql.setAside.run(JSON.stringify(failureFrom(error, error.code)), run)
      this.#sql.forgetWords.run(rootActivation(run), losses > lossLimit ? '!cancel' : null)
      return { run, error }
    })
  }

  /**
   * Makes runs this process's own, in one transaction with what `read` reads of each. Left out: those with which
   * another process was faster, or that have ended.
   */
  claim<T>(runs: readonly RunId[], read: (run: RunId, epoch: number) => T): T[] {
    if (runs.length === 0) return []
    // Not only when the lease is over: an idle process is near its end, and with a run it must not be taken for dead.
    this.guard()
    const claimed: T[] = []
    this.#transaction(() => {
      for (const run of runs) {
        const row = this.#sql.claim.get(this.id, run, this.id) as { epoch: number } | undefined
        if (row !== undefined) claimed.push(read(run, row.epoch))
      }
    })
    return claimed
  }

  /** Runs that were lost before are like any other again. */
  resetLosses(runs: readonly RunId[]): void {
    for (const run of runs) this.#sql.resetLosses.run(run, this.id)
  }

  #owned(runs: Iterable<[RunId, number]>): Set<RunId> {
    const owned = new Set<RunId>()
    for (const [run, epoch] of runs) {
      const row = this.#sql.held.get(run) as { owner: string | null; epoch: number } | undefined
      if (row?.owner === this.id && row.epoch === epoch) owned.add(run)
    }
    return owned
  }

  report(text: string): void {
    this.#sql.report.run(this.id, text)
  }

  #forget(process: string): void {
    this.#sql.forget.run(process)
    this.#sql.forgetReport.run(process)
  }

  /** The thread says nothing any more: what this process holds is lost to it. */
  abandon(): void {
    this.#heartbeat.set('moved', 0)
  }

  /** Ends the thread. */
  async stop(): Promise<void> {
    await this.#heartbeat.stop()
  }

  /** Releases every run but these. */
  letGo(except: readonly RunId[]): void {
    this.#sql.letGo.run(this.id, JSON.stringify(except))
  }

  /** Lets everything go. */
  end(): void {
    if (this.#heartbeat.get('until') === 0) return
    this.#transaction(() => {
      this.#sql.release.run(this.id)
      this.#forget(this.id)
    })
  }

  #transaction(body: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      body()
      this.#db.exec('COMMIT')
    } catch (thrown) {
      // a COMMIT that failed, on a full disk, may have rolled back by itself
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw thrown
    }
  }
}

const statements = {
  beat: 'INSERT INTO process VALUES(?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET until = excluded.until',
  others: 'SELECT * FROM process WHERE id <> ?',
  until: 'SELECT until FROM process WHERE id = ?',
  release: 'UPDATE run SET owner = NULL, losses = 0 WHERE owner = ? AND ended IS NULL',
  letGo:
    'UPDATE run SET owner = NULL, losses = 0 WHERE owner = ? AND ended IS NULL AND parked = 0 AND id NOT IN (SELECT value FROM json_each(?))',
  lose: 'UPDATE run SET owner = NULL, losses = losses + 1 WHERE owner = ? AND ended IS NULL',
  lostTooOften:
    'SELECT id, losses FROM run WHERE losses > 1 AND losses >= ? AND ended IS NULL AND parked = 0 AND owner IS NULL',
  resetLosses: 'UPDATE run SET losses = 0 WHERE id = ? AND owner = ?',
  setAside: 'UPDATE run SET stuck = ?, parked = 1 WHERE id = ?',
  forgetWords: "DELETE FROM inbox WHERE act = ? AND taken = 0 AND (key GLOB '!resume*' OR key = ?)",
  stray:
    'SELECT 1 FROM run WHERE ended IS NULL AND parked = 0 AND owner IS NOT NULL AND owner NOT IN (SELECT id FROM process) LIMIT 1',
  releaseStray:
    'UPDATE run SET owner = NULL WHERE ended IS NULL AND parked = 0 AND owner IS NOT NULL AND owner NOT IN (SELECT id FROM process)',
  forget: 'DELETE FROM process WHERE id = ?',
  report: 'INSERT INTO report VALUES(?, ?) ON CONFLICT(process) DO UPDATE SET body = excluded.body',
  forgetReport: 'DELETE FROM report WHERE process = ?',
  claim:
    'UPDATE run SET owner = ?, epoch = epoch + 1, parked = 0 WHERE id = ? AND ended IS NULL AND (owner IS NULL OR owner = ?) RETURNING epoch',
  held: 'SELECT owner, epoch FROM run WHERE id = ?',
} as const
