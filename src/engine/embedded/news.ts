/**
 * News: who in this process waits for something to happen to a run, and hears of it.
 *
 * Owns: outcome promises, watchers of a feed, listeners of live parts. Does not own: what happened (driver.ts, reader.ts).
 * Holds: K9 (readers own nothing; a listener that leaves changes nothing).
 */
import type { ReeveError, RunId } from '../../core/index.ts'
import type { LivePart, RunEnd } from '../port.ts'
import type { Reader } from './reader.ts'

interface Waiting {
  readonly resolve: (end: RunEnd) => void
  readonly reject: (error: Error) => void
}
interface Watcher {
  readonly run: RunId
  readonly from: number
  readonly resolve: () => void
}

export class News {
  readonly #reader: Reader
  readonly #onWaiting: (somebody: boolean) => void
  readonly #outcomes = new Map<RunId, Waiting[]>()
  readonly #watchers = new Set<Watcher>()
  readonly #listeners = new Map<RunId, Set<(part: LivePart) => void>>()

  /** `onWaiting` is told whether anybody waits: a process that awaits a run must not end while the run can still move. */
  constructor(reader: Reader, onWaiting: (somebody: boolean) => void) {
    this.#reader = reader
    this.#onWaiting = onWaiting
  }

  #count(): void {
    this.#onWaiting(this.#outcomes.size + this.#watchers.size > 0)
  }

  /** Resolves when the run has ended, rejects when its store fails. */
  outcome(run: RunId): Promise<RunEnd> {
    return new Promise((resolve, reject) => {
      const waiting = this.#outcomes.get(run)
      if (waiting === undefined) this.#outcomes.set(run, [{ resolve, reject }])
      else waiting.push({ resolve, reject })
      this.#count()
    })
  }

  /** Resolves when the run has something after `from`, has ended, or the signal is aborted. */
  watch(run: RunId, from: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true || this.#moved(run, from)) return Promise.resolve()
    return new Promise((done) => {
      const resolve = (): void => {
        this.#watchers.delete(watcher)
        signal?.removeEventListener('abort', resolve)
        this.#count()
        done()
      }
      const watcher: Watcher = { run, from, resolve }
      signal?.addEventListener('abort', resolve)
      this.#watchers.add(watcher)
      this.#count()
    })
  }

  #moved(run: RunId, from: number): boolean {
    return this.#reader.hasNews(run, from) || this.#ended(run)
  }

  #ended(run: RunId): boolean {
    return typeof this.#reader.run(run)?.ended === 'number'
  }

  listen(run: RunId, hear: (part: LivePart) => void): () => void {
    const heard = this.#listeners.get(run) ?? new Set()
    this.#listeners.set(run, heard.add(hear))
    return () => {
      heard.delete(hear)
      if (heard.size === 0) this.#listeners.delete(run)
    }
  }

  part(run: RunId, part: LivePart): void {
    for (const hear of this.#listeners.get(run) ?? []) hear(part)
  }

  /** Something was written: by this process for these runs, or by another for any. `here`: runs whose end this process will see itself. */
  changed(runs: ReadonlySet<RunId> | 'all', here: ReadonlyMap<RunId, unknown>): void {
    for (const watcher of this.#watchers) {
      if (runs === 'all' ? this.#moved(watcher.run, watcher.from) : runs.has(watcher.run)) watcher.resolve()
    }
    if (runs !== 'all') return
    for (const run of this.#outcomes.keys()) {
      const end = here.has(run) || !this.#ended(run) ? undefined : this.#reader.end(run)
      if (end !== undefined) this.ended(run, end)
    }
  }

  ended(run: RunId, end: RunEnd): void {
    for (const { resolve } of this.#take(run)) resolve(end)
    for (const watcher of this.#watchers) if (watcher.run === run) watcher.resolve()
    this.#count()
  }

  failed(error: ReeveError, runs: Iterable<RunId>): void {
    for (const run of runs) for (const { reject } of this.#take(run)) reject(error)
    this.#count()
  }

  #take(run: RunId): Waiting[] {
    const waiting = this.#outcomes.get(run) ?? []
    this.#outcomes.delete(run)
    return waiting
  }

  /** Nobody will hear anything any more. */
  close(error: ReeveError): void {
    this.failed(error, [...this.#outcomes.keys()])
    for (const watcher of this.#watchers) watcher.resolve()
  }
}
