/**
 * One transaction on SQLite: everything that one tick has learned and intends, over all runs (group commit, K5).
 *
 * Owns: applying a batch, and what of it lies in blobs. Holds: K2 (epochs are checked inside the transaction; unique
 * keys name the winner of a post).
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isChildRun, ReeveError, rootActivation, runOf, type ActivationId, type RunId } from '@reeve/core'
import { isEndEvent } from '@reeve/journal'
import { askKey, type PostResult, type RunUsage } from '@reeve/engine'
import {
  type Batch,
  type BatchResult,
  callerIn,
  deadlineBody,
  type NewRow,
  tagsOf,
  tenantOf,
  type ValueResult,
  type ValueWrite,
} from '@reeve/engine/storage'
import type { Archive } from './archive.ts'
import { pack } from './blobs.ts'
import { inRun, runRange } from './id-ranges.ts'
import { prepared } from './statements.ts'

interface OpenQuestionRow {
  readonly id: string
  readonly key: string
  readonly kind: string
  readonly until: number | null
}

/** Applies batches on one connection. */
export class SqliteBatchWriter {
  readonly #nums = new Map<string, number>()
  readonly #sql: Record<keyof typeof statements, StatementSync>
  readonly #archive: Archive
  #version: number
  /** Grows whenever another connection has written; a run is checked again before the first write after that. */
  #generation = 0
  readonly #checked = new Map<RunId, number>()

  constructor(db: DatabaseSync, archive: Archive) {
    this.#archive = archive
    this.#sql = prepared(db, statements)
    this.#version = this.#dataVersion()
  }

  /** SQLite's word on whether another connection has committed: a number that then changes. */
  #dataVersion(): number {
    return (this.#sql.dataVersion.get() as { data_version: number }).data_version
  }

  /** True if another connection has committed since this was last asked. */
  moved(): boolean {
    const now = this.#dataVersion()
    const moved = now !== this.#version
    this.#version = now
    if (moved) this.forget()
    return moved
  }

  /**
   * Another connection has written, or a run was removed: a run may be another process's by now, and an activation may
   * have gone and come again under a new number.
   */
  forget(): void {
    this.#generation++
    this.#nums.clear()
  }

  /** Writes everything or nothing. Throws what SQLite throws, after rolling back. */
  apply(batch: Batch): BatchResult {
    this.#sql.begin.run()
    try {
      const moved = this.moved()
      const fenced = this.#fenced(batch)
      const existed = this.#insertRuns(batch, fenced)
      const lost: ReadonlySet<RunId> = fenced.length + existed.length === 0 ? none : new Set([...fenced, ...existed])
      const keep = (run: RunId): boolean => lost.size === 0 || !lost.has(run)
      const position = this.#writeLog(batch, keep)
      for (const { from, to, keys } of batch.shares)
        if (keep(to)) for (const key of keys) this.#sql.share.run(to, from, key)
      // Before the posts: what this commit withdraws is not answered by it.
      this.#writeQuestions(batch, keep)
      const speaks = (from: RunId): boolean => keep(from) && batch.epochs.has(from)
      const posts = batch.rows.map((row) => (row.from === undefined || speaks(row.from) ? this.#post(row) : 'lost'))
      const values = batch.values.map((write): ValueResult =>
        write.by === undefined || speaks(write.by.run) ? this.#writeValue(write) : { status: 'lost' },
      )
      const awake = this.#writeIndexes(batch, keep)
      this.#sql.commit.run()
      return { moved, fenced, existed, awake, posts, values, position }
    } catch (thrown) {
      this.#nums.clear()
      this.#checked.clear()
      try {
        this.#sql.rollback.run()
      } catch {
        // A failed COMMIT (full disk) may have rolled back by itself; the first error is the one to tell.
      }
      throw thrown
    }
  }

  /**
   * If no other connection has written since a run was last checked, no process can have taken it over, and no query is
   * needed.
   */
  #fenced(batch: Batch): RunId[] {
    const fenced: RunId[] = []
    const created = batch.runs.length === 0 ? none : new Set(batch.runs.map((run) => run.id))
    for (const [run, epoch] of batch.epochs) {
      if (this.#checked.get(run) === this.#generation) continue
      // a run that is begun for another process is not this process's own after that
      if (created.has(run)) continue
      this.#checked.set(run, this.#generation)
      const row = this.#sql.epoch.get(run) as { epoch: number; owner: string | null } | undefined
      if (row?.epoch === epoch && row.owner === batch.owner) continue
      fenced.push(run)
      this.#checked.delete(run)
    }
    if (fenced.length > 0)
      for (const { id, from } of batch.runs) if (from !== undefined && fenced.includes(from)) fenced.push(id)
    return fenced
  }

  #insertRuns(batch: Batch, fenced: readonly RunId[]): RunId[] {
    const existed: RunId[] = []
    for (const run of batch.runs) {
      if (fenced.length > 0 && fenced.includes(run.id)) continue
      const { id, agent, version, owner, caller, at, epoch = 1 } = run
      const from = callerIn(run)
      if (this.#sql.newRun.run(id, agent, version, owner, caller, at, epoch, tenantOf(from)).changes === 0)
        existed.push(id)
      // a run of the same id would have the same tags, or be refused
      else if (!isChildRun(id)) for (const { name, value } of tagsOf(from)) this.#sql.tag.run(name, value, at, id)
    }
    return existed
  }

  #writeLog(batch: Batch, keep: (run: RunId) => boolean): number {
    const s = this.#sql
    for (const act of batch.acts)
      if (keep(runOf(act))) this.#nums.set(act, Number(s.newActivation.run(act).lastInsertRowid))
    let last: ActivationId | undefined
    let num = 0
    let position: number | bigint = 0
    for (const entry of batch.log) {
      if (!keep(entry.run)) continue
      if (entry.act !== last) {
        last = entry.act
        num = this.#num(entry.act)
      }
      const packed = pack(entry.body)
      position = s.log.run(
        num,
        entry.seq,
        entry.at,
        packed?.body ?? entry.body,
        packed === undefined ? null : 1,
      ).lastInsertRowid
      for (const [hash, body] of packed?.blobs ?? []) {
        s.blob.run(hash, body)
        s.blobUse.run(entry.run, hash)
      }
    }
    for (const { act, from, upTo } of batch.summed) {
      if (!keep(runOf(act))) continue
      s.unsum.run(this.#num(act), from)
      s.sum.run(this.#num(act), from, upTo)
    }
    if (this.#nums.size > 50_000) this.#nums.clear()
    return Number(position)
  }

  #num(act: ActivationId): number {
    let num = this.#nums.get(act)
    if (num === undefined) {
      num =
        (this.#sql.num.get(act) as { num: number } | undefined)?.num ??
        Number(this.#sql.newActivation.run(act).lastInsertRowid)
      this.#nums.set(act, num)
    }
    return num
  }

  #post(row: NewRow): PostResult {
    const s = this.#sql
    if (row.target === 'run') {
      const run = s.runEnded.get(runOf(row.act)) as { ended: number | null } | undefined
      if (run === undefined) return 'unknown'
      if (run.ended !== null || this.#isOver(row.act) === true) return 'closed'
      return s.row.run(row.act, row.key, row.body).changes === 1 ? 'accepted' : 'lost'
    }
    if (row.target === 'activation') {
      const over = this.#isOver(row.act)
      const reason = over === undefined ? 'unknown' : over ? 'closed' : undefined
      if (reason === undefined) s.row.run(row.act, row.key, row.body)
      // The refusal is in the sender's inbox in the same transaction: a crash does not lose it.
      else if (row.refusalTo !== undefined && !this.#isOver(row.refusalTo))
        s.row.run(row.refusalTo, `refused:${row.key}`, JSON.stringify({ type: 'refused', id: row.key, reason }))
      return reason ?? 'accepted'
    }
    const asked = (s.questions.all(row.act, row.key) as unknown as OpenQuestionRow[]).find(
      (q) => row.kinds?.includes(q.kind) ?? true,
    )
    if (asked === undefined) {
      const key = askKey + row.key
      if (s.rowExists.get(row.act, key) !== undefined) return 'lost'
      if (s.num.get(row.act) !== undefined) return 'closed'
      if (this.#isOver(row.act) === undefined) return 'unknown'
      return this.#archived(() => this.#archive.isAnswered(row.act, key), false) ? 'lost' : 'closed'
    }
    const late = asked.until !== null && asked.until < row.at
    const first = s.row.run(row.act, asked.key, late ? deadlineBody(row.key) : row.body).changes === 1
    // In any case: a deadline that stayed behind would ring for ever.
    s.answered.run(asked.id)
    if (!first) return 'lost'
    return late && row.kinds !== undefined ? 'lost' : 'accepted'
  }

  /** Whether an activation's last word is in its log; undefined if there is no such activation. */
  #isOver(act: ActivationId): boolean | undefined {
    const last = this.#sql.lastEvent.get(act) as { body: string } | undefined
    if (last !== undefined) return isEndEvent(last.body)
    return this.#archived(() => this.#archive.isOver(act), true)
  }

  /** What the archive says; a chunk that is damaged fails no commit, since what it is of has ended. */
  #archived<T>(read: () => T, otherwise: T): T {
    try {
      return read()
    } catch (thrown) {
      if (ReeveError.is(thrown, 'store.corrupt')) return otherwise
      throw thrown
    }
  }

  #writeValue(write: ValueWrite): ValueResult {
    const s = this.#sql
    const { by } = write
    const done =
      by === undefined ? undefined : (s.done.get(by.run, write.stream, by.once) as { seq: number } | undefined)
    if (done !== undefined) return { status: 'repeated', seq: done.seq }
    const now = (s.valueVersion.get(write.stream, write.key) as { version: number } | undefined)?.version ?? 0
    if (now !== write.expected) return { status: 'moved' }
    s.value.run(write.stream, write.key, now + 1, write.body)
    const num = this.#num(write.stream as ActivationId)
    const seq = Number((s.nextSeq.get(num) as { seq: number | null }).seq ?? -1) + 1
    s.log.run(num, seq, write.at, write.event, null)
    if (by !== undefined) s.newDone.run(by.run, write.stream, by.once, seq)
    return { status: 'written' }
  }

  #writeQuestions(batch: Batch, keep: (run: RunId) => boolean): void {
    const s = this.#sql
    for (const q of batch.questions)
      if (keep(runOf(q.act))) s.question.run(q.id, q.act, q.address, q.key, q.kind, q.until, q.at, q.body, tenantOf(q))
    for (const c of batch.closed) if (keep(runOf(c.act))) s.closeQuestion.run(c.act, c.address)
    for (const act of batch.closedActs) if (keep(runOf(act))) s.closeQuestions.run(act)
  }

  /** Returns the runs that do not park, because there is mail that they were not given. */
  #writeIndexes(batch: Batch, keep: (run: RunId) => boolean): RunId[] {
    const s = this.#sql
    const awake: RunId[] = []
    for (const t of batch.taken) if (keep(runOf(t.act))) s.take.run(t.act, t.key)
    for (const a of batch.accounts) if (keep(a.run)) s.account.run(a.act, JSON.stringify(a.state))
    for (const c of batch.control) if (keep(c.run)) s.control.run(c.state, c.run)
    for (const x of batch.stuck) {
      if (!keep(x.run)) continue
      s.stuck.run(x.reason, x.run)
      if (x.commands !== undefined)
        s.forgetCommands.run(rootActivation(x.run), x.commands.upTo, x.commands.cancel ? '!cancel' : null)
    }
    for (const { run, heard, usage } of batch.parked) {
      const root = rootActivation(run)
      if (keep(run) && s.unheard.get(heard, ...runRange(root)) !== undefined) {
        awake.push(run)
        continue
      }
      this.#checked.delete(run)
      if (keep(run)) s.park.run(...runRange(root), usage?.usd ?? null, textOf(usage), run)
    }
    for (const e of batch.ended) {
      this.#checked.delete(e.run)
      if (!keep(e.run)) continue
      const root = rootActivation(e.run)
      s.end.run(e.status, e.at, e.usage?.usd ?? null, textOf(e.usage), e.why ?? null, e.run)
      // the run will not be driven and asked again
      s.forgetDone.run(e.run)
      if (s.anyQuestion.get(...runRange(root)) !== undefined) s.closeRun.run(...runRange(root))
      s.takeAll.run(...runRange(root))
    }
    return awake
  }
}

const none: ReadonlySet<RunId> = new Set()
const textOf = (usage: RunUsage | undefined): string | null => (usage === undefined ? null : JSON.stringify(usage))
const statements = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  dataVersion: 'PRAGMA data_version',
  epoch: 'SELECT epoch, owner FROM run WHERE id = ?',
  newRun:
    'INSERT OR IGNORE INTO run(id, agent, version, owner, caller, created, epoch, tenant) VALUES(?, ?, ?, ?, ?, ?, ?, ?)',
  tag: 'INSERT OR IGNORE INTO tag VALUES(?, ?, ?, ?)',
  newActivation: 'INSERT INTO activation(id) VALUES(?)',
  num: 'SELECT num FROM activation WHERE id = ?',
  log: 'INSERT INTO log(act, seq, at, body, blobs) VALUES(?, ?, ?, ?, ?)',
  unsum: 'DELETE FROM summed WHERE act = ? AND start >= ?',
  sum: 'INSERT INTO summed VALUES(?, ?, ?)',
  nextSeq: 'SELECT max(seq) AS seq FROM log WHERE act = ?',
  blob: 'INSERT OR IGNORE INTO blob(hash, body) VALUES(?, ?)',
  blobUse: 'INSERT OR IGNORE INTO blob_use(run, hash) VALUES(?, ?)',
  share: 'INSERT OR IGNORE INTO blob_use(run, hash) SELECT ?, hash FROM blob_use WHERE run = ? AND hash = ?',
  runEnded: 'SELECT ended FROM run WHERE id = ?',
  lastEvent: 'SELECT body FROM log WHERE act = (SELECT num FROM activation WHERE id = ?) ORDER BY seq DESC LIMIT 1',
  row: 'INSERT OR IGNORE INTO inbox(act, key, body) VALUES(?, ?, ?)',
  done: 'SELECT seq FROM done WHERE run = ? AND stream = ? AND once = ?',
  newDone: 'INSERT INTO done VALUES(?, ?, ?, ?)',
  forgetDone: 'DELETE FROM done WHERE run = ?',
  rowExists: 'SELECT 1 FROM inbox WHERE act = ? AND key = ?',
  questions: 'SELECT id, key, kind, until FROM question WHERE act = ? AND address = ?',
  answered: 'UPDATE question SET until = NULL WHERE id = ?',
  question:
    'INSERT OR IGNORE INTO question(id, act, address, key, kind, until, at, body, tenant) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)',
  closeQuestion: 'DELETE FROM question WHERE act = ? AND address = ?',
  closeQuestions: 'DELETE FROM question WHERE act = ?',
  anyQuestion: `SELECT 1 FROM question WHERE ${inRun('act')} LIMIT 1`,
  closeRun: `DELETE FROM question WHERE ${inRun('act')}`,
  take: 'UPDATE inbox SET taken = 1, body = NULL WHERE act = ? AND key = ?',
  takeAll: `UPDATE inbox SET taken = 1, body = NULL WHERE taken = 0 AND ${inRun('act')}`,
  unheard: `SELECT 1 FROM inbox WHERE taken = 0 AND position > ? AND ${inRun('act')} LIMIT 1`,
  account: 'INSERT INTO account VALUES(?, ?) ON CONFLICT(act) DO UPDATE SET body = excluded.body',
  control: 'UPDATE run SET control = ? WHERE id = ?',
  stuck: 'UPDATE run SET stuck = ? WHERE id = ?',
  forgetCommands:
    "DELETE FROM inbox WHERE act = ? AND taken = 0 AND position <= ? AND (key GLOB '!resume*' OR key = ?)",
  // While it rests, its questions stay as they are: `asks` says so for the index (run-search.ts).
  park: `UPDATE run SET parked = 1, owner = NULL, losses = 0, asks = EXISTS (SELECT 1 FROM question WHERE kind <> 'timer' AND ${inRun('act')}),
    usd = COALESCE(?, usd), usage = COALESCE(?, usage) WHERE id = ?`,
  end: 'UPDATE run SET status = ?, ended = ?, end_position = (SELECT max(position) FROM log), owner = NULL, control = NULL, usd = ?, usage = ?, why = ? WHERE id = ?',
  valueVersion: 'SELECT version FROM value WHERE stream = ? AND key = ?',
  value:
    'INSERT INTO value VALUES(?, ?, ?, ?) ON CONFLICT(stream, key) DO UPDATE SET version = excluded.version, body = excluded.body',
} as const
