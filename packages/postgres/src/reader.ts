/**
 * Reading the store: feeds, runs, questions, values, and runs that are ready. Never writes.
 *
 * Owns: queries and the decoding of rows. Does not own: who may see what (server), folding (journal/views), what a
 * claim reads (claim.ts).
 */
import type { Pool, PoolClient } from 'pg'
import { present, rootActivation, runOf, type ActivationId, type Json, type RunId } from '@reeve/core'
import type { Caller, JournalEvent, Recorded } from '@reeve/journal'
import {
  type AccountState,
  type Backlog,
  type FeedEvent,
  type FeedPage,
  type HeldRuns,
  isWithin,
  mostListed,
  type Question,
  type QuestionFilter,
  type RunEnd,
  type RunFilter,
  type RunStatus,
  type RunSummary,
  type StoredProcess,
  type UnmovedRun,
  unreadableEvent,
  valuesHeard,
} from '@reeve/engine'
import {
  missingCodeEnding,
  type AgentVersion,
  type DueQuestion,
  flappingOf,
  type InboxRow,
  isOfFilter,
  type OpenQuestions,
  questionOf,
  type QuestionRow,
  reportIn,
  type StoredEntry,
  type StoredOrigin,
  type StoredRun,
  type StoreReader,
  summaryOf,
  type SummaryRow,
} from '@reeve/engine/storage'
import { isChildOf, isReady, query, readyKinds, runColumns } from './claim.ts'
import type { NamedStatement, Params } from './connection.ts'
import { decodedKey, encodedKey } from './value-keys.ts'
import { blobsFor, blobStatement, entryColumns, eventOf, type Blobs, type EntryRow, flags } from './entries.ts'
import {
  canBeId,
  childRunsStatement,
  countStatement,
  questionStatement,
  searchStatement,
  summaryStatement,
  type Statement,
} from './search.ts'
import { firstWriter, lastGiven } from './writers.ts'

interface ShownRow extends SummaryRow, Omit<OpenQuestions, 'id'> {
  readonly shown: RunStatus
  readonly asked: string | null
}
interface ValueRow {
  readonly at: number
  readonly body: string
}
type Queryable = Pick<Pool | PoolClient, 'query'>

/** What is asked at once at most, where there may be many. */
const many = 1_000

export class PostgresReader implements StoreReader {
  /** Undefined: there is no store yet, and so no rows. */
  readonly #pool: () => Promise<Pool | undefined>
  readonly #schema: string
  readonly #sql: ReturnType<typeof statements>

  constructor(pool: () => Promise<Pool | undefined>, schema: string) {
    this.#pool = pool
    this.#schema = `"${schema}"`
    this.#sql = statements(this.#schema)
  }

  async #rows<Row>(statement: NamedStatement, params: Params = [], on?: Queryable): Promise<Row[]> {
    const asked = on ?? (await this.#pool())
    return asked === undefined ? [] : ((await asked.query(query(statement, params))).rows as Row[])
  }

  async #ids(statement: NamedStatement, params: Params = []): Promise<RunId[]> {
    return (await this.#rows<{ id: RunId }>(statement, params)).map(({ id }) => id)
  }

  #blobsFor(rows: readonly Pick<EntryRow, 'run' | 'flags' | 'body'>[], on?: Queryable): Promise<Blobs> {
    return blobsFor(rows, (runs, hashes) => this.#rows(this.#sql.blobs, [runs, hashes], on))
  }

  async #event(statement: NamedStatement, params: Params): Promise<JournalEvent | undefined> {
    const rows = await this.#rows<EntryRow>(statement, params)
    return rows[0] === undefined ? undefined : eventOf(rows[0], await this.#blobsFor(rows))
  }

  async run(run: RunId): Promise<StoredRun | undefined> {
    return (await this.#rows<StoredRun>(this.#sql.run, [run]))[0]
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

  /** Undefined: there is no such run. */
  async #search(filter: RunFilter, limit: number): Promise<Statement | undefined> {
    const count = countStatement(this.#schema, filter)
    const [counted] = count === undefined ? [] : await this.#found<{ counts: number[] }>(count)
    return searchStatement(this.#schema, filter, limit, counted?.counts ?? [])
  }

  /** What was made for this question alone. */
  async #found<Row>(statement: Statement): Promise<Row[]> {
    const pool = await this.#pool()
    return pool === undefined ? [] : ((await pool.query(statement)).rows as Row[])
  }

  birth(run: RunId): Promise<JournalEvent | undefined> {
    return this.#event(this.#sql.birth, [rootActivation(run)])
  }

  async end(run: RunId): Promise<RunEnd | undefined> {
    return (await this.ends(new Set([run]))).get(run)
  }

  async ends(runs: Pick<ReadonlyMap<RunId, unknown>, 'has' | 'size' | 'keys'>): Promise<ReadonlyMap<RunId, RunEnd>> {
    if (runs.size === 0) return new Map()
    const rows = await this.#rows<EntryRow>(this.#sql.ends, [[...runs.keys()]])
    const blobs = await this.#blobsFor(rows)
    return new Map(
      rows.flatMap((row) => {
        const event = eventOf(row, blobs)
        return event.type === 'activation.settled'
          ? [[row.run, { outcome: event.outcome, usage: event.usage ?? [] }] as const]
          : []
      }),
    )
  }

  async feed(run: RunId, from: number, limit?: number, length?: number): Promise<readonly Recorded[]> {
    return length === undefined ? this.#feed(run, from, limit) : this.#page(run, from, limit, length)
  }

  /** Payloads beside the entries are asked for row by row: how long they are is not known before. */
  async #page(run: RunId, from: number, limit: number | undefined, length: number): Promise<Recorded[]> {
    const page: Recorded[] = []
    let left = length
    for (const row of await this.#rows<EntryRow>(this.#sql.feedPage, [run, from, limit ?? null, length])) {
      const blobs = await this.#blobsFor([row])
      page.push(recordedOf(run, row, blobs))
      left -= row.body.length
      for (const body of blobs.values()) left -= body.length
      if (left <= 0) break
    }
    return page
  }

  async #feed(run: RunId, from: number, limit?: number, on?: Queryable): Promise<Recorded[]> {
    const rows = await this.#rows<EntryRow>(this.#sql.feed, [run, from, limit ?? null], on)
    const blobs = await this.#blobsFor(rows, on)
    return rows.map((row) => recordedOf(run, row, blobs))
  }

  /**
   * Numbers are given before they are visible: what a commit under way may have got is left for a later page
   * (`announce` in commit.ts). The three questions are asked in this order: whoever is not among the writers after the
   * number was read has got only higher ones, or is done and visible to what is read then.
   */
  async page(from: number | 'now', limit: number): Promise<FeedPage> {
    const [given] = await this.#rows<{ last: number }>(this.#sql.lastNumber)
    if (given === undefined) return { events: [], upTo: from === 'now' ? 0 : from }
    const [writing] = await this.#rows<{ before: number | null }>(this.#sql.firstWriter, [given.last])
    const top = Math.min(given.last, writing?.before ?? given.last)
    if (from === 'now' || top <= from) return { events: [], upTo: from === 'now' ? top : from }
    const rows = await this.#rows<EntryRow & { readonly num: number }>(this.#sql.page, [from, top, limit])
    const blobs = await this.#blobsFor(rows)
    const events: FeedEvent[] = []
    for (const row of rows) {
      const { num, position, run, act, seq, at } = row
      try {
        events.push({ id: num, position, run, activation: act, seq, at, event: eventOf(row, blobs) })
      } catch (thrown) {
        if (events.length === 0) throw unreadableEvent(num, run, thrown)
        break
      }
    }
    return { events, upTo: events.length === limit || events.length < rows.length ? events.at(-1)!.id : top }
  }

  async hasNews(run: RunId, from: number): Promise<boolean> {
    return (await this.#rows<{ news: boolean }>(this.#sql.hasNews, [run, from]))[0]?.news ?? true
  }

  async questions(filter: QuestionFilter = {}): Promise<readonly Question[]> {
    if (!canBeId(filter.id) || !canBeId(filter.run)) return []
    return (await this.#found<QuestionRow>(questionStatement(this.#schema, filter)))
      .filter(({ act }) => filter.run === undefined || isWithin(runOf(act), filter.run))
      .map(questionOf)
  }

  async below(id: ActivationId): Promise<readonly StoredEntry[]> {
    return this.#entries(this.#sql.below, [runOf(id), id])
  }
  async log(id: ActivationId): Promise<Iterable<StoredEntry>> {
    return this.#entries(this.#sql.log, [runOf(id), id])
  }

  async #entries(statement: NamedStatement, params: Params): Promise<readonly StoredEntry[]> {
    const rows = await this.#rows<EntryRow>(statement, params)
    const blobs = await this.#blobsFor(rows)
    return rows.map((row) => ({ activation: row.act, seq: row.seq, at: row.at, event: eventOf(row, blobs) }))
  }

  async origin(
    run: RunId,
    at: number,
    stream: (caller: Caller) => string,
    read: readonly Recorded[] = [],
  ): Promise<StoredOrigin | undefined> {
    const pool = await this.#pool()
    if (pool === undefined) return undefined
    const client = await pool.connect()
    let broken = true
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const origin = await this.#origin(client, run, at, stream, read)
      await client.query('COMMIT')
      broken = false
      return origin
    } finally {
      client.release(broken)
    }
  }

  async #origin(
    client: PoolClient,
    run: RunId,
    at: number,
    stream: (caller: Caller) => string,
    read: readonly Recorded[],
  ): Promise<StoredOrigin | undefined> {
    const [row] = await this.#rows<StoredRun>(this.#sql.run, [run], client)
    if (row === undefined) return undefined
    const caller = row.caller === null ? {} : (JSON.parse(row.caller) as Caller)
    const feed = read.concat(await this.#feed(run, read.at(-1)?.position ?? 0, undefined, client))
    const mail = await this.#rows<InboxRow>(this.#sql.unreadOfRun, [run], client)
    const accounts = await this.#rows<{ act: ActivationId; body: string }>(this.#sql.accounts, [run], client)
    const written = await this.#rows<ValueRow>(this.#sql.stream, [stream(caller)], client)
    return {
      run: row,
      feed,
      mail,
      accounts: new Map(accounts.map(({ act, body }) => [act, JSON.parse(body) as AccountState])),
      values: valuesHeard(
        { run, at },
        feed,
        written.map(({ at: then, body }) => ({ at: then, event: eventOf({ run, flags: 0, body }, new Map()) })),
      ),
    }
  }

  async value(stream: string, key: string): Promise<{ readonly version: number; readonly value: Json }> {
    const [row] = await this.#rows<{ version: number; body: string }>(this.#sql.value, [stream, encodedKey(key)])
    return row === undefined
      ? { version: 0, value: null }
      : { version: row.version, value: JSON.parse(row.body) as Json }
  }

  async valueKeys(stream: string): Promise<readonly string[]> {
    return (await this.#rows<{ key: string }>(this.#sql.valueKeys, [stream])).map(({ key }) => decodedKey(key))
  }

  async written(stream: string, seq: number): Promise<Json> {
    const [row] = await this.#rows<ValueRow>(this.#sql.written, [stream, seq])
    const event = row === undefined ? undefined : eventOf({ run: '' as RunId, flags: 0, body: row.body }, new Map())
    return event?.type === 'value.updated' ? event.value : null
  }

  async nextDeadline(): Promise<number | undefined> {
    return (await this.#rows<{ at: number | null }>(this.#sql.nextDeadline))[0]?.at ?? undefined
  }

  due(now: number): Promise<readonly DueQuestion[]> {
    return this.#rows<DueQuestion>(this.#sql.due, [now])
  }

  left(): Promise<readonly RunId[]> {
    return this.#ids(this.#sql.left)
  }
  withoutCode(): Promise<readonly RunId[]> {
    return this.#ids(this.#sql.withoutCode, [`%${missingCodeEnding}`])
  }
  async ready(drives: (kind: AgentVersion) => boolean, limit: number): Promise<readonly RunId[]> {
    const kinds = (await this.#rows<AgentVersion>(this.#sql.kinds)).filter(drives)
    if (kinds.length === 0) return []
    return this.#ids(this.#sql.ready, [kinds.map(({ agent }) => agent), kinds.map(({ version }) => version), limit])
  }
  withMail(): Promise<readonly RunId[]> {
    return this.#ids(this.#sql.withMail)
  }
  endedBefore(at: number, limit: number): Promise<readonly RunId[]> {
    return this.#ids(this.#sql.endedBefore, [at, limit])
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

  async unmoved(before: number, most: number): Promise<readonly UnmovedRun[]> {
    return await this.#rows<UnmovedRun>(this.#sql.unmoved, [Math.floor(before), most])
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

const recordedOf = (run: RunId, row: EntryRow, blobs: Blobs): Recorded => ({
  position: row.position,
  run,
  activation: row.act,
  seq: row.seq,
  at: row.at,
  event: eventOf(row, blobs),
})

const shownSummary = (row: ShownRow): RunSummary => summaryOf(row, row.shown, { ...row, id: row.asked })

function statements(s: string) {
  const named = (name: string, text: string): NamedStatement => [`reeve_${name}`, text]
  const last = `flags > ${flags.last - 1}`
  const run = runColumns('r')
  // Nothing of an activation stands before its birth.
  const since = `COALESCE((SELECT b.position FROM ${s}.entry b WHERE b.act = $2 AND b.seq = 0), 0)`
  return {
    run: named('run', `SELECT ${run} FROM ${s}.run r WHERE r.id = $1`),
    birth: named('birth', `SELECT ${entryColumns} FROM ${s}.entry WHERE act = $1 AND seq = 0`),
    ends: named(
      'ends',
      `SELECT e.* FROM unnest($1::text[]) x(id) JOIN ${s}.run r ON r.id = x.id AND r.ended IS NOT NULL JOIN ${s}.entry e ON e.act = 'act_' || x.id AND e.${last}`,
    ),
    feed: named(
      'feed',
      `SELECT ${entryColumns} FROM ${s}.entry WHERE run = $1 AND position > $2 ORDER BY position LIMIT $3::bigint`,
    ),
    // the row that makes it too long is the last one
    feedPage: named(
      'feed_page',
      `SELECT ${entryColumns} FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS so_far
        FROM (SELECT * FROM ${s}.entry WHERE run = $1 AND position > $2 ORDER BY position LIMIT $3::bigint) entry) entry
        WHERE coalesce(so_far, 0) < $4 ORDER BY position`,
    ),
    lastNumber: named('last_number', `SELECT ${lastGiven} AS last FROM ${s}.entry_num_seq`),
    firstWriter: named('first_writer', firstWriter(s)),
    page: named(
      'page',
      `SELECT num, ${entryColumns} FROM ${s}.entry WHERE num > $1 AND num <= $2 ORDER BY num LIMIT $3`,
    ),
    hasNews: named(
      'has_news',
      `SELECT NOT EXISTS (SELECT 1 FROM ${s}.run WHERE id = $1 AND ended IS NULL) OR EXISTS (SELECT 1 FROM ${s}.entry WHERE run = $1 AND position > $2) AS news`,
    ),
    below: named(
      'below',
      `SELECT ${entryColumns} FROM ${s}.entry WHERE (run = $1 AND position >= ${since} OR ${isChildOf('run', '$1')}) AND (act = $2 OR starts_with(act, $2 || '>')) ORDER BY run, position`,
    ),
    log: named(
      'log_of',
      `SELECT ${entryColumns} FROM ${s}.entry WHERE run = $1 AND position >= ${since} AND act = $2 ORDER BY position`,
    ),
    blobs: blobStatement(s),
    unreadOfRun: named(
      'unread_of',
      `SELECT position, act, key, body FROM ${s}.inbox WHERE run = $1 AND NOT taken ORDER BY position`,
    ),
    accounts: named('accounts_of', `SELECT act, body FROM ${s}.account WHERE run = $1`),
    stream: named('stream', `SELECT at, body FROM ${s}.value_log WHERE stream = $1 ORDER BY seq`),
    value: named('value_of', `SELECT version, body FROM ${s}.value WHERE stream = $1 AND key = $2`),
    valueKeys: named('value_keys', `SELECT key FROM ${s}.value WHERE stream = $1`),
    written: named('written', `SELECT at, body FROM ${s}.value_log WHERE stream = $1 AND seq = $2`),
    nextDeadline: named(
      'next_deadline',
      `SELECT first.at + (NOT EXISTS (SELECT 1 FROM ${s}.question WHERE until = first.at AND kind = 'timer'))::int AS at
      FROM (SELECT min(until) AS at FROM ${s}.question WHERE until IS NOT NULL) first`,
    ),
    due: named(
      'due',
      `SELECT q.act, q.address, q.kind, q.until FROM
        (SELECT * FROM ${s}.question WHERE until IS NOT NULL AND until <= $1 AND (until < $1 OR kind = 'timer') ORDER BY until LIMIT ${many}) q
      LEFT JOIN ${s}.run r ON r.id = q.run LEFT JOIN ${s}.entry b ON b.act = q.act AND b.seq = 0
      ORDER BY q.until, b.at, r.num, b.position, q.num`,
    ),
    left: named(
      'left',
      `SELECT id FROM ${s}.run WHERE ended IS NULL AND stuck IS NOT NULL
      UNION SELECT r.id FROM ${s}.inbox i JOIN ${s}.run r ON r.id = i.run WHERE i.key = '!cancel' AND i.taken AND i.act = 'act_' || i.run AND r.ended IS NULL AND r.parked = 1`,
    ),
    withoutCode: named(
      'without_code',
      `SELECT id FROM ${s}.run WHERE stuck IS NOT NULL AND ended IS NULL AND stuck LIKE $1`,
    ),
    kinds: readyKinds(s),
    ready: named(
      'ready_ids',
      `SELECT r.id FROM unnest($1::text[], $2::text[]) k(agent, version) CROSS JOIN LATERAL
        (SELECT id, created FROM ${s}.run WHERE ${isReady} AND agent = k.agent AND version = k.version ORDER BY created LIMIT $3) r ORDER BY r.created LIMIT $3`,
    ),
    withMail: named(
      'with_mail',
      `SELECT r.id FROM (SELECT DISTINCT run FROM ${s}.inbox WHERE NOT taken) i JOIN ${s}.run r ON r.id = i.run AND r.owner IS NULL AND r.ended IS NULL`,
    ),
    // With a clock of its own a store has leases by that clock.
    processes: named(
      'processes',
      `SELECT p.id, p.until >= CASE WHEN EXISTS (SELECT 1 FROM ${s}.meta WHERE key = 'own-clock') THEN $1::bigint
          ELSE (extract(epoch FROM clock_timestamp()) * 1000)::bigint END AS alive, r.body AS report, h.agent, h.version, h.runs
      FROM ${s}.process p LEFT JOIN ${s}.report r ON r.process = p.id LEFT JOIN LATERAL (SELECT agent, version, count(*) AS runs FROM
        (SELECT agent, version FROM ${s}.run WHERE ended IS NULL AND parked = 0 AND owner = p.id LIMIT $2) r GROUP BY agent, version) h ON true
      ORDER BY p.id, h.agent, h.version`,
    ),
    unmoved: named(
      'unmoved',
      `SELECT run, owner, since FROM (SELECT r.id AS run, r.owner,
          COALESCE((SELECT e.at FROM ${s}.entry e WHERE e.run = r.id ORDER BY e.position DESC LIMIT 1), r.created) AS since
        FROM (SELECT id, owner, created FROM ${s}.run WHERE ended IS NULL AND parked = 0 AND stuck IS NULL LIMIT $2) r) u WHERE since < $1`,
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
    endedBefore: named(
      'ended_before',
      `SELECT id FROM ${s}.run WHERE ended < $1 AND strpos(id, '>') = 0 ORDER BY ended LIMIT $2`,
    ),
  } as const
}
