/**
 * Codec: between events in memory and the text that is stored. The only place that reads event versions (K12).
 *
 * Most entries are stored packed, as rows (packed-entry.ts); any may be stored as an object.
 *
 * Rules: a released event is never edited. To change one, raise `v` in its row of the table, add the step from the
 * former version to `upcasters`, and add a golden journal under test/replay/golden.
 */
import { messageOf, ReeveError } from '@reeve/core'
import type { JournalEvent } from './events/events.ts'
import { versions } from './events/event-table.ts'
import { packedEnd, packEntry, unpackEntry } from './packed-entry.ts'
import { packPath, unpackPath, type PackedPath } from './packed-path.ts'

/** An event as an older version wrote it. */
export type OldEvent = { readonly type: string; readonly v?: number } & Record<string, unknown>
/** Brings an event from its version to the next one. Pure; may change the type. */
export type Upcaster = (event: OldEvent) => OldEvent

/** From `type@version` to the step that leads to the next version. Empty as long as nothing released has changed. */
export const upcasters: Readonly<Record<string, Upcaster>> = {}

/**
 * The most characters of one entry: in UTF-8 they are less than the billion bytes at which SQLite ends, and far less
 * than the longest text of V8.
 */
const entryCharacters = 2 ** 28

/** The stored text of an event. Throws what `JSON.stringify` throws (a cycle, a BigInt), and `input.too-large`. */
export function encode(event: JournalEvent, most = entryCharacters): string {
  const version = versions[event.type]
  const text = JSON.stringify(version === 1 ? (packEntry(event) ?? packed(event)) : { ...packed(event), v: version })
  if (text.length <= most) return text
  throw new ReeveError(
    'input.too-large',
    `${text.length} characters as JSON, and one entry of the journal holds ${most}`,
    {
      hint: 'Keep what is so large outside, and record where it is.',
    },
  )
}

/** Whether a stored text is the last word of its activation (K7). */
export const isEndEvent = (text: string): boolean =>
  text.startsWith(packedEnd) || text.startsWith('{"type":"activation.settled"')

/** An event with a path in which names repeat stores it packed, whatever its type. */
function packed(event: JournalEvent): object {
  const path = 'path' in event && Array.isArray(event.path) ? packPath(event.path) : undefined
  return path === undefined ? event : { ...event, path: undefined, packedPath: path }
}

function unpacked(event: OldEvent): OldEvent {
  if (event['packedPath'] === undefined) return event
  const { packedPath, ...rest } = event
  return { ...rest, path: unpackPath(packedPath as PackedPath) }
}

/**
 * The event that a stored text holds, in its current version.
 * Throws `store.corrupt` for a text that is not an event, `journal.unknown-event` for one that a newer Reeve wrote.
 */
export function decode(
  text: string,
  known: Readonly<Record<string, number>> = versions,
  steps: Readonly<Record<string, Upcaster>> = upcasters,
): JournalEvent {
  let event: OldEvent
  try {
    const stored = JSON.parse(text) as OldEvent | readonly unknown[]
    event = Array.isArray(stored) ? (unpackEntry(stored) as OldEvent) : unpacked(stored as OldEvent)
  } catch (thrown) {
    if (ReeveError.is(thrown, 'journal.unknown-event')) throw thrown
    throw new ReeveError('store.corrupt', `a journal entry cannot be read: ${messageOf(thrown)}`, {
      hint: 'Restore the store from a backup.',
      cause: thrown,
    })
  }
  if (known[event.type] === (event.v ?? 1)) return event as unknown as JournalEvent
  return upcast(event, known, steps)
}

function upcast(
  event: OldEvent,
  known: Readonly<Record<string, number>>,
  steps: Readonly<Record<string, Upcaster>>,
): JournalEvent {
  for (;;) {
    const version = event.v ?? 1
    const current = known[event.type]
    if (current === version) return event as unknown as JournalEvent
    const step = steps[`${event.type}@${version}`]
    if (step === undefined) {
      throw new ReeveError(
        'journal.unknown-event',
        `the journal holds "${event.type}" in version ${version}, which this version of Reeve does not know`,
        {
          hint: 'It was written by a newer Reeve. Upgrade this process; nothing was changed.',
        },
      )
    }
    event = step(event)
  }
}
