/**
 * Retry: the check of how often something is tried again, the same for models and tools.
 *
 * Owns: nothing but the check. Does not own: the policy and trying again (the engine).
 */
import { hasNames, unknownNames, type NamesOf } from '../core/index.ts'
import type { RetryPolicy } from '../engine/index.ts'

const names: NamesOf<RetryPolicy> = { attempts: true, backoffMs: true, maxBackoffMs: true, jitter: true }

/** What is wrong with a given policy, one sentence each; empty if nothing, or none is given. */
export function retryProblems(retry: RetryPolicy | undefined, where: string): string[] {
  if (retry === undefined) return []
  const problems = unknownNames(retry, names, `${where}: retry`)
  if (!hasNames(retry)) return problems
  const { attempts = 1, backoffMs = 0, maxBackoffMs = 0 } = retry
  if (!Number.isInteger(attempts) || attempts < 1)
    problems.push(`${where}: retry.attempts is ${String(attempts)}, expected a whole number of at least 1`)
  if (!(backoffMs >= 0 && maxBackoffMs >= 0))
    problems.push(`${where}: retry.backoffMs and retry.maxBackoffMs are milliseconds, not below 0`)
  return problems
}
