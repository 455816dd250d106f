/**
 * Failure counter: consecutive failures of one leader's workers (spec team R-14).
 *
 * Owns: what counts as a failure, when an approver must look, the reset once one does. Does not own: retries (only the
 * last attempt is counted), the request (the worker's begin, or the gate of a task).
 * Holds: K3: it counts in memory, in the order of arrivals, so a replay counts the same.
 */
import type { Failure, Outcome } from '@reeve/core'
import { escalateDefaults, type Edge, type Oversight } from '@reeve/edge'
import type { Context } from '@reeve/engine'

const isRefusal = ({ class: of, code }: Failure): boolean => of === 'rejected' || code === 'work.rejected'

export class FailureCounter {
  #failures = 0

  /** Consecutive failures since the last success or review. */
  get failures(): number {
    return this.#failures
  }

  /**
   * Counts an outcome. A success resets the counter. Rejections, expired approvals and stops do not count: a human has
   * seen them, or no worker failed.
   */
  note(outcome: Outcome): void {
    if (outcome.status === 'completed') this.#failures = 0
    else if (outcome.status === 'cancelled' || outcome.status === 'bailed') return
    else if (outcome.status !== 'failed' || !isRefusal(outcome.failure)) this.#failures++
  }

  /** Resets the counter after a human has seen the work of this leader. */
  seen(): void {
    this.#failures = 0
  }

  /**
   * The failures to escalate before the next work begins; undefined below the limit. Taking them resets the counter, so
   * the caller must have them reviewed.
   */
  take(oversight: Oversight | undefined): number | undefined {
    const limit =
      oversight === undefined
        ? false
        : (oversight.escalate?.consecutiveFailures ?? escalateDefaults.consecutiveFailures)
    if (limit === false || this.#failures < limit) return undefined
    const failures = this.#failures
    this.#failures = 0
    return failures
  }
}

/** The edge of a worker that begins now under `above`, with the failures to escalate before it, if there are enough. */
export function afterFailures(ctx: Context, above: Edge, edge: Edge): Edge {
  const { oversight } = edge
  if (above.oversight === undefined || oversight === undefined) return edge
  const failures = failureCounterOf(ctx).take(oversight.policy)
  return failures === undefined ? edge : { ...edge, oversight: { ...oversight, failures } }
}

const newCounter = (): FailureCounter => new FailureCounter()

/** The counter of one leader in this process. */
export const failureCounterOf = (ctx: Context): FailureCounter => ctx.local(newCounter)
