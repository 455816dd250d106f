/**
 * Subscriptions: callers in this process that wait for a run, watch its feed or listen to its live parts.
 *
 * Owns: outcome promises, watchers of a feed, listeners of live parts. Does not own: what happened (driver.ts, the
 * store), which parts are heard twice (part-filter.ts).
 * Holds: K9 (readers own nothing; a listener that leaves changes nothing). An outcome is waited for as long as the
 * store may yet tell it: failures that pass are waited out.
 */
import { andThen, detached, oneAtATime, type Now, type Redactor, type ReeveError, type RunId } from '@reeve/core'
import {
  unknownRun,
  type LivePart,
  type PartAuthor,
  type PartListener,
  type PartListenerOptions,
  type RunEnd,
} from '../port.ts'
import { isMistake, type StoredRun, type StoreLog, type StoreParts, type StoreReader } from '../store.ts'
import { PartFilter } from './part-filter.ts'

/** How long after the store could not answer it is asked again. Milliseconds. */
const againMs = 100

export interface SubscriptionOptions {
  /** Live parts leave this process without what is taken out of all that is recorded. */
  readonly redact: Redactor | undefined
  /** Everything that was read is on disk. */
  readonly synced: () => Now<void>
  /** Called with whether any caller waits: a process that awaits a run must not end while the run can still move. */
  readonly onWaiting: (waits: boolean) => void
  /** Whether a run that is not in the store is about to be. */
  readonly isBeginning: (run: RunId) => boolean
  /** Whether this process moves a run, and so tells its end itself. */
  readonly isHeld: (run: RunId) => boolean
  /** Tells the text that attempts under way have shown so far, of a run that this process drives. */
  readonly tellShown: (run: RunId, hear: PartListener) => void
  /** Whether the store may yet answer that has failed in this way. */
  readonly mayPass: (error: ReeveError) => boolean
  /** Hears of a failure that is waited out. */
  readonly warn: (error: ReeveError) => void
}

interface EndWaiter {
  readonly resolve: (end: RunEnd) => void
  readonly reject: (error: Error) => void
}
interface FeedWatcher {
  /** `null`: the feed of all runs. */
  readonly run: RunId | null
  readonly from: number
  readonly resolve: () => void
}

/** The listeners of one run's live parts. */
interface Listening {
  readonly hear: Set<PartListener>
  readonly filter: PartFilter
  readonly stop: () => void
}

export class Subscriptions {
  readonly #store: Pick<StoreLog, 'errorOf'>
  readonly #reader: StoreReader
  readonly #options: SubscriptionOptions
  readonly #outcomes = new Map<RunId, EndWaiter[]>()
  readonly #watchers = new Set<FeedWatcher>()
  readonly #parts: StoreParts | undefined
  readonly #listeners = new Map<RunId, Listening>()
  /** Awaited runs of which the store could not be asked. */
  readonly #unasked = new Set<RunId>()
  #again: ReturnType<typeof setTimeout> | undefined
  #isClosed = false
  /** One question, however many are awaited. */
  readonly #lookForEnds = oneAtATime(
    () =>
      andThen(this.#reader.ends(this.#outcomes), (ends) => {
        if (ends.size > 0)
          return andThen(this.#options.synced(), () => {
            for (const [run, end] of ends) this.ended(run, end)
          })
      }),
    () => {
      for (const run of this.#outcomes.keys()) this.askLater(run)
    },
  )

  constructor(store: Pick<StoreLog, 'reader' | 'parts' | 'errorOf'>, options: SubscriptionOptions) {
    this.#store = store
    this.#reader = store.reader
    this.#parts = store.parts
    this.#options = options
  }

  #count(): void {
    this.#options.onWaiting(this.#outcomes.size + this.#watchers.size > 0)
  }

  /**
   * Resolves when the run has ended. Rejects with `run.unknown`, and with what is wrong with the store unless it may
   * pass.
   */
  outcome(run: RunId): Promise<RunEnd> {
    const outcome = new Promise<RunEnd>((resolve, reject) => {
      const waiting = this.#outcomes.get(run)
      if (waiting === undefined) this.#outcomes.set(run, [{ resolve, reject }])
      else waiting.push({ resolve, reject })
    })
    this.#count()
    // Asked after it is waited for: an end that comes in between is not missed.
    if (!this.#options.isHeld(run))
      detached(
        () => this.#ask(run),
        (thrown) => this.#unanswered(thrown, run, this.#options.warn),
      )
    return outcome
  }

  /** Asks how a run has ended that is awaited, and whether there is one. */
  #ask(run: RunId): Now<void> {
    const look = (row: StoredRun | undefined): Now<void> => {
      if (row === undefined && !this.#options.isHeld(run)) this.#failed(unknownRun(run), [run])
      else if (typeof row?.ended === 'number')
        return andThen(this.#reader.end(run), (end) =>
          end === undefined ? undefined : andThen(this.#options.synced(), () => this.ended(run, end)),
        )
    }
    return andThen(this.#reader.run(run), look)
  }

  /**
   * What the store could not write or say of these runs may have come to pass all the same: it is asked when it answers
   * again. Where it will not, the callers that wait get the error.
   */
  storeFailed(error: ReeveError, runs: Iterable<RunId>, warn?: (error: ReeveError) => void): void {
    if (!this.#options.mayPass(error)) return this.#failed(error, runs)
    warn?.(error)
    for (const run of runs) this.askLater(run)
  }

  /** The end of a run could not be read. */
  #unanswered(thrown: unknown, run: RunId, warn?: (error: ReeveError) => void): void {
    if (isMistake(thrown)) this.#failed(thrown as Error, [run])
    else this.storeFailed(this.#store.errorOf(thrown), [run], warn)
  }

  /** Asks for the end of a run later, if a caller waits for it. */
  askLater(run: RunId): void {
    if (this.#isClosed || !this.#outcomes.has(run)) return
    this.#unasked.add(run)
    this.#again ??= setTimeout(() => {
      this.#again = undefined
      detached(
        () => this.#askAgain(),
        () => undefined,
      )
    }, againMs).unref()
  }

  /** One after the other, until the store fails again. */
  async #askAgain(): Promise<void> {
    for (const run of this.#unasked) {
      this.#unasked.delete(run)
      if (!this.#outcomes.has(run)) continue
      try {
        await this.#ask(run)
      } catch (thrown) {
        this.#unanswered(thrown, run)
        if (this.#again !== undefined) return
      }
    }
  }

  /**
   * Resolves when the run has something after `from`, has ended or was removed, or the signal is aborted. `null`: when
   * any run has something.
   */
  watch(run: RunId | null, from: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve()
    return new Promise((done) => {
      const resolve = (): void => {
        this.#watchers.delete(watcher)
        signal?.removeEventListener('abort', resolve)
        this.#count()
        done()
      }
      const watcher: FeedWatcher = { run, from, resolve }
      signal?.addEventListener('abort', resolve)
      this.#watchers.add(watcher)
      this.#count()
      this.#look(watcher)
    })
  }

  /** Resolves a watcher if there is news, and also if the store fails: its next read then throws the error. */
  #look({ run, from, resolve }: FeedWatcher): void {
    if (run !== null && this.#options.isBeginning(run)) return
    const told = (hasNews: boolean): void => {
      if (hasNews) resolve()
    }
    const ask = (): Now<boolean> =>
      run === null ? andThen(this.#reader.page(from, 1), ({ upTo }) => upTo > from) : this.#reader.hasNews(run, from)
    detached(
      () => andThen(ask(), told),
      () => resolve(),
    )
  }

  listen(run: RunId, hear: PartListener, { soFar = false }: PartListenerOptions = {}): () => void {
    const listening = this.#listeners.get(run) ?? this.#overhear(run)
    if (soFar)
      this.#options.tellShown(run, (part, author) => {
        if (listening.filter.admits(part)) hear(part, author)
      })
    listening.hear.add(hear)
    return () => {
      if (!listening.hear.delete(hear) || listening.hear.size > 0) return
      this.#listeners.delete(run)
      listening.stop()
    }
  }

  #overhear(run: RunId): Listening {
    const [hear, filter] = [new Set<PartListener>(), new PartFilter()]
    const stop = this.#parts?.overhear(run, (published) => {
      for (const part of filter.take(published)) for (const each of hear) each(part)
    })
    const listening = { hear, filter, stop: stop ?? (() => undefined) }
    this.#listeners.set(run, listening)
    return listening
  }

  /** Of a run that this process drives: for those who listen here, and for those in other processes. */
  part(run: RunId, part: LivePart, author: PartAuthor): void {
    const listening = this.#listeners.get(run)
    if (listening?.filter.admits(part) === true) for (const hear of listening.hear) hear(part, author)
    // a run that is out of memory may be another process's by now
    if (this.#parts === undefined || part.epoch === 0) return
    this.#parts.publish(
      run,
      this.#options.redact === undefined ? part : { ...part, part: this.#options.redact(part.part, 'payload') },
    )
  }

  /**
   * Something was written: by this process for these runs, which tells their ends itself (`own`), or by another one.
   */
  changed(runs: ReadonlySet<RunId> | 'all', by: 'own' | 'another'): void {
    for (const watcher of this.#watchers) {
      if (runs === 'all') this.#look(watcher)
      else if (watcher.run === null ? runs.size > 0 : runs.has(watcher.run)) watcher.resolve()
    }
    if (by === 'another' && (runs === 'all' || [...runs].some((run) => this.#outcomes.has(run))))
      detached(this.#lookForEnds, () => undefined)
  }

  ended(run: RunId, end: RunEnd): void {
    for (const { resolve } of this.#take(run)) resolve(end)
    for (const watcher of this.#watchers) if (watcher.run === run) watcher.resolve()
    this.#count()
  }

  #failed(error: Error, runs: Iterable<RunId>): void {
    for (const run of runs) for (const { reject } of this.#take(run)) reject(error)
    this.#count()
  }

  #take(run: RunId): EndWaiter[] {
    const waiting = this.#outcomes.get(run) ?? []
    this.#outcomes.delete(run)
    return waiting
  }

  /** Ends all subscriptions. */
  close(error: ReeveError): void {
    this.#isClosed = true
    clearTimeout(this.#again)
    this.#failed(error, [...this.#outcomes.keys()])
    for (const watcher of this.#watchers) watcher.resolve()
    for (const { stop } of this.#listeners.values()) stop()
  }
}
