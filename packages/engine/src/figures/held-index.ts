/**
 * An index in memory, for a store that keeps none.
 *
 * Owns: what it holds of each run, and runs that are found by it. Does not own: filling it (host/indexer.ts), the other
 * options of a filter (the queries of the store). Lost with the process, and made again from the journals.
 */
import { andThen, type Now, type RunId } from '@reeve/core'
import type { RunCounter, FiguresRow, IndexedRun, RunFilter, RunSummary } from '../port.ts'
import { asksIndex } from '../run-search.ts'
import type { NewIndexedRun, StoreIndex, StoreQueries } from '../store.ts'
import { addedCounters } from './counters.ts'
import { hasTerms, termsOf } from './text-search.ts'

/** More runs than a store without an index has. */
const all = Number.MAX_SAFE_INTEGER

export class HeldIndex implements StoreIndex {
  readonly #queries: StoreQueries
  readonly #runs = new Map<string, IndexedRun>()
  #counters: readonly RunCounter[] = []

  constructor(queries: StoreQueries) {
    this.#queries = queries
  }

  #lacking(filter: RunFilter): Now<readonly RunSummary[]> {
    return andThen(this.#queries.summaries({ ...filter, limit: all }), (found) => {
      const lacking = found.filter(({ run, endedAt }) => {
        const has = this.#runs.get(run)
        return has === undefined || (endedAt !== undefined && !has.isFinal)
      })
      if (filter.tenant === undefined && this.#runs.size > found.length - lacking.length) this.#prune(found)
      return lacking
    })
  }

  /** What the store has removed by itself. */
  #prune(found: readonly RunSummary[]): void {
    const there = new Set<string>(found.map(({ run }) => run))
    for (const run of this.#runs.keys()) if (!there.has(run)) this.#runs.delete(run)
  }

  behind(limit: number): Now<readonly RunId[]> {
    return andThen(this.#lacking({}), (found) => found.slice(0, limit).map(({ run }) => run))
  }

  countBehind(most: number, tenant?: string): Now<number> {
    return andThen(this.#lacking(tenant === undefined ? {} : { tenant }), ({ length }) => Math.min(length, most))
  }

  keep(runs: readonly NewIndexedRun[]): void {
    for (const { indexed, counters } of runs) {
      if (this.#runs.get(indexed.run)?.isFinal === true) continue
      this.#runs.set(indexed.run, indexed)
      if (indexed.isFinal) this.#counters = addedCounters([...this.#counters, ...counters])
    }
  }

  rows(filter: RunFilter): Now<readonly FiguresRow[]> {
    return andThen(this.summaries(filter.limit === undefined ? { ...filter, limit: all } : filter), (found) =>
      found.map(({ run, agent, version, status, caller, createdAt, endedAt, usage }): FiguresRow => {
        const { waitMs, failure, shares } = this.#runs.get(run) ?? { waitMs: undefined, shares: undefined }
        return {
          run,
          agent,
          version,
          status,
          createdAt,
          endedAt: endedAt ?? null,
          caller: JSON.stringify(caller),
          usage: usage === undefined ? null : JSON.stringify(usage),
          waitMs: waitMs ?? null,
          failure: failure === undefined ? null : JSON.stringify(failure),
          shares: shares === undefined ? null : JSON.stringify(shares),
        }
      }),
    )
  }

  counters(): readonly RunCounter[] {
    return this.#counters
  }

  /** This run is not there any more. */
  remove(run: RunId): void {
    this.#runs.delete(run)
  }

  /** As `StoreQueries.summaries`, by what the index knows as well, with the texts of each run. */
  summaries(filter: RunFilter): Now<readonly RunSummary[]> {
    const { limit, ...whole } = filter
    return andThen(this.#queries.summaries(asksIndex(filter) ? { ...whole, limit: all } : filter), (found) =>
      found
        .filter(({ run }) => this.#fits(run, filter))
        .slice(0, limit)
        .map((summary) => this.withTexts(summary)),
    )
  }

  #fits(run: RunId, filter: RunFilter): boolean {
    if (!asksIndex(filter)) return true
    const { text, code, cause } = filter
    const indexed = this.#runs.get(run)
    return (
      indexed !== undefined &&
      (text === undefined || hasTerms(indexed.words, termsOf(text))) &&
      (code === undefined || indexed.failure?.code === code) &&
      (cause === undefined || indexed.failure?.cause === cause)
    )
  }

  /** A summary with the texts of its run. */
  withTexts(summary: RunSummary): RunSummary {
    const { input, output } = this.#runs.get(summary.run) ?? {}
    return {
      ...summary,
      ...(input === undefined ? {} : { input }),
      ...(output === undefined ? {} : { output }),
    }
  }
}
