/**
 * Claiming runs (K2): many in one transaction, with everything that going on with them needs.
 *
 * Owns: which runs are taken, and what is read with them. Does not own: whether this process wants them (the host), its
 * lease (lease.ts). Rows are locked before the host is asked about a run, and claimed in the same transaction; their
 * data is read after it, when no other process can add to their logs any more. If that fails, they are released later.
 */
import type { Pool, PoolClient } from 'pg'
import type { ActivationId, RunId } from '@reeve/core'
import type { JournalEvent } from '@reeve/journal'
import type { AccountState } from '@reeve/engine'
import type {
  AgentVersion,
  ClaimCandidate,
  Claimed,
  ClaimFilter,
  InboxRow,
  Past,
  StoredRun,
} from '@reeve/engine/storage'
import { query } from './asker.ts'
import type { NamedStatement } from './connection.ts'
import { blobsFor, blobStatement, entryColumns, eventOf, type Blobs, type EntryRow, flags } from './entries.ts'

/** So many entries are read at once. */
const page = 10_000

interface CandidateRow extends StoredRun {
  readonly word: string | null
}
interface ClaimRow {
  readonly id: RunId
  readonly epoch: number
  readonly position: number
}

export interface ClaimOptions {
  readonly schema: string
  readonly process: string
  /** A run is held from now on, and its feed stands there. */
  readonly onClaimed: (run: RunId, position: number) => void
}

export class Claims {
  readonly #pool: () => Promise<Pool>
  readonly #options: ClaimOptions
  readonly #sql: ReturnType<typeof statements>
  #kinds: readonly AgentVersion[] = []
  /** Runs that may have been claimed and were not handed to the host. */
  #undelivered: { readonly id: RunId; readonly epoch: number }[] = []

  constructor(pool: () => Promise<Pool>, options: ClaimOptions) {
    this.#pool = pool
    this.#options = options
    this.#sql = statements(`"${options.schema}"`)
  }

  async claim(wanted: ClaimFilter, admits: (candidate: ClaimCandidate) => boolean): Promise<readonly Claimed[]> {
    const pool = await this.#pool()
    await this.letGo()
    if ('length' in wanted ? wanted.length === 0 : await this.#isIdle(pool, wanted)) return []
    const client = await pool.connect()
    let broken = true
    let taken: readonly CandidateRow[] = []
    try {
      const found = await this.#candidates(client, wanted)
      taken = found.filter((row) => admits(candidateOf(row)))
      if (taken.length === 0) {
        await client.query('ROLLBACK')
        broken = false
        return []
      }
      const claimed = await this.#take(client, taken)
      broken = false
      return claimed
    } catch (thrown) {
      // It does not matter whether they were claimed: if so, they are released.
      this.#undelivered.push(...taken.map(({ id, epoch }) => ({ id: id as RunId, epoch: epoch + 1 })))
      throw thrown
    } finally {
      client.release(broken)
    }
  }

  /** Whether nothing is ready that this process drives: where nothing was the last time, that is asked first, alone. */
  async #isIdle(pool: Pool, wanted: Exclude<ClaimFilter, readonly RunId[]>): Promise<boolean> {
    if (wanted.limit <= 0) return true
    if (this.#kinds.some(wanted.drives)) return false
    this.#kinds = (await pool.query<AgentVersion>(query(this.#sql.kinds, []))).rows
    return !this.#kinds.some(wanted.drives)
  }

  /** Releases runs that were claimed before a failure. Rejects if the store cannot be reached. */
  async letGo(): Promise<void> {
    if (this.#undelivered.length === 0) return
    const pool = await this.#pool()
    const some = this.#undelivered.slice()
    await pool.query(
      query(this.#sql.letGo, [some.map(({ id }) => id), some.map(({ epoch }) => epoch), this.#options.process]),
    )
    this.#undelivered = this.#undelivered.filter((each) => !some.includes(each))
  }

  async #candidates(client: PoolClient, wanted: ClaimFilter): Promise<readonly CandidateRow[]> {
    const begun = client.query('BEGIN')
    begun.catch(() => undefined)
    if ('length' in wanted) {
      const { rows } = await client.query<CandidateRow>(query(this.#sql.these, [wanted, this.#options.process]))
      const by = new Map(rows.map((row) => [row.id, row]))
      return [...new Set(wanted)].flatMap((id) => {
        const row = by.get(id)
        return row === undefined ? [] : [row]
      })
    }
    // The kinds of last time are asked for at once; what has come since, after that.
    const asked = this.#kinds.filter(wanted.drives)
    const kinds = client.query<AgentVersion>(query(this.#sql.kinds, []))
    kinds.catch(() => undefined)
    const found = asked.length === 0 ? [] : await this.#ready(client, asked, wanted)
    this.#kinds = (await kinds).rows
    const isAsked = new Set(asked.map(({ agent, version }) => `${agent} ${version}`))
    const more = this.#kinds.filter((kind) => !isAsked.has(`${kind.agent} ${kind.version}`) && wanted.drives(kind))
    const rows = more.length === 0 ? found : [...found, ...(await this.#ready(client, more, wanted))]
    return rows
      .toSorted(
        'lossesFrom' in wanted
          ? (a, b) => a.losses - b.losses || a.created - b.created
          : (a, b) => a.created - b.created,
      )
      .slice(0, wanted.limit)
  }

  async #ready(
    client: PoolClient,
    kinds: readonly AgentVersion[],
    wanted: Exclude<ClaimFilter, readonly RunId[]>,
  ): Promise<readonly CandidateRow[]> {
    const names = [kinds.map(({ agent }) => agent), kinds.map(({ version }) => version)]
    const [statement, losses] =
      'lossesFrom' in wanted ? [this.#sql.suspects, wanted.lossesFrom] : [this.#sql.ready, wanted.lossesBelow]
    return (await client.query<CandidateRow>(query(statement, [...names, losses, wanted.limit]))).rows
  }

  /** Makes them this process's own, and reads what comes with them. */
  async #take(client: PoolClient, taken: readonly CandidateRow[]): Promise<readonly Claimed[]> {
    const runs = taken.map(({ id }) => id as RunId)
    const sql = this.#sql
    const grants = client.query<ClaimRow>(query(sql.take, [runs, this.#options.process]))
    const committed = client.query('COMMIT')
    // Mail after what lies in the logs: who reads them has not missed what came before.
    const asked = [
      client.query<EntryRow>(query(sql.logs, [runs, '', 0, page])),
      client.query<{ act: ActivationId; run: RunId; body: string }>(query(sql.accounts, [runs])),
      client.query<{ id: string; run: RunId; kind: string }>(query(sql.questions, [runs])),
      client.query<InboxRow & { run: RunId }>(query(sql.mail, [runs])),
      client.query<{ run: RunId; id: RunId }>(query(sql.children, [runs])),
    ] as const
    for (const each of [grants, committed, ...asked]) each.catch(() => undefined)
    const granted = new Map((await grants).rows.map((row) => [row.id, row]))
    if ((await committed).command !== 'COMMIT') throw new Error('the claim was rolled back')
    const [logs, accounts, questions, mail, children] = [
      await asked[0],
      await asked[1],
      await asked[2],
      await asked[3],
      await asked[4],
    ]
    const entries = logs.rows
    for (
      let last = entries.at(-1), count = entries.length;
      last !== undefined && count === page;
      last = entries.at(-1)
    ) {
      const { rows } = await client.query<EntryRow>(query(sql.logs, [runs, last.run, last.position, page]))
      for (const row of rows) entries.push(row)
      count = rows.length
    }
    const blobs = await blobsFor(entries, async (of, hashes) => {
      const { rows } = await client.query<{ run: string; hash: string; body: string }>(query(sql.blobs, [of, hashes]))
      return rows
    })
    const pasts = new Map(runs.map((run) => [run as string, new StoredPast(blobs)]))
    for (const row of entries) pasts.get(row.run)?.add(row)
    const accountsOf = grouped(accounts.rows)
    const questionsOf = grouped(questions.rows)
    const mailOf = grouped(mail.rows)
    const childrenOf = grouped(children.rows)
    return taken.map((row) => {
      const run = row.id as RunId
      const { epoch, position } = granted.get(run)!
      this.#options.onClaimed(run, position)
      const past = pasts.get(run)!
      const asks = questionsOf.get(run) ?? []
      for (const { id } of asks) past.questions.add(id)
      return {
        run: candidateOf(row),
        epoch,
        accounts: new Map((accountsOf.get(run) ?? []).map(({ act, body }) => [act, JSON.parse(body) as AccountState])),
        questions: asks.filter(({ kind }) => kind !== 'timer').length,
        children: (childrenOf.get(run) ?? []).map(({ id }) => id),
        past,
        mail: (mailOf.get(run) ?? []).map(({ position: at, act, key, body }) => ({ position: at, act, key, body })),
      }
    })
  }
}

/** What was read of a run, decoded when it is asked for: a journal that cannot be read is a matter of its run alone. */
class StoredPast implements Past {
  readonly questions = new Set<string>()
  readonly #logs = new Map<ActivationId, EntryRow[]>()
  readonly #blobs: Blobs

  constructor(blobs: Blobs) {
    this.#blobs = blobs
  }

  add(row: EntryRow): void {
    const log = this.#logs.get(row.act)
    if (log === undefined) this.#logs.set(row.act, [row])
    else log.push(row)
  }

  *activation(id: ActivationId): Generator<{ seq: number; at: number; event: JournalEvent }> {
    for (const row of this.#logs.get(id) ?? []) yield { seq: row.seq, at: row.at, event: eventOf(row, this.#blobs) }
  }

  lastEvent(id: ActivationId): JournalEvent | undefined {
    const row = this.#logs.get(id)?.at(-1)
    return row === undefined ? undefined : eventOf(row, this.#blobs)
  }

  asked(question: string): boolean {
    return this.questions.has(question)
  }
}

function grouped<T extends { readonly run: RunId }>(rows: readonly T[]): Map<RunId, T[]> {
  const by = new Map<RunId, T[]>()
  for (const row of rows) {
    const list = by.get(row.run)
    if (list === undefined) by.set(row.run, [row])
    else list.push(row)
  }
  return by
}

const candidateOf = ({ word, ...run }: CandidateRow): ClaimCandidate => ({
  ...run,
  word: word === null ? undefined : word === '!cancel' ? 'cancel' : 'resume',
})

/** The condition that a run is a child run of another one, at any depth. */
export const isChildOf = (id: string, run: string): string => `${id} >= ${run} || '>' AND ${id} < ${run} || '?'`

/** The columns of a run as the contract has them. */
export const runColumns = (r: string): string =>
  [
    'id',
    'agent',
    'version',
    'status',
    'control',
    'stuck',
    'parked',
    'epoch',
    'owner',
    'caller',
    'created',
    'ended',
    'losses',
  ]
    .map((each) => `${r}.${each}`)
    .join(', ')

/** The condition for runs that a process may take up. */
export const isReady = 'ended IS NULL AND parked = 0 AND owner IS NULL'

/** Of which kinds there are such runs: one look at the index for each kind, however many runs there are of it. */
export const readyKinds = (s: string): NamedStatement => [
  'reeve_kinds',
  `WITH RECURSIVE kind(agent, version) AS (
    (SELECT agent, version FROM ${s}.run WHERE ${isReady} ORDER BY agent, version LIMIT 1)
    UNION ALL SELECT n.agent, n.version FROM kind k CROSS JOIN LATERAL
      (SELECT r.agent, r.version FROM ${s}.run r WHERE ${isReady} AND (r.agent, r.version) > (k.agent, k.version) ORDER BY r.agent, r.version LIMIT 1) n)
  SELECT agent, version FROM kind`,
]

function statements(s: string) {
  const named = (name: string, text: string): NamedStatement => [`reeve_${name}`, text]
  const word = `CASE WHEN r.stuck IS NOT NULL THEN (SELECT min(i.key) FROM ${s}.inbox i
    WHERE i.act = 'act_' || r.id AND NOT i.taken AND (i.key = '!cancel' OR starts_with(i.key, '!resume'))) END AS word`
  return {
    these: named(
      'these',
      // One that another process holds is not locked: its holder would wait for that with its next commit.
      `SELECT ${runColumns('r')}, ${word} FROM ${s}.run r WHERE r.id = ANY($1::text[]) AND r.ended IS NULL AND (r.owner IS NULL OR r.owner = $2)
      ORDER BY r.id FOR NO KEY UPDATE`,
    ),
    kinds: readyKinds(s),
    ready: named(
      'ready',
      `SELECT ${runColumns('r')}, ${word} FROM unnest($1::text[], $2::text[]) k(agent, version) CROSS JOIN LATERAL
        (SELECT * FROM ${s}.run WHERE ${isReady} AND agent = k.agent AND version = k.version AND losses < $3 ORDER BY created LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED) r`,
    ),
    suspects: named(
      'suspects',
      `SELECT ${runColumns('r')}, ${word} FROM (SELECT * FROM ${s}.run
        WHERE losses > 1 AND losses >= $3 AND ${isReady} AND (agent, version) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        ORDER BY losses, created LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED) r`,
    ),
    take: named(
      'claim',
      `UPDATE ${s}.run r SET owner = $2, epoch = r.epoch + 1, parked = 0 WHERE r.id = ANY($1::text[])
      RETURNING r.id, r.epoch, COALESCE((SELECT max(e.position) FROM ${s}.entry e WHERE e.run = r.id), 0) AS position`,
    ),
    letGo: named(
      'let_go',
      `UPDATE ${s}.run r SET owner = NULL FROM unnest($1::text[], $2::int[]) x(id, epoch) WHERE r.id = x.id AND r.epoch = x.epoch AND r.owner = $3`,
    ),
    // What a later entry stands for is left out. Of an activation that has settled its last word is enough, but for the root's: what its people did is in it.
    logs: named(
      'logs',
      `WITH over AS MATERIALIZED (SELECT act FROM ${s}.entry WHERE run = ANY($1::text[]) AND flags > ${flags.last - 1})
      SELECT ${entryColumns} FROM ${s}.entry e WHERE e.run = ANY($1::text[]) AND (e.run, e.position) > ($2, $3)
        AND (e.flags > ${flags.last - 1} OR e.act = 'act_' || e.run OR e.act NOT IN (SELECT act FROM over))
        AND NOT EXISTS (SELECT 1 FROM ${s}.summed x WHERE x.act = e.act AND x.start <= e.seq AND e.seq < x.upto) ORDER BY e.run, e.position LIMIT $4`,
    ),
    blobs: blobStatement(s),
    accounts: named('accounts', `SELECT run, act, body FROM ${s}.account WHERE run = ANY($1::text[])`),
    questions: named('asked', `SELECT run, id, kind FROM ${s}.question WHERE run = ANY($1::text[])`),
    mail: named(
      'mail',
      `SELECT run, position, act, key, body FROM ${s}.inbox WHERE run = ANY($1::text[]) AND NOT taken ORDER BY position`,
    ),
    children: named(
      'children',
      `SELECT x.run, u.id FROM unnest($1::text[]) x(run) JOIN ${s}.run u ON ${isChildOf('u.id', 'x.run')} AND u.ended IS NULL`,
    ),
  } as const
}
