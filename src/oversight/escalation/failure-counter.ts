/**
 * Streak: how many of one leader's workers have failed in a row (spec team R-14).
 *
 * Owns: what counts, when a human is to look, that the count starts anew once somebody does. Does not own: what a
 * failure is where work is tried again: only the last try is noted here; who asks (the worker's begin, or the gate of a
 * task). Lives in memory, in the order in which ends are heard, so replay makes it again (K3).
 */
import type { Failure, Outcome } from '../../core/index.ts'
import { escalateDefaults, type Edge, type Oversight } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'

const isRefusal = ({ class: of, code }: Failure): boolean => of === 'rejected' || code === 'work.rejected'

export class Streak {
  #failures = 0

  /** So many failed in a row, and nobody has looked. */
  get failures(): number {
    return this.#failures
  }

  /**
   * Notes an end. A success ends the row. What a human rejected a human has seen, and what nobody approved in time or
   * was stopped is nobody's failure: none of it counts.
   */
  note(outcome: Outcome): void {
    if (outcome.status === 'completed') this.#failures = 0
    else if (outcome.status === 'cancelled' || outcome.status === 'bailed') return
    else if (outcome.status !== 'failed' || !isRefusal(outcome.failure)) this.#failures++
  }

  /** A human has looked at this leader's work: the row ends. */
  seen(): void {
    this.#failures = 0
  }

  /**
   * The failures that a human is to look at before the next work begins; undefined if there are too few. Whoever takes
   * them sees to it that they are looked at: the count starts anew.
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

/**
 * The edge of a worker that begins now under `above`, by the code that runs in `ctx`: if too many have failed before
 * it, it says so first.
 */
export function afterFailures(ctx: Context, above: Edge, edge: Edge): Edge {
  const { oversight } = edge
  if (above.oversight === undefined || oversight === undefined) return edge
  const failures = streakOf(ctx).take(oversight.policy)
  return failures === undefined ? edge : { ...edge, oversight: { ...oversight, failures } }
}

const newStreak = (): Streak => new Streak()

/** The row of one leader: of this run of its code. */
export const streakOf = (ctx: Context): Streak => ctx.local(newStreak)
