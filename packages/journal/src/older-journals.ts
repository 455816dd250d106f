/**
 * Older journals: facts that have a field today, and had none when these journals were written.
 *
 * Owns: every reading of such a fact from a message or an address, each with the field that has it since. Pure. Nothing
 * else in `src/` decides by the words of a message.
 * Holds: K12: the words stand here as they were released, whatever messages say today.
 */
import { parentOf, type ActivationId, type LimitName, type Outcome, type ToolMessage } from '@reeve/core'

/**
 * Since `timedOutMs` of a cancel, a worker whose time is up ends as `timed-out`. Before, it was cancelled for this
 * reason.
 */
export function withTimeout(outcome: Outcome): Outcome {
  const ms = outcome.status === 'cancelled' ? /^out of time after (.*)$/s.exec(outcome.reason)?.[1] : undefined
  return ms === undefined ? outcome : { status: 'timed-out', message: `it did not end within ${ms}` }
}

/**
 * Since `account` of a limited outcome, that field says whose limit it is. Before, the message alone did.
 */
export const namesLeaderLimit = (message: string, limit: LimitName, max: number): boolean =>
  message.startsWith(`the limit of ${max} ${limit} is reached (the ${limit} limit of a leader)`)

/**
 * Since `retryOf` of a timer, the pause before another attempt names the attempt that has failed. Before, it was a
 * timer called `retry` in the scope in which that worker was begun.
 */
export function standsBeside(timer: string, attempt: ActivationId): boolean {
  const worker = parentOf(attempt)?.address ?? ''
  const pause = `${worker.slice(0, worker.lastIndexOf('/') + 1)}retry`
  return timer === pause || timer.startsWith(`${pause}#`)
}

/**
 * Since `unknownTool` of a history entry, that field says that a call named an unknown tool. Before, the words of the
 * result alone said so.
 */
export const saysUnknownTool = ({ name, content, isError }: ToolMessage): boolean =>
  isError === true && typeof content === 'string' && content.startsWith(`[there is no tool "${name}"`)
