/**
 * Attempt end: what the end of an attempt means for its task: done, failed, or to be tried again (spec team ).
 * Pure.
 *
 * Owns: the rule. Does not own: when it is tried again (schedule/scheduler.ts). One retry layer: what a step has tried
 * again already is not tried again here.
 */
import {
  describeOutcome,
  doneBefore,
  failure,
  isObject,
  present,
  type Failure,
  type Json,
  type JsonObject,
  type Outcome,
} from '@reeve/core'

/** What an attempt has come to. */
export type End =
  /** `by`: a human did it: under which name. */
  | { readonly type: 'done'; readonly output: Json; readonly by?: string }
  | { readonly type: 'failed'; readonly failure: Failure; readonly again: boolean; readonly output?: Json }

/** Reads the end of an attempt. An output `{ success: false }` is a failure, whatever else it says. */
export function endOfAttempt(outcome: Outcome): End {
  switch (outcome.status) {
    case 'completed':
      return isObject(outcome.output) && outcome.output['success'] === false
        ? unsuccessful(outcome.output)
        : { type: 'done', output: outcome.output, ...present({ by: outcome.by }) }
    case 'failed': {
      const { failure: what } = outcome
      return { type: 'failed', failure: what, again: mayPass(what) && what.details?.['attempts'] === undefined }
    }
    case 'timed-out':
      return {
        type: 'failed',
        failure: failure('effect.timed-out', outcome.message, 'timeout', doneIn(outcome)),
        again: true,
      }
    case 'limited':
      return {
        type: 'failed',
        failure: failure(
          'limit.reached',
          describeOutcome(outcome),
          'budget',
          doneIn(outcome, { limit: outcome.limit }),
        ),
        again: false,
      }
    case 'bailed':
      return {
        type: 'failed',
        failure: failure('worker.failed', describeOutcome(outcome), 'policy', doneIn(outcome)),
        again: false,
        output: outcome.text,
      }
    case 'cancelled':
      return {
        type: 'failed',
        failure: failure('worker.failed', describeOutcome(outcome), 'rejected', doneIn(outcome)),
        again: false,
      }
  }
}

/** What its failure says of what it had done. */
function doneIn(outcome: Outcome, more: JsonObject = {}): { readonly details?: JsonObject } {
  const { done, more: left } = doneBefore(outcome)
  const deeds = done.length === 0 ? {} : { done, ...(left > 0 && { doneCount: done.length + left }) }
  const details = { ...more, ...deeds } as JsonObject
  return Object.keys(details).length === 0 ? {} : { details }
}

/** Code that threw is as good as a service that failed: it may pass. */
const mayPass = ({ class: of, retryable }: Failure): boolean => retryable || of === 'internal'

function unsuccessful(output: Readonly<Record<string, Json>>): End {
  const { error } = output
  const { message, retryable, retryAfterMs } = isObject(error) ? error : {}
  const said =
    typeof message === 'string'
      ? message
      : typeof error === 'string'
        ? error
        : 'it says of itself that it did not succeed'
  const again = retryable === true
  const after = again && typeof retryAfterMs === 'number' && retryAfterMs > 0 ? { retryAfterMs } : {}
  return {
    type: 'failed',
    failure: failure('task.unsuccessful', said, again ? 'unknown' : 'validation', after),
    again,
    output,
  }
}
