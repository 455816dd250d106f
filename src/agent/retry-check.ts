/**
 * Retry check: validates retry policies, for models and tools alike.
 *
 * Owns: only the check. Does not own: the policy and the retries (the engine).
 */
import { number, object, unchecked, wholeNumber, type Checks } from '../core/index.ts'
import type { RetryPolicy } from '../engine/index.ts'

const wait = number((given) => given >= 0, 'milliseconds, not below 0')
const checks: Checks<RetryPolicy> = { attempts: wholeNumber(1), backoffMs: wait, maxBackoffMs: wait, jitter: unchecked }

/** The check of a policy. */
export const retryCheck = object<RetryPolicy>(checks)

/** The problems of a policy, one sentence each; empty if it is valid or absent. */
export const retryProblems = (retry: RetryPolicy | undefined, where: string): readonly string[] =>
  retry === undefined ? [] : retryCheck(retry, `${where}: retry`)
