/**
 * Expectations about the feed of a run that name only the events that matter.
 *
 * Owns: matching a pattern of events, in order, gaps allowed. Throws an AssertionError that any test runner shows well.
 */
import { AssertionError } from 'node:assert'
import { isObject } from '@reeve/core'
import type { JournalEvent, Recorded } from '@reeve/journal'

/** A type, or a part of an event: every member that is named must be equal, nested objects likewise. */
export type EventPattern =
  JournalEvent['type'] | ({ readonly type: JournalEvent['type'] } & { readonly [member: string]: unknown })

function fits(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return Array.isArray(actual) && actual.length === wanted.length && wanted.every((item, i) => fits(actual[i], item))
  if (isObject(wanted))
    return isObject(actual) && Object.entries(wanted).every(([name, value]) => fits(actual[name], value))
  return Object.is(actual, wanted)
}

const matches = (event: JournalEvent, pattern: EventPattern): boolean =>
  typeof pattern === 'string' ? event.type === pattern : fits(event, pattern)

/**
 * Checks that these events happened in this order, with any others between them. Returns the matching events. Throws an
 * AssertionError that names the first missing event and the actual ones.
 */
export function expectEvents(
  feed: readonly (Recorded | JournalEvent)[],
  patterns: readonly EventPattern[],
): JournalEvent[] {
  const events = feed.map((entry) => ('event' in entry ? entry.event : entry))
  const found: JournalEvent[] = []
  let from = 0
  for (const [n, pattern] of patterns.entries()) {
    const at = events.findIndex((event, i) => i >= from && matches(event, pattern))
    if (at < 0) {
      const after = events.slice(from).map(({ type }) => type)
      const message = `expected event ${n + 1} of ${patterns.length}, ${JSON.stringify(pattern)}; after the one before came: ${after.join(', ') || 'nothing'}`
      throw new AssertionError({
        message,
        actual: events.map(({ type }) => type),
        expected: patterns,
        operator: 'expectEvents',
      })
    }
    found.push(events[at]!)
    from = at + 1
  }
  return found
}

/** Checks that none of these happened. */
export function expectNoEvents(feed: readonly (Recorded | JournalEvent)[], patterns: readonly EventPattern[]): void {
  for (const entry of feed) {
    const event = 'event' in entry ? entry.event : entry
    const pattern = patterns.find((one) => matches(event, one))
    if (pattern === undefined) continue
    throw new AssertionError({
      message: `${JSON.stringify(pattern)} should not have happened: ${JSON.stringify(event)}`,
      operator: 'expectNoEvents',
    })
  }
}
