/**
 * Cancellation of one activation: why, what undoes its work, and what it ends as.
 *
 * Owns: the reason, the compensations and their order. Holds: K8 (last registered first, each once).
 */
import { cancelled, failed, failureFrom, type Outcome } from '../core/index.ts'
import type { CancelReceived } from '../journal/index.ts'
import { Cancelled, type Context } from './context.ts'

export class Cancellation {
  #cause: Pick<CancelReceived, 'reason' | 'limit'> | undefined
  #undoing = false
  #compensations: { name: string; undo: (ctx: Context) => Promise<void> }[] = []

  /** Why it was cancelled, if it was. */
  get reason(): string | undefined {
    return this.#cause?.reason
  }

  /** The first cancel counts. False: there was one before. */
  begin(event: CancelReceived): boolean {
    if (this.#cause !== undefined) return false
    this.#cause = event
    return true
  }

  register(name: string, undo: (ctx: Context) => Promise<void>): void {
    this.#compensations.push({ name, undo })
  }

  forget(): void {
    this.#compensations = []
  }

  /** True once: from now on it is being undone. */
  beginUndoing(): boolean {
    if (this.#undoing) return false
    this.#undoing = true
    return true
  }

  /** Undoes everything. One that fails does not keep the others from running; the first failure is thrown at the end. */
  async undo(context: Context): Promise<void> {
    const thrown: unknown[] = []
    for (const { name, undo } of this.#compensations.reverse()) {
      try {
        await undo(context.scope(name))
      } catch (error) {
        thrown.push(error)
      }
    }
    if (thrown.length > 0) throw thrown[0]
  }

  /** A cancel by a limit ends as `limited`, any other as `cancelled`. */
  get outcome(): Outcome {
    const { reason, limit } = this.#cause!
    return limit === undefined ? cancelled(reason) : { status: 'limited', limit, message: reason }
  }
}

/** How code that threw has ended. It is not tried again: the same code would throw the same. */
export function thrownOutcome(thrown: unknown): Outcome {
  if (thrown instanceof Cancelled) return cancelled(thrown.reason)
  const what = failureFrom(thrown, 'orchestration.threw')
  return failed(what.class === 'unknown' ? { ...what, class: 'internal', retryable: false } : what)
}
