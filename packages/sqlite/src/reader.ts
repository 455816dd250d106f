/**
 * Reading the store: feeds, runs, questions, values. Never writes.
 *
 * Owns: queries and the decoding of rows. Does not own: who may see what (server), folding (journal/views).
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { ReeveError, rootActivation, runOf, type ActivationId, type Json, type RunId } from '@reeve/core'
import { decode, type Caller, type JournalEvent, type Recorded } from '@reeve/journal'
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
  type Past,
  type StoredEntry,
  type StoredOrigin,
  type StoredRun,
  type StoreReader,
} from '@reeve/engine/storage'
import type { Archive, EntryRow } from './archive.ts'
import { unpack } from './blobs.ts'
import { inSubtree, isOfRun, inRun, runRange, subtreeRange, childRange } from './id-ranges.ts'
import { prepared } from './statements.ts'

interface LogRow {
  readonly seq: number
  readonly at: number
  readonly body: string
  readonly blobs: number | null
}
/** Positions that a follower reads by scanning the tail of the log rather than by the run's activations. */
const tail = 2_000
/** So many entries of a log are read at once. */
const page = 5_000

export class SqliteReader implements StoreReader, Past {
  readonly #sql: Record<keyof typeof statements, StatementSync>
  readonly #db: DatabaseSync
  readonly #archive: Archive
  /** Where the newest end stands that was looked at. */
  #lastEnd: number

  constructor(db: DatabaseSync, archive: Archive) {
    this.#db = db
    this.#archive = archive
    this.#sql = prepared(db, statements)
    // many rows at once: as lists they take half the time of objects
    for (const name of [
      'activationLog',
      'below',
      'feed',
      'feedPage',
      'feedRange',
      'feedTail',
      'allRuns',
      'accounts',
    ] as const)
      this.#sql[name].setReturnArrays(true)
    this.#lastEnd = this.#newestEnd()
  }

  /**
   * A part of the log of one activation, in order. Waking is mostly this: many rows at once, as lists, take a third of the time
   * of one object after the other; all at once would be in memory twice.
   */
  *#entries(id: ActivationId, from: number, upTo: number): Generator<StoredEntry> {
    for (let next = from, isMore = true; isMore;) {
      const rows = this.#sql.activationLog.all(id, next, upTo, page) as unknown as [
        seq: number,
        at: number,
        body: string,
        blobs: number | null,
      ][]
      // a log has no gaps: what is not here is in the archive, where its beginning goes first
      const begin = rows[0]?.[0] ?? upTo
      if (begin > next)
        for (const [, , seq, at, body, blobs] of this.#archive.log(id, next, begin))
          yield { activation: id, seq, at, event: this.#event({ body, blobs }) }
      for (const [seq, at, body, blobs] of rows) yield { activation: id, seq, at, event: this.#event({ body, blobs }) }
      isMore = rows.length === page
      next = (rows.at(-1)?.[0] ?? 0) + 1
    }
  }

  *activation(id: ActivationId): Generator<StoredEntry> {
    let from = 0
    for (const { start, upto } of this.#sql.summed.all(id) as unknown as { start: number; upto: number }[]) {
      yield* this.#entries(id, from, start)
      from = upto
    }
    yield* this.#entries(id, from, Number.MAX_SAFE_INTEGER)
  }

  log(id: ActivationId): Iterable<StoredEntry> {
    return this.#entries(id, 0, Number.MAX_SAFE_INTEGER)
  }

  birth(run: RunId): JournalEvent | undefined {
    const root = rootActivation(run)
    const row = this.#sql.firstEvent.get(root) as LogRow | undefined
    if (row?.seq === 0) return this.#event(row)
    const [archived] = this.#archive.take(run, 0, (id) => id === root, 1)
    return archived !== undefined ? this.#eventOf(archived) : row === undefined ? undefined : this.#event(row)
  }

  /** The last event of an activation, if it exists. */
  lastEvent(id: ActivationId): JournalEvent | undefined {
    const row = this.#sql.lastEvent.get(id) as LogRow | undefined
    if (row !== undefined) return this.#event(row)
    const archived = this.#archive.last(id)
    return archived === undefined ? undefined : this.#eventOf(archived)
  }

  /** The logs of an activation and of those below it, in the order of the feed. */
  below(activation: ActivationId): StoredEntry[] {
    const isBelow = (id: ActivationId): boolean => id === activation || id.startsWith(`${activation}>`)
    const rows = this.#atOneMoment(() => [
      ...this.#archive.take(runOf(activation), 0, isBelow),
      ...(this.#sql.below.all(...subtreeRange(activation)) as unknown as EntryRow[]),
    ])
    return rows.map((row) => {
      const [, id, seq, at] = row
      return { activation: id, seq, at, event: this.#eventOf(row) }
    })
  }

  /** What several queries say of one moment, also where another process moves entries or removes runs meanwhile. */
  #atOneMoment<T>(read: () => T): T {
    if (this.#db.isTransaction) return read()
    this.#sql.begin.run()
    try {
      return read()
    } finally {
      if (this.#db.isTransaction) this.#sql.commit.run()
    }
  }

  feed(run: RunId, from: number, limit?: number, length = Infinity): Recorded[] {
    const rows = this.#atOneMoment(() => {
      const archived = this.#archive.take(run, from, (id) => isOfRun(id, run), limit)
      if (archived.length === 0) return this.#logged(run, from, limit, length < Infinity)
      const more = limit === undefined ? undefined : limit - archived.length
      return more !== undefined && more <= 0 ? archived : [...archived, ...this.#logged(run, from, more)]
    })
    const page: Recorded[] = []
    let left = length
    for (const [position, id, seq, at, body, blobs] of rows) {
      if (left <= 0) break
      const text = this.#textOf({ body, blobs })
      left -= text.length
      page.push({ position, run, activation: id, seq, at, event: decode(text) })
    }
    return page
  }

  /** Of a feed what is not archived. `mayBeShort`: fewer entries than the limit are enough, but not none. */
  #logged(run: RunId, from: number, limit: number | undefined, mayBeShort = false): readonly EntryRow[] {
    const range = runRange(rootActivation(run))
    const top = this.lastPosition()
    if (top <= from) return []
    if (from > 0 && top - from <= tail && !mayBeShort)
      return (this.#sql.feedTail.all(from) as unknown as EntryRow[])
        .filter(([, id]) => isOfRun(id, run))
        .slice(0, limit)
    if (limit !== undefined) {
      // most runs stand together in the log: there a page costs what it holds, and not what comes after it
      const upTo = from + (mayBeShort ? Math.max(2 * limit, tail) : 2 * limit)
      const near = this.#sql.feedRange.all(from, upTo, ...range, limit) as unknown as EntryRow[]
      if (near.length === limit || upTo >= top || (mayBeShort && near.length > 0)) return near
    }
    return (limit === undefined
      ? this.#sql.feed.all(...range, from)
      : this.#sql.feedPage.all(...range, from, limit)) as unknown as EntryRow[]
  }

  page(from: number | 'now', limit: number): FeedPage {
    if (from === 'now') return { events: [], upTo: this.lastPosition() }
    const { top, rows } = this.#atOneMoment(() => this.#pageRows(from, limit))
    if (top <= from) return { events: [], upTo: from }
    const events: FeedEvent[] = []
    for (const row of rows) {
      const [position, activation, seq, at] = row
      const run = runOf(activation)
      try {
        events.push({ id: position, position, run, activation, seq, at, event: this.#eventOf(row) })
      } catch (thrown) {
        if (events.length === 0) throw unreadableEvent(position, run, thrown)
        break
      }
    }
    return { events, upTo: events.length === limit || events.length < rows.length ? events.at(-1)!.id : top }
  }

  #pageRows(from: number, limit: number): { readonly top: number; readonly rows: readonly EntryRow[] } {
    const top = this.lastPosition()
    if (top <= from) return { top, rows: [] }
    const logged = this.#sql.allRuns.all(from, top, limit) as unknown as EntryRow[]
    const { rows, upTo } = this.#archive.page(from, top, limit, logged)
    return { top: upTo, rows }
  }

  lastPosition(): number {
    return (this.#sql.lastPosition.get() as { n: number | null }).n ?? 0
  }

  /** True if the run has anything after this position, has ended, or is not there. */
  hasNews(run: RunId, from: number): boolean {
    return this.#isLonger(run, from) || this.run(run)?.ended !== null
  }

  #isLonger(run: RunId, from: number): boolean {
    const root = rootActivation(run)
    const top = this.lastPosition()
    if (top <= from) return false
    if (from > 0 && top - from <= tail)
      return (this.#sql.tailIds.all(from) as { id: string }[]).some(({ id }) => isOfRun(id, run))
    return this.#sql.anyAfter.get(...runRange(root), from) !== undefined
  }

  run(run: RunId): StoredRun | undefined {
    return this.#sql.run.get(run) as StoredRun | undefined
  }

  /** How an ended run ended. */
  end(run: RunId): RunEnd | undefined {
    const event = this.lastEvent(rootActivation(run))
    return event?.type === 'activation.settled' ? { outcome: event.outcome, usage: event.usage ?? [] } : undefined
  }

  asked(id: string): boolean {
    return this.#sql.questionById.get(id) !== undefined
  }

  /** When the next deadline is due, or was: the first moment at which `due` finds it. */
  nextDeadline(): number | undefined {
    return (this.#sql.nextDeadline.get() as { at: number | null }).at ?? undefined
  }

  /**
   * Timers whose moment has come, and questions whose deadline has passed: an answer at the deadline still counts (team
   * C81). Of one moment, those of who began first come first (team C18).
   */
  due(now: number): DueQuestion[] {
    return this.#sql.due.all(now, now) as unknown as DueQuestion[]
  }

  /** How many questions to people a run has open. */
  questionCount(run: RunId): number {
    const root = rootActivation(run)
    return (this.#sql.questionCount.get(...runRange(root)) as { n: number }).n
  }

  /** Child runs of this run that have not ended, at any depth. */
  children(run: RunId): RunId[] {
    return (this.#sql.children.all(...childRange(run)) as { id: RunId }[]).map(({ id }) => id)
  }

  /** Unread rows after a position, of all runs. */
  unread(after: number): InboxRow[] {
    const rows = after === 0 ? this.#sql.allUnread.all() : this.#sql.unread.all(after)
    return rows as unknown as InboxRow[]
  }

  unreadOf(run: RunId): InboxRow[] {
    const root = rootActivation(run)
    return this.#sql.unreadOfRun.all(...runRange(root)) as unknown as InboxRow[]
  }

  lastInboxPosition(): number {
    return (this.#sql.lastInbox.get() as { n: number | null }).n ?? 0
  }

  accounts(run: RunId): Map<ActivationId, AccountState> {
    const root = rootActivation(run)
    const rows = this.#atOneMoment(() => [
      ...this.#archive.accounts(run).filter(([act]) => isOfRun(act, run)),
      ...(this.#sql.accounts.all(...runRange(root)) as unknown as [act: ActivationId, body: string][]),
    ])
    return new Map(rows.map(([act, body]) => [act, JSON.parse(body) as AccountState]))
  }

  value(stream: string, key: string): { version: number; value: Json } {
    const row = this.#sql.value.get(stream, key) as { version: number; body: string } | undefined
    return row === undefined
      ? { version: 0, value: null }
      : { version: row.version, value: JSON.parse(row.body) as Json }
  }

  origin(
    run: RunId,
    at: number,
    streamOf: (caller: Caller) => string,
    read: readonly Recorded[] = [],
  ): StoredOrigin | undefined {
    return this.#atOneMoment(() => this.#origin(run, at, streamOf, read))
  }

  #origin(
    run: RunId,
    at: number,
    streamOf: (caller: Caller) => string,
    read: readonly Recorded[],
  ): StoredOrigin | undefined {
    const row = this.run(run)
    if (row === undefined) return undefined
    const stream = streamOf(row.caller === null ? {} : (JSON.parse(row.caller) as Caller))
    const feed = read.concat(this.feed(run, read.at(-1)?.position ?? 0))
    const written = (this.#sql.stream.all(stream) as unknown as LogRow[]).map((entry) => ({
      at: entry.at,
      event: this.#event(entry),
    }))
    return {
      run: row,
      feed,
      mail: this.unreadOf(run),
      accounts: this.accounts(run),
      values: valuesHeard({ run, at }, feed, written),
    }
  }

  valueKeys(stream: string): readonly string[] {
    return (this.#sql.valueKeys.all(stream) as { key: string }[]).map(({ key }) => key)
  }

  /** What a value became by an entry of its stream. */
  written(stream: string, seq: number): Json {
    const event = this.#event(this.#sql.entryAt.get(stream, seq) as unknown as LogRow)
    return event.type === 'value.updated' ? event.value : null
  }

  /**
   * The agents and versions of the runs that no process drives and that have something to do. One look at an index for
   * each.
   */
  *orphanKinds(): Generator<AgentVersion> {
    for (let last = { agent: '', version: '' }; ;) {
      const next = this.#sql.nextOrphanKind.get(last.agent, last.version) as typeof last | undefined
      if (next === undefined) return
      yield (last = next)
    }
  }

  /** Runs that no process drives and that may kill the process that takes them up, the least suspected first. */
  suspects(from: number, limit: number): RunId[] {
    return (this.#sql.suspects.all(from, limit) as { id: RunId }[]).map(({ id }) => id)
  }

  /**
   * The oldest of these runs that were lost less often than `below`. Asked for by kind: those that this process cannot
   * drive do not delay the others.
   */
  orphans(kind: { agent: string; version: string }, below: number, limit: number): RunId[] {
    return (this.#sql.orphans.all(kind.agent, kind.version, below, limit) as { id: RunId }[]).map(({ id }) => id)
  }

  /** Where the newest end of a run stands in the feed. */
  #newestEnd(): number {
    return (this.#sql.lastEnd.get() as { n: number | null }).n ?? 0
  }

  /** One query for those that have ended since the last look, however many are asked for. */
  ends(runs: Pick<ReadonlyMap<RunId, unknown>, 'has' | 'size'>): Map<RunId, RunEnd> {
    const ends = new Map<RunId, RunEnd>()
    const last = this.#newestEnd()
    if (last === this.#lastEnd) return ends
    const ended = runs.size === 0 ? [] : (this.#sql.endedAfter.all(this.#lastEnd) as { id: RunId }[])
    for (const { id } of ended) {
      const end = runs.has(id) ? this.end(id) : undefined
      if (end !== undefined) ends.set(id, end)
    }
    this.#lastEnd = last
    return ends
  }

  /** Runs that ended before a moment, the oldest first. */
  endedBefore(at: number, limit: number): RunId[] {
    return (this.#sql.endedBefore.all(at, limit) as { id: RunId }[]).map(({ id }) => id)
  }

  /**
   * Runs that waited for an operator when they were last looked at: perhaps this process has what they lack. And those
   * that have read an operator's cancel and are parked: undoing may wait for a person.
   */
  left(): RunId[] {
    return [...(this.#sql.stuck.all() as { id: RunId }[]), ...(this.#sql.leftCancelled.all() as { id: RunId }[])].map(
      ({ id }) => id,
    )
  }

  ready(drives: (kind: AgentVersion) => boolean, limit: number): RunId[] {
    const ready: RunId[] = []
    for (const kind of this.orphanKinds())
      if (ready.length < limit && drives(kind))
        ready.push(...this.orphans(kind, Number.MAX_SAFE_INTEGER, limit - ready.length))
    return ready
  }

  withMail(): RunId[] {
    const runs = new Set(this.unread(0).map(({ act }) => runOf(act)))
    return [...runs].filter((run) => this.run(run)?.owner === null)
  }

  unmoved(before: number, most: number): UnmovedRun[] {
    const open = this.#sql.inMemory.all(most) as { id: RunId; owner: string | null; created: number }[]
    return open.flatMap(({ id, owner, created }) => {
      const { at } = this.#sql.lastAt.get(...runRange(rootActivation(id))) as { at: number | null }
      const since = at ?? created
      return since < before ? [{ run: id, owner, since }] : []
    })
  }

  /** Runs that waited for code that was missing where they were last looked at. */
  withoutCode(): RunId[] {
    return (this.#sql.withoutCode.all(`%${missingCodeEnding}`) as { id: RunId }[]).map(({ id }) => id)
  }

  /**
   * What an operator said to a run that is set aside, and no process has read. A cancel counts more: it needs no code.
   */
  commandFor(run: RunId): 'cancel' | 'resume' | undefined {
    const row = this.#sql.command.get(rootActivation(run)) as { key: string } | undefined
    return row === undefined ? undefined : row.key === '!cancel' ? 'cancel' : 'resume'
  }

  /** Whether this store was ever driven by another clock than the system's. */
  hasOwnClock(): boolean {
    return this.#sql.ownClock.get() !== undefined
  }

  #eventOf([, , , , body, blobs]: EntryRow): JournalEvent {
    return this.#event({ body, blobs })
  }

  #event(row: Pick<LogRow, 'body' | 'blobs'>): JournalEvent {
    return decode(this.#textOf(row))
  }

  #textOf({ body, blobs }: Pick<LogRow, 'body' | 'blobs'>): string {
    return blobs === null ? body : unpack(body, (hash) => this.#blob(hash))
  }

  #blob(hash: string): string {
    const row = this.#sql.blob.get(hash) as { body: string } | undefined
    if (row === undefined)
      throw new ReeveError('store.corrupt', `the payload ${hash} is missing`, {
        hint: 'Restore the store from a backup.',
      })
    return row.body
  }
}

export const runColumns =
  'id, agent, version, status, control, stuck, parked, epoch, owner, caller, created, ended, losses, end_position'
const entry = 'l.position, a.id, l.seq, l.at, l.body, l.blobs'
const statements = {
  begin: 'BEGIN',
  commit: 'COMMIT',
  activationLog:
    'SELECT l.seq, l.at, l.body, l.blobs FROM activation a JOIN log l ON l.act = a.num WHERE a.id = ? AND l.seq >= ? AND l.seq < ? ORDER BY l.seq LIMIT ?',
  summed: 'SELECT start, upto FROM summed WHERE act = (SELECT num FROM activation WHERE id = ?) ORDER BY start',
  firstEvent: `SELECT ${entry} FROM activation a JOIN log l ON l.act = a.num WHERE a.id = ? ORDER BY l.seq LIMIT 1`,
  lastEvent: `SELECT ${entry} FROM activation a JOIN log l ON l.act = a.num WHERE a.id = ? ORDER BY l.seq DESC LIMIT 1`,
  feed: `SELECT ${entry} FROM activation a CROSS JOIN log l ON l.act = a.num WHERE ${inRun('a.id')} AND l.position > ? ORDER BY l.position`,
  // which entries are of the page, the index of the log alone says: only theirs are read
  feedPage: `SELECT ${entry} FROM log l CROSS JOIN activation a ON a.num = l.act WHERE l.position IN (
    SELECT l.position FROM activation a CROSS JOIN log l ON l.act = a.num WHERE ${inRun('a.id')} AND l.position > ? ORDER BY l.position LIMIT ?)
    ORDER BY l.position`,
  below: `SELECT ${entry} FROM activation a CROSS JOIN log l ON l.act = a.num WHERE ${inSubtree('a.id')} ORDER BY l.position`,
  feedTail: `SELECT ${entry} FROM log l CROSS JOIN activation a ON a.num = l.act WHERE l.position > ? ORDER BY l.position`,
  allRuns: `SELECT ${entry} FROM log l CROSS JOIN activation a ON a.num = l.act WHERE l.position > ? AND l.position <= ? AND a.id GLOB 'act_*' ORDER BY l.position LIMIT ?`,
  feedRange: `SELECT ${entry} FROM log l CROSS JOIN activation a ON a.num = l.act WHERE l.position > ? AND l.position <= ? AND ${inRun('a.id')} ORDER BY l.position LIMIT ?`,
  tailIds: 'SELECT DISTINCT a.id FROM log l CROSS JOIN activation a ON a.num = l.act WHERE l.position > ?',
  anyAfter: `SELECT 1 FROM activation a CROSS JOIN log l ON l.act = a.num WHERE ${inRun('a.id')} AND l.position > ? LIMIT 1`,
  lastPosition: 'SELECT max(position) AS n FROM log',
  run: `SELECT ${runColumns} FROM run WHERE id = ?`,
  children: 'SELECT id FROM run WHERE id >= ? AND id < ? AND ended IS NULL',
  questionById: 'SELECT 1 FROM question WHERE id = ?',
  questionCount: `SELECT count(*) AS n FROM question WHERE kind <> 'timer' AND ${inRun('act')}`,
  nextDeadline: `SELECT first.at + NOT EXISTS (SELECT 1 FROM question WHERE until = first.at AND kind = 'timer') AS at
    FROM (SELECT min(until) AS at FROM question WHERE until IS NOT NULL) first`,
  due: `SELECT act, address, kind, until FROM question WHERE until IS NOT NULL AND until <= ? AND (until < ? OR kind = 'timer')
    ORDER BY until, (SELECT num FROM activation WHERE id = question.act), question.rowid LIMIT 1000`,
  inMemory: 'SELECT id, owner, created FROM run WHERE ended IS NULL AND parked = 0 AND stuck IS NULL LIMIT ?',
  lastAt: `SELECT max((SELECT l.at FROM log l WHERE l.act = a.num ORDER BY l.seq DESC LIMIT 1)) AS at FROM activation a WHERE ${inRun('a.id')}`,
  allUnread: 'SELECT position, act, key, body FROM inbox INDEXED BY inbox_unread WHERE taken = 0 ORDER BY position',
  unread: 'SELECT position, act, key, body FROM inbox WHERE position > ? AND taken = 0 ORDER BY position',
  unreadOfRun: `SELECT position, act, key, body FROM inbox WHERE taken = 0 AND ${inRun('act')} ORDER BY position`,
  lastInbox: 'SELECT max(position) AS n FROM inbox',
  accounts: `SELECT act, body FROM account WHERE ${inRun('act')}`,
  entryAt: 'SELECT body, blobs FROM log WHERE act = (SELECT num FROM activation WHERE id = ?) AND seq = ?',
  stream: 'SELECT at, body, blobs FROM log WHERE act = (SELECT num FROM activation WHERE id = ?) ORDER BY seq',
  value: 'SELECT version, body FROM value WHERE stream = ? AND key = ?',
  valueKeys: 'SELECT key FROM value WHERE stream = ?',
  nextOrphanKind:
    'SELECT agent, version FROM run WHERE ended IS NULL AND parked = 0 AND owner IS NULL AND (agent, version) > (?, ?) ORDER BY agent, version LIMIT 1',
  orphans:
    'SELECT id FROM run WHERE ended IS NULL AND parked = 0 AND owner IS NULL AND agent = ? AND version = ? AND losses < ? ORDER BY created LIMIT ?',
  suspects:
    'SELECT id FROM run WHERE losses > 1 AND losses >= ? AND ended IS NULL AND parked = 0 AND owner IS NULL ORDER BY losses LIMIT ?',
  lastEnd: 'SELECT max(end_position) AS n FROM run WHERE end_position IS NOT NULL',
  endedAfter: 'SELECT id FROM run WHERE end_position > ?',
  endedBefore: "SELECT id FROM run WHERE ended < ? AND instr(id, '>') = 0 ORDER BY ended LIMIT ?",
  stuck: 'SELECT id FROM run WHERE ended IS NULL AND stuck IS NOT NULL',
  withoutCode: 'SELECT id FROM run WHERE stuck IS NOT NULL AND ended IS NULL AND stuck LIKE ?',
  leftCancelled: `SELECT id FROM run WHERE ended IS NULL AND parked = 1
    AND EXISTS (SELECT 1 FROM inbox WHERE act = 'act_' || run.id AND key = '!cancel' AND taken = 1)`,
  command:
    "SELECT key FROM inbox WHERE act = ? AND taken = 0 AND (key = '!cancel' OR key GLOB '!resume*') ORDER BY key LIMIT 1",
  ownClock: "SELECT 1 FROM meta WHERE key = 'own-clock'",
  blob: 'SELECT body FROM blob WHERE hash = ?',
} as const
