/**
 * News: who in this process waits for something to happen to a run, and hears of it.
 *
 * Owns: outcome promises, watchers of a feed, listeners of live parts. Does not own: what happened (driver.ts, the store).
 * Holds: K9 (readers own nothing; a listener that leaves changes nothing).
 */
import { andThen, detached, oneAtATime, type ReeveError, type RunId } from '../../core/index.ts'
import type { LivePart, RunEnd } from '../port.ts'
import type { StoreReader } from '../store.ts'

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
  readonly #reader: StoreReader
  readonly #onWaiting: (somebody: boolean) => void
  readonly #isBeginning: (run: RunId) => boolean
  readonly #outcomes = new Map<RunId, Waiting[]>()
  readonly #watchers = new Set<Watcher>()
  readonly #listeners = new Map<RunId, Set<(part: LivePart) => void>>()
  /** One question, however many are awaited. If it fails, the next news brings them. */
  readonly #lookForEnds = oneAtATime(
    () =>
      andThen(this.#reader.ends(this.#outcomes), (ends) => {
        for (const [run, end] of ends) this.ended(run, end)
      }),
    () => undefined,
  )

  /**
   * `onWaiting` is told whether anybody waits: a process that awaits a run must not end while the run can still move.
   * `isBeginning`: whether a run that is not in the store is about to be.
   */
  constructor(reader: StoreReader, onWaiting: (somebody: boolean) => void, isBeginning: (run: RunId) => boolean) {
    this.#reader = reader
    this.#onWaiting = onWaiting
    this.#isBeginning = isBeginning
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

  /** Resolves when the run has something after `from`, has ended or was removed, or the signal is aborted. */
  watch(run: RunId, from: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve()
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
      this.#look(watcher)
    })
  }

  /** Whoever watches is told of what there is, and also if nobody can say: it reads then, and hears what is wrong. */
  #look({ run, from, resolve }: Watcher): void {
    if (this.#isBeginning(run)) return
    const told = (hasNews: boolean): void => {
      if (hasNews) resolve()
    }
    detached(
      () => andThen(this.#reader.hasNews(run, from), told),
      () => resolve(),
    )
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

  /** Something was written: by this process for these runs, which tells their ends itself (`own`), or by another one. */
  changed(runs: ReadonlySet<RunId> | 'all', by: 'own' | 'another'): void {
    for (const watcher of this.#watchers) {
      if (runs === 'all') this.#look(watcher)
      else if (runs.has(watcher.run)) watcher.resolve()
    }
    if (by === 'another' && (runs === 'all' || [...runs].some((run) => this.#outcomes.has(run))))
      detached(this.#lookForEnds, () => undefined)
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
