/**
 * Leases: which process holds which run (K2), by the server's clock. A process keeps one heartbeat for all its runs; a
 * run names its owner.
 *
 * Owns: this process's row, finding processes that are dead, counting how often a run was lost with its owner. Does not
 * own: the heartbeat's thread (heartbeat.ts), fencing (commit.ts), claiming (claim.ts).
 *
 * A lease is over when the server's clock says so. Here it counts from before its heartbeat was sent, by a steady
 * clock, so that it ends here before it ends there, whatever clock this host has. A process that has died is noticed
 * before that: it holds an advisory lock for as long as its session with the server lives, and its row says so. If the
 * lock is free while the server that it was taken on still runs, and the row does not change for a moment, the process
 * is gone. A process whose session was lost lets nothing out until it has taken the lock again, or has said that it has
 * none (`fresh`). With another clock than the system's there is neither a thread nor a lock: leases begin and end by
 * that clock.
 */
import { failureFrom, ReeveError, stopwatch, systemClock, type Clock, type Now, type RunId } from '@reeve/core'
import { graceFor, steadyMs } from '@reeve/engine/host'
import type { ReleasedOwners, StoreLease } from '@reeve/engine/storage'
import type { StoreConnection, NamedStatement, SchemaAddress } from './connection.ts'
import { beatStatements, lockOf, HeartbeatMemory, noteBeat, PostgresHeartbeat, type BeatRow } from './heartbeat.ts'

/** A lease is lengthened to so many times its length at most, for runs that are lost again and again. */
const stretchLimit = 4
/**
 * A silent process is given this long for a heartbeat after it was noticed: the server or the network may have delayed
 * it. Milliseconds.
 */
const graceMs = 500
/** Owners that are in no list are looked for so often. Milliseconds. */
const straysEveryMs = 1_000
/**
 * The processes of a store share the watch over one another: together they look about once in this time, each of them at
 * least once in the longest one. A process that was found silent is looked at again soon. Milliseconds.
 */
const watchMs = 100
const watchLongestMs = 1_000
/** At most this many runs are released in one transaction. */
const releasedAtOnce = 1_000

export interface PostgresLeaseOptions extends SchemaAddress {
  readonly id: string
  readonly leaseMs: number
  /** After this many losses in a row a run is set aside. */
  readonly lossLimit: number
  readonly clock: Clock
  readonly warn: (code: string, message: string) => void
}

export class PostgresLease implements StoreLease {
  readonly id: string
  readonly #connection: Pick<StoreConnection, 'ask'>
  readonly #clock: Clock
  readonly #options: PostgresLeaseOptions
  readonly #sql: ReturnType<typeof statements>
  readonly #beat: ReturnType<typeof beatStatements>
  readonly #memory = new HeartbeatMemory()
  readonly #pulse: PostgresHeartbeat
  /** Silent processes: how their row read, and since when this process has waited for a word of theirs. */
  readonly #silent = new Map<string, { readonly until: number; readonly since: number }>()
  /** With a clock of its own: when the lease is over by it. */
  #until = 0
  #presence: ReturnType<typeof setInterval> | undefined
  #isThere = false
  #lastStrays = 0
  /** Of the event loop. Milliseconds. */
  #delayMs = 0

  constructor(connection: Pick<StoreConnection, 'ask'>, options: PostgresLeaseOptions) {
    this.id = options.id
    this.#connection = connection
    this.#clock = options.clock
    this.#options = options
    this.#sql = statements(`"${options.schema}"`)
    this.#beat = beatStatements(options.schema)
    this.#pulse = new PostgresHeartbeat(
      { address: options.address, schema: options.schema, process: this.id, memory: this.#memory.buffer },
      (message) =>
        options.warn(
          'lease.no-thread',
          `heartbeats share the event loop with tools: the thread for them did not start (${message}). In a bundle, leave the package "reeve" external.`,
        ),
    )
    this.stretch(0)
    this.moved()
  }

  get #ownClock(): boolean {
    return this.#clock !== systemClock
  }

  get fresh(): boolean {
    if (this.#memory.get('stoodStill') === 1) return false
    return this.#ownClock ? this.#clock.now() < this.#until : this.#memory.isFresh
  }

  get heartbeatDue(): boolean {
    const leaseMs = this.#memory.lease
    return this.#ownClock ? this.#clock.now() > this.#until - (leaseMs * 2) / 3 : this.#memory.left < leaseMs / 3
  }

  /** How far the server's clock is ahead of the system's, in milliseconds. */
  get ahead(): number {
    return this.#memory.get('ahead')
  }

  /** Whether other processes may want to hear of what this one does. */
  get hasOthers(): boolean {
    return this.#ownClock || this.#memory.get('others') > 0
  }

  /** There is another process. True if this one did not know of any. */
  heardOthers(): boolean {
    if (this.#memory.get('others') > 0) return false
    this.#memory.set('others', 1)
    return true
  }

  stretch(losses: number): void {
    this.#memory.set('leaseMs', this.#options.leaseMs * Math.min(2 ** losses, stretchLimit))
  }

  moved(delayMs = this.#delayMs): void {
    this.#delayMs = delayMs
    this.#memory.noteMoved()
  }

  /** Writes a heartbeat. */
  async beat(): Promise<void> {
    this.#isThere = true
    const leaseMs = this.#memory.lease
    if (this.#ownClock) {
      const now = this.#clock.now()
      const was = this.#until
      await this.#connection.ask(this.#sql.beatAt, [this.id, now + leaseMs, lockOf(this.id)])
      if (was !== 0 && now >= was) this.#memory.set('stoodStill', 1)
      this.#until = now + leaseMs
      return
    }
    const sent = this.#memory.now()
    const keeps = this.#memory.get('session') === 1
    const [row] = await this.#connection.ask<BeatRow>(this.#beat.here, [this.id, leaseMs, lockOf(this.id), keeps])
    noteBeat(this.#memory, sent, leaseMs, row!)
    // Its row says now that it has no lock, so a free lock does not mean that it is dead.
    if (!keeps) this.#memory.swap('session', -1, 0)
  }

  guard(): Now<void> {
    this.hold()
    return this.freshen()
  }

  /**
   * There are runs to lose: from now on a thread says that this process lives. True: it has just been started, and
   * takes a moment.
   */
  hold(): boolean {
    return !this.#ownClock && this.#pulse.start()
  }

  /** There may be runs to lose soon: the lease is not near its end. */
  freshen(): Now<void> {
    this.moved()
    return this.heartbeatDue ? this.beat() : undefined
  }

  /** From here on others can know that this process wants to hear from them. */
  async appear(): Promise<void> {
    if (!this.#ownClock && this.#presence === undefined) {
      this.#presence = setInterval(() => {
        if (this.#memory.get('silent') === 0 && this.heartbeatDue) this.beat().catch(() => undefined)
      }, this.#options.leaseMs / 3)
      this.#presence.unref()
    }
    if (!this.#isThere) await this.beat()
  }

  async reclaim(runs: Iterable<[RunId, number]>): Promise<ReadonlySet<RunId>> {
    const held = [...runs]
    await this.beat()
    this.#memory.set('stoodStill', 0)
    const rows = await this.#connection.ask<{ id: RunId }>(this.#sql.held, [
      held.map(([run]) => run),
      held.map(([, epoch]) => epoch),
      this.id,
    ])
    return new Set(rows.map(({ id }) => id))
  }

  get watchEveryMs(): number {
    if (this.#ownClock || this.#silent.size > 0) return watchMs
    const others = this.#memory.get('others')
    return others === 0 ? watchLongestMs : Math.min(watchLongestMs, watchMs * (others + 1))
  }

  async resetLosses(runs: readonly RunId[]): Promise<void> {
    if (runs.length > 0) await this.#connection.ask(this.#sql.resetLosses, [runs, this.id])
  }

  async releaseDead(): Promise<ReleasedOwners> {
    const aside: ReleasedOwners['aside'][number][] = []
    let owners = 0
    const others = await this.#connection.ask<{ id: string; until: number; over: boolean; gone: boolean }>(
      this.#sql.others,
      [this.id],
    )
    for (const row of others) {
      if (!this.#isDead(row)) continue
      this.#silent.delete(row.id)
      const rows = await this.#connection.ask<{ id: RunId | null; losses: number }>(this.#sql.bury, [
        row.id,
        row.until,
        this.#options.lossLimit,
        crashLoop,
      ])
      if (rows.length > 0) owners++
      for (const { id, losses } of rows) if (id !== null) aside.push({ run: id, error: crashLoopOf(id, losses) })
    }
    const known = new Set(others.map(({ id }) => id))
    for (const id of this.#silent.keys()) if (!known.has(id)) this.#silent.delete(id)
    if (this.#ownClock || stopwatch() - this.#lastStrays >= straysEveryMs) {
      this.#lastStrays = stopwatch()
      const [strays] = await this.#connection.ask<{ runs: number }>(this.#sql.strays)
      owners += strays!.runs
    }
    return { owners, aside }
  }

  /**
   * Whether a process is dead: it is silent, and has said nothing since that was noticed although this process could.
   */
  #isDead({ id, until, over, gone }: { id: string; until: number; over: boolean; gone: boolean }): boolean {
    if (this.#ownClock) return this.#clock.now() > until
    if (!over && !gone) {
      this.#silent.delete(id)
      return false
    }
    const silent = this.#silent.get(id)
    if (silent?.until === until) {
      const grace = graceFor(Math.min(graceMs, this.#options.leaseMs), this.#delayMs)
      return stopwatch() - silent.since >= grace
    }
    this.#silent.set(id, { until, since: stopwatch() })
    return false
  }

  async report(text: string): Promise<void> {
    await this.#connection.ask(this.#sql.report, [this.id, text])
  }

  abandon(): void {
    this.#memory.set('silent', 1)
    clearInterval(this.#presence)
  }

  /** Ends the thread. */
  async stop(): Promise<void> {
    clearInterval(this.#presence)
    await this.#pulse.stop()
  }

  /** Releases every run but these, and returns them. */
  async letGo(except: readonly RunId[]): Promise<readonly RunId[]> {
    if (!this.#isThere) return []
    return (await this.#connection.ask<{ id: RunId }>(this.#sql.letGo, [this.id, except])).map(({ id }) => id)
  }

  /** Releases all runs and returns them. */
  async end(): Promise<readonly RunId[]> {
    if (!this.#isThere) return []
    const released: RunId[] = []
    for (;;) {
      const rows = await this.#connection.ask<{ id: RunId }>(this.#sql.release, [this.id, releasedAtOnce])
      for (const { id } of rows) released.push(id)
      if (rows.length < releasedAtOnce) break
    }
    await this.#connection.ask(this.#sql.forget, [this.id])
    return released
  }
}

/** Why a run is set aside that was lost too often. */
function crashLoopOf(run: string, losses: number | string): ReeveError {
  const message = `its process died or stopped answering ${losses} times in a row, within ${steadyMs / 1_000} seconds of taking it up`
  const hint =
    'Look at what it does when it goes on (memory, native code, endless loops), then: reeve resume tries it once more, reeve cancel ends it.'
  return new ReeveError('run.crash-loop', `the run "${run}": ${message}`, { hint })
}
/** As it is stored: the server fills in which run, and how often. */
const crashLoop = ((error) => JSON.stringify(failureFrom(error, error.code)))(crashLoopOf('%run%', '%losses%'))

function statements(s: string) {
  const named = (name: string, text: string): NamedStatement => [`reeve_${name}`, text]
  const now = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
  const incarnation = 'extract(epoch FROM pg_postmaster_start_time())::text'
  return {
    beatAt: named(
      'beat_at',
      `INSERT INTO ${s}.process(id, until, session, lock) VALUES($1, $2, NULL, $3) ON CONFLICT (id) DO UPDATE SET until = excluded.until`,
    ),
    others: named(
      'others',
      `SELECT id, until, until < ${now} AS over, CASE WHEN session = ${incarnation} AND until >= ${now} THEN pg_try_advisory_xact_lock_shared(lock) ELSE false END AS gone
      FROM ${s}.process WHERE id <> $1`,
    ),
    // Its receipt stays for a day: it may only have stood still, and ask what became of its last commit. Runs that were
    // lost too often are set aside in the same transaction. What an operator said to them was heard by a process that
    // died on it.
    bury: named(
      'bury',
      `WITH dead AS (DELETE FROM ${s}.process WHERE id = $1 AND until = $2 RETURNING id),
      said AS (DELETE FROM ${s}.report WHERE process IN (SELECT id FROM dead)),
      kept AS (UPDATE ${s}.receipt SET made = now() WHERE process IN (SELECT id FROM dead)),
      gone AS (DELETE FROM ${s}.receipt r WHERE made < now() - interval '1 day' AND NOT EXISTS (SELECT 1 FROM ${s}.process p WHERE p.id = r.process)),
      lost AS (UPDATE ${s}.run r SET owner = NULL, losses = r.losses + 1, parked = CASE WHEN r.losses + 1 >= $3 THEN 1 ELSE r.parked END,
          stuck = CASE WHEN r.losses + 1 >= $3 THEN replace(replace($4, '%run%', r.id), '%losses%', (r.losses + 1)::text) ELSE r.stuck END
        FROM dead d WHERE r.owner = d.id AND r.ended IS NULL AND r.parked = 0 RETURNING r.id, r.losses),
      commands AS (DELETE FROM ${s}.inbox i USING lost l WHERE l.losses >= $3 AND i.act = 'act_' || l.id AND NOT i.taken
        AND (starts_with(i.key, '!resume') OR (l.losses > $3 AND i.key = '!cancel')))
      SELECT l.id, l.losses FROM dead d LEFT JOIN lost l ON l.losses >= $3`,
    ),
    strays: named(
      'strays',
      `WITH stray AS (UPDATE ${s}.run r SET owner = NULL WHERE r.id IN (SELECT o.id FROM ${s}.run o WHERE o.ended IS NULL AND o.parked = 0 AND o.owner IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM ${s}.process p WHERE p.id = o.owner)) AND r.owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${s}.process p WHERE p.id = r.owner) RETURNING 1)
      SELECT count(*) AS runs FROM stray`,
    ),
    held: named(
      'held',
      `SELECT r.id FROM ${s}.run r JOIN unnest($1::text[], $2::int[]) x(id, epoch) ON r.id = x.id AND r.epoch = x.epoch WHERE r.owner = $3`,
    ),
    resetLosses: named('resetLosses', `UPDATE ${s}.run SET losses = 0 WHERE id = ANY($1::text[]) AND owner = $2`),
    release: named(
      'release',
      `UPDATE ${s}.run SET owner = NULL, losses = 0 WHERE id IN (SELECT id FROM ${s}.run WHERE owner = $1 AND ended IS NULL AND parked = 0 LIMIT $2) AND owner = $1 RETURNING id`,
    ),
    letGo: named(
      'let_go_idle',
      `UPDATE ${s}.run SET owner = NULL, losses = 0 WHERE owner = $1 AND ended IS NULL AND parked = 0 AND id <> ALL($2::text[]) RETURNING id`,
    ),
    forget: named(
      'forget_process',
      `WITH said AS (DELETE FROM ${s}.report WHERE process = $1) DELETE FROM ${s}.process WHERE id = $1`,
    ),
    // what is said of the moment need not survive a power failure
    report: named(
      'report',
      `WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)) INSERT INTO ${s}.report SELECT $1, $2 FROM quick
      ON CONFLICT (process) DO UPDATE SET body = excluded.body`,
    ),
  } as const
}
