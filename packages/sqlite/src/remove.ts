/**
 * Retention: taking an ended run out of the store, with everything of it. Sessions and their values stay (K1).
 */
import type { DatabaseSync } from 'node:sqlite'
import { rootActivation, type RunId } from '@reeve/core'
import { runStream } from '@reeve/engine'
import { callerIn, type StoredRun, tagsOf } from '@reeve/engine/storage'
import { inSubtree, subtreeRange, childRange } from './id-ranges.ts'

/** Removes a run and its child runs in one transaction. Positions of the feed are never given out again. */
export function removeRun(db: DatabaseSync, run: RunId): void {
  const root = rootActivation(run)
  const mine = subtreeRange(root)
  const runs = [run, ...childRange(run)] as const
  const which = (column: string): string => `(${column} = ? OR (${column} >= ? AND ${column} < ?))`
  db.exec('BEGIN IMMEDIATE')
  try {
    const last = (db.prepare('SELECT max(position) AS n FROM log').get() as { n: number | null }).n
    db.prepare(`DELETE FROM log WHERE act IN (SELECT num FROM activation WHERE ${inSubtree('id')})`).run(...mine)
    db.prepare(`DELETE FROM summed WHERE act IN (SELECT num FROM activation WHERE ${inSubtree('id')})`).run(...mine)
    db.prepare(`DELETE FROM activation WHERE ${inSubtree('id')}`).run(...mine)
    db.prepare('DELETE FROM archive WHERE run = ?').run(run)
    for (const table of ['inbox', 'question', 'account'])
      db.prepare(`DELETE FROM ${table} WHERE ${inSubtree('act')}`).run(...mine)
    const stream = runStream(run)
    db.prepare('DELETE FROM log WHERE act = (SELECT num FROM activation WHERE id = ?)').run(stream)
    db.prepare('DELETE FROM activation WHERE id = ?').run(stream)
    db.prepare('DELETE FROM value WHERE stream = ?').run(stream)
    // What it did to its session's values stays; that it did so is forgotten, so that a run of the same id does its
    // own.
    db.prepare(`DELETE FROM done WHERE ${which('run')}`).run(...runs)
    db.prepare(
      `DELETE FROM blob WHERE hash IN (SELECT hash FROM blob_use WHERE ${which('run')})
      AND NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.hash = blob.hash AND NOT ${which('u.run')})`,
    ).run(...runs, ...runs)
    db.prepare(`DELETE FROM blob_use WHERE ${which('run')}`).run(...runs)
    removeTags(db, run)
    db.prepare('DELETE FROM words WHERE rowid = (SELECT num FROM indexed WHERE run = ?)').run(run)
    db.prepare('DELETE FROM indexed WHERE run = ?').run(run)
    db.prepare(`DELETE FROM run WHERE ${which('id')}`).run(...runs)
    const left = (db.prepare('SELECT max(position) AS n FROM log').get() as { n: number | null }).n
    // One placeholder is enough: only the newest position can be given out again.
    if (last !== null) db.prepare('DELETE FROM log WHERE act = 0 AND position < ?').run(last)
    if (last !== null && left !== last)
      db.prepare(`INSERT INTO log(position, act, seq, at, body) VALUES(?, 0, ?, 0, '{"type":"run.paused"}')`).run(
        last,
        last,
      )
    db.exec('COMMIT')
  } catch (thrown) {
    db.exec('ROLLBACK')
    throw thrown
  }
}

function removeTags(db: DatabaseSync, run: RunId): void {
  const row = db.prepare('SELECT caller, created FROM run WHERE id = ?').get(run) as
    Pick<StoredRun, 'caller' | 'created'> | undefined
  if (row === undefined) return
  const remove = db.prepare('DELETE FROM tag WHERE name = ? AND value = ? AND created = ? AND run = ?')
  for (const { name, value } of tagsOf(callerIn(row))) remove.run(name, value, row.created, run)
}
