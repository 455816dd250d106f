/**
 * The bottom: commits and appends per second of a store, with one sync at the end and with one for each, beside SQLite
 * alone on the same disk.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { rootActivation, type RunId } from '@reeve/core'
import { type Batch, emptyBatch } from '@reeve/engine/storage'
import { SqliteStore, type Durability } from '@reeve/sqlite/store'
import { inFolder, type Row } from './measure.ts'

const run0 = 'run_bench' as RunId
const act = rootActivation(run0)
const body = JSON.stringify({ type: 'fact.noted', op: 'fact', address: '!fact', text: 'x'.repeat(150) })

/** A commit of so many entries, as the driver would make it. */
function batchOf(entries: number, from: number): Batch {
  const batch = emptyBatch('bench')
  for (let i = 0; i < entries; i++) batch.log.push({ act, run: run0, seq: from + i, at: 1, body })
  return batch
}

/** Commits per second of batches of that size. */
async function commits(file: string, durability: Durability, entries: number, count: number): Promise<number> {
  const store = new SqliteStore({ file, durability })
  await store.commit(batchOf(1, 0))
  const begun = performance.now()
  for (let i = 0; i < count; i++) await store.commit(batchOf(entries, 1 + i * entries))
  await store.synced()
  const perSecond = (count * 1000) / (performance.now() - begun)
  await store.stop()
  store.close()
  return perSecond
}

function bare(file: string, count: number): number {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE log(position INTEGER PRIMARY KEY, body TEXT)')
  const insert = db.prepare('INSERT INTO log(body) VALUES(?)')
  const begun = performance.now()
  for (let i = 0; i < count; i++) insert.run(body)
  const perSecond = (count * 1000) / (performance.now() - begun)
  db.close()
  return perSecond
}

export const run = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const side = { what: 'SQLite alone, one row each', value: bare(join(folder, 'bare.db'), 1_000) }
    const rows: Row[] = []
    for (const mode of ['full', 'strict'] as const) {
      rows.push({
        figure: `commits of 4 entries, ${mode}`,
        value: await commits(join(folder, `${mode}-4.db`), mode, 4, 1_000),
        unit: 'per s',
        side,
      })
      rows.push({
        figure: `entries in commits of 2,000, ${mode}`,
        value: 2_000 * (await commits(join(folder, `${mode}-2000.db`), mode, 2_000, 30)),
        unit: 'per s',
        side,
      })
    }
    return rows
  })
