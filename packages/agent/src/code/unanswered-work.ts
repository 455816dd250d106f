/**
 * Unanswered work: what a leader has given to a worker that ended without an answer, so that the next work it gives to
 * that worker knows what was done there.
 *
 * Owns: which earlier work a new delegation, or a new call of an agent or an orchestration as a tool, may repeat. Does
 * not own: what the worker then knows of it (../../engine/replay/earlier-attempts.ts), retries of one delegation
 * (../../supervisor/delegation/attempts.ts).
 * Holds: K3: it is kept in memory, in the order of arrivals, so a replay keeps the same. K6: a `once` effect of failed
 * work is not repeated by giving the work again.
 */
import { canonical, type ActivationId, type Json } from '@reeve/core'
import type { Context, FollowedWork } from '@reeve/engine'

interface EndedWork {
  readonly activation: ActivationId
  readonly brief: Json
}

/** A text as briefs are compared: without regard to case and white space. */
const sameText = (text: string): string => text.normalize('NFC').trim().toLowerCase().replaceAll(/\s+/gu, ' ')
const plain = (brief: Json): string => (typeof brief === 'string' ? sameText(brief) : canonical(brief))

function compared(before: Json, now: Json): FollowedWork['brief'] {
  if (typeof before === typeof now && plain(before) === plain(now)) return 'equal'
  return typeof before === 'string' && typeof now === 'string' ? 'reworded' : 'other'
}

/** The unanswered work of one leader. */
class UnansweredWork {
  readonly #byWorker = new Map<string, readonly EndedWork[]>()

  /** What new work of this worker may repeat. Undefined: nothing. */
  follows(worker: string, brief: Json): readonly FollowedWork[] | undefined {
    return this.#byWorker
      .get(worker)
      ?.map(({ activation, brief: before }) => ({ activation, brief: compared(before, brief) }))
  }

  /** Work has ended. An answer settles everything that this worker left unanswered. */
  ended(worker: string, work: EndedWork, isAnswered: boolean): void {
    if (isAnswered) this.#byWorker.delete(worker)
    else this.#byWorker.set(worker, [...(this.#byWorker.get(worker) ?? []), work])
  }
}

const newUnanswered = (): UnansweredWork => new UnansweredWork()

/** The unanswered work of the leader whose code runs here. */
export const unansweredOf = (ctx: Context): UnansweredWork => ctx.local(newUnanswered)
