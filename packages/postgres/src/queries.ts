/**
 * The queries of operators, over a PostgreSQL database.
 *
 * Owns: which statements answer them. Does not own: those of a search, and the status of a run (search.ts), what the
 * engine reads (reader.ts). Never writes.
 */
import { present, runOf, type RunId } from '@reeve/core'
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
  flappingOf,
  isOfFilter,
  type OpenQuestions,
  questionOf,
  type QuestionRow,
  reportIn,
  type StoreQueries,
  summaryOf,
  type SummaryRow,
} from '@reeve/engine/storage'
import { askerOn, type Asker, type PoolSource } from './asker.ts'
import { isReady, readyKinds } from './claim.ts'
import type { NamedStatement } from './connection.ts'
import {
  canBeId,
  childRunsStatement,
  countStatement,
  figuresStatement,
  questionStatement,
  searchStatement,
  summaryStatement,
  type Statement,
} from './search.ts'

interface ShownRow extends SummaryRow, Omit<OpenQuestions, 'id'> {
  readonly shown: RunStatus
  readonly asked: string | null
}

export class PostgresQueries implements StoreQueries {
  readonly #pool: PoolSource
  readonly #rows: Asker
  readonly #schema: string
  readonly #sql: ReturnType<typeof statements>

  constructor(pool: PoolSource, schema: string) {
    this.#pool = pool
    this.#rows = askerOn(pool)
    this.#schema = `"${schema}"`
    this.#sql = statements(this.#schema)
  }

  async summary(run: RunId): Promise<RunSummary | undefined> {
    if (!canBeId(run)) return undefined
    const [row] = await this.#found<ShownRow>(summaryStatement(this.#schema, run))
    return row === undefined ? undefined : shownSummary(row)
  }

  async summaries(filter: RunFilter = {}): Promise<readonly RunSummary[]> {
    const { limit = mostListed, childrenOf } = filter
    if (childrenOf !== undefined)
      return (await this.#found<ShownRow>(childRunsStatement(this.#schema, childrenOf)))
        .map(shownSummary)
        .filter((summary) => isOfFilter(summary, filter))
        .slice(0, limit)
    const search = await this.#search(filter, limit)
    return search === undefined ? [] : (await this.#found<ShownRow>(search)).map(shownSummary)
  }

  /** As `StoreIndex.rows`. */
  async figures(filter: RunFilter): Promise<readonly FiguresRow[]> {
    const counts = await this.#counts(filter)
    const search = figuresStatement(this.#schema, filter, filter.limit, counts)
    return search === undefined ? [] : this.#found<FiguresRow>(search)
  }

  /** Undefined: there is no such run. */
  async #search(filter: RunFilter, limit: number): Promise<Statement | undefined> {
    return searchStatement(this.#schema, filter, limit, await this.#counts(filter))
  }

  async #counts(filter: RunFilter): Promise<readonly number[]> {
    const count = countStatement(this.#schema, filter)
    const [counted] = count === undefined ? [] : await this.#found<{ counts: number[] }>(count)
    return counted?.counts ?? []
  }

  /** What was made for this question alone. */
  async #found<Row>(statement: Statement): Promise<Row[]> {
    const pool = await this.#pool()
    return pool === undefined ? [] : ((await pool.query(statement)).rows as Row[])
  }

  async questions(filter: QuestionFilter = {}): Promise<readonly Question[]> {
    if (!canBeId(filter.id) || !canBeId(filter.run)) return []
    return (await this.#found<QuestionRow>(questionStatement(this.#schema, filter)))
      .filter(({ act }) => filter.run === undefined || isWithin(runOf(act), filter.run))
      .map(questionOf)
  }

  async count(filter: RunFilter, most: number): Promise<number> {
    if (filter.childrenOf !== undefined) return (await this.summaries({ ...filter, limit: most })).length
    const search = await this.#search(filter, most)
    if (search === undefined) return 0
    const { text, values } = search
    return countIn((await this.#found<{ n: string }>({ text: `SELECT count(*) AS n FROM (${text}) found`, values }))[0])
  }

  async processes(now: number, most: number): Promise<readonly StoredProcess[]> {
    const rows = await this.#rows<{ id: string; alive: boolean; report: string | null } & Partial<HeldRuns>>(
      this.#sql.processes,
      [now, most + 1],
    )
    return [...Map.groupBy(rows, ({ id }) => id)].map(([id, of]) => {
      const drives = of.flatMap(({ agent, version, runs }) =>
        typeof agent === 'string' && typeof version === 'string' ? [{ agent, version, runs: Number(runs) }] : [],
      )
      const isMore = drives.reduce((sum, { runs }) => sum + runs, 0) > most
      const { alive, report } = of[0]!
      return { id, isAlive: alive, drives, ...(isMore ? { isMore } : {}), ...present({ report: reportIn(report) }) }
    })
  }

  async backlog(most: number): Promise<Backlog> {
    const ready = countIn((await this.#rows<{ n: string }>(this.#sql.readyCount, [most]))[0])
    const [first] = ready === 0 ? [] : await this.#rows<{ id: RunId; since: number }>(this.#sql.firstReady)
    const unheard = countIn((await this.#rows<{ n: string }>(this.#sql.unheard, [most]))[0])
    const flapping = flappingOf(countIn((await this.#rows<{ n: string }>(this.#sql.flapping, [most]))[0]))
    return {
      ready,
      ...(first === undefined ? {} : { first: { run: first.id, since: first.since } }),
      unheard,
      ...flapping,
    }
  }

  /** The tables with their indexes. */
  async size(): Promise<number | undefined> {
    const [row] = await this.#rows<{ bytes: string | null }>(this.#sql.size, [this.#schema.slice(1, -1)])
    return row === undefined || row.bytes === null ? undefined : Number(row.bytes)
  }
}

/** What was counted may come as a text. */
const countIn = (row: { readonly n: number | string } | undefined): number => Number(row?.n ?? 0)

const shownSummary = (row: ShownRow): RunSummary => summaryOf(row, row.shown, { ...row, id: row.asked })

function statements(s: string) {
  const named = (name: string, text: string): NamedStatement => [`reeve_${name}`, text]
  return {
    // With a clock of its own a store has leases by that clock.
    processes: named(
      'processes',
      `SELECT p.id, p.until >= CASE WHEN EXISTS (SELECT 1 FROM ${s}.meta WHERE key = 'own-clock') THEN $1::bigint
          ELSE (extract(epoch FROM clock_timestamp()) * 1000)::bigint END AS alive, r.body AS report, h.agent, h.version, h.runs
      FROM ${s}.process p LEFT JOIN ${s}.report r ON r.process = p.id LEFT JOIN LATERAL (SELECT agent, version, count(*) AS runs FROM
        (SELECT agent, version FROM ${s}.run WHERE ended IS NULL AND parked = 0 AND owner = p.id LIMIT $2) r GROUP BY agent, version) h ON true
      ORDER BY p.id, h.agent, h.version`,
    ),
    flapping: named(
      'flapping',
      `SELECT count(*) AS n FROM (SELECT 1 FROM ${s}.run WHERE losses > 1 AND ended IS NULL LIMIT $1) f`,
    ),
    readyCount: named('ready_count', `SELECT count(*) AS n FROM (SELECT 1 FROM ${s}.run WHERE ${isReady} LIMIT $1) r`),
    firstReady: named(
      'first_ready',
      `SELECT r.id, COALESCE((SELECT e.at FROM ${s}.entry e WHERE e.run = r.id ORDER BY e.position DESC LIMIT 1), r.created) AS since
      FROM (SELECT o.id, o.created FROM (${readyKinds(s)[1]}) k CROSS JOIN LATERAL
        (SELECT id, created FROM ${s}.run WHERE ${isReady} AND agent = k.agent AND version = k.version ORDER BY created LIMIT 1) o
        ORDER BY o.created LIMIT 1) r`,
    ),
    unheard: named(
      'unheard',
      `SELECT count(*) AS n FROM (SELECT 1 FROM (SELECT DISTINCT run FROM ${s}.inbox WHERE NOT taken) i
        JOIN ${s}.run r ON r.id = i.run AND r.owner IS NULL AND r.ended IS NULL LIMIT $1) u`,
    ),
    size: named(
      'size',
      `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relkind = 'r'`,
    ),
  } as const
}
