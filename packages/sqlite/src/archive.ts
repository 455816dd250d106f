/**
 * The archive: journals of runs that have ended, compressed. No reader of the store sees a difference.
 *
 * Owns: the table `archive`: moving entries into it, and reading them. Does not own: when they are moved (../host/engine.ts),
 * how they are put together with the entries of `log` (reader.ts), removal (remove.ts).
 * Holds, for K1: one transaction inserts a chunk and deletes its entries from `log`, so an entry is in one of the two.
 * A run and its child runs are archived together, from their beginning: what of them is archived comes before what is
 * still in `log`, and a process that dies halfway leaves a store that is whole. The run of the newest position stays, so
 * that no position is given out again.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { messageOf, ReeveError, rootActivation, rootRun, runOf, type ActivationId, type RunId } from '@reeve/core'
import { isEndEvent } from '@reeve/journal'
import { askKey } from '@reeve/engine'
import { inSubtree, isListedRun, subtreeRange } from './id-ranges.ts'
import { prepared } from './statements.ts'

/** An entry of a log as it is stored, with the id of its activation. */
export type EntryRow = readonly [
  position: number,
  id: ActivationId,
  seq: number,
  at: number,
  body: string,
  blobs: number | null,
]
type AccountRow = readonly [act: ActivationId, body: string]

/** How much a chunk holds at most. */
interface ChunkSize {
  readonly entries: number
  /** Of all its entries together. */
  readonly characters: number
  /** Positions from its first entry to its last one: a page of all runs finds the chunks that it needs by it. */
  readonly span: number
}
const chunkSize: ChunkSize = { entries: 1_000, characters: 500_000, span: 10_000 }
/**
 * How much is moved at once, while the event loop waits: chunks are begun until they have so many entries or characters
 * together, or are so many. With a last one that is full this takes 2 to 5 ms as a rule; one huge entry is moved whole.
 */
const atOnce = { entries: 1_000, characters: 100_000, chunks: 20 }
/** So many characters of unpacked chunks are kept: as much as the chunks around one position hold, mostly. */
const keptCharacters = 8_000_000

/** A part of a page of all runs. */
interface ArchivedPage {
  readonly rows: readonly EntryRow[]
  /** The rows are all that there is up to here. */
  readonly upTo: number
}

/** A chunk as it is unpacked. */
interface Chunk {
  readonly entries: readonly EntryRow[]
  /** Of the activations whose last entry is in it. */
  readonly accounts: readonly AccountRow[]
  /** Questions that had an answer: the inbox keys by which a later answer knows that it has lost. */
  readonly answered: readonly (readonly [act: ActivationId, key: string])[]
  readonly characters: number
}

/** The first line of a chunk's text; the bodies of its entries follow, one directly after the other. */
interface ChunkHead extends Pick<Chunk, 'accounts' | 'answered'> {
  readonly acts: readonly ActivationId[]
  /** Of each entry: position and time after the one before, which of `acts`, seq, length of its body. */
  readonly entries: readonly (readonly [
    position: number,
    act: number,
    seq: number,
    at: number,
    length: number,
    blobs: number | null,
  ])[]
}

function packChunk(entries: readonly EntryRow[], beside: Pick<Chunk, 'accounts' | 'answered'>): Uint8Array {
  const acts = [...new Set(entries.map(([, id]) => id))]
  const numbers = new Map(acts.map((id, i) => [id, i]))
  let [lastPosition, lastAt] = [0, 0]
  const head: ChunkHead = {
    ...beside,
    acts,
    entries: entries.map(([position, id, seq, at, body, blobs]) => {
      const row = [position - lastPosition, numbers.get(id)!, seq, at - lastAt, body.length, blobs] as const
      ;[lastPosition, lastAt] = [position, at]
      return row
    }),
  }
  const text = `${JSON.stringify(head)}\n${entries.map(([, , , , body]) => body).join('')}`
  // with a checksum: a damaged chunk is found, and not read as something else
  return zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
}

function unpackChunk(packed: Uint8Array): Chunk {
  const text = zstdDecompressSync(packed).toString()
  let begin = text.indexOf('\n')
  const { acts, entries, accounts, answered } = JSON.parse(text.slice(0, begin++)) as ChunkHead
  let [position, at] = [0, 0]
  return {
    entries: entries.map(([afterPosition, act, seq, afterAt, length, blobs]) => [
      (position += afterPosition),
      acts[act]!,
      seq,
      (at += afterAt),
      text.slice(begin, (begin += length)),
      blobs,
    ]),
    accounts,
    answered,
    characters: text.length,
  }
}

const rootOf = (act: ActivationId): RunId => rootRun(runOf(act))

/** Reads the archive. Where nothing is archived a question costs one look at an index. Throws `store.corrupt`. */
export class Archive {
  readonly #sql: Record<keyof typeof reading, StatementSync>
  /** Those used last come last. A chunk never changes, and its first position is never that of another one. */
  readonly #unpacked = new Map<number, Chunk>()
  #characters = 0

  constructor(db: DatabaseSync) {
    this.#sql = prepared(db, reading)
  }

  /** Entries of a run, or of runs below it, after a position, in the order of the feed: at most so many. */
  take(run: RunId, from: number, isWanted: (id: ActivationId) => boolean, limit = Infinity): readonly EntryRow[] {
    if (limit <= 0) return []
    const taken: EntryRow[] = []
    for (const { first } of this.#sql.chunksAfter.iterate(rootRun(run), from) as Iterable<{ first: number }>) {
      for (const entry of this.#chunk(first).entries) {
        if (entry[0] <= from || !isWanted(entry[1])) continue
        taken.push(entry)
        if (taken.length === limit) return taken
      }
    }
    return taken
  }

  /** The part of the log of one activation from `from` to before `upTo`, in order. */
  log(act: ActivationId, from: number, upTo: number): readonly EntryRow[] {
    return this.take(rootOf(act), 0, (id) => id === act).filter(([, , seq]) => seq >= from && seq < upTo)
  }

  /** The last entry of an activation. */
  last(act: ActivationId): EntryRow | undefined {
    for (const { first } of this.#sql.newestChunks.iterate(rootOf(act)) as Iterable<{ first: number }>) {
      const last = this.#chunk(first).entries.findLast(([, id]) => id === act)
      if (last !== undefined) return last
    }
    return undefined
  }

  /** Whether the last word of an activation is in its log; undefined: it has none here. */
  isOver(act: ActivationId): boolean | undefined {
    const last = this.last(act)
    return last && isEndEvent(last[4])
  }

  /**
   * A page of the feed of all runs: these entries of `log` with the archived ones among them, at most so many. A page
   * ends before a chunk that cannot be read; that is thrown where nothing comes before it.
   */
  page(from: number, upTo: number, limit: number, recent: readonly EntryRow[]): ArchivedPage {
    const chunks = this.#sql.chunksAround.iterate(from - chunkSize.span, upTo, from) as Iterable<{ first: number }>
    let page: EntryRow[] | undefined
    for (const { first } of chunks) {
      page ??= [...recent]
      if (page.length >= limit) {
        page = inOrder(page).slice(0, limit)
        if (first > page.at(-1)![0]) break
      }
      let chunk: Chunk
      try {
        chunk = this.#chunk(first)
      } catch (thrown) {
        if (first <= from + 1) throw thrown
        const rows = inOrder(page).filter(([position]) => position < first)
        return { rows: rows.slice(0, limit), upTo: first - 1 }
      }
      for (const entry of chunk.entries) if (entry[0] > from && entry[0] <= upTo) page.push(entry)
    }
    return { rows: page === undefined ? recent : inOrder(page).slice(0, limit), upTo }
  }

  /** The accounts of a run and of runs below it. */
  accounts(run: RunId): readonly AccountRow[] {
    const accounts: AccountRow[] = []
    for (const { first } of this.#sql.chunksAfter.iterate(rootRun(run), 0) as Iterable<{ first: number }>)
      accounts.push(...this.#chunk(first).accounts)
    return accounts
  }

  /** Whether a question of an archived activation had an answer. */
  isAnswered(act: ActivationId, key: string): boolean {
    for (const { first } of this.#sql.newestChunks.iterate(rootOf(act)) as Iterable<{ first: number }>)
      if (this.#chunk(first).answered.some(([asker, answered]) => asker === act && answered === key)) return true
    return false
  }

  #chunk(first: number): Chunk {
    const kept = this.#unpacked.get(first)
    if (kept !== undefined) {
      this.#unpacked.delete(first)
      this.#unpacked.set(first, kept)
      return kept
    }
    const { run, last, body } = this.#sql.chunk.get(first) as { run: string; last: number; body: Uint8Array }
    let chunk: Chunk
    try {
      chunk = unpackChunk(body)
    } catch (thrown) {
      const what = `the archived events ${first} to ${last} of the run ${run} cannot be read: ${messageOf(thrown)}`
      throw new ReeveError('store.corrupt', what, {
        hint: `Restore the store from a backup. To leave these events out of the feed of all runs, and what other runs recorded between them, read on from ${last}.`,
        cause: thrown,
      })
    }
    this.#unpacked.set(first, chunk)
    this.#characters += chunk.characters
    for (const [oldest, { characters }] of this.#unpacked) {
      if (this.#characters <= keptCharacters || oldest === first) break
      this.#unpacked.delete(oldest)
      this.#characters -= characters
    }
    return chunk
  }
}

const inOrder = (entries: EntryRow[]): EntryRow[] => entries.sort(([one], [other]) => one - other)

const reading = {
  chunksAfter: 'SELECT first FROM archive WHERE run = ? AND last > ? ORDER BY last',
  newestChunks: 'SELECT first FROM archive WHERE run = ? ORDER BY last DESC',
  chunksAround: 'SELECT first FROM archive WHERE first > ? AND first <= ? AND last > ? ORDER BY first',
  chunk: 'SELECT run, last, body FROM archive WHERE first = ?',
} as const

/** Moves what has ended into the archive, a few chunks in each transaction. */
export class Archiver {
  readonly #db: DatabaseSync
  readonly #sql: Record<keyof typeof moving, StatementSync>
  readonly #size: ChunkSize
  readonly #most: typeof atOnce

  /** With smaller steps than by default, for tests. */
  constructor(db: DatabaseSync, size: Partial<ChunkSize> = {}, most: Partial<typeof atOnce> = {}) {
    this.#db = db
    this.#size = { ...chunkSize, ...size }
    this.#most = { ...atOnce, ...most }
    this.#sql = prepared(db, moving)
    for (const name of ['next', 'nextNear'] as const) this.#sql[name].setReturnArrays(true)
  }

  /**
   * Moves some of what ended before this moment, in one transaction; what ended first goes first. True: there is more.
   */
  some(endedBefore: number): boolean {
    // asked before the file is locked: mostly there is nothing to do
    if (this.#candidate(endedBefore) === undefined) return false
    this.#sql.begin.run()
    try {
      let isMore = true
      const most = this.#most
      let [entries, characters] = [0, 0]
      for (
        let chunks = 0;
        isMore && chunks < most.chunks && entries < most.entries && characters < most.characters;
        chunks++
      ) {
        const run = this.#candidate(endedBefore)
        const moved = run === undefined ? [] : this.#move(run)
        isMore = run !== undefined
        entries += moved.length
        for (const [, , , , body] of moved) characters += body.length
      }
      this.#sql.commit.run()
      return isMore
    } catch (thrown) {
      // a COMMIT that failed may have rolled back by itself
      if (this.#db.isTransaction) this.#sql.rollback.run()
      throw thrown
    }
  }

  #candidate(endedBefore: number): RunId | undefined {
    const newest = this.#sql.newest.get() as { id: ActivationId } | undefined
    const busy = newest === undefined ? '' : rootOf(newest.id)
    return (this.#sql.candidate.get(endedBefore, busy) as { id: RunId } | undefined)?.id
  }

  /** Moves the next chunk of a run. Returns the entries in it. */
  #move(run: RunId): readonly EntryRow[] {
    const entries = this.#nextEntries(run)
    const range = subtreeRange(rootActivation(run))
    if (entries.length > 0) {
      for (const [position] of entries) this.#sql.deleteEntry.run(position)
      const lasts = new Map(entries.map((entry) => [entry[1], entry]))
      const accounts: AccountRow[] = []
      const answered: (readonly [ActivationId, string])[] = []
      for (const [act, [, , , , body]] of lasts) {
        const gone = this.#sql.deleteActivation.get(act) as { num: number } | undefined
        if (gone === undefined) continue
        // what is summed up is for those who take a run up: one that has ended is taken up by no process
        this.#sql.deleteSummed.run(gone.num)
        const account = this.#sql.deleteAccount.get(act) as { body: string } | undefined
        if (account !== undefined) accounts.push([act, account.body])
        // one that has not settled is posted to even now, each key once
        if (!isEndEvent(body)) continue
        for (const { key } of this.#sql.deleteTaken.all(act) as { key: string }[])
          if (key.startsWith(askKey)) answered.push([act, key])
      }
      const packed = packChunk(entries, { accounts, answered })
      this.#sql.insert.run(entries[0]![0], entries.at(-1)![0], run, packed)
    }
    if (this.#sql.isLeft.get(...range) === undefined) this.#sql.markRun.run(run)
    return entries
  }

  #nextEntries(run: RunId): readonly EntryRow[] {
    const range = subtreeRange(rootActivation(run))
    const { last } = this.#sql.lastArchived.get(run) as { last: number | null }
    const { entries: most, span } = this.#size
    // what is near is found without a look at all that is left of the run
    const near = last === null ? [] : this.#fitting(this.#sql.nextNear.iterate(last, last + span, ...range, most))
    return near.length > 0 ? near : this.#fitting(this.#sql.next.iterate(...range, most))
  }

  /** Of these entries, those that fit into one chunk; no others are read. At least one. */
  #fitting(rows: Iterable<unknown>): readonly EntryRow[] {
    const fitting: EntryRow[] = []
    let characters = 0
    for (const entry of rows as Iterable<EntryRow>) {
      characters += entry[4].length
      const isFull = characters > this.#size.characters || entry[0] - (fitting[0] ?? entry)[0] >= this.#size.span
      if (fitting.length > 0 && isFull) break
      fitting.push(entry)
    }
    return fitting
  }
}

const columns = 'l.position, a.id, l.seq, l.at, l.body, l.blobs'
const moving = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  newest: 'SELECT id FROM activation WHERE num = (SELECT act FROM log ORDER BY position DESC LIMIT 1)',
  candidate: `SELECT r.id FROM run r INDEXED BY run_whole WHERE r.archived = 0 AND ${isListedRun('r.id')} AND r.ended < ? AND r.id <> ?
    AND NOT EXISTS (SELECT 1 FROM run c WHERE c.id > r.id || '>' AND c.id < r.id || '?' AND c.ended IS NULL) ORDER BY r.ended LIMIT 1`,
  lastArchived: 'SELECT max(last) AS last FROM archive WHERE run = ?',
  nextNear: `SELECT ${columns} FROM log l CROSS JOIN activation a ON a.num = l.act WHERE l.position > ? AND l.position <= ?
    AND ${inSubtree('a.id')} ORDER BY l.position LIMIT ?`,
  // the index of the log alone says which entries are next: only theirs are read
  next: `SELECT ${columns} FROM log l CROSS JOIN activation a ON a.num = l.act WHERE l.position IN (
    SELECT l.position FROM activation a CROSS JOIN log l ON l.act = a.num WHERE ${inSubtree('a.id')} ORDER BY l.position LIMIT ?)
    ORDER BY l.position`,
  deleteEntry: 'DELETE FROM log WHERE position = ?',
  deleteActivation:
    'DELETE FROM activation WHERE id = ? AND NOT EXISTS (SELECT 1 FROM log WHERE log.act = activation.num) RETURNING num',
  deleteSummed: 'DELETE FROM summed WHERE act = ?',
  deleteAccount: 'DELETE FROM account WHERE act = ? RETURNING body',
  deleteTaken: 'DELETE FROM inbox WHERE act = ? AND taken = 1 RETURNING key',
  insert: 'INSERT INTO archive(first, last, run, body) VALUES(?, ?, ?, ?)',
  isLeft: `SELECT 1 FROM activation a CROSS JOIN log l ON l.act = a.num WHERE ${inSubtree('a.id')} LIMIT 1`,
  markRun: 'UPDATE run SET archived = 1 WHERE id = ?',
} as const
