/**
 * One transaction on PostgreSQL for everything that one tick records, over all runs (group commit, K5). Sent as a
 * whole, without waiting for an answer in between.
 *
 * Owns: applying a batch, what of it is tried again, and finding out what became of a commit whose answer was lost.
 * Does not own: what a post means (posts.ts), the connection.
 * Holds: K2. Its first statement locks the rows of all runs that are written to or posted to, in the order of their
 * ids, compares owner and epoch, and takes the next number of this process's receipt. If one thing of this does not
 * hold, it fails, and so does everything after it; then the runs that are another process's are found and the rest is
 * sent again. Because the receipt goes from n - 1 to n, a transaction whose answer was lost is either written (the
 * receipt says n) or never will be (taking the number n + 1 stops it for good). Rows of an inbox get their numbers
 * while the run is locked, so that of one run they become visible in their order.
 */
import type { Client } from 'pg'
import { delay, isChildRun, jitter, present, ReeveError, runOf, stopwatch, type RunId } from '@reeve/core'
import { isEndEvent } from '@reeve/journal'
import type { PostResult, RunUsage } from '@reeve/engine'
import { sha256 } from '@reeve/engine/host'
import {
  type Batch,
  type BatchResult,
  callerIn,
  payload,
  tagsOf,
  tenantOf,
  type ValueResult,
} from '@reeve/engine/storage'
import { Pipeline, type StoreConnection, type NamedStatement } from './connection.ts'
import { isAnswer, isConflict, isDuplicate, isGate, replaced } from './errors.ts'
import { flags } from './entries.ts'
import { Insert } from './inserts.ts'
import { postStatements, readAnswers, sendPosts, sendValues, type ReceiptBody, type PostStatements } from './posts.ts'
import { announce } from './writers.ts'

/** A transaction that conflicts with others gives up after this many attempts. */
const attempts = 12
/** Delays before the server is asked again for the result of a commit. Milliseconds. */
const soonest = 50
const latest = 2_000
/** How long a process that is about to end goes on asking. Milliseconds. */
const leaveMs = 5_000

const none: ReadonlySet<RunId> = new Set()

/** What else the store does when a batch was written. */
export interface Committed {
  /** Runs that other processes should look at: with a new entry or an end. */
  readonly written: ReadonlySet<RunId>
  /** Runs with a new row in an inbox. */
  readonly mailed: ReadonlySet<RunId>
  /** Runs that are there for any process. */
  readonly born: readonly RunId[]
  /** Runs that this process does not hold any more. */
  readonly left: readonly RunId[]
}

export interface WriterOptions {
  readonly name: string
  readonly schema: string
  readonly process: string
  /** What is late is judged by the server's clock. */
  readonly serverTime: boolean
  /** The process is closing, and the server says nothing any more. */
  readonly isSilent: () => boolean
  readonly onCommit: (committed: Committed) => void
}

/** Applies batches on one connection, one after the other. */
export class PostgresBatchWriter {
  readonly #connection: StoreConnection
  readonly #options: WriterOptions
  readonly #sql: ReturnType<typeof statements>
  readonly #posts: PostStatements
  /** Where the feeds of the runs stand that this process holds. */
  readonly #positions = new Map<RunId, number>()
  /** The number of the last receipt. */
  #n = 0
  /** No run that begins now may begin its feed below. */
  #floor = 0
  #tail: Promise<unknown> = Promise.resolve()
  #isClosed = false
  /** When the process began to end. */
  #leftAt = Infinity
  /** A commit was given up whose result is unknown: no further commit is made, so nothing is written twice. */
  #gaveUp: ReeveError | undefined
  /** There may be a receipt of this process. */
  #hasBegun = false

  constructor(connection: StoreConnection, options: WriterOptions) {
    this.#connection = connection
    this.#options = options
    this.#sql = statements(`"${options.schema}"`)
    this.#posts = postStatements(`"${options.schema}"`)
  }

  /** A run that this process has claimed, and where its feed stands. */
  holds(run: RunId, position: number): void {
    this.#positions.set(run, position)
  }
  isHeld(run: RunId): boolean {
    return this.#positions.has(run)
  }

  leave(): void {
    this.#leftAt = Math.min(this.#leftAt, stopwatch())
  }

  /** Nothing more is waited for. */
  close(): void {
    this.#isClosed = true
  }

  /** Writes everything or nothing. Rejects with what PostgreSQL says. */
  commit(batch: Batch): Promise<BatchResult> {
    const done = this.#tail.then(() => this.#connection.busy(() => this.#apply(batch)))
    this.#tail = done.catch(() => undefined)
    return done
  }

  async #apply(batch: Batch): Promise<BatchResult> {
    if (this.#gaveUp !== undefined) throw this.#gaveUp
    const lost = { fenced: new Set<RunId>(), existed: new Set<RunId>() }
    for (let attempt = 1; ; attempt++) {
      const client = await this.#connection.client()
      const sent = await this.#send(client, batch, lost)
      if (sent.ended === 'committed') return this.#committed(batch, lost, sent)
      const { thrown } = sent
      // What the driver could not send leaves its connection in disorder.
      if (!isAnswer(thrown)) this.#connection.drop(client)
      if (sent.ended === 'unknown' && (await this.#becameOf(batch, sent))) return this.#committed(batch, lost, sent)
      if (attempt === attempts || this.#isClosed) throw thrown
      if (sent.ended === 'unknown') await delay(jitter() * 10 * attempt)
      else if (isGate(thrown) || isDuplicate(thrown)) {
        const found = await this.#inspect(batch, lost)
        if (!found && isDuplicate(thrown)) throw thrown
        if (!found) await delay(jitter() * 5 * attempt)
      } else if (isConflict(thrown)) await delay(jitter() * 10 * attempt)
      else throw thrown
    }
  }

  /** Sends what is not lost of a batch. */
  async #send(client: Client, batch: Batch, lost: LostRuns): Promise<SentBatch> {
    const gone: ReadonlySet<RunId> =
      lost.fenced.size + lost.existed.size === 0 ? none : new Set([...lost.fenced, ...lost.existed])
    const keep = (run: RunId): boolean => gone.size === 0 || !gone.has(run)
    const born = batch.runs.filter(({ id }) => keep(id))
    const isBorn = new Set(batch.runs.map(({ id }) => id))
    const held = [...batch.epochs].filter(([run]) => keep(run) && !isBorn.has(run))
    const speaks = (run: RunId): boolean => keep(run) && batch.epochs.has(run)
    const positions = await this.#positionsFor(batch, keep, isBorn)
    const n = this.#n + 1
    const sent: Mutable = {
      posts: batch.rows.map((): PostResult => 'lost'),
      values: batch.values.map((): ValueResult => ({ status: 'lost' })),
      parked: new Set<RunId>(),
      positions,
      position: 0,
    }
    const rows = placesOf(batch.rows, ({ from }) => from === undefined || speaks(from))
    const writes = placesOf(batch.values, ({ by }) => by === undefined || speaks(by.run))
    const ids = new Set(held.map(([run]) => run))
    for (const i of rows) {
      ids.add(runOf(batch.rows[i]!.act))
      const { refusalTo } = batch.rows[i]!
      if (refusalTo !== undefined) ids.add(runOf(refusalTo))
    }

    const { process, serverTime } = this.#options
    const p = new Pipeline(client)
    p.send(this.#sql.gate, [process, n, [...ids], held.map(([run]) => run), held.map(([, epoch]) => epoch)])
    if (born.length > 0) {
      // In the order in which they begin: two processes that begin the same ones otherwise stand in each other's way,
      // and one of them tries again.
      this.#sql.runs.send(
        p,
        born.flatMap(({ id, agent, version, owner, caller, at, epoch = 1 }) => [
          id,
          agent,
          version,
          owner,
          caller,
          at,
          epoch,
          tenantOf(callerIn({ caller })),
        ]),
      )
      const tags = born.flatMap((run) =>
        isChildRun(run.id) ? [] : tagsOf(callerIn(run)).flatMap(({ name, value }) => [name, value, run.at, run.id]),
      )
      if (tags.length > 0) this.#sql.tags.send(p, tags)
      p.send(this.#sql.floor, [this.#floor])
    }
    sent.position = this.#sendLog(p, batch, keep, positions)
    for (const { from, to, keys } of batch.shares) if (keep(to)) p.send(this.#sql.share, [to, from, [...keys]])
    this.#sendQuestions(p, batch, keep)
    // After the questions: what this commit withdraws is not answered by it.
    sendPosts(p, this.#posts, batch, rows, sent, { process, serverTime })
    sendValues(p, this.#posts, batch.values, writes, sent, process)
    this.#sendIndexes(p, batch, keep, sent)
    const ending = await p.commit()
    if (ending.ended === 'committed') this.#n = n
    return { ...sent, ...ending, n }
  }

  /** Where the feeds of the runs stand that are written to. */
  async #positionsFor(
    batch: Batch,
    keep: (run: RunId) => boolean,
    isBorn: ReadonlySet<RunId>,
  ): Promise<Map<RunId, number>> {
    const positions = new Map<RunId, number>()
    const unknown: RunId[] = []
    for (const { run } of batch.log) {
      if (positions.has(run) || !keep(run)) continue
      const known = isBorn.has(run) ? this.#floor : this.#positions.get(run)
      if (known === undefined) unknown.push(run)
      positions.set(run, known ?? 0)
    }
    if (unknown.length > 0) {
      const found = await this.#connection.ask<{ run: RunId; position: number }>(this.#sql.positions, [unknown])
      for (const { run, position } of found) positions.set(run, position)
    }
    return positions
  }

  #sendLog(p: Pipeline, batch: Batch, keep: (run: RunId) => boolean, positions: Map<RunId, number>): number {
    const values: (string | number)[] = []
    const blobs: string[] = []
    let last = 0
    for (const { run, act, seq, at, body } of batch.log) {
      if (!keep(run)) continue
      const position = positions.get(run)! + 1
      positions.set(run, position)
      const packed = payload.pack(body, sha256)
      for (const [hash, text] of packed?.blobs ?? []) blobs.push(run, hash, text)
      const flag = (packed === undefined ? 0 : flags.packed) + (isEndEvent(body) ? flags.last : 0)
      values.push(run, position, act, seq, at, flag, packed?.body ?? body)
      if (position > last) last = position
    }
    if (values.length > 0) {
      p.send(this.#sql.announce, [])
      this.#sql.log.send(p, values)
    }
    if (blobs.length > 0) this.#sql.blobs.send(p, blobs)
    for (const { act, from, upTo } of batch.summed) {
      if (!keep(runOf(act))) continue
      p.send(this.#sql.unsum, [act, from])
      p.send(this.#sql.sum, [act, from, upTo, runOf(act)])
    }
    return last
  }

  #sendQuestions(p: Pipeline, batch: Batch, keep: (run: RunId) => boolean): void {
    const questions = batch.questions.filter(({ act }) => keep(runOf(act)))
    if (questions.length > 0)
      this.#sql.questions.send(
        p,
        questions.flatMap(({ id, act, address, key, kind, until, at, body, tenant }) => [
          id,
          runOf(act),
          act,
          address,
          key,
          kind,
          until,
          at,
          body,
          tenantOf(present({ tenant })),
        ]),
      )
    const closed = batch.closed.filter(({ act }) => keep(runOf(act)))
    if (closed.length > 0) p.send(this.#sql.close, [closed.map(({ act }) => act), closed.map(({ address }) => address)])
    const acts = batch.closedActs.filter((act) => keep(runOf(act)))
    if (acts.length > 0) p.send(this.#sql.closeAll, [acts])
  }

  #sendIndexes(p: Pipeline, batch: Batch, keep: (run: RunId) => boolean, sent: Mutable): void {
    const taken = batch.taken.filter(({ act }) => keep(runOf(act)))
    if (taken.length > 0) p.send(this.#sql.take, [taken.map(({ act }) => act), taken.map(({ key }) => key)])
    // The last value of each counts: a statement changes a row once.
    const accounts = lastOf(
      batch.accounts.filter(({ run }) => keep(run)),
      ({ act }) => act,
    )
    if (accounts.length > 0)
      this.#sql.accounts.send(
        p,
        accounts.flatMap(({ act, run, state }) => [act, run, JSON.stringify(state)]),
      )
    const control = lastOf(
      batch.control.filter(({ run }) => keep(run)),
      ({ run }) => run,
    )
    if (control.length > 0)
      p.send(this.#sql.control, [control.map(({ run }) => run), control.map(({ state }) => state)])
    const stuck = batch.stuck.filter(({ run }) => keep(run))
    if (stuck.length > 0) {
      const last = lastOf(stuck, ({ run }) => run)
      p.send(this.#sql.stuck, [last.map(({ run }) => run), last.map(({ reason }) => reason)])
      for (const { run, commands } of stuck)
        if (commands !== undefined) p.send(this.#sql.forgetCommands, [`act_${run}`, commands.upTo, commands.cancel])
    }
    const parked = batch.parked.filter(({ run }) => keep(run))
    if (parked.length > 0)
      p.send(
        this.#sql.park,
        [parked.map(({ run }) => run), parked.map(({ heard }) => heard), ...usageColumns(parked)],
        (rows: { id: RunId }[]) => {
          for (const { id } of rows) sent.parked.add(id)
        },
      )
    const ended = batch.ended.filter(({ run }) => keep(run))
    if (ended.length > 0)
      p.send(this.#sql.end, [
        ended.map(({ run }) => run),
        ended.map(({ status }) => status),
        ended.map(({ at }) => at),
        ...usageColumns(ended),
        ended.map(({ why }) => why ?? null),
      ])
  }

  #committed(batch: Batch, { fenced, existed }: LostRuns, sent: SentBatch): BatchResult {
    for (const run of [...fenced, ...existed]) this.#positions.delete(run)
    const born = new Map(batch.runs.map(({ id, owner }) => [id, owner]))
    for (const [run, position] of sent.positions) if (born.get(run) !== null) this.#positions.set(run, position)
    for (const run of sent.parked) this.#positions.delete(run)
    for (const { run } of batch.ended) this.#positions.delete(run)
    const awake = batch.parked.flatMap(({ run }) =>
      sent.parked.has(run) || fenced.has(run) || existed.has(run) ? [] : [run],
    )
    const mailed = new Set<RunId>()
    for (const [i, { act, refusalTo, target }] of batch.rows.entries()) {
      if (sent.posts[i] === 'accepted' || (target === 'question' && sent.posts[i] === 'lost')) mailed.add(runOf(act))
      else if (refusalTo !== undefined) mailed.add(runOf(refusalTo))
    }
    this.#options.onCommit({
      written: new Set([
        ...sent.positions.keys(),
        ...batch.control.map(({ run }) => run),
        ...batch.stuck.map(({ run }) => run),
      ]),
      mailed,
      born: batch.runs.flatMap(({ id, owner }) => (owner === null && !existed.has(id) ? [id] : [])),
      left: [...sent.parked, ...batch.ended.map(({ run }) => run), ...fenced],
    })
    return {
      moved: false,
      fenced: [...fenced],
      existed: [...existed],
      awake,
      posts: sent.posts,
      values: sent.values,
      position: sent.position,
    }
  }

  /** Finds what is lost of a batch whose gate was closed. True if something was found: the rest may pass. */
  async #inspect(batch: Batch, lost: LostRuns): Promise<boolean> {
    const isBorn = new Set(batch.runs.map(({ id }) => id))
    const held = [...batch.epochs.keys()].filter((run) => !isBorn.has(run) && !lost.fenced.has(run))
    const [state] = await this.#connection.ask<{ n: number | null; floor: number }>(this.#sql.state, [
      this.#options.process,
    ])
    if (state!.n === null) await this.#connection.ask(this.#sql.receipt, [this.#options.process, this.#n])
    else if (state!.n < this.#n) throw this.#wentBack(state!.n)
    let found = state!.n === null || state!.floor > this.#floor
    this.#floor = Math.max(this.#floor, state!.floor)
    const rows = await this.#connection.ask<{ id: RunId; owner: string | null; epoch: number }>(this.#sql.owners, [
      [...held, ...isBorn],
    ])
    const by = new Map(rows.map((row) => [row.id, row]))
    for (const run of held) {
      const row = by.get(run)
      if (row?.owner === batch.owner && row.epoch === batch.epochs.get(run)) continue
      lost.fenced.add(run)
      for (const { id, from } of batch.runs) if (from === run) lost.fenced.add(id)
      found = true
    }
    for (const run of isBorn) {
      if (!by.has(run) || lost.existed.has(run)) continue
      lost.existed.add(run)
      found = true
    }
    return found
  }

  /**
   * The result of a commit whose answer was lost: true if it was written. Waits until the result is known, unless the
   * process is about to end. Locking the receipt waits for the transaction if the server is still at it, and taking its
   * number away (n + 1, which no other question changes) keeps it from being written if the server has yet to begin.
   */
  async #becameOf(batch: Batch, sent: SentBatch): Promise<boolean> {
    const begun = stopwatch()
    for (let wait = soonest; ; wait = Math.min(latest, wait * 2)) {
      try {
        const [row] = await this.#connection.ask<{ was: number; answers: ReceiptBody | null }>(this.#sql.settle, [
          this.#options.process,
          sent.n,
        ])
        if (row !== undefined && row.was < this.#n) throw this.#wentBack(row.was)
        if (row?.was !== sent.n) {
          this.#n = sent.n + 1
          return false
        }
        this.#n = sent.n
        readAnswers(batch, sent, row.answers ?? [])
        if (batch.parked.length > 0) {
          const owners = await this.#connection.ask<{ id: RunId; owner: string | null }>(this.#sql.owners, [
            batch.parked.map(({ run }) => run),
          ])
          for (const { id, owner } of owners) if (owner !== batch.owner) sent.parked.add(id)
        }
        return true
      } catch (thrown) {
        if (this.#isClosed) throw thrown
        if (isAnswer(thrown) && !isConflict(thrown) && (thrown as { code?: string }).code !== '55P03') throw thrown
        const isOver = stopwatch() - Math.max(begun, this.#leftAt) >= leaveMs
        if (isOver || this.#options.isSilent()) throw (this.#gaveUp = this.#unknown(batch, sent.n, thrown))
        await delay(wait)
      }
    }
  }

  #unknown(batch: Batch, n: number, cause: unknown): ReeveError {
    const runs = [
      ...new Set([
        ...batch.epochs.keys(),
        ...batch.runs.map(({ id }) => id),
        ...batch.rows.map(({ act }) => runOf(act)),
      ]),
    ]
    const named = runs.slice(0, 5).join(', ') + (runs.length > 5 ? ` and ${runs.length - 5} more` : '')
    return new ReeveError(
      'store.unavailable',
      `${this.#options.name}: whether commit ${n} of process ${this.#options.process} was written is not known: the server has not answered since it was sent; runs: ${named}`,
      {
        retryable: true,
        hint: 'Nothing is lost: the process that opens the store next reads what was written and goes on from there. What was sent from outside may be sent again.',
        cause,
      },
    )
  }

  #wentBack(to: number): ReeveError {
    return replaced(`${this.#options.name} went back from commit ${this.#n} to ${to} of this process`)
  }

  /** Once for each connection: there is a receipt to take the next number of. */
  async begin(client: Client, floor: number): Promise<void> {
    this.#floor = Math.max(this.#floor, floor)
    this.#hasBegun = true
    await client.query({
      name: this.#sql.receipt[0],
      text: this.#sql.receipt[1],
      values: [this.#options.process, this.#n],
    })
  }

  /** The receipt is not needed any more. */
  async end(): Promise<void> {
    if (this.#hasBegun) await this.#connection.ask(this.#sql.forget, [this.#options.process])
  }
}

interface LostRuns {
  readonly fenced: Set<RunId>
  readonly existed: Set<RunId>
}
interface Mutable {
  posts: PostResult[]
  values: ValueResult[]
  parked: Set<RunId>
  positions: Map<RunId, number>
  position: number
}
type SentBatch = Mutable & { readonly n: number } & (
    { readonly ended: 'committed' } | { readonly ended: 'failed' | 'unknown'; readonly thrown: unknown }
  )

function placesOf<T>(list: readonly T[], counts: (item: T) => boolean): number[] {
  const places: number[] = []
  for (const [i, item] of list.entries()) if (counts(item)) places.push(i)
  return places
}

function lastOf<T>(list: readonly T[], key: (item: T) => string): readonly T[] {
  return list.length < 2 ? list : [...new Map(list.map((item) => [key(item), item])).values()]
}

/** Two columns: what is known of the price, and all that is known. */
const usageColumns = (rows: readonly { readonly usage?: RunUsage }[]): [(number | null)[], (string | null)[]] => [
  rows.map(({ usage }) => usage?.usd ?? null),
  rows.map(({ usage }) => (usage === undefined ? null : JSON.stringify(usage))),
]

function statements(s: string) {
  const named = (name: string, text: string): NamedStatement => [`reeve_${name}`, text]
  return {
    // PostgreSQL reads of a SELECT in WITH what is asked of it: every row is counted, so that every row is locked, also
    // where none is compared.
    gate: named(
      'gate',
      `WITH mark AS (UPDATE ${s}.receipt SET n = $2, answers = NULL WHERE process = $1 AND n = $2::bigint - 1 RETURNING 1),
      locked AS MATERIALIZED (SELECT r.id, r.owner, r.epoch FROM ${s}.run r WHERE r.id = ANY($3::text[]) ORDER BY r.id FOR NO KEY UPDATE)
      SELECT 1 / ((SELECT count(*) FROM mark) = 1 AND cardinality($4::text[]) =
        (SELECT count(*) FROM unnest($4::text[], $5::int[]) h(id, epoch) JOIN locked l ON l.id = h.id AND l.owner = $1 AND l.epoch = h.epoch))::int AS ok, (SELECT count(*) FROM locked) AS locked`,
    ),
    state: named(
      'state',
      `SELECT (SELECT n FROM ${s}.receipt WHERE process = $1) AS n, (SELECT value::bigint FROM ${s}.meta WHERE key = 'floor') AS floor`,
    ),
    receipt: named('receipt', `INSERT INTO ${s}.receipt(process, n) VALUES($1, $2) ON CONFLICT (process) DO NOTHING`),
    settle: named(
      'settle',
      `WITH was AS MATERIALIZED (SELECT n, answers FROM ${s}.receipt WHERE process = $1 FOR UPDATE),
      made AS (INSERT INTO ${s}.receipt(process, n) SELECT $1, $2::bigint + 1 WHERE NOT EXISTS (SELECT 1 FROM was)),
      next AS (UPDATE ${s}.receipt SET n = $2::bigint + 1 WHERE process = $1 AND n < $2::bigint)
      SELECT n AS was, answers FROM was`,
    ),
    unsum: named('unsum', `DELETE FROM ${s}.summed WHERE act = $1 AND start >= $2`),
    sum: named('sum', `INSERT INTO ${s}.summed(act, start, upto, run) VALUES($1, $2, $3, $4)`),
    forget: named('forget', `DELETE FROM ${s}.receipt WHERE process = $1`),
    owners: named('owners', `SELECT id, owner, epoch FROM ${s}.run WHERE id = ANY($1::text[])`),
    positions: named(
      'positions',
      `SELECT x.run, COALESCE((SELECT max(position) FROM ${s}.entry e WHERE e.run = x.run), 0) AS position FROM unnest($1::text[]) x(run)`,
    ),
    runs: new Insert('reeve_runs', `${s}.run(id, agent, version, owner, caller, created, epoch, tenant)`, 8),
    tags: new Insert('reeve_tags', `${s}.tag(name, value, created, run)`, 4, 'ON CONFLICT DO NOTHING'),
    floor: named(
      'floor',
      `SELECT 1 / ((SELECT value::bigint FROM ${s}.meta WHERE key = 'floor') <= $1::bigint)::int AS ok`,
    ),
    announce: named('announce', announce(s)),
    log: new Insert('reeve_log', `${s}.entry(run, position, act, seq, at, flags, body)`, 7),
    blobs: new Insert('reeve_blobs', `${s}.blob(run, hash, body)`, 3, 'ON CONFLICT DO NOTHING'),
    share: named(
      'share',
      `INSERT INTO ${s}.blob(run, hash, body) SELECT $1, hash, body FROM ${s}.blob WHERE run = $2 AND hash = ANY($3::text[]) ON CONFLICT DO NOTHING`,
    ),
    questions: new Insert(
      'reeve_ask',
      `${s}.question(id, run, act, address, key, kind, until, at, body, tenant)`,
      10,
      'ON CONFLICT DO NOTHING',
    ),
    close: named(
      'close',
      `DELETE FROM ${s}.question q USING unnest($1::text[], $2::text[]) x(act, address) WHERE q.act = x.act AND q.address = x.address`,
    ),
    closeAll: named('close_all', `DELETE FROM ${s}.question WHERE act = ANY($1::text[])`),
    take: named(
      'take',
      `UPDATE ${s}.inbox i SET taken = true, body = NULL FROM unnest($1::text[], $2::text[]) x(act, key) WHERE i.act = x.act AND i.key = x.key AND NOT i.taken`,
    ),
    accounts: new Insert(
      'reeve_account',
      `${s}.account(act, run, body)`,
      3,
      'ON CONFLICT (act) DO UPDATE SET body = excluded.body',
    ),
    control: named(
      'control',
      `UPDATE ${s}.run r SET control = x.state FROM unnest($1::text[], $2::text[]) x(id, state) WHERE r.id = x.id`,
    ),
    stuck: named(
      'stuck',
      `UPDATE ${s}.run r SET stuck = x.reason FROM unnest($1::text[], $2::text[]) x(id, reason) WHERE r.id = x.id`,
    ),
    forgetCommands: named(
      'forget_commands',
      `DELETE FROM ${s}.inbox WHERE act = $1 AND NOT taken AND position <= $2 AND (starts_with(key, '!resume') OR ($3 AND key = '!cancel'))`,
    ),
    park: named(
      'park',
      // While it rests, its questions stay as they are: `asks` says so for the index (run-search.ts).
      `UPDATE ${s}.run r SET parked = 1, owner = NULL, losses = 0,
        asks = (EXISTS (SELECT 1 FROM ${s}.question q WHERE q.run = x.id AND q.kind <> 'timer'))::int, usd = COALESCE(x.usd, r.usd), usage = COALESCE(x.usage, r.usage)
      FROM unnest($1::text[], $2::bigint[], $3::float8[], $4::text[]) x(id, heard, usd, usage)
      WHERE r.id = x.id AND NOT EXISTS (SELECT 1 FROM ${s}.inbox i WHERE i.run = x.id AND NOT i.taken AND i.position > x.heard) RETURNING r.id`,
    ),
    end: named(
      'end',
      `WITH x AS (SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::float8[], $5::text[], $6::text[]) x(id, status, at, usd, usage, why)),
      d AS (DELETE FROM ${s}.done WHERE run = ANY($1::text[])),
      q AS (DELETE FROM ${s}.question WHERE run = ANY($1::text[])),
      i AS (UPDATE ${s}.inbox SET taken = true, body = NULL WHERE run = ANY($1::text[]) AND NOT taken)
      UPDATE ${s}.run r SET status = x.status, ended = x.at, owner = NULL, control = NULL, usd = x.usd, usage = x.usage, why = x.why FROM x WHERE r.id = x.id`,
    ),
  } as const
}
