/**
 * Searching an SQLite store for runs and questions: which of them may be of a filter, in order, from an index.
 *
 * Owns: the statements of a search, made for the options that it has. Does not own: what status a run has (reader.ts),
 * which states the runs of a status can have (../run-search.ts).
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { rootActivation, type RunId } from '@reeve/core'
import type { QuestionFilter, RunFilter } from '@reeve/engine'
import {
  batchAgent,
  fewRuns,
  possibleStates,
  type QuestionRow,
  statusSearch,
  tagsOf,
  tenantKey,
  termsOf,
  textBreak,
} from '@reeve/engine/storage'
import { inSubtree, isListedRun, subtreeRange } from './id-ranges.ts'

/** A piece of SQL, and the values of its parameters. */
interface Sql {
  readonly text: string
  readonly values: readonly SQLInputValue[]
}

const sql = (text: string, ...values: readonly SQLInputValue[]): Sql => ({ text, values })
const joined = (parts: readonly Sql[], by: string): Sql =>
  sql(parts.map(({ text }) => text).join(by), ...parts.flatMap(({ values }) => values))
const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ')

/** An answer is in the inbox: answers compete for one row. */
export const isAnswered = 'EXISTS (SELECT 1 FROM inbox WHERE inbox.act = question.act AND inbox.key = question.key)'
const isListed = isListedRun('r.id')

export class SqliteSearch {
  readonly #db: DatabaseSync

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** Runs that may be of a filter, newest first. One that is found in two ways comes twice, one after the other. */
  *candidates(filter: RunFilter): Generator<RunId> {
    if (filter.status?.length === 0) return
    const few = this.#few(filter)
    if (few === 'none') return
    const where = conditions(filter)
    const legs = few === undefined ? orderedLegs(filter, where) : [legOf(few, [...where, ...states(filter)])]
    const { text, values } = joined(legs, ' UNION ALL ')
    const rows = this.#db.prepare(`${text} ORDER BY created DESC, id DESC`).iterate(...values)
    for (const { id } of rows as Iterable<{ id: RunId }>) yield id
  }

  /**
   * The option that leaves the fewest runs, if those are few: then they are read and put in order. `none`: one of them
   * leaves none.
   */
  #few(filter: RunFilter): Sql | 'none' | undefined {
    let best: { readonly ids: Sql; readonly count: number } | undefined
    for (const ids of sources(filter)) {
      const count = this.#count(ids)
      if (count === 0) return 'none'
      if (count <= fewRuns && (best === undefined || count < best.count)) best = { ids, count }
    }
    return best?.ids
  }

  #count({ text, values }: Sql): number {
    return (
      this.#db.prepare(`SELECT count(*) AS n FROM (${text} LIMIT ${fewRuns + 1})`).get(...values) as { n: number }
    ).n
  }

  /** Questions of a filter, oldest first; with `run`, also some of runs whose ids begin as its. */
  questions({ run, id, kind, tenant, unanswered, limit = -1, after }: QuestionFilter): QuestionRow[] {
    const where = joined(
      [
        sql("kind <> 'timer'"),
        ...(id === undefined ? [] : [sql('id = ?', id)]),
        ...(run === undefined ? [] : [sql(inSubtree('act'), ...subtreeRange(rootActivation(run)))]),
        ...(kind === undefined ? [] : [sql('kind = ?', kind)]),
        ...(tenant === undefined ? [] : [sql('tenant = ?', tenantKey(tenant))]),
        ...(unanswered === true ? [sql(`NOT ${isAnswered}`)] : []),
        ...(after === undefined ? [] : [sql(`(at, rowid) > (?, ${numberOf})`, after.askedAt, after.id)]),
      ],
      ' AND ',
    )
    return this.#db
      .prepare(
        `SELECT id, act, address, kind, until, at, body, ${isAnswered} AS answered FROM question WHERE ${where.text} ORDER BY at, rowid LIMIT ?`,
      )
      .all(...where.values, limit) as unknown as QuestionRow[]
  }
}

/** Of one moment, the place of a question; of one that is gone the first, so that none is left out. */
const numberOf = 'COALESCE((SELECT rowid FROM question WHERE id = ?), -1)'

const textMatch = 'SELECT rowid AS num FROM words WHERE words MATCH ?'

/**
 * Words as FTS5 asks for them: each term a quoted phrase, with nothing in it but letters, digits and marks. A query
 * without a word asks for what no text has: its breaks, twice.
 */
function matchOf(text: string): string {
  const terms = termsOf(text)
  return terms.length === 0
    ? `"${textBreak} ${textBreak}"`
    : terms.map(({ words, isPrefix }) => `"${words.join(' ')}"${isPrefix ? ' *' : ''}`).join(' AND ')
}

/** Where ids of runs are found by one option, so that they can be counted. */
function sources(filter: RunFilter): readonly Sql[] {
  const { agent, usdFrom, text, code, cause } = filter
  return [
    ...(text === undefined
      ? []
      : [sql(`SELECT d.run AS id FROM (${textMatch}) w CROSS JOIN indexed d ON d.num = w.num`, matchOf(text))]),
    ...(code === undefined ? [] : [sql('SELECT run AS id FROM indexed WHERE code = ?', code)]),
    ...(cause === undefined ? [] : [sql('SELECT run AS id FROM indexed WHERE cause = ?', cause)]),
    ...tagsOf(filter).map(({ name, value }) =>
      sql('SELECT run AS id FROM tag WHERE name = ? AND value = ?', name, value),
    ),
    ...(agent === undefined
      ? []
      : [sql(`SELECT r.id FROM run r INDEXED BY run_agent WHERE r.agent = ? AND ${isListed}`, agent)]),
    ...(usdFrom === undefined ? [] : [sql('SELECT id FROM run WHERE usd IS NOT NULL AND usd >= ?', usdFrom)]),
  ]
}

/** Everything that a run must fit, but for its status. */
function conditions(filter: RunFilter): readonly Sql[] {
  const { agent, version, tenant, since, before, usdFrom, after, text, code, cause } = filter
  const tags = tagsOf(filter).filter(({ name }) => name !== 'tenant')
  return [
    sql(isListed),
    agent === undefined ? sql('r.agent <> ?', batchAgent) : sql('r.agent = ?', agent),
    ...(version === undefined ? [] : [sql('r.version = ?', version)]),
    ...(tenant === undefined ? [] : [sql('r.tenant = ?', tenantKey(tenant))]),
    ...(since === undefined ? [] : [sql('r.created >= ?', since)]),
    ...(before === undefined ? [] : [sql('r.created < ?', before)]),
    ...(after === undefined ? [] : [sql('(r.created, r.id) < (?, ?)', after.createdAt, after.run)]),
    ...(usdFrom === undefined ? [] : [sql('r.usd >= ?', usdFrom)]),
    ...(code === undefined ? [] : [indexedWith('d.code = ?', code)]),
    ...(cause === undefined ? [] : [indexedWith('d.cause = ?', cause)]),
    ...(text === undefined ? [] : [sql(`${numOf} IN (${textMatch})`, matchOf(text))]),
    ...tags.map(({ name, value }) =>
      sql(
        'EXISTS (SELECT 1 FROM tag t WHERE t.name = ? AND t.value = ? AND t.created = r.created AND t.run = r.id)',
        name,
        value,
      ),
    ),
  ]
}

/** Compared at the top of the condition: inside of a condition of its own the words would be looked up for every run. */
const numOf = '(SELECT d.num FROM indexed d WHERE d.run = r.id)'
const indexedWith = (condition: string, value: string): Sql =>
  sql(`EXISTS (SELECT 1 FROM indexed d WHERE d.run = r.id AND ${condition})`, value)

function states({ status }: RunFilter): readonly Sql[] {
  if (status === undefined) return []
  const possible = possibleStates(status)
  return [sql(`r.state IN (${marks(possible)})`, ...possible)]
}

const leg = (from: string, where: readonly Sql[]): Sql => {
  const { text, values } = joined(where, ' AND ')
  return sql(`SELECT r.created AS created, r.id AS id FROM ${from} WHERE ${text}`, ...values)
}

/** Runs of these ids: they are found first, whatever order is asked for. */
const legOf = (ids: Sql, where: readonly Sql[]): Sql => {
  const { text, values } = joined(where, ' AND ')
  return sql(
    `SELECT r.created AS created, r.id AS id FROM (${ids.text}) x CROSS JOIN run r ON r.id = x.id WHERE ${text}`,
    ...ids.values,
    ...values,
  )
}

/** Many runs: what is read of each is in the index that has them in order. */
function orderedLegs(filter: RunFilter, where: readonly Sql[]): readonly Sql[] {
  const { status, agent } = filter
  if (status === undefined) {
    if (agent !== undefined) return [leg('run r INDEXED BY run_agent', where)]
    const [tag] = tagsOf(filter)
    return tag === undefined ? [leg('run r INDEXED BY run_listed', where)] : [tagLeg(tag, where, filter)]
  }
  const { states: own, apart, pausing } = statusSearch(status)
  return [
    ...own.map((state) => leg('run r INDEXED BY run_state', [sql('r.state = ?', state), ...where])),
    ...(apart.length === 0
      ? []
      : [
          legOf(
            sql(
              `SELECT DISTINCT substr(id, 1, instr(id, '>') - 1) AS id FROM run INDEXED BY run_apart WHERE instr(id, '>') > 0 AND ended IS NULL AND state IN (${marks(apart)})`,
              ...apart,
            ),
            where,
          ),
        ]),
    ...(pausing
      ? [legOf(sql("SELECT DISTINCT substr(act, 5) AS id FROM inbox WHERE taken = 0 AND key GLOB '!pause*'"), where)]
      : []),
  ]
}

/** Runs with a tag that many have, in its order. */
function tagLeg(
  { name, value }: { readonly name: string; readonly value: string },
  where: readonly Sql[],
  { since, before, after }: RunFilter,
): Sql {
  const own = [
    sql('t.name = ? AND t.value = ?', name, value),
    ...(since === undefined ? [] : [sql('t.created >= ?', since)]),
    ...(before === undefined ? [] : [sql('t.created < ?', before)]),
    ...(after === undefined ? [] : [sql('(t.created, t.run) < (?, ?)', after.createdAt, after.run)]),
  ]
  const { text, values } = joined([...own, ...where], ' AND ')
  return sql(
    `SELECT t.created AS created, t.run AS id FROM tag t CROSS JOIN run r ON r.id = t.run WHERE ${text}`,
    ...values,
  )
}
