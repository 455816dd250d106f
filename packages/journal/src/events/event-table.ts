/**
 * The table of events: one row for every type. The compiler asks for a row where a type has none.
 *
 * Owns: putting the rows together, finding that of an event. Does not own: the rows, beside the types of their family.
 */
import { engineRows } from './engine-rows.ts'
import type { EventKind, EventRow, EventRows } from './event-row.ts'
import type { ArrivalEvent, JournalEvent } from './events.ts'
import { factRows } from './fact-rows.ts'
import { teamRows } from './team-rows.ts'

/** By the type of the event. */
export const eventTable: EventRows<JournalEvent> = { ...engineRows, ...factRows, ...teamRows }

/** The row of an event. */
export const rowOf = ({ type }: Pick<JournalEvent, 'type'>): EventRow<JournalEvent> =>
  eventTable[type] as unknown as EventRow<JournalEvent>

export const eventTypes = Object.keys(eventTable) as readonly JournalEvent['type'][]

/** The current version of every event. */
export const versions = Object.fromEntries(eventTypes.map((type) => [type, rowOf({ type }).v ?? 1])) as Readonly<
  Record<JournalEvent['type'], number>
>

export const kindOf = (type: JournalEvent['type']): EventKind => rowOf({ type }).kind ?? 'command'

/** True for an arrival: it came in. */
export const isArrival = (event: JournalEvent): event is ArrivalEvent => kindOf(event.type) === 'arrival'
