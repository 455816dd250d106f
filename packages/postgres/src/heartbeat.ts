/**
 * The heartbeat of a process, in a thread of its own with a connection of its own: users' code may block the event loop
 * for as long as it likes, and the process still counts as alive.
 *
 * Owns: what the two threads share, the heartbeat's statements, the session and its lock, starting and ending the
 * thread. Does not own: what a missed heartbeat means (lease.ts).
 */
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Client } from 'pg'
import { delay, resolveAtRunTime } from '@reeve/core'
import { leaseFor, SchedulingDelay, sha256, stopThread } from '@reeve/engine/host'
import { connect, type NamedStatement, type SchemaAddress } from './connection.ts'

/**
 * An event loop that has not moved for this long counts as hung: its process sends no more heartbeats. Milliseconds.
 */
const hungMs = 600_000
/** A heartbeat that is not answered for so long is given up, and its connection with it. Milliseconds. */
const answerMs = 2_000
/** Between two attempts to connect. Milliseconds. */
const soonest = 50
const latest = 1_000

/**
 * Where the values that both threads see stand in their common memory. `begun`: 1 the thread has its code. `session`: 1
 * it lives by its lock, 0 by its lease alone, -1 the lock is lost.
 */
const places = {
  until: 0,
  wallUntil: 1,
  stoodStill: 2,
  moved: 3,
  leaseMs: 4,
  session: 5,
  others: 6,
  ahead: 7,
  silent: 8,
  lag: 9,
  begun: 10,
  delayMs: 11,
} as const
type CellName = keyof typeof places

/** The time since the machine has started: this clock is never set, and is the same in all threads. Milliseconds. */
const steadyNow = (): number => Number(process.hrtime.bigint() / 1_000_000n)

/** One moment by two clocks: the steady one, and the wall clock, which goes on while the machine sleeps. */
interface ClockReading {
  readonly steady: number
  readonly wall: number
}

export class HeartbeatMemory {
  readonly buffer: SharedArrayBuffer
  readonly #cells: BigInt64Array

  constructor(buffer = new SharedArrayBuffer(8 * Object.keys(places).length)) {
    this.buffer = buffer
    this.#cells = new BigInt64Array(buffer)
  }

  get(place: CellName): number {
    return Number(Atomics.load(this.#cells, places[place]))
  }
  set(place: CellName, value: number): void {
    Atomics.store(this.#cells, places[place], BigInt(Math.floor(value)))
  }
  swap(place: CellName, from: number, to: number): void {
    Atomics.compareExchange(this.#cells, places[place], BigInt(from), BigInt(to))
  }

  /** How long the lease is that is asked for now: `leaseMs`, or longer where the thread is late. */
  get lease(): number {
    return leaseFor(this.get('leaseMs'), this.get('delayMs'))
  }

  now(): ClockReading {
    return { steady: steadyNow(), wall: Date.now() }
  }
  /** For how long the lease lasts yet, by the clock by which it ends first. */
  get left(): number {
    const { steady, wall } = this.now()
    return Math.min(this.get('until') - steady, this.get('wallUntil') - wall)
  }
  get isFresh(): boolean {
    return this.left > 0 && this.get('session') !== -1
  }
  noteMoved(): void {
    this.set('moved', steadyNow())
  }
  get isHung(): boolean {
    return this.get('silent') === 1 || steadyNow() - this.get('moved') > hungMs
  }
}

/** What the server answers to a heartbeat. */
export interface BeatRow {
  readonly now: number
  readonly others: number
}

/** A heartbeat has arrived that was sent then. The lease counts from before it was sent. */
export function noteBeat(memory: HeartbeatMemory, sent: ClockReading, leaseMs: number, { now, others }: BeatRow): void {
  const left = memory.left
  const { steady, wall } = memory.now()
  // It came too late: the process was taken for dead, perhaps.
  if (memory.get('until') !== 0 && left <= 0) memory.set('stoodStill', 1)
  memory.set('until', sent.steady + leaseMs)
  memory.set('wallUntil', sent.wall + leaseMs)
  memory.set('others', others)
  // Of the server's clock so much is known as the way there and back allows; the best way of all counts.
  const lag = Math.max(1, steady - sent.steady)
  const best = memory.get('lag')
  if (best !== 0 && lag > best * 2) return
  memory.set('lag', best === 0 ? lag : Math.min(best, lag))
  const ahead = now - (sent.wall + wall) / 2
  memory.set('ahead', Math.abs(ahead) <= lag + 1 ? 0 : ahead)
}

const serverNow = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** `here`: on whichever connection; `there`: on the one that has the lock, if the process is still in the list. */
export function beatStatements(schema: string): {
  readonly here: NamedStatement
  readonly there: NamedStatement
  readonly lock: NamedStatement
} {
  const s = `"${schema}"`
  const answer = `${serverNow} AS now, (SELECT count(*) FROM ${s}.process o WHERE o.id <> $1 AND o.until > ${serverNow}) AS others`
  return {
    here: [
      'reeve_beat',
      `INSERT INTO ${s}.process AS p (id, until, session, lock) VALUES($1, ${serverNow} + $2::bigint, NULL, $3)
      ON CONFLICT (id) DO UPDATE SET until = excluded.until, session = CASE WHEN $4 THEN p.session END RETURNING ${answer}`,
    ],
    there: [
      'reeve_pulse',
      `UPDATE ${s}.process p SET until = ${serverNow} + $2::bigint, session = CASE WHEN $3 THEN extract(epoch FROM pg_postmaster_start_time())::text END
      WHERE id = $1 RETURNING ${answer}`,
    ],
    lock: ['reeve_lock', 'SELECT pg_try_advisory_lock($1) AS locked'],
  }
}

/** The advisory lock of a process. */
export const lockOf = (id: string): number => Number.parseInt(sha256(`reeve ${id}`).slice(0, 13), 16)

/** What the thread is given. */
export interface PostgresHeartbeatData extends SchemaAddress {
  readonly process: string
  readonly memory: SharedArrayBuffer
}

/**
 * Starts and ends the thread. Where it cannot run, the same is done on the event loop, and
 * `failed` is called.
 */
export class PostgresHeartbeat {
  readonly #data: PostgresHeartbeatData
  readonly #failed: (message: string) => void
  #thread: Worker | undefined
  #here: HeartbeatLoop | undefined
  #isStopped = false

  constructor(data: PostgresHeartbeatData, failed: (message: string) => void) {
    this.#data = data
    this.#failed = failed
  }

  /** False: it was started before, or is not any more. */
  start(): boolean {
    if (this.#thread !== undefined || this.#isStopped) return false
    // the thread may be started without a file of its own, and then finds nothing beside it
    const driver = resolveAtRunTime('pg')
    const workerData: PostgresHeartbeatData = {
      ...this.#data,
      ...(driver !== undefined && { driver: pathToFileURL(driver).href }),
    }
    this.#thread = new Worker(new URL('./heartbeat-thread.ts', import.meta.url), { workerData })
    this.#thread.unref()
    this.#thread.on('error', (error) => {
      this.#failed(error instanceof Error ? error.message : String(error))
      if (!this.#isStopped) (this.#here ??= new HeartbeatLoop(this.#data)).begin()
    })
    return true
  }

  get #hasBegun(): boolean {
    return new HeartbeatMemory(this.#data.memory).get('begun') === 1
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#here?.end()
    // One that is still being loaded has no connection that must be closed.
    if (this.#hasBegun) await stopThread(this.#thread)
    else await this.#thread?.terminate()
  }
}

/** One session with its lock, and the heartbeats that are sent on it. It comes back by itself. */
export class HeartbeatLoop {
  readonly #data: PostgresHeartbeatData
  readonly #memory: HeartbeatMemory
  readonly #sql: ReturnType<typeof beatStatements>
  #client: Client | undefined
  #hasLock = false
  readonly #delay = new SchedulingDelay()
  /** When the next heartbeat is due, by the steady clock. Undefined: none is, the connection has to be made first. */
  #due: number | undefined
  /** Nothing was said on this connection yet. */
  #isNew = true
  #isEnding = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #wake: (() => void) | undefined
  #life: Promise<void> | undefined

  constructor(data: PostgresHeartbeatData) {
    this.#data = data
    this.#memory = new HeartbeatMemory(data.memory)
    this.#sql = beatStatements(data.schema)
  }

  begin(): void {
    this.#life ??= this.#live()
  }

  async #live(): Promise<void> {
    for (let wait = soonest; !this.#isEnding;) {
      try {
        await this.#next()
        wait = soonest
      } catch {
        this.#lost()
        await this.#sleep(wait)
        wait = Math.min(latest, wait * 2)
      }
    }
  }

  /** One heartbeat, as soon as it is due. */
  async #next(): Promise<void> {
    const memory = this.#memory
    const leaseMs = memory.lease
    if (memory.isHung) return this.#sleep(leaseMs)
    const client = this.#client ?? (await this.#connect())
    const early = memory.left - (leaseMs * 2) / 3
    if (early > 0 && !this.#isNew) {
      const wait = Math.min(early, leaseMs / 3)
      this.#due = memory.now().steady + wait
      return this.#sleep(wait)
    }
    this.#isNew = false
    if (!this.#hasLock) {
      const { rows } = await this.#ask<{ locked: boolean }>(client, this.#sql.lock, [lockOf(this.#data.process)])
      this.#hasLock = rows[0]!.locked
    }
    if (this.#client !== client) throw new Error('the session is lost')
    // Set before it is announced: as soon as other processes can know of the lock, losing it counts.
    const was = memory.get('session')
    if (this.#hasLock && was === 0) memory.set('session', 1)
    const sent = memory.now()
    const { rows } = await this.#ask<BeatRow>(client, this.#sql.there, [this.#data.process, leaseMs, this.#hasLock])
    const row = rows[0]
    if (row === undefined) {
      // It was taken for dead: it checks which runs are still its own before an effect leaves.
      memory.set('stoodStill', 1)
      return this.#sleep(leaseMs / 3)
    }
    noteBeat(memory, sent, leaseMs, row)
    this.#noteDelay()
    if (this.#client === client) memory.set('session', this.#hasLock ? 1 : 0)
  }

  /** What makes a heartbeat late is measured from when it was due until it is answered: the machine, and the way. */
  #noteDelay(): void {
    if (this.#due === undefined) return
    this.#delay.note(this.#memory.now().steady - this.#due)
    this.#memory.set('delayMs', this.#delay.p99Ms)
    this.#due = undefined
  }

  async #connect(): Promise<Client> {
    const client = await connect(this.#data)
    const lost = (): void => {
      if (this.#client === client) this.#lost()
    }
    client.on('error', lost)
    client.on('end', lost)
    // A heartbeat need not survive a power failure.
    await client.query('SET synchronous_commit TO off')
    ;(client as unknown as { connection: { stream: { unref(): void } } }).connection.stream.unref()
    this.#client = client
    this.#isNew = true
    return client
  }

  #lost(): void {
    const client = this.#client
    this.#client = undefined
    this.#hasLock = false
    this.#due = undefined
    this.#memory.swap('session', 1, -1)
    ;(client as unknown as { connection: { stream: { destroy(): void } } } | undefined)?.connection.stream.destroy()
    this.#wake?.()
  }

  async #ask<Row>(client: Client, [name, text]: NamedStatement, values: unknown[]): Promise<{ rows: Row[] }> {
    const late = setTimeout(() => this.#lost(), answerMs)
    late.unref()
    try {
      return await client.query<Row & object>({ name, text, values })
    } finally {
      clearTimeout(late)
    }
  }

  #sleep(ms: number): Promise<void> {
    if (this.#isEnding) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(this.#timer)
        this.#wake = undefined
        resolve()
      }
      this.#wake = wake
      this.#timer = setTimeout(() => this.#wake?.(), Math.max(1, ms))
      // the thread is kept by its port
      this.#timer.unref()
    })
  }

  async end(): Promise<void> {
    this.#isEnding = true
    this.#wake?.()
    const client = this.#client
    this.#client = undefined
    await Promise.race([client?.end().catch(() => undefined), delay(answerMs)])
    await this.#life
  }
}
