/**
 * The indexer: takes runs into the index of a store, behind the log.
 *
 * Owns: which runs are next, reading their journals, how much of the time of a process that takes. Does not own: what is
 * kept of a run (figures/), how (the stores).
 * Holds: no run waits for it: it works between turns of the event loop, for a small part of the time while runs are at
 * work. It holds nothing that a death could lose: what is missing is found by what the index lacks. What is wrong with one
 * journal keeps no other run out.
 */
import { delay, ReeveError, Slices, stopwatch, type Now, type RunId } from '@reeve/core'
import { foldPage, type Recorded } from '@reeve/journal'
import { countersOf, SeriesBound } from '../figures/counters.ts'
import { IndexedRunFold } from '../figures/indexed-run.ts'
import type { RunCounter } from '../port.ts'
import { callerIn } from '../run-row.ts'
import { batchAgent } from '../run-search.ts'
import type { NewIndexedRun, StoredRun, StoreIndex, StoreReader } from '../store.ts'

/** So many runs are kept at once. */
const runsAtOnce = 50
/** So long a reader that asks waits for what is missing. Milliseconds. */
export const askerWaitsMs = 250
/** How often it looks for work by itself; beside runs at work it rests so many times as long as it has worked. */
const lookEveryMs = 250
const restsBesideRuns = 20
const closingMs = 1_000
/** It begins so long after the process: what has just ended is asked for by itself. Milliseconds. */
const firstLookMs = 1_000

export class Indexer {
  readonly #reader: StoreReader
  readonly #index: StoreIndex
  readonly #series = new SeriesBound()
  /** One piece of work at a time. */
  #work: Promise<unknown> = Promise.resolve()
  #isWorking = false
  #nextLook = stopwatch() + firstLookMs
  #isClosed = false

  constructor(reader: StoreReader, index: StoreIndex) {
    this.#reader = reader
    this.#index = index
  }

  /** Takes in some of what is missing, if it is time for that. `isBusy`: runs are at work in this process. */
  async look(now: number, isBusy: boolean): Promise<void> {
    if (this.#isWorking || now < this.#nextLook) return
    const began = stopwatch()
    try {
      const isMore = await this.catchUp(isBusy ? 10 : 50)
      const worked = stopwatch() - began
      this.#nextLook = stopwatch() + (isMore && !isBusy ? worked : Math.max(lookEveryMs, worked * restsBesideRuns))
    } catch (thrown) {
      this.#nextLook = stopwatch() + lookEveryMs * restsBesideRuns
      throw thrown
    }
  }

  /** Takes in what is missing, for so many milliseconds; true: there is more. */
  catchUp(forMs: number): Promise<boolean> {
    const work = this.#work.then(() => this.#fill(stopwatch() + forMs))
    this.#work = work.catch(() => undefined)
    return work
  }

  /** Begins nothing more, and waits a moment for what is under way: a server that is silent is not waited for. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.race([this.#work, delay(closingMs)])
  }

  async #fill(until: number): Promise<boolean> {
    this.#isWorking = true
    try {
      const tried = new Set<RunId>()
      while (!this.#isClosed) {
        const behind = await this.#index.behind(runsAtOnce)
        // what another process holds at this moment is kept by it, or later
        const next = behind.filter((run) => !tried.has(run))
        if (next.length === 0) return behind.length > 0
        const kept: NewIndexedRun[] = []
        const slices = new Slices()
        for (const run of next) {
          if (this.#isClosed) return true
          tried.add(run)
          const indexed = await this.#indexed(run, slices)
          if (indexed !== undefined) kept.push(indexed)
          if (stopwatch() >= until) break
        }
        await this.#keep(kept)
        if (stopwatch() >= until) return true
      }
      return true
    } finally {
      this.#isWorking = false
    }
  }

  async #keep(runs: readonly NewIndexedRun[]): Promise<void> {
    if (runs.length === 0 || this.#isClosed) return
    if (!runs.every(({ counters }) => this.#series.knows(counters))) this.#series.note(await this.#index.counters())
    await this.#index.keep(runs.map(({ indexed, counters }) => ({ indexed, counters: this.#series.bounded(counters) })))
  }

  /** Undefined: it is gone. */
  async #indexed(run: RunId, slices: Slices): Promise<NewIndexedRun | undefined> {
    const row = await this.#reader.run(run)
    if (row === undefined) return undefined
    const fold = new IndexedRunFold(run)
    try {
      const runs: RunId[] = [run]
      for (let next = runs.shift(); next !== undefined; next = runs.shift()) {
        await this.#read(next, fold, slices)
        runs.push(...fold.childRuns())
      }
    } catch (thrown) {
      // it stays unreadable: it is kept with what was read
      if (!ReeveError.is(thrown, 'store.corrupt')) throw thrown
    }
    return newIndexedRun(row, fold)
  }

  async #read(run: RunId, fold: IndexedRunFold, slices: Slices): Promise<void> {
    for (let from = 0; ;) {
      const answer: Now<readonly Recorded[]> = this.#reader.feed(run, from, foldPage.events, foldPage.length)
      const page = answer instanceof Promise ? await answer : answer
      for (const recorded of page) fold.take(recorded)
      const last = page.at(-1)
      if (last === undefined || this.#isClosed) return
      from = last.position
      await slices.giveWay()
    }
  }
}

function newIndexedRun(row: StoredRun, fold: IndexedRunFold): NewIndexedRun {
  const indexed = fold.indexed(row)
  // commands of operators, and what they try, are no work
  const counts = indexed.isFinal && row.agent !== batchAgent && callerIn(row).trial !== true
  const counters: readonly RunCounter[] = counts ? countersOf(row, indexed) : []
  return { indexed, counters }
}
