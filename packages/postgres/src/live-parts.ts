/**
 * Live parts between processes, by NOTIFY: a process that listens to runs announces it every two seconds, and the
 * process that drives one of them sends its parts to the channel of the listener.
 *
 * Owns: who listens to what, what waits to be sent, how it is cut into messages and put together again. Does not own:
 * the connection, when it is sent (notifier.ts).
 * Holds: K9. Nothing is gathered for a run without listeners; the queue is bounded in bytes, and parts above the bound
 * are dropped; no part is written to disk.
 */
import { stopwatch, type RunId } from '@reeve/core'
import { type LivePart, mergeParts, partBytes } from '@reeve/engine'
import type { PublishedParts, StoreParts } from '@reeve/engine/storage'

/** How often a process announces the runs it listens to, and how long that counts. Milliseconds. */
const sayEveryMs = 2_000
const countsMs = 5_000
/** The bound of the queue, over all runs. Bytes, as `partBytes` measures them. */
const bound = 1_048_576
/** A text that was gathered is joined up to this length. Bytes. */
const joinedUpTo = 65_536
/** What the server takes as one message, but for the words before it. Bytes; all is ASCII. */
const longest = 7_800

/** A message for one process. */
export type NotifyCall = readonly [channel: string, payload: string]

interface QueuedParts {
  readonly parts: LivePart[]
  bytes: number
}
/** The content of a message. */
interface PartsMessage {
  readonly run: RunId
  readonly parts: readonly LivePart[]
}
/** A message of which some pieces are here. */
interface Piecemeal {
  readonly n: string
  readonly next: number
  readonly text: string
}

export interface PostgresPartsOptions {
  /** Also the channel on which this process hears parts. */
  readonly process: string
  /** Announces to all processes that this one listens to these runs. */
  readonly say: (runs: Iterable<RunId>) => void
  /** There is something to send, soon. */
  readonly onWaiting: () => void
}

export class PostgresParts implements StoreParts {
  readonly #options: PostgresPartsOptions
  readonly #hearing = new Map<RunId, Set<(published: PublishedParts) => void>>()
  #saying: ReturnType<typeof setInterval> | undefined
  /** By run: the processes that listen to it, and until when. */
  readonly #listeners = new Map<RunId, Map<string, number>>()
  #waiting = new Map<RunId, QueuedParts>()
  #bytes = 0
  #n = 0
  #lastLook = 0
  /** By process. */
  readonly #pieces = new Map<string, Piecemeal>()

  constructor(options: PostgresPartsOptions) {
    this.#options = options
  }

  overhear(run: RunId, hear: (published: PublishedParts) => void): () => void {
    const hearing = this.#hearing.get(run) ?? new Set()
    this.#hearing.set(run, hearing.add(hear))
    this.#options.say([run])
    this.#saying ??= setInterval(() => this.sayAll(), sayEveryMs).unref()
    return () => {
      if (!hearing.delete(hear) || hearing.size > 0) return
      this.#hearing.delete(run)
      if (this.#hearing.size > 0) return
      clearInterval(this.#saying)
      this.#saying = undefined
    }
  }

  /** Others may not know what this process listens to. */
  sayAll(): void {
    if (this.#hearing.size > 0) this.#options.say(this.#hearing.keys())
  }

  /** A message has come in. */
  hear(payload: string): void {
    const [, n, nth, of, from, piece] = /^(\d+) (\d+) (\d+) (\S+) (.*)$/s.exec(payload) ?? []
    if (n === undefined || from === undefined || piece === undefined) return
    const before = nth === '1' ? { n, next: 1, text: '' } : this.#pieces.get(from)
    this.#pieces.delete(from)
    if (before?.n !== n || before.next !== Number(nth)) return
    const text = before.text + piece
    if (nth !== of) return void this.#pieces.set(from, { n, next: before.next + 1, text })
    const said = sentIn(text)
    if (said === undefined) return
    const { run, parts } = said
    for (const hear of this.#hearing.get(run) ?? []) hear({ from, n: Number(n), parts })
  }

  /** Another process listens to these runs. */
  heardOf(process: string, runs: readonly RunId[]): void {
    const now = stopwatch()
    if (now - this.#lastLook > countsMs) this.#forgetSilent(now)
    for (const run of runs) {
      const listeners = this.#listeners.get(run)
      if (listeners === undefined) this.#listeners.set(run, new Map([[process, now + countsMs]]))
      else listeners.set(process, now + countsMs)
    }
  }

  #forgetSilent(now: number): void {
    this.#lastLook = now
    for (const [run, listeners] of this.#listeners) {
      for (const [process, until] of listeners) if (until < now) listeners.delete(process)
      if (listeners.size === 0) this.#listeners.delete(run)
    }
  }

  publish(run: RunId, part: LivePart): void {
    if (!this.#listeners.has(run)) return
    const waiting = this.#waiting.get(run) ?? { parts: [], bytes: 0 }
    if (waiting.parts.length === 0) this.#waiting.set(run, waiting)
    const was = waiting.bytes
    const last = waiting.parts.at(-1)
    const joined = last === undefined || partBytes(last) > joinedUpTo ? undefined : mergeParts(last, part)
    if (joined === undefined) waiting.parts.push(part)
    else waiting.parts[waiting.parts.length - 1] = joined
    waiting.bytes += partBytes(joined ?? part) - (joined === undefined ? 0 : partBytes(last!))
    this.#bytes += waiting.bytes - was
    if (this.#bytes > bound) this.#lose(run, waiting)
    else if (this.#waiting.size === 1 && was === 0) this.#options.onWaiting()
  }

  /** The server does not keep up. */
  #lose(run: RunId, { bytes }: QueuedParts): void {
    this.#waiting.delete(run)
    this.#bytes -= bytes
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0
  }

  /** What is to be sent now. */
  take(): readonly NotifyCall[] {
    if (this.#waiting.size === 0) return []
    this.#forgetSilent(stopwatch())
    const told: NotifyCall[] = []
    for (const [run, { parts }] of this.#waiting) {
      const listeners = this.#listeners.get(run)
      if (listeners === undefined) continue
      const sent: PartsMessage = { run, parts }
      const text = ascii(JSON.stringify(sent))
      this.#n++
      const pieces = Math.ceil(text.length / longest)
      for (const channel of listeners.keys())
        for (let i = 0; i < pieces; i++) {
          const piece = text.slice(i * longest, (i + 1) * longest)
          told.push([channel, `${this.#n} ${i + 1} ${pieces} ${this.#options.process} ${piece}`])
        }
    }
    this.#waiting = new Map()
    this.#bytes = 0
    return told
  }

  close(): void {
    clearInterval(this.#saying)
    this.#hearing.clear()
    this.#listeners.clear()
  }
}

/** Undefined if no process of this store has sent it: every client of the database may notify any channel. */
function sentIn(text: string): PartsMessage | undefined {
  try {
    const sent = JSON.parse(text) as PartsMessage
    return typeof sent.run === 'string' && Array.isArray(sent.parts) ? sent : undefined
  } catch {
    return undefined
  }
}

/** The same JSON, in one byte for each character, so that it may be cut anywhere and every database can hold it. */
const ascii = (json: string): string =>
  json.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
