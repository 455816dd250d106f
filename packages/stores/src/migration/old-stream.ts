/**
 * A stream of values as the event store of 0.1 keeps it, and its writes in a store of today.
 *
 * Owns: reading its log, what is wrong with it, and which of its writes a run may ask for again. Does not own: writing
 * (migrate.ts).
 * Holds: K1 (every entry as it is, in its order), K6 (a run that wrote, and died before it noted that, does not write
 * twice).
 */
import { ReeveError, type Json, type RunId } from '@reeve/core'
import type { ValueWrite } from '@reeve/engine/storage'
import type { MigrationSource } from './source.ts'
import { entriesOf } from './old-run.ts'

export interface OldStream {
  readonly id: string
  /** One after the other. */
  readonly writes: readonly ValueWrite[]
}

/** A value that a run has written and not noted: it will ask for it again. */
export interface OpenWrite {
  readonly run: RunId
  readonly stream: string
  readonly once: string
  readonly value: string
}

/** PostgreSQL has no texts with U+0000: in keys it stood as two other characters, and so did the first of these. */
const readKey = (key: string): string =>
  key.replace(/\u{10FFFF}([01])/gu, (_, which) => (which === '0' ? '\0' : '\u{10FFFF}'))

/**
 * Those of runs that have not ended. Under `<activation>:<address>`; it is noted where the activation's log has the end
 * of that step.
 */
export async function openWrites(source: MigrationSource): Promise<readonly OpenWrite[]> {
  const rows = await source.rows<{ run: RunId; stream: string; once: string; body: string }>(
    'SELECT d.run, d.stream, d.once, d.body FROM done d JOIN run r ON r.id = d.run WHERE r.ended IS NULL AND d.stream <> d.run ORDER BY d.run, d.stream, d.once',
  )
  const noted = new Map<RunId, ReadonlySet<string>>()
  const open: OpenWrite[] = []
  for (const { run, stream, once, body } of rows) {
    if (!noted.has(run)) noted.set(run, await notedBy(source, run))
    const key = readKey(once)
    if (noted.get(run)?.has(key) === false) open.push({ run, stream, once: key, value: body })
  }
  return open
}

/** The steps of a run that have ended. A journal that cannot be read says nothing: it is reported with its run. */
async function notedBy(source: MigrationSource, run: RunId): Promise<ReadonlySet<string>> {
  const entries = await entriesOf(source, run).catch(() => [])
  return new Set(
    entries.flatMap(({ act, event }) => (event.type === 'step.settled' ? [`${act}:${event.address}`] : [])),
  )
}

/** Throws `journal.hole` where its log is not whole, `store.corrupt` where its values are not what its log says. */
export async function oldStream(source: MigrationSource, id: string, open: readonly OpenWrite[]): Promise<OldStream> {
  const left = open.filter(({ stream }) => stream === id)
  const versions = new Map<string, number>()
  const values = new Map<string, string>()
  const writes: ValueWrite[] = []
  for (const [i, { seq, at, text, event }] of (await entriesOf(source, id)).entries()) {
    if (seq !== i || event.type !== 'value.updated')
      throw new ReeveError('journal.hole', `the stream ${id} goes on at ${seq} after ${i} entries`, {
        hint: 'Restore the source from a backup.',
      })
    const { key, value, by } = event
    const body = JSON.stringify(value satisfies Json)
    const expected = versions.get(key) ?? 0
    const mine = left.findIndex((each) => each.run === by && each.value === body)
    const once = mine < 0 ? undefined : left.splice(mine, 1)[0]!
    writes.push({
      stream: id,
      key,
      expected,
      body,
      by: once === undefined ? undefined : { run: once.run, once: once.once },
      event: text,
      at,
    })
    versions.set(key, expected + 1)
    values.set(key, body)
  }
  const kept = await source.rows<{ key: string; version: number; body: string }>(
    'SELECT key, version, body FROM value WHERE stream = $1',
    [id],
  )
  const wrong = kept.find(
    ({ key, version, body }) => versions.get(readKey(key)) !== version || values.get(readKey(key)) !== body,
  )
  if (wrong !== undefined || kept.length !== values.size)
    throw new ReeveError('store.corrupt', `the values of the stream ${id} are not what its log says`, {
      hint: 'Restore the source from a backup.',
    })
  return { id, writes }
}
