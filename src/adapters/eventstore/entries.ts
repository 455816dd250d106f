/**
 * Entries: writing them to the log and reading them back, with their long strings beside them.
 *
 * Owns: how an entry is stored. Does not own: its seq and position (commit.ts, values.ts).
 */
import { ReeveError } from '../../core/index.ts'
import { sha256 } from '../../engine/embedded/digests.ts'
import { pack, unpack } from '../../engine/index.ts'
import { decode, type JournalEvent } from '../../journal/index.ts'
import { ask, chunks, guard, insert, marks, statement, type Work } from './sql.ts'

export interface NewEntry {
  /** The run, or the stream that outlives it. */
  readonly run: string
  readonly position: number
  readonly act: string
  readonly seq: number
  readonly at: number
  readonly text: string
}

/** What is stored of an event. `blobs`: the hashes of its long strings. */
export interface StoredBody {
  readonly body: string
  readonly blobs: string | null
}

export function* append(entries: readonly NewEntry[]): Work<void> {
  const rows: (string | number | null)[][] = []
  const blobs = new Map<string, string>()
  const uses = new Map<string, readonly [run: string, hash: string]>()
  for (const { run, position, act, seq, at, text } of entries) {
    const packed = pack(text, sha256)
    const hashes = packed === undefined ? null : [...packed.blobs.keys()].join(',')
    rows.push([run, position, act, seq, at, packed?.body ?? text, hashes])
    for (const [hash, body] of packed?.blobs ?? []) {
      blobs.set(hash, body)
      uses.set(`${run} ${hash}`, [run, hash])
    }
  }
  if (blobs.size > 0) {
    // Somebody may be removing the only other run that has this payload.
    yield* guard('shared')
    // Always in the same order: two that insert the same payloads do not wait for each other.
    const sorted = [...blobs].sort(([a], [b]) => (a < b ? -1 : 1))
    yield* insert('blob(hash, body)', sorted, 'ON CONFLICT(hash) DO NOTHING', 20)
    yield* insert('blob_use(run, hash)', [...uses.values()], 'ON CONFLICT(run, hash) DO NOTHING')
  }
  yield* insert('entry(run, position, act, seq, at, body, blobs)', rows)
}

/** The events that stored bodies hold, in their order. */
export function* decoded(rows: readonly StoredBody[]): Work<readonly JournalEvent[]> {
  const hashes = new Set(rows.flatMap(({ blobs }) => blobs?.split(',') ?? []))
  const bodies = new Map<string, string>()
  for (const some of chunks([...hashes])) {
    const [found] = yield* ask(statement(`SELECT hash, body FROM blob WHERE hash IN (${marks(some.length)})`, ...some))
    for (const { hash, body } of found as unknown as readonly { hash: string; body: string }[]) bodies.set(hash, body)
  }
  const read = (hash: string): string => {
    const body = bodies.get(hash)
    if (body === undefined)
      throw new ReeveError('store.corrupt', `the payload ${hash} is missing`, { hint: 'Restore the store from a backup.' })
    return body
  }
  return rows.map(({ body, blobs }) => decode(blobs === null ? body : unpack(body, read)))
}
