/**
 * News: who in this process waits for something to happen to a run, and hears of it.
 *
 * Owns: outcome promises, watchers of a feed, listeners of live parts. Does not own: what happened (driver.ts, the store), what of it is heard twice (overheard.ts).
 * Holds: K9 (readers own nothing; a listener that leaves changes nothing).
 */
import { andThen, detached, oneAtATime, type Redactor, type ReeveError, type RunId } from '../../core/index.ts'
import type { LivePart, RunEnd } from '../port.ts'
import type { Store, StoreParts, StoreReader } from '../store.ts'
import { Overheard } from './overheard.ts'

interface Waiting {
  readonly resolve: (end: RunEnd) => void
  readonly reject: (error: Error) => void
}
interface Watcher {
  readonly run: RunId
  readonly from: number
  readonly resolve: () => void
}

/** Who hears live parts of a run. */
interface Listening {
  readonly hear: Set<(part: LivePart) => void>
  readonly overheard: Overheard
  readonly stop: () => void
}

export class News {
  readonly #reader: StoreReader
  readonly #onWaiting: (somebody: boolean) => void
  readonly #isBeginning: (run: RunId) => boolean
  readonly #outcomes = new Map<RunId, Waiting[]>()
  readonly #watchers = new Set<Watcher>()
  readonly #parts: StoreParts | undefined
  readonly #redact: Redactor | undefined
  readonly #listeners = new Map<RunId, Listening>()
  /** One question, however many are awaited. If it fails, the next news brings them. */
  readonly #lookForEnds = oneAtATime(
    () =>
      andThen(this.#reader.ends(this.#outcomes), (ends) => {
        for (const [run, end] of ends) this.ended(run, end)
      }),
    () => undefined,
  )

  /**
   * `redact`: live parts leave this process without what is taken out of all that is recorded.
   * `onWaiting` is told whether anybody waits: a process that awaits a run must not end while the run can still move.
   * `isBeginning`: whether a run that is not in the store is about to be.
   */
  constructor(
    { reader, parts }: Pick<Store, 'reader' | 'parts'>,
    redact: Redactor | undefined,
    onWaiting: (somebody: boolean) => void,
    isBeginning: (run: RunId) => boolean,
  ) {
    this.#reader = reader
    this.#parts = parts
    this.#redact = redact
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
    const listening = this.#listeners.get(run) ?? this.#overhear(run)
    listening.hear.add(hear)
    return () => {
      if (!listening.hear.delete(hear) || listening.hear.size > 0) return
      this.#listeners.delete(run)
      listening.stop()
    }
  }

  #overhear(run: RunId): Listening {
    const [hear, overheard] = [new Set<(part: LivePart) => void>(), new Overheard()]
    const stop = this.#parts?.overhear(run, (published) => {
      for (const part of overheard.take(published)) for (const each of hear) each(part)
    })
    const listening = { hear, overheard, stop: stop ?? (() => undefined) }
    this.#listeners.set(run, listening)
    return listening
  }

  /** Of a run that this process drives: for those who listen here, and for those in other processes. */
  part(run: RunId, part: LivePart): void {
    const listening = this.#listeners.get(run)
    if (listening?.overheard.admits(part) === true) for (const hear of listening.hear) hear(part)
    // a run that is out of memory may be another process's by now
    if (this.#parts === undefined || part.epoch === 0) return
    this.#parts.publish(run, this.#redact === undefined ? part : { ...part, part: this.#redact(part.part, 'payload') })
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
    for (const { stop } of this.#listeners.values()) stop()
  }
}
