/**
 * Live parts between processes: written in batches, read by whoever overhears a run, gone after half a minute.
 *
 * Holds: K9 (never needed for correctness: where the store has trouble parts are lost, and nobody waits for them).
 */
import { newId, systemClock, type RunId } from '../../core/index.ts'
import type { LivePart } from '../../engine/index.ts'
import { insert, rowOf, rowsOf, tell, write, type Database, type News, type Work } from './sql.ts'

const batchMs = 25
const batchChars = 65_536
/** More than this is not kept for a store that does not take it. */
const bufferChars = 1_048_576
const keptMs = 30_000
const pruneMs = 10_000
/** Nobody waits longer than this for parts. */
const settleMs = 1_000

interface Overheard {
  readonly run: RunId
  readonly hear: (part: LivePart) => void
  /** Undefined until it is known where to begin. */
  after: number | undefined
  reading: Promise<void> | undefined
  again: boolean
}

export class Parts {
  readonly #database: Database
  readonly #origin = newId('org')
  readonly #overheard = new Set<Overheard>()
  #buffer = new Map<RunId, string[]>()
  #size = 0
  #timer: (() => void) | undefined
  #writing: Promise<void> | undefined
  /** Whose parts are being written. */
  #batch: ReadonlyMap<RunId, unknown> = new Map()
  #written = 0
  #pruning: (() => void) | undefined
  #deaf: (() => void) | undefined

  constructor(database: Database) {
    this.#database = database
  }

  publish(run: RunId, parts: readonly LivePart[]): void {
    if (this.#size > bufferChars) return
    const texts = parts.map((part) => JSON.stringify(part))
    const waiting = this.#buffer.get(run)
    if (waiting === undefined) this.#buffer.set(run, texts)
    else waiting.push(...texts)
    for (const text of texts) this.#size += text.length
    if (this.#size > batchChars) this.#flush()
    else this.#timer ??= systemClock.timer(systemClock.now() + batchMs, () => this.#flush())
  }

  /** One batch after the other: parts of one origin stay in order. */
  #flush(): void {
    this.#timer?.()
    this.#timer = undefined
    if (this.#writing !== undefined || this.#buffer.size === 0) return
    const batch = this.#buffer
    this.#buffer = new Map()
    this.#size = 0
    this.#batch = batch
    this.#writing = this.#write(batch)
      .catch(() => undefined)
      .finally(() => {
        this.#writing = undefined
        this.#batch = new Map()
        this.#flush()
      })
  }

  #write(batch: ReadonlyMap<RunId, readonly string[]>): Promise<void> {
    const now = systemClock.now()
    const origin = this.#origin
    this.#written = now
    this.#pruneLater()
    const work = function* (): Work<void> {
      const rows = [...batch].map(([run, texts]) => [run, origin, now, `[${texts.join()}]`])
      yield* insert('part(run, origin, at, body)', rows)
      for (const run of batch.keys()) yield* tell(run, 'parts')
    }
    return this.#database.transaction(work, { durable: false })
  }

  /** Not with the next batch: there may be none, and then the last ones would stay for ever. */
  #pruneLater(): void {
    this.#pruning ??= systemClock.timer(systemClock.now() + pruneMs, () => {
      const before = systemClock.now() - keptMs
      const work = (): Work<void> => write('DELETE FROM part WHERE at < $1', before)
      this.#pruning = undefined
      this.#database.transaction(work, { durable: false }).catch(() => undefined)
      if (this.#written >= before) this.#pruneLater()
    })
  }

  overhear(run: RunId, hear: (part: LivePart) => void): () => void {
    const one: Overheard = { run, hear, after: undefined, reading: undefined, again: false }
    this.#overheard.add(one)
    this.#deaf ??= this.#database.hear((news) => this.#onNews(news))
    this.#read(one)
    return () => {
      this.#overheard.delete(one)
      if (this.#overheard.size > 0) return
      this.#deaf?.()
      this.#deaf = undefined
    }
  }

  #onNews(news: News | 'all'): void {
    for (const one of this.#overheard) if (news === 'all' || (news.about === 'parts' && news.run === one.run)) this.#read(one)
  }

  #read(one: Overheard): void {
    one.again = one.reading !== undefined
    if (one.again) return
    one.reading = this.#next(one)
      .catch(() => undefined)
      .finally(() => {
        one.reading = undefined
        if (one.again && this.#overheard.has(one)) this.#read(one)
      })
  }

  /**
   * What this process has published of a run so far is written, and what others have written so far is heard. Whoever waits here holds up a commit: the
   * parts of other runs are no reason to wait, and nothing is for longer than a second.
   */
  settle(run: RunId): Promise<void> {
    const heard = [...this.#overheard].filter((one) => one.run === run)
    if (heard.length === 0 && !this.#holds(run)) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const giveUp = systemClock.timer(systemClock.now() + settleMs, resolve)
    const said = this.#settled(run, heard)
      .catch(() => undefined)
      .finally(giveUp)
    return Promise.race([said, promise])
  }

  /** A part of this run is in the batch that is being written, or in the one after it: what comes later was not published when this was asked. */
  async #settled(run: RunId, heard: readonly Overheard[]): Promise<void> {
    for (let batches = 0; batches < 2 && this.#holds(run); batches++) {
      this.#flush()
      await this.#writing
    }
    for (const one of heard) this.#read(one)
    // One that was under way may have looked too early: the one after it has not.
    for (const one of heard) for (let reads = 0; reads < 2 && one.reading !== undefined; reads++) await one.reading
  }

  #holds(run: RunId): boolean {
    return this.#buffer.has(run) || this.#batch.has(run)
  }

  async #next(one: Overheard): Promise<void> {
    if (one.after === undefined) {
      one.after = await this.#database.read(newest)
      return
    }
    const after = one.after
    const origin = this.#origin
    const rows = await this.#database.read(() =>
      rowsOf<{ num: number; body: string }>(
        'SELECT num, body FROM part WHERE run = $1 AND num > $2 AND origin <> $3 ORDER BY num',
        one.run,
        after,
        origin,
      ),
    )
    one.after = rows.at(-1)?.num ?? after
    for (const { body } of rows) for (const part of JSON.parse(body) as LivePart[]) if (this.#overheard.has(one)) one.hear(part)
  }

  /** What has not been written by now is lost, unless it can be written at once. */
  async close(): Promise<void> {
    this.#overheard.clear()
    this.#deaf?.()
    this.#deaf = undefined
    this.#flush()
    await this.#writing
    this.#pruning?.()
    this.#pruning = undefined
  }
}

function* newest(): Work<number> {
  return (yield* rowOf<{ num: number | null }>('SELECT max(num) AS num FROM part'))?.num ?? 0
}
