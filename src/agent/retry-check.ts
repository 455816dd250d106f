/**
 * Retry: the check of how often something is tried again, the same for models and tools.
 *
 * Owns: nothing but the check. Does not own: the policy and trying again (the engine).
 */
import { number, object, unchecked, wholeNumber, type Checks } from '../core/index.ts'
import type { RetryPolicy } from '../engine/index.ts'

const wait = number((given) => given >= 0, 'milliseconds, not below 0')
const checks: Checks<RetryPolicy> = { attempts: wholeNumber(1), backoffMs: wait, maxBackoffMs: wait, jitter: unchecked }

/** The check of a policy. */
export const retryCheck = object<RetryPolicy>(checks)

/** What is wrong with a given policy, one sentence each; empty if nothing, or none is given. */
export const retryProblems = (retry: RetryPolicy | undefined, where: string): readonly string[] =>
  retry === undefined ? [] : retryCheck(retry, `${where}: retry`)
