/**
 * Journal lines: an entry of the journal as one line, the family that it belongs to, what a fork from it may change.
 *
 * Owns: how much of a line is drawn. Does not own: what it says (journal), the whole event, which is shown as JSON beside
 * it. Pure.
 */
import { cut } from '@reeve/core/visible'
import { entryLines, type SaidEvent } from '@reeve/journal/event-lines'
import type { JournalRow } from '@reeve/server/wire'

type JournalEvent = JournalRow['event']

/** The family of an event: what stands before the first full stop of its type. */
export const familyOf = (type: string): string => type.split('.', 1)[0]!

/** Characters of a line that are drawn. A model may have said a book. */
const mostCharacters = 600

/** The line of a single entry. What it says of an effect that began before names it by its address. */
export const entryLine = (entry: SaidEvent): string => drawnLine(entryLines()(entry))

/** A line as it is drawn. */
export const drawnLine = (line: string): string => cut(line, mostCharacters)

/** How a fork from this event may differ: its end may be another, or the whole input, or a message may be added. */
export function forkEdits(event: JournalEvent): readonly ('outcome' | 'input' | 'message')[] {
  const ends = event.type === 'step.settled' || event.type === 'worker.settled' || event.type === 'ask.settled'
  if (event.type === 'activation.started') return ['input', 'message']
  return ends ? ['outcome', 'message'] : ['message']
}
