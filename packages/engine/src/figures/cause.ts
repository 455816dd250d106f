/**
 * Causes: which failures of runs are equal.
 *
 * Owns: the key under which equal failures are counted. Does not own: what a failure is (core), counting (totals.ts). Pure.
 */
import { digest, type Outcome } from '@reeve/core'
import type { FailureCause } from '../run-figures.ts'

/** So much of a message is kept, and counts. */
const messageKept = 500

const quoted = /"[^"]*"|'[^']*'|`[^`]*`|“[^”]*”|«[^»]*»|‘[^’]*’/g
/** A number or an id: everything between spaces and signs that has a digit in it. */
const numbered = /[\p{L}\p{N}_-]*\p{N}[\p{L}\p{N}_.:-]*/gu

/** A message without what differs between equal failures. */
export const messagePattern = (message: string): string =>
  message.replace(quoted, '…').replace(numbered, '#').replace(/\s+/g, ' ').trim()

const causeOf = (code: string, agent: string, message: string): FailureCause => {
  const kept = message.slice(0, messageKept).toWellFormed()
  const key = digest(JSON.stringify([code, agent, messagePattern(kept)])).slice(0, 12)
  return { code, agent, message: kept, cause: `${code}-${key}` }
}

/** Why it ended so; undefined where it did not fail. `agent`: who failed with this code and message. */
export function failureCause(
  outcome: Outcome,
  agent: (code: string, message: string) => string,
): FailureCause | undefined {
  switch (outcome.status) {
    case 'failed': {
      const { code, message } = outcome.failure
      return causeOf(code, agent(code, message), message)
    }
    case 'limited': {
      const message = `limit of ${outcome.limit}: ${outcome.message}`
      return causeOf('limit.reached', agent('limit.reached', outcome.message), message)
    }
    case 'timed-out':
      return causeOf('effect.timed-out', agent('effect.timed-out', outcome.message), outcome.message)
    case 'completed':
    case 'cancelled':
    case 'bailed':
      return undefined
  }
}
