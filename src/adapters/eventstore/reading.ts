/**
 * Reading: feeds, runs, questions. Never writes.
 *
 * Owns: what a run's status is, told by its rows. Does not own: who may see what (server), folding (journal/views).
 */
import { rootActivation, runOf, type ActivationId, type Json, type RunId } from '../../core/index.ts'
import type { Question, RunEnd, RunFilter, RunStatus, RunSummary } from '../../engine/index.ts'
import type { Caller, JournalEvent, Recorded } from '../../journal/index.ts'
import { decoded, type StoredBody } from './entries.ts'
import type { Tip } from './port.ts'
import { rowOf, rowsOf, type Param, type Work } from './sql.ts'

interface RunRow {
  readonly id: RunId
  readonly agent: string
  readonly version: string
  readonly caller: string
  readonly created: number
  readonly ended: number | null
  readonly stuck: string | null
  readonly state: RunStatus
}

const stuckReason = 'SELECT a.stuck FROM activation a WHERE a.run = r.id AND a.stuck IS NOT NULL AND a.settled = 0 ORDER BY a.num LIMIT 1'
const moves = 'SELECT 1 FROM activation a WHERE a.run = r.id AND (a.working = 1 OR a.resting = 0)'
const asks = "SELECT 1 FROM question q WHERE q.run = r.id AND q.kind <> 'timer'"
const state = `CASE WHEN r.ended IS NOT NULL THEN r.status WHEN (${stuckReason}) IS NOT NULL THEN 'stuck' WHEN r.control <> 'cancelled'
  THEN CASE WHEN r.control IN ('human', 'human-now') THEN 'human_control' WHEN r.reached = 1 THEN 'paused' ELSE 'pausing' END WHEN NOT EXISTS (${moves}) AND EXISTS (${asks}) THEN 'waiting' ELSE 'running' END`
const summaryRow = `SELECT r.num, r.id, r.agent, r.version, r.caller, r.created, r.ended,
  CASE WHEN r.ended IS NULL THEN (${stuckReason}) END AS stuck, ${state} AS state FROM run r`

export function* summary(run: RunId): Work<RunSummary | undefined> {
  const row = yield* rowOf<RunRow>(`${summaryRow} WHERE r.id = $1`, run)
  return row === undefined ? undefined : summaryOf(row)
}

function summaryOf(row: RunRow): RunSummary {
  const { id, agent, version, created } = row
  const base = { run: id, agent, version, status: row.state, caller: JSON.parse(row.caller) as Caller, createdAt: created }
  if (row.ended !== null) return { ...base, endedAt: row.ended }
  return row.stuck === null ? base : { ...base, reason: row.stuck }
}

const unended: readonly RunStatus[] = ['running', 'waiting', 'pausing', 'paused', 'human_control', 'stuck']

/** The newest first. The conditions on `run` alone come first: how a run stands is worked out only for those that they leave. */
export function* summaries({ status, agent, limit }: RunFilter): Work<readonly RunSummary[]> {
  const params: Param[] = []
  const value = (param: Param): string => `$${params.push(param)}`
  const where: string[] = []
  if (agent !== undefined) where.push(`r.agent = ${value(agent)}`)
  if (status !== undefined) {
    const open = status.filter((each) => unended.includes(each)).length
    if (open === status.length) where.push('r.ended IS NULL')
    if (open === 0) where.push('r.ended IS NOT NULL')
    if (status.length === 0) return []
    where.push(`(${state}) IN (${status.map(value).join(', ')})`)
  }
  const text = `${summaryRow}${where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`} ORDER BY r.created DESC, r.num DESC LIMIT ${value(limit ?? 1_000)}`
  return (yield* rowsOf<RunRow>(text, ...params)).map(summaryOf)
}

interface QuestionRow {
  readonly id: string
  readonly act: ActivationId
  readonly address: string
  readonly kind: Question['kind']
  readonly until: number | null
  readonly at: number
  readonly body: string
  readonly answered: number
}

/** Answers compete for one row of an inbox. */
const answered =
  'CASE WHEN EXISTS (SELECT 1 FROM inbox i WHERE i.act = question.act AND i.key = question.key) THEN 1 ELSE 0 END AS answered'

export function* questions({ run, id }: { readonly run?: RunId; readonly id?: string }): Work<readonly Question[]> {
  const params: Param[] = []
  const where = ["kind <> 'timer'"]
  if (run !== undefined) where.push(`run = $${params.push(run)}`)
  if (id !== undefined) where.push(`id = $${params.push(id)}`)
  const text = `SELECT id, act, address, kind, until, at, body, ${answered} FROM question WHERE ${where.join(' AND ')} ORDER BY num`
  return (yield* rowsOf<QuestionRow>(text, ...params)).map((row) => ({
    id: row.id,
    kind: row.kind,
    run: runOf(row.act),
    activation: row.act,
    address: row.address,
    askedAt: row.at,
    ...(row.until === null ? {} : { until: row.until }),
    ...(row.answered === 1 ? { answered: true as const } : {}),
    body: JSON.parse(row.body) as Json,
  }))
}

interface EntryRow extends StoredBody {
  readonly position: number
  readonly act: ActivationId
  readonly seq: number
  readonly at: number
}

export function* read(run: RunId, from: number): Work<readonly Recorded[]> {
  const text = 'SELECT position, act, seq, at, body, blobs FROM entry WHERE run = $1 AND position > $2 ORDER BY position'
  const rows = yield* rowsOf<EntryRow>(text, run, from)
  const events = yield* decoded(rows)
  return rows.map(({ position, act, seq, at }, i) => ({ position, run, activation: act, seq, at, event: events[i]! }))
}

interface TipRow {
  readonly position: number
  readonly ended: number | null
  readonly generation: number
  readonly invocation: string | null
}

export function* tip(run: RunId): Work<Tip | undefined> {
  const text = 'SELECT r.position, r.ended, a.generation, a.invocation FROM run r JOIN activation a ON a.id = $2 WHERE r.id = $1'
  const row = yield* rowOf<TipRow>(text, run, rootActivation(run))
  if (row === undefined) return undefined
  return { position: row.position, ended: row.ended !== null, generation: row.generation, begun: row.invocation !== null }
}

export function* first(run: RunId): Work<JournalEvent | undefined> {
  const rows = yield* rowsOf<StoredBody>('SELECT body, blobs FROM entry WHERE act = $1 AND seq = 0', rootActivation(run))
  return (yield* decoded(rows))[0]
}

export function* end(run: RunId): Work<RunEnd | undefined> {
  const text = `SELECT e.body, e.blobs FROM entry e JOIN run r ON r.id = e.run WHERE e.act = $1 AND r.ended IS NOT NULL ORDER BY e.seq DESC LIMIT 1`
  const [event] = yield* decoded(yield* rowsOf<StoredBody>(text, rootActivation(run)))
  return event?.type === 'activation.settled' ? { outcome: event.outcome, usage: event.usage ?? [] } : undefined
}

export function* endedBefore(at: number, limit: number): Work<readonly RunId[]> {
  const rows = yield* rowsOf<{ id: RunId }>('SELECT id FROM run WHERE ended < $1 ORDER BY ended LIMIT $2', at, limit)
  return rows.map(({ id }) => id)
}
