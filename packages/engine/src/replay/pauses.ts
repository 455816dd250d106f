/**
 * Pauses: when a run has stood still, because an operator paused it or a human had it. What measures working time
 * leaves them out (K11).
 *
 * Owns: reading them from the log of the root, the arithmetic. Pure. Does not own: pausing (host/inbox.ts), what is
 * measured (supervisor/worker/watch.ts).
 */
import type { JournalEvent } from '@reeve/journal'
import type { Pause } from '../context.ts'

/** The pauses of a run by the log of its root; one that goes on lasts until now. Oldest first. */
export function pausesIn(
  log: Iterable<{ readonly at: number; readonly event: JournalEvent }>,
  now: number,
): readonly Pause[] {
  const pauses: Pause[] = []
  let from: number | undefined
  for (const { at, event } of log) {
    if (event.type === 'run.pausing') from ??= at
    else if (from !== undefined && (event.type === 'run.resumed' || event.type === 'cancel.received')) {
      pauses.push({ from, to: at })
      from = undefined
    }
  }
  return from === undefined ? pauses : [...pauses, { from, to: Math.max(from, now) }]
}

/** How long it stood still between these moments. Milliseconds. */
export const stoodBetween = (pauses: readonly Pause[], since: number, until: number): number =>
  pauses.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, until) - Math.max(from, since)), 0)
