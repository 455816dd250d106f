/**
 * Care: which activations somebody should look after, and taking ended runs out of the store.
 */
import type { ActivationId, RunId } from '../../core/index.ts'
import { runStream, unknownRun } from '../../engine/index.ts'
import type { Sentinel } from './port.ts'
import { holdRun } from './look.ts'
import { ask, guard, rowsOf, statement, tell, write, type Work } from './sql.ts'

const open =
  'SELECT a.id, a.agent, a.version, a.invocation, a.generation, a.build, a.notified FROM activation a JOIN run r ON r.id = a.run WHERE a.settled = 0 AND r.ended IS NULL'

interface Row extends Omit<Sentinel, 'unread'> {
  readonly notified: number
}
const sentinelsIn = (rows: readonly Row[]): readonly Sentinel[] =>
  rows.map(({ notified, ...rest }) => ({ ...rest, unread: notified === 1 }))

/**
 * Those that should have moved by now: told and deaf, never begun, in the middle of something, or past a deadline. What merely waits is not among them,
 * however much of it there is. Whoever is told counts at once: what it does otherwise says nothing about its having heard, and to ring twice does no harm.
 */
const overdue = `(a.notified = 1 OR (a.touched < $2
  AND (a.invocation IS NULL OR a.resting = 0 OR a.id IN (SELECT act FROM question WHERE until IS NOT NULL AND until < $2))))`

export function* sentinels(after: string, before: number, limit: number): Work<readonly Sentinel[]> {
  return sentinelsIn(yield* rowsOf<Row>(`${open} AND a.id > $1 AND ${overdue} ORDER BY a.id LIMIT $3`, after, before, limit))
}

export function* stuck(): Work<readonly Sentinel[]> {
  return sentinelsIn(yield* rowsOf<Row>(`${open} AND a.stuck IS NOT NULL ORDER BY a.num`))
}

/** A new generation in any case: an invocation of this one may have ended before it was known, and nobody begins it again under the same name. */
export function* bury(activation: ActivationId, invocation: string | null, build?: string): Work<number | undefined> {
  const next = `UPDATE activation SET generation = generation + 1, invocation = NULL, build = NULLIF(COALESCE(CAST($3 AS TEXT), build, ''), '')
    WHERE id = $1 AND settled = 0 AND COALESCE(invocation, '') = $2 AND run IN (SELECT id FROM run WHERE ended IS NULL) RETURNING generation`
  const [, rows] = yield* ask(holdRun(activation), statement(next, activation, invocation ?? '', build ?? null))
  return (rows?.[0] as { generation: number } | undefined)?.generation
}

/** What is given out after a removal is above everything that was given out before it. The row's own values: others may have raised it meanwhile. */
const raiseFloor = `UPDATE floor SET position = CASE WHEN position < $1 THEN $1 ELSE position END,
  generation = CASE WHEN generation < $2 THEN $2 ELSE generation END WHERE one = 1`

export function* remove(run: RunId): Work<boolean> {
  const [runs, generations] = yield* ask(
    statement('SELECT ended, position FROM run WHERE id = $1 FOR UPDATE', run),
    statement('SELECT max(generation) + 1 AS next FROM activation WHERE run = $1', run),
  )
  const row = runs?.[0] as { ended: number | null; position: number } | undefined
  if (row === undefined) throw unknownRun(run)
  if (row.ended === null) return false
  const stream = runStream(run)
  for (const table of ['entry', 'activation', 'inbox', 'question', 'account', 'part'])
    yield* write(`DELETE FROM ${table} WHERE run = $1`, run)
  // What it did to its session's values stays; that it did so is forgotten, so that a run of the same id does its own.
  yield* write('DELETE FROM done WHERE run = $1', run)
  yield* write('DELETE FROM value WHERE stream = $1', stream)
  yield* write('DELETE FROM stream WHERE id = $1', stream)
  yield* write('DELETE FROM entry WHERE run = $1', stream)
  yield* guard('exclusive')
  const others = 'SELECT 1 FROM blob_use u WHERE u.hash = blob.hash AND u.run <> $1 AND u.run <> $2'
  yield* write(
    `DELETE FROM blob WHERE hash IN (SELECT hash FROM blob_use WHERE run = $1 OR run = $2) AND NOT EXISTS (${others})`,
    run,
    stream,
  )
  yield* write('DELETE FROM blob_use WHERE run = $1 OR run = $2', run, stream)
  yield* write('DELETE FROM run WHERE id = $1', run)
  yield* write(raiseFloor, row.position, (generations![0] as { next: number }).next)
  yield* tell(run, 'end')
  return true
}
