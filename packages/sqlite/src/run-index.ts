/**
 * The index of runs in an SQLite file.
 *
 * Owns: what is written to it, and when a run counts as missing. Does not own: searching it (search.ts), of what a run is
 * made there (engine/figures). Two processes may keep the same run at once: the row of the run says who was first.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { IndexedRun, RunCounter, FiguresRow, RunFilter } from '@reeve/engine'
import { addedCounters, type NewIndexedRun, type StoreIndex, tenantKey } from '@reeve/engine/storage'
import type { RunId } from '@reeve/core'
import type { SqliteQueries } from './queries.ts'
import { isUnindexed } from './schema.ts'
import { prepared } from './statements.ts'

export class SqliteIndex implements StoreIndex {
  readonly #sql: Record<keyof typeof statements, StatementSync>
  readonly #queries: SqliteQueries
  readonly #wrote: () => void

  constructor(db: DatabaseSync, queries: SqliteQueries, wrote: () => void) {
    this.#sql = prepared(db, statements)
    this.#queries = queries
    this.#wrote = wrote
  }

  behind(limit: number): RunId[] {
    return (this.#sql.behind.all(limit) as { id: RunId }[]).map(({ id }) => id)
  }

  countBehind(most: number, tenant?: string): number {
    const { n } = (
      tenant === undefined ? this.#sql.countBehind.get(most) : this.#sql.countBehindOf.get(tenantKey(tenant), most)
    ) as { n: number }
    return n
  }

  keep(runs: readonly NewIndexedRun[]): void {
    this.#sql.begin.run()
    try {
      const counted: RunCounter[] = []
      for (const { indexed, counters } of runs) if (this.#keep(indexed)) counted.push(...counters)
      for (const { name, labels, value } of addedCounters(counted))
        this.#sql.count.run(name, JSON.stringify(labels), value)
      this.#sql.commit.run()
    } catch (thrown) {
      try {
        this.#sql.rollback.run()
      } catch {
        // a failed COMMIT may have rolled back by itself; the first error is the one to tell
      }
      throw thrown
    }
    this.#wrote()
  }

  /** False: it was removed, or is kept as it is. */
  #keep({ run, isFinal, input, output, words, failure, waitMs, shares }: IndexedRun): boolean {
    const s = this.#sql
    const state = isFinal ? 2 : 1
    if (s.mark.run(state, run, state).changes === 0) return false
    const before = s.num.get(run) as { num: number } | undefined
    if (before !== undefined) {
      s.removeWords.run(before.num)
      s.remove.run(before.num)
    }
    const num = s.keep.run(
      run,
      jsonOf(input),
      jsonOf(output),
      failure?.code ?? null,
      failure?.cause ?? null,
      jsonOf(failure),
      waitMs ?? null,
      shares.length === 0 ? null : JSON.stringify(shares),
    ).lastInsertRowid
    if (words !== '') s.keepWords.run(num, words)
    return true
  }

  rows(filter: RunFilter): FiguresRow[] {
    return this.#queries.figures(filter)
  }

  counters(): RunCounter[] {
    const rows = this.#sql.counters.all() as unknown as (Omit<RunCounter, 'labels'> & { readonly labels: string })[]
    return rows.map(({ name, labels, value }) => ({
      name,
      labels: JSON.parse(labels) as RunCounter['labels'],
      value,
    }))
  }
}

const jsonOf = (value: object | undefined): string | null => (value === undefined ? null : JSON.stringify(value))

const statements = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  behind: `SELECT id FROM run INDEXED BY run_unindexed WHERE ${isUnindexed} ORDER BY created DESC LIMIT ?`,
  countBehind: `SELECT count(*) AS n FROM (SELECT 1 FROM run INDEXED BY run_unindexed WHERE ${isUnindexed} LIMIT ?)`,
  countBehindOf: `SELECT count(*) AS n FROM (SELECT 1 FROM run INDEXED BY run_unindexed WHERE ${isUnindexed} AND tenant = ? LIMIT ?)`,
  mark: 'UPDATE run SET indexed = ? WHERE id = ? AND indexed < ?',
  num: 'SELECT num FROM indexed WHERE run = ?',
  remove: 'DELETE FROM indexed WHERE num = ?',
  removeWords: 'DELETE FROM words WHERE rowid = ?',
  keep: 'INSERT INTO indexed(run, input, output, code, cause, failure, wait, shares) VALUES(?, ?, ?, ?, ?, ?, ?, ?)',
  keepWords: 'INSERT INTO words(rowid, text) VALUES(?, ?)',
  count: 'INSERT INTO counter VALUES(?, ?, ?) ON CONFLICT(name, labels) DO UPDATE SET value = value + excluded.value',
  counters: 'SELECT name, labels, value FROM counter',
} as const
