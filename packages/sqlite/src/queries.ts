/**
 * The queries of operators, over an SQLite file.
 *
 * Owns: which statements answer them, the status of a run as it is derived here. Does not own: where the runs and questions of a
 * filter are looked for (search.ts), what the engine reads (reader.ts). Never writes.
 */
import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { present, rootActivation, runOf, type ActivationId, type RunId } from '@reeve/core'
import {
  type Backlog,
  type FiguresRow,
  type HeldRuns,
  isWithin,
  mostListed,
  type Question,
  type QuestionFilter,
  type RunFilter,
  type RunStatus,
  type RunSummary,
  type StoredProcess,
} from '@reeve/engine'
import {
  type DerivedState,
  flappingOf,
  isDerived,
  isOfFilter,
  type OpenQuestions,
  questionOf,
  reportIn,
  type StoreQueries,
  summaryOf,
  type SummaryRow,
} from '@reeve/engine/storage'
import { childRange, inRun, inSubtree, runRange, subtreeRange } from './id-ranges.ts'
import { hostIn, isAlive, type ProcessRow } from './lease.ts'
import { runColumns, type SqliteReader } from './reader.ts'
import { isAnswered, SqliteSearch } from './search.ts'
import { prepared } from './statements.ts'

interface StateRow extends SummaryRow {
  readonly state: RunStatus | DerivedState
}

export class SqliteQueries implements StoreQueries {
  readonly #sql: Record<keyof typeof statements, StatementSync>
  readonly #search: SqliteSearch
  readonly #reader: SqliteReader

  constructor(db: DatabaseSync, reader: SqliteReader) {
    this.#sql = prepared(db, statements)
    this.#search = new SqliteSearch(db)
    this.#reader = reader
  }

  summary(run: RunId): RunSummary | undefined {
    const row = this.#row(run)
    return row === undefined ? undefined : this.#summary(row)
  }

  summaries(filter: RunFilter = {}): RunSummary[] {
    const { status, limit = mostListed, childrenOf } = filter
    if (childrenOf !== undefined)
      return (this.#sql.childRuns.all(...childRange(childrenOf)) as unknown as StateRow[])
        .map((row) => this.#summary(row))
        .filter((summary) => isOfFilter(summary, filter))
        .slice(0, limit)
    const found: RunSummary[] = []
    let last: string | undefined
    for (const id of this.#search.candidates(filter)) {
      // one that is found in two ways stands beside itself
      const row = id === last ? undefined : this.#row(id)
      last = id
      if (row === undefined || (status !== undefined && !status.includes(this.#status(row)))) continue
      found.push(this.#summary(row))
      if (found.length >= limit) break
    }
    return found
  }

  /** As `StoreIndex.rows`. */
  figures({ status, limit = Infinity, ...filter }: RunFilter): FiguresRow[] {
    const found: FiguresRow[] = []
    let last: string | undefined
    for (const id of this.#search.candidates({ ...filter, ...present({ status }) })) {
      if (id === last) continue
      last = id
      const row = this.#sql.figures.get(id) as unknown as FiguresRow & Pick<StateRow, 'state'>
      if (status !== undefined && !status.includes(this.#status({ id, state: row.state }))) continue
      found.push(row)
      if (found.length >= limit) break
    }
    return found
  }

  #row(run: RunId): StateRow | undefined {
    return this.#sql.stateRow.get(run) as StateRow | undefined
  }

  #summary(row: StateRow): RunSummary {
    const open =
      row.ended === null
        ? (this.#sql.waitsFor.get(...subtreeRange(rootActivation(row.id as RunId))) as unknown as OpenQuestions)
        : undefined
    return summaryOf(row, this.#status(row), open)
  }

  #status({ id, state }: Pick<StateRow, 'id' | 'state'>): RunStatus {
    if (state === 'work') return 'running'
    if (state !== 'asks' && state !== 'rests') return state
    const root = rootActivation(id as RunId)
    if (this.#sql.asks.get(...subtreeRange(root)) === undefined) return 'running'
    // part of it waits for people, and a child run is at work
    if (this.#sql.childAtWork.get(...childRange(id as RunId)) !== undefined) return 'running'
    return this.#sql.unreadPause.get(root) === undefined ? 'waiting' : 'pausing'
  }

  questions(filter: QuestionFilter = {}): Question[] {
    return this.#search
      .questions(filter)
      .filter(({ act }) => filter.run === undefined || isWithin(runOf(act), filter.run))
      .map(questionOf)
  }

  count(filter: RunFilter, most: number): number {
    const { status, childrenOf } = filter
    if (childrenOf !== undefined) return this.summaries({ ...filter, limit: most }).length
    const isExact = status === undefined || !status.some(isDerived)
    let count = 0
    let last: string | undefined
    for (const id of this.#search.candidates(filter)) {
      if (count >= most) break
      // one that is found in two ways stands beside itself
      const row = isExact || id === last ? undefined : this.#row(id)
      last = id
      if (isExact || (row !== undefined && status.includes(this.#status(row)))) count++
    }
    return count
  }

  processes(now: number, most: number): StoredProcess[] {
    const rows = this.#sql.processes.all() as unknown as (ProcessRow & { readonly report: string | null })[]
    return rows.map((row) => {
      const held = this.#sql.drives.all(row.id, most + 1) as unknown as HeldRuns[]
      const drives = held.map(({ agent, version, runs }) => ({ agent, version, runs }))
      const isMore = drives.reduce((sum, { runs }) => sum + runs, 0) > most
      return {
        id: row.id,
        host: hostIn(row),
        pid: row.pid,
        ...present({ isAlive: isAlive(row, now) }),
        drives,
        ...(isMore ? { isMore } : {}),
        ...present({ report: reportIn(row.report) }),
      }
    })
  }

  backlog(most: number): Backlog {
    const { n: ready } = this.#sql.readyCount.get(most) as { n: number }
    let first: { readonly id: RunId; readonly created: number } | undefined
    for (const { agent, version } of ready === 0 ? [] : this.#reader.orphanKinds()) {
      const oldest = this.#sql.firstOrphan.get(agent, version) as typeof first
      if (oldest !== undefined && (first === undefined || oldest.created < first.created)) first = oldest
    }
    const mail = this.#sql.unreadActs.all(most) as { act: ActivationId }[]
    const unheard = [...new Set(mail.map(({ act }) => runOf(act)))].filter(
      (run) => this.#reader.run(run)?.owner === null,
    )
    const last = first && (this.#sql.lastAt.get(...runRange(rootActivation(first.id))) as { at: number | null })
    return {
      ready,
      ...(first === undefined ? {} : { first: { run: first.id, since: last?.at ?? first.created } }),
      unheard: unheard.length,
      ...flappingOf((this.#sql.flapping.get(most) as { n: number }).n),
    }
  }

  /** The file and its write-ahead log; of a store in memory what its pages take. */
  size(): number {
    const { bytes, file } = this.#sql.size.get() as { bytes: number; file: string }
    const log = file === '' ? undefined : statSync(`${file}-wal`, { throwIfNoEntry: false })
    return bytes + (log?.size ?? 0)
  }
}

const statements = {
  stateRow: `SELECT ${runColumns}, usage, why, state, input, output FROM run LEFT JOIN indexed ON run = id WHERE id = ?`,
  figures: `SELECT r.id AS run, agent, version, caller, created AS createdAt, ended AS endedAt, r.status, usage, state, wait AS waitMs, failure, shares
    FROM run r LEFT JOIN indexed d ON d.run = r.id WHERE r.id = ?`,
  childRuns: `SELECT ${runColumns}, usage, why, state FROM run WHERE id >= ? AND id < ? ORDER BY created DESC, id DESC`,
  waitsFor: `SELECT count(*) AS questions, id, kind, min(at) AS askedAt, until FROM question WHERE kind <> 'timer' AND ${inSubtree('act')} AND NOT ${isAnswered}`,
  asks: `SELECT 1 FROM question WHERE kind <> 'timer' AND ${inSubtree('act')} LIMIT 1`,
  childAtWork: 'SELECT 1 FROM run WHERE id >= ? AND id < ? AND ended IS NULL AND parked = 0 LIMIT 1',
  processes:
    'SELECT p.id, p.host, p.pid, p.started, p.until, r.body AS report FROM process p LEFT JOIN report r ON r.process = p.id ORDER BY p.id',
  flapping: 'SELECT count(*) AS n FROM (SELECT 1 FROM run WHERE losses > 1 AND ended IS NULL LIMIT ?)',
  drives: `SELECT agent, version, count(*) AS runs FROM
    (SELECT agent, version FROM run WHERE ended IS NULL AND parked = 0 AND owner = ? LIMIT ?) GROUP BY agent, version ORDER BY agent, version`,
  readyCount:
    'SELECT count(*) AS n FROM (SELECT 1 FROM run WHERE ended IS NULL AND parked = 0 AND owner IS NULL LIMIT ?)',
  firstOrphan:
    'SELECT id, created FROM run WHERE ended IS NULL AND parked = 0 AND owner IS NULL AND agent = ? AND version = ? ORDER BY created LIMIT 1',
  unreadActs: 'SELECT act FROM inbox INDEXED BY inbox_unread WHERE taken = 0 LIMIT ?',
  size: `SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS bytes,
    (SELECT file FROM pragma_database_list WHERE name = 'main') AS file`,
  unreadPause: "SELECT 1 FROM inbox WHERE act = ? AND taken = 0 AND key GLOB '!pause*' LIMIT 1",
  lastAt: `SELECT max((SELECT l.at FROM log l WHERE l.act = a.num ORDER BY l.seq DESC LIMIT 1)) AS at FROM activation a WHERE ${inRun('a.id')}`,
} as const
