/**
 * The audit: reads a store with nothing but SQLite and JSON, and says everything that is wrong with it after all its
 * runs have ended. It shares no code with the engine, so that a mistake is not made twice.
 */
import { DatabaseSync } from 'node:sqlite'
import { Journal, type OnStep, type Row } from './journal.ts'
import { runOfKey, type Done } from './world.ts'

export interface Audit {
  readonly problems: readonly string[]
  readonly entries: number
  readonly settled: number
  /** Outcomes of the roots by run, as JSON. */
  readonly outcomes: ReadonlyMap<string, string>
}

/** Audits a store whose runs are to have ended. `done` are the calls of the outside world by nonce. */
export function audit(file: string, runs: readonly string[], done: readonly Done[]): Audit {
  const db = new DatabaseSync(file)
  try {
    const problems: string[] = []
    const integrity = (db.prepare('PRAGMA integrity_check').get() as { integrity_check: string }).integrity_check
    if (integrity !== 'ok') problems.push(`integrity_check: ${integrity}`)
    const rows = db
      .prepare(
        'SELECT l.position, a.id, l.seq, l.body FROM log l JOIN activation a ON a.num = l.act ORDER BY l.position',
      )
      .all() as unknown as Row[]
    const journal = new Journal(problems, done, stalenessOf(problems))
    for (const row of rows) journal.take(row)
    journal.end()
    for (const run of runs) checkRun(db, run, journal, problems)
    return { problems, entries: rows.length, settled: journal.settled, outcomes: journal.outcomes }
  } finally {
    db.close()
  }
}

/** An older epoch must not record after a newer one of another process. */
function stalenessOf(problems: string[]): OnStep {
  const newest = new Map<string, Done>()
  return ({ id }, { address }, call) => {
    // A `once` in doubt is recorded by somebody's word, whoever did it.
    if (call.kind === 'once') return
    const run = runOfKey(call.key)
    const before = newest.get(run)
    if (before !== undefined && call.epoch < before.epoch && call.pid !== before.pid)
      problems.push(`${id}: a stale process recorded "${address}" (epoch ${call.epoch} after ${before.epoch})`)
    if (before === undefined || call.epoch >= before.epoch) newest.set(run, call)
  }
}

function checkRun(db: DatabaseSync, run: string, journal: Journal, problems: string[]): void {
  const row = db.prepare('SELECT status, ended, owner FROM run WHERE id = ?').get(run) as
    { status: string; ended: number | null; owner: string | null } | undefined
  if (row === undefined) return void problems.push(`${run} is lost`)
  if (row.ended === null) problems.push(`${run} has not ended`)
  if (row.owner !== null) problems.push(`${run} is held though it has ended`)
  if (row.status !== journal.ended(run))
    problems.push(`${run}: its row says ${row.status}, its journal ${journal.ended(run)}`)
  const root = `act_${run}`
  const left = (sql: string): number =>
    (
      db
        .prepare(`SELECT count(*) AS n FROM ${sql} AND (act = ? OR (act > ? AND act < ?))`)
        .get(root, `${root}>`, `${root}?`) as {
        n: number
      }
    ).n
  const questions = left('question WHERE true')
  if (questions > 0) problems.push(`${run}: ${questions} questions left open`)
  const unread = left('inbox WHERE taken = 0')
  if (unread > 0) problems.push(`${run}: ${unread} rows of its inbox never used up`)
}
