/**
 * Reading the store: feeds, runs, questions, values, and runs that are ready. Never writes.
 *
 * Owns: queries and the decoding of rows. Does not own: who may see what (server), folding (journal/views), what a
 * claim reads (claim.ts).
 */
import type { PoolClient } from 'pg'
import { rootActivation, runOf, type ActivationId, type Json, type RunId } from '@reeve/core'
import type { Caller, JournalEvent, Recorded } from '@reeve/journal'
import {
  type AccountState,
  type FeedEvent,
  type FeedPage,
  type RunEnd,
  type UnmovedRun,
  unreadableEvent,
  valuesHeard,
} from '@reeve/engine'
import {
  missingCodeEnding,
  type AgentVersion,
  type DueQuestion,
  type InboxRow,
  type StoredEntry,
  type StoredOrigin,
  type StoredRun,
  type StoreReader,
} from '@reeve/engine/storage'
import { askerOn, type Asker, type PoolSource } from './asker.ts'
import { isChildOf, isReady, readyKinds, runColumns } from './claim.ts'
import type { NamedStatement, Params } from './connection.ts'
import { decodedKey, encodedKey } from './value-keys.ts'
import { blobsFor, blobStatement, entryColumns, eventOf, type Blobs, type EntryRow, flags } from './entries.ts'
import { firstWriter, lastGiven } from './writers.ts'

interface ValueRow {
  readonly at: number
  readonly body: string
}

/** What is asked at once at most, where there may be many. */
const many = 1_000

export class PostgresReader implements StoreReader {
  readonly #pool: PoolSource
  readonly #rows: Asker
  readonly #sql: ReturnType<typeof statements>

  constructor(pool: PoolSource, schema: string) {
    this.#pool = pool
    this.#rows = askerOn(pool)
    this.#sql = statements(`"${schema}"`)
  }

  async #ids(statement: NamedStatement, params: Params = []): Promise<RunId[]> {
    return (await this.#rows<{ id: RunId }>(statement, params)).map(({ id }) => id)
  }

  #blobsFor(rows: readonly Pick<EntryRow, 'run' | 'flags' | 'body'>[], on?: PoolClient): Promise<Blobs> {
    return blobsFor(rows, (runs, hashes) => this.#rows(this.#sql.blobs, [runs, hashes], on))
  }

  async #event(statement: NamedStatement, params: Params): Promise<JournalEvent | undefined> {
    const rows = await this.#rows<EntryRow>(statement, params)
    return rows[0] === undefined ? undefined : eventOf(rows[0], await this.#blobsFor(rows))
  }

  async run(run: RunId): Promise<StoredRun | undefined> {
    return (await this.#rows<StoredRun>(this.#sql.run, [run]))[0]
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

  async #feed(run: RunId, from: number, limit?: number, on?: PoolClient): Promise<Recorded[]> {
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

  async unmoved(before: number, most: number): Promise<readonly UnmovedRun[]> {
    return await this.#rows<UnmovedRun>(this.#sql.unmoved, [Math.floor(before), most])
  }
}

const recordedOf = (run: RunId, row: EntryRow, blobs: Blobs): Recorded => ({
  position: row.position,
  run,
  activation: row.act,
  seq: row.seq,
  at: row.at,
  event: eventOf(row, blobs),
})

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
    unmoved: named(
      'unmoved',
      `SELECT run, owner, since FROM (SELECT r.id AS run, r.owner,
          COALESCE((SELECT e.at FROM ${s}.entry e WHERE e.run = r.id ORDER BY e.position DESC LIMIT 1), r.created) AS since
        FROM (SELECT id, owner, created FROM ${s}.run WHERE ended IS NULL AND parked = 0 AND stuck IS NULL LIMIT $2) r) u WHERE since < $1`,
    ),
    endedBefore: named(
      'ended_before',
      `SELECT id FROM ${s}.run WHERE ended < $1 AND strpos(id, '>') = 0 ORDER BY ended LIMIT $2`,
    ),
  } as const
}
