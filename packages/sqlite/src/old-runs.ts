/**
 * What an older version did not keep of runs, made from their rows and their journals: tags, usage, why they ended, and
 * which ask people.
 *
 * Owns: reading and writing it in an SQLite file, in the transaction that makes the store one of this version. Does not
 * own: what it is (run-row.ts).
 */
import type { DatabaseSync } from 'node:sqlite'
import { rootActivation, type ActivationId, type RunId } from '@reeve/core'
import { decode, type JournalEvent } from '@reeve/journal'
import { oldRunRow, type OldRunRow } from '@reeve/engine/storage'
import { unpack } from './blobs.ts'
import { inRun, runRange } from './id-ranges.ts'

interface OldRunEntry {
  readonly act: ActivationId
  readonly body: string
  readonly blobs: number | null
}

/** So many runs are read at once. */
const page = 1_000

/** Describes all runs of a store as they are described today when they begin, rest and end. */
export function describeOldRuns(db: DatabaseSync): void {
  const runs = db.prepare(`SELECT id, caller, created, ended FROM run WHERE id > ? ORDER BY id LIMIT ${page}`)
  const newTag = db.prepare('INSERT OR IGNORE INTO tag VALUES(?, ?, ?, ?)')
  const describe = db.prepare('UPDATE run SET tenant = ?, usd = ?, usage = ?, why = ?, asks = ? WHERE id = ?')
  const blob = db.prepare('SELECT body FROM blob WHERE hash = ?')
  const last = db.prepare(
    'SELECT a.id AS act, l.body, l.blobs FROM activation a JOIN log l ON l.act = a.num WHERE a.id = ? ORDER BY l.seq DESC LIMIT 1',
  )
  const entries = db.prepare(
    `SELECT a.id AS act, l.body, l.blobs FROM activation a CROSS JOIN log l ON l.act = a.num WHERE ${inRun('a.id')} ORDER BY l.act, l.seq`,
  )
  const asks = db.prepare(`SELECT 1 FROM question WHERE kind <> 'timer' AND ${inRun('act')} LIMIT 1`)
  const eventOf = ({ body, blobs }: OldRunEntry): JournalEvent =>
    decode(blobs === null ? body : unpack(body, (hash) => (blob.get(hash) as { body: string }).body))
  for (let from = '', isMore = true; isMore;) {
    const rows = runs.all(from) as unknown as (OldRunRow & { readonly id: RunId })[]
    for (const row of rows) {
      const root = rootActivation(row.id)
      const { tags, tenant, usage, why } = oldRunRow(row, () =>
        ((row.ended === null ? entries.all(...runRange(root)) : last.all(root)) as unknown as OldRunEntry[]).map(
          (entry) => ({ activation: entry.act, event: eventOf(entry) }),
        ),
      )
      for (const { name, value } of tags) newTag.run(name, value, row.created, row.id)
      const isAsking = row.ended === null && asks.get(...runRange(root)) !== undefined
      describe.run(tenant, usage?.usd ?? null, textOf(usage), textOf(why), isAsking ? 1 : 0, row.id)
    }
    isMore = rows.length === page
    from = rows.at(-1)?.id ?? from
  }
  db.exec('UPDATE question SET tenant = (SELECT r.tenant FROM run r WHERE r.id = substr(question.act, 5))')
}

const textOf = (value: object | undefined): string | null => (value === undefined ? null : JSON.stringify(value))
