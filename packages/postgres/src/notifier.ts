/**
 * Notifications between processes: each sends which runs it has written to by NOTIFY, a few milliseconds' worth at a
 * time, and the others LISTEN. Live parts go the same way (live-parts.ts) and before the news of the same moment, so a
 * process sees what was shown before it learns what was recorded.
 *
 * Owns: news that waits to be sent, received news that was not asked for yet, and the channels. Does not own: its use
 * (the host); news may be lost, and is never needed. A transaction with NOTIFY holds a lock of the whole database until
 * its commit is on disk, so commits could not be written together. So NOTIFY follows the commit, in a statement that
 * waits for no disk. A gap in the subscription counts as `all`.
 */
import type { Client } from 'pg'
import { stopwatch, type RunId } from '@reeve/core'
import type { Committed } from './commit.ts'
import type { StoreConnection, NamedStatement } from './connection.ts'
import { PostgresParts, type NotifyCall } from './live-parts.ts'

/** How long news and live parts are gathered for one statement. Milliseconds. */
const gatherMs = 2
const gatherPartsMs = 25
/** The largest payload that the server takes. Bytes; all names are ASCII. */
const longest = 7_800
/** More than this many messages at once are sent as one: everything. */
const mostAtOnce = 16
/** How often all runs are checked, with or without news. Milliseconds. */
const fullEveryMs = 1_000
/** Between two attempts to listen again. Milliseconds. */
const soonest = 50
const latest = 5_000
/** How often the connection is probed: one whose other end has vanished reports no error. Milliseconds. */
const askEveryMs = 10_000

/**
 * A notification: its kind, its sender and its runs. `m`: mail, or a new run; `w`: an entry was written; `h`: a process
 * has begun; `l`: the sender listens to their live parts.
 */
const all = '*'

export interface NotifierOptions {
  /** The channel. */
  readonly channel: string
  readonly process: string
  /** Whether other processes are known. */
  readonly hasOthers: () => boolean
  /** Another process has appeared. True if none was known before, so that nothing has been sent yet. */
  readonly onOther: () => boolean
  readonly isHeld: (run: RunId) => boolean
}

export class Notifier {
  readonly parts: PostgresParts
  readonly #connection: StoreConnection
  readonly #options: NotifierOptions
  readonly #waiting = { m: new Set<RunId>(), w: new Set<RunId>(), l: new Set<RunId>() }
  #isAllToTell = false
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The timer that sends what waits. */
  #due = 0
  #sending: Promise<void> | undefined
  #heard: (() => void) | undefined
  /** The connection that listens, or did. */
  #client: Client | undefined
  #listening: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  /** Runs that other processes have written to since the last question. */
  #moved: Set<RunId> | 'all' | undefined
  /** Runs that may have mail since the last question: by news of other processes, and by writes of this one. */
  #mail = new Set<RunId>()
  #own = new Set<RunId>()
  #isMailUnknown = true
  #lastFull = 0
  #lastAll = 0
  #isClosed = false

  constructor(connection: StoreConnection, options: NotifierOptions) {
    this.#connection = connection
    this.#options = options
    this.parts = new PostgresParts({
      process: options.process,
      say: (runs) => {
        for (const run of runs) this.#waiting.l.add(run)
        this.#gather()
      },
      onWaiting: () => this.#gather(gatherPartsMs),
    })
  }

  /** Reports `all` at intervals: news may be lost. */
  moved(): ReadonlySet<RunId> | 'all' | undefined {
    const moved = stopwatch() - this.#lastAll >= fullEveryMs ? 'all' : this.#moved
    this.#moved = undefined
    if (moved === 'all') this.#lastAll = stopwatch()
    return moved
  }

  /**
   * Which runs may have mail: those that are named, and, if `all`, any other that is held. Undefined: there is no news
   * of any.
   */
  takeMail(): { readonly runs: ReadonlySet<RunId>; readonly all: boolean } | undefined {
    const isFull = this.#isMailUnknown || stopwatch() - this.#lastFull >= fullEveryMs
    if (!isFull && this.#mail.size + this.#own.size === 0) return undefined
    const runs = new Set([...this.#mail, ...this.#own])
    this.#mail = new Set()
    this.#own = new Set()
    this.#isMailUnknown = false
    if (isFull) this.#lastFull = stopwatch()
    return { runs, all: isFull }
  }

  /** They could not be looked at. */
  giveBack(mail: { readonly runs: ReadonlySet<RunId>; readonly all: boolean }): void {
    for (const run of mail.runs) this.#mail.add(run)
    this.#isMailUnknown ||= mail.all
  }

  /** From now on. */
  listen(heard: () => void): void {
    this.#heard = heard
    this.#again(0)
  }

  /** The connection is made again, sooner or later. */
  lost(): void {
    if (this.#heard !== undefined) this.#again(Math.min(latest, soonest * 2 ** this.#failures))
  }

  #again(wait: number): void {
    if (this.#isClosed) return
    clearTimeout(this.#listening)
    this.#listening = setTimeout(() => {
      this.#look().then(
        () => this.#again(askEveryMs),
        () => {
          this.#failures++
          this.lost()
        },
      )
    }, wait)
    this.#listening.unref()
  }

  /** The connection is there, or is made, and answers. */
  async #look(): Promise<void> {
    const client = await this.#connection.client()
    const late = setTimeout(() => this.#connection.drop(client), 5_000)
    late.unref()
    try {
      if (this.#client === client) await client.query('SELECT 1')
      else await this.#begin(client)
      this.#failures = 0
    } finally {
      clearTimeout(late)
    }
  }

  /** A new connection: it listens, and news from before is unknown. */
  async #begin(client: Client): Promise<void> {
    this.#client = client
    client.on('notification', ({ channel, payload }) => {
      if (channel === this.#options.process) this.parts.hear(payload ?? '')
      else this.#hear(payload ?? '')
    })
    await client.query(`LISTEN "${this.#options.channel}"; LISTEN "${this.#options.process}"`)
    this.#isMailUnknown = true
    this.#moved = 'all'
    this.#heard?.()
    this.parts.sayAll()
    await client.query('SELECT pg_notify($1, $2)', [this.#options.channel, `h ${this.#options.process}`])
  }

  #hear(payload: string): void {
    const [kind, from, ...runs] = payload.split(' ') as [string, string, ...RunId[]]
    if (from === this.#options.process) return
    if (this.#options.onOther()) {
      this.#isAllToTell = true
      this.#gather()
    }
    if (kind === 'h') return this.parts.sayAll()
    if (kind === 'l') return this.parts.heardOf(from, runs)
    if (runs[0] === all) {
      this.#moved = 'all'
      this.#isMailUnknown = true
    } else {
      this.#noteMoved(runs)
      if (kind === 'm') for (const run of runs) this.#mail.add(run)
    }
    this.#heard?.()
  }

  #noteMoved(runs: readonly RunId[]): void {
    if (this.#moved === 'all') return
    this.#moved = new Set([...(this.#moved ?? []), ...runs])
  }

  /** This process has written. */
  note({ written, mailed, born, left }: Committed): void {
    for (const run of mailed) this.#own.add(run)
    // They have received what this process has sent; news of others may have come later.
    for (const run of left) this.#own.delete(run)
    if (!this.#options.hasOthers()) return
    for (const run of mailed) if (!this.#options.isHeld(run)) this.#waiting.m.add(run)
    for (const run of born) this.#waiting.m.add(run)
    for (const run of written) this.#waiting.w.add(run)
    this.#gather()
  }

  /** These runs are free for any process. */
  offer(runs: Iterable<RunId>): void {
    if (!this.#options.hasOthers()) return
    for (const run of runs) this.#waiting.m.add(run)
    this.#gather()
  }

  get #hasNews(): boolean {
    return this.#isAllToTell || this.#waiting.m.size + this.#waiting.w.size + this.#waiting.l.size > 0
  }

  #gather(forMs = gatherMs): void {
    if (this.#sending !== undefined || this.#isClosed) return
    const due = stopwatch() + forMs
    if (this.#timer !== undefined && this.#due <= due) return
    clearTimeout(this.#timer)
    this.#due = due
    // It keeps the process alive: one that ends right after a commit still sends its news.
    this.#timer = setTimeout(() => this.#flush(), forMs)
  }

  /** One after the other: under load more is gathered. */
  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#sending !== undefined) return
    const told = [...this.parts.take(), ...this.#takeNews()]
    if (told.length === 0) return
    this.#sending = this.#connection
      .ask(tell, [told.map(([channel]) => channel), told.map(([, payload]) => payload)])
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        this.#sending = undefined
        if (this.#hasNews) this.#gather()
        else if (this.parts.isWaiting) this.#gather(gatherPartsMs)
      })
  }

  #takeNews(): readonly NotifyCall[] {
    if (!this.#hasNews) return []
    const { m, w, l } = this.#waiting
    for (const run of m) w.delete(run)
    const payloads = [...this.#payloads('m', m), ...this.#payloads('w', w)]
    const told = this.#isAllToTell || payloads.length > mostAtOnce ? [`w ${this.#options.process} ${all}`] : payloads
    const listens = this.#payloads('l', l)
    for (const waiting of [m, w, l]) waiting.clear()
    this.#isAllToTell = false
    return [...told, ...listens].map((payload) => [this.#options.channel, payload])
  }

  #payloads(kind: 'm' | 'w' | 'l', runs: Iterable<RunId>): string[] {
    const payloads: string[] = []
    let payload = ''
    for (const run of runs) {
      if (payload.length + run.length > longest || payload === '')
        payloads.push((payload = `${kind} ${this.#options.process}`))
      payloads[payloads.length - 1] = payload = `${payload} ${run}`
    }
    return payloads
  }

  /** Sends what waits. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#listening)
    this.parts.close()
    for (this.#flush(); this.#sending !== undefined; this.#flush()) await this.#sending
  }
}

const tell: NamedStatement = [
  'reeve_tell',
  `WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)) SELECT pg_notify(channel, payload) FROM quick, unnest($1::text[], $2::text[]) AS told(channel, payload)`,
]
