/**
 * The index of runs in a PostgreSQL database.
 *
 * Owns: what is written to it, and which runs are taken next. Does not own: searching it (search.ts), of what a run is made
 * there (engine/figures).
 * Holds: it waits for no row of a run, so that it is part of no deadlock: a run that is being written to is kept later. A
 * run that has just been begun for any process is left alone, since who takes it up passes over rows that are held.
 */
import type { FiguresRow, IndexedRun, RunCounter, RunFilter } from '@reeve/engine'
import { addedCounters, type NewIndexedRun, type StoreIndex, tenantKey, textBreak } from '@reeve/engine/storage'
import type { RunId } from '@reeve/core'
import { askerOn, query, type Asker, type PoolSource } from './asker.ts'
import { isReady } from './claim.ts'
import type { NamedStatement } from './connection.ts'
import type { PostgresQueries } from './queries.ts'
import { isUnindexed } from './schema.ts'

/** A run that no process has taken up for so long may wait for one for long. Milliseconds. */
const settledMs = 5_000
/** Of a word the server keeps so many places. */
const mostPlaces = 255

export class PostgresIndex implements StoreIndex {
  readonly #pool: PoolSource
  readonly #rows: Asker
  readonly #queries: PostgresQueries
  readonly #sql: ReturnType<typeof statements>

  constructor(pool: PoolSource, queries: PostgresQueries, schema: string) {
    this.#pool = pool
    this.#rows = askerOn(pool)
    this.#queries = queries
    this.#sql = statements(`"${schema}"`)
  }

  async behind(limit: number): Promise<readonly RunId[]> {
    return (await this.#rows<{ id: RunId }>(this.#sql.behind, [limit])).map(({ id }) => id)
  }

  async countBehind(most: number, tenant?: string): Promise<number> {
    const asked =
      tenant === undefined
        ? this.#rows<{ n: string }>(this.#sql.countBehind, [most])
        : this.#rows<{ n: string }>(this.#sql.countBehindOf, [most, tenantKey(tenant)])
    return Number((await asked)[0]?.n ?? 0)
  }

  async keep(runs: readonly NewIndexedRun[]): Promise<void> {
    const pool = await this.#pool()
    // it has no tables: what was read of it is gone
    if (pool === undefined) return
    const client = await pool.connect()
    let broken = true
    try {
      await client.query('BEGIN')
      const rows = runs.map(({ indexed }) => columnsOf(indexed))
      const columns = Array.from({ length: columnCount }, (_, i) => rows.map((row) => row[i] ?? null))
      const { rows: kept } = await client.query<{ run: RunId }>(query(this.#sql.keep, columns))
      const own = new Set(kept.map(({ run }) => run))
      const added = addedCounters(runs.flatMap(({ indexed, counters }) => (own.has(indexed.run) ? counters : [])))
      if (added.length > 0)
        await client.query(
          query(this.#sql.count, [
            added.map(({ name }) => name),
            added.map(({ labels }) => JSON.stringify(labels)),
            added.map(({ value }) => value),
          ]),
        )
      await client.query('COMMIT')
      broken = false
    } finally {
      client.release(broken)
    }
  }

  rows(filter: RunFilter): Promise<readonly FiguresRow[]> {
    return this.#queries.figures(filter)
  }

  async counters(): Promise<readonly RunCounter[]> {
    const rows = await this.#rows<Omit<RunCounter, 'labels'> & { readonly labels: string }>(this.#sql.counters)
    return rows.map(({ name, labels, value }) => ({ name, labels: JSON.parse(labels) as RunCounter['labels'], value }))
  }
}

const columnCount = 10
const jsonOf = (value: object | undefined): string | null => (value === undefined ? null : JSON.stringify(value))

/** The parameters of `keep`, of one run. As JSON no text holds U+0000. */
const columnsOf = ({
  run,
  isFinal,
  input,
  output,
  words,
  failure,
  waitMs,
  shares,
}: IndexedRun): readonly (string | number | null)[] => [
  run,
  isFinal ? 2 : 1,
  jsonOf(input),
  jsonOf(output),
  failure?.code ?? null,
  failure?.cause ?? null,
  jsonOf(failure),
  waitMs ?? null,
  shares.length === 0 ? null : JSON.stringify(shares),
  vectorOf(words),
]

/** Words with their places, as a text of the type `tsvector`. */
function vectorOf(words: string): string {
  const places = new Map<string, number[]>()
  for (const [i, word] of words.trim().split(' ').entries()) {
    if (word === textBreak || word === '') continue
    const of = places.get(word) ?? []
    places.set(word, of)
    if (of.length < mostPlaces) of.push(i + 1)
  }
  return [...places].map(([word, of]) => `'${word}':${of.join(',')}`).join(' ')
}

function statements(s: string) {
  const named = (name: string, text: string): NamedStatement => [`reeve_${name}`, text]
  const unindexed = `${s}.run r WHERE ${isUnindexed('r')}`
  return {
    behind: named(
      'index_behind',
      `SELECT r.id FROM ${unindexed} AND NOT (${isReady} AND r.created > extract(epoch FROM clock_timestamp()) * 1000 - ${settledMs})
        ORDER BY r.created DESC LIMIT $1`,
    ),
    countBehind: named('index_count_behind', `SELECT count(*) AS n FROM (SELECT 1 FROM ${unindexed} LIMIT $1) u`),
    countBehindOf: named(
      'index_count_behind_of',
      `SELECT count(*) AS n FROM (SELECT 1 FROM ${unindexed} AND r.tenant = $2 LIMIT $1) u`,
    ),
    keep: named(
      'index_keep',
      `WITH given AS (SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[])
          AS g(run, state, input, output, code, cause, failure, wait, shares, words)),
        free AS MATERIALIZED (SELECT id FROM ${s}.run WHERE id = ANY($1::text[]) FOR NO KEY UPDATE SKIP LOCKED),
        kept AS (UPDATE ${s}.run r SET indexed = g.state FROM given g JOIN free f ON f.id = g.run WHERE r.id = g.run AND r.indexed < g.state RETURNING r.id)
      INSERT INTO ${s}.indexed AS i SELECT g.run, g.input, g.output, g.code, g.cause, g.failure, g.wait, g.shares, g.words::tsvector
        FROM given g JOIN kept k ON k.id = g.run
      ON CONFLICT (run) DO UPDATE SET input = excluded.input, output = excluded.output, code = excluded.code, cause = excluded.cause,
        failure = excluded.failure, wait = excluded.wait, shares = excluded.shares, words = excluded.words
      RETURNING i.run`,
    ),
    count: named(
      'index_count',
      `INSERT INTO ${s}.counter AS c SELECT * FROM unnest($1::text[], $2::text[], $3::float8[])
      ON CONFLICT (name, labels) DO UPDATE SET value = c.value + excluded.value`,
    ),
    counters: named('index_counters', `SELECT name, labels, value FROM ${s}.counter`),
  } as const
}
