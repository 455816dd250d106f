/**
 * Retry check: validates retry policies, for models and tools alike.
 *
 * Owns: only the check. Does not own: the policy and the retries (the engine).
 */
import type { RetryPolicy } from '@reeve/engine'
import { number, object, unchecked, wholeNumber, type Checks } from '@reeve/core'

/** The check of `silenceMs`. */
export const silenceCheck = number((given) => given > 0, 'milliseconds, above 0')

const wait = number((given) => given >= 0, 'milliseconds, not below 0')

/** The checks of a policy, for options that have more besides. */
export const retryChecks: Checks<RetryPolicy> = {
  attempts: wholeNumber(1),
  backoffMs: wait,
  maxBackoffMs: wait,
  jitter: unchecked,
  maxWaitMs: wait,
}

/** The check of a policy. */
export const retryCheck = object(retryChecks)
