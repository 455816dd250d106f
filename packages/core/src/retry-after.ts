/** When a server wants to be asked again, as the headers of its answer say it. */
import { systemClock } from './clock.ts'
import { messageOf } from './errors.ts'

/** The value of a header, by its name in lower case. */
type Header = (name: string) => string | null | undefined

const numberIn = (text: string | null | undefined): number | undefined =>
  typeof text === 'string' && /^\s*\d{1,15}(?:\.\d{1,15})?\s*$/.test(text) ? Number(text) : undefined

/**
 * Milliseconds from now on, at most `most`: `retry-after-ms` (OpenAI, Azure), then `retry-after` in seconds, also fractions of
 * them, or as a date (RFC 9110 §10.2.3). Undefined: nothing of it, or nothing that can be read.
 */
export function retryAfter(header: Header, most = Infinity): number | undefined {
  const after = header('retry-after') ?? ''
  const seconds = numberIn(after)
  const ms = numberIn(header('retry-after-ms')) ?? (seconds === undefined ? untilDate(after, header) : seconds * 1000)
  return ms === undefined ? undefined : Math.min(ms, most)
}

/**
 * Milliseconds until a date, an HTTP date or RFC 3339, by the clock of the server, if its answer says what that shows; one that has
 * passed is 0. Undefined: it is no date.
 */
export function untilDate(text: string, header: Header): number | undefined {
  // `Date.parse` takes a bare number, too
  const until = /^\s*(?:[A-Za-z]{3}|\d{4}-\d{2})/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(until)) return undefined
  const theirNow = Date.parse(header('date') ?? '')
  return Math.max(0, until - (Number.isNaN(theirNow) ? systemClock.now() : theirNow))
}

/** Why no answer came, in a few words: `fetch` says it in its cause. At most 200 characters, as they came. */
export function fetchProblem(thrown: unknown): string {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown
  const code: unknown = typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'code') : undefined
  return typeof code === 'string' ? code : messageOf(thrown).slice(0, 200)
}
