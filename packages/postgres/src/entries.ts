/**
 * Entries as they lie in the store, and their events: with long strings put back.
 */
import { ReeveError, type ActivationId, type RunId } from '@reeve/core'
import { decode, type JournalEvent } from '@reeve/journal'
import { unpack } from '@reeve/engine'
import type { NamedStatement } from './connection.ts'

/** What an entry is besides its text: its long strings are in `blob`; it is the last word of its activation. */
export const flags = { packed: 1, last: 2 } as const

/** A row of `entry`. */
export interface EntryRow {
  readonly run: RunId
  readonly position: number
  readonly act: ActivationId
  readonly seq: number
  readonly at: number
  readonly flags: number
  readonly body: string
}

export const entryColumns = 'run, position, act, seq, at, flags, body'

/** Long strings, by run and hash. */
export type Blobs = ReadonlyMap<string, string>
const noBlobs: Blobs = new Map()

const isPacked = (row: Pick<EntryRow, 'flags'>): boolean => (row.flags & flags.packed) !== 0
const mark = /"\$reeve\.blob":"([0-9a-f]{64})"/g

/** Puts back what was taken out, where something was. `ask` reads the long strings of these runs with these hashes. */
export async function blobsFor(
  rows: readonly Pick<EntryRow, 'run' | 'flags' | 'body'>[],
  ask: (
    runs: string[],
    hashes: string[],
  ) => Promise<readonly { readonly run: string; readonly hash: string; readonly body: string }[]>,
): Promise<Blobs> {
  const wanted = new Set<string>()
  for (const row of rows)
    if (isPacked(row)) for (const [, hash] of row.body.matchAll(mark)) wanted.add(`${row.run} ${hash}`)
  if (wanted.size === 0) return noBlobs
  const pairs = [...wanted].map((each) => each.split(' ') as [string, string])
  const found = await ask(
    pairs.map(([run]) => run),
    pairs.map(([, hash]) => hash),
  )
  return new Map(found.map(({ run, hash, body }) => [`${run} ${hash}`, body]))
}

export const blobStatement = (s: string): NamedStatement => [
  'reeve_blobs_of',
  `SELECT b.run, b.hash, b.body FROM unnest($1::text[], $2::text[]) x(run, hash) JOIN ${s}.blob b ON b.run = x.run AND b.hash = x.hash`,
]

/** Throws what is wrong with its text. */
export function eventOf(row: Pick<EntryRow, 'run' | 'flags' | 'body'>, blobs: Blobs): JournalEvent {
  if (!isPacked(row)) return decode(row.body)
  return decode(
    unpack(row.body, (hash) => {
      const body = blobs.get(`${row.run} ${hash}`)
      if (body === undefined)
        throw new ReeveError('store.corrupt', `the payload ${hash} is missing`, {
          hint: 'Restore the store from a backup.',
        })
      return body
    }),
  )
}
