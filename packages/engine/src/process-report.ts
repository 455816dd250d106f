/**
 * What processes say of themselves, as the stores keep it, and what is counted of runs that go from one to another.
 *
 * Owns: reading it. Does not own: what is said (host/stalls.ts), where it is kept (the stores).
 */
import type { ProcessReport } from './port.ts'

/** Reads a report as a process has written it. Undefined: another version wrote it, in a form that is not known here. */
export function reportIn(text: string | null | undefined): ProcessReport | undefined {
  if (text === null || text === undefined) return undefined
  try {
    const { at, begun, delayMs, takenOver, stalled } = JSON.parse(text) as ProcessReport
    const isKnown = [at, begun, delayMs, takenOver].every((each) => typeof each === 'number') && Array.isArray(stalled)
    return isKnown ? { at, begun, delayMs, takenOver, stalled } : undefined
  } catch {
    return undefined
  }
}

/** Part of a backlog: absent where there is none. */
export const flappingOf = (n: number): { readonly flapping?: number } => (n === 0 ? {} : { flapping: n })
