/**
 * Event lines: one line for an event, with its time, for people who read a log instead of a tree.
 *
 * Owns: the time before a line. Does not own: which events have a line and what it says (journal), the NDJSON form, which
 * is the event itself.
 */
import { eventLines as sentences } from '@reeve/journal'
import type { Recorded } from '@reeve/runtime'

/**
 * Formats the events of a run, from the first on. The function remembers which agent each activation runs. Undefined
 * for events that only matter to the engine.
 */
export function eventLines(): (recorded: Recorded) => string | undefined {
  const lineOf = sentences()
  return (recorded) => {
    const line = lineOf(recorded)
    return line === undefined ? undefined : `${clock(recorded.at)}  ${line}`
  }
}

const clock = (at: number): string => new Date(at).toISOString().slice(11, 19)
