/**
 * Backoff: how long to wait before something is tried again (spec team R-10). Pure but for the jitter.
 */
import { jitter } from '@reeve/core'
import type { RetryPolicy } from './context.ts'

/** How often, and with which waits, something is tried that says nothing of it. */
export const retryDefaults = { attempts: 3, backoffMs: 1_000, maxBackoffMs: 30_000, jitter: true } satisfies RetryPolicy

/**
 * How often a model is asked whose provider limits the rate of calls, where nothing is said of it: with the waits above
 * about three minutes in all, which is longer than the windows of a minute that providers count in.
 */
export const rateLimitAttempts = 10

/**
 * The wait before the next try: exponential, capped, with up to half of it taken off at random; never shorter than the
 * other side asked for.
 */
export function backoff(
  policy: RetryPolicy,
  attempt: number,
  retryAfterMs: number | undefined,
  random: () => number = jitter,
): number {
  const { backoffMs, maxBackoffMs, jitter: jittered } = { ...retryDefaults, ...policy }
  const full = Math.min(backoffMs * 2 ** (attempt - 1), maxBackoffMs)
  return Math.max(retryAfterMs ?? 0, Math.round(jittered ? full * (1 - random() / 2) : full))
}
