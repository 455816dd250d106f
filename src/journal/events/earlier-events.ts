/**
 * Earlier attempts in the journal: what an activation is given that does work which was attempted before (K12:
 * persistent format, optional everywhere).
 */
import type { ActivationId, Outcome } from '../../core/index.ts'

/** What earlier attempts at the same work did that the next attempt has to know (K6). */
export interface Earlier {
  /** The same activation in each earlier attempt, oldest first. Empty: none of them had this worker. */
  readonly attempts: readonly EarlierAttempt[]
  /** Effects of all activations of those attempts, in the order in which each activation asked for them. */
  readonly effects: readonly EarlierEffect[]
  /** Workers that those attempts began. */
  readonly workers: readonly EarlierWorker[]
}

export interface EarlierAttempt {
  readonly activation: ActivationId
  readonly agent: string
}

/** A `once` effect that was made or may have been, or an `idempotent` call of a tool. */
export interface EarlierEffect extends EarlierAttempt {
  readonly address: string
  readonly effect: 'idempotent' | 'once'
  /**
   * Of a call of a tool: which one, and the SHA-256 of its canonical arguments. Without it, the
   * arguments are unknown.
   */
  readonly tool?: string
  readonly inputHash?: string
  /** How it completed. Absent: it is in doubt, or it is `idempotent`. */
  readonly outcome?: Outcome
}

export interface EarlierWorker {
  readonly leader: ActivationId
  readonly address: string
  readonly agent: string
  /** Of a worker that a model asked for: the SHA-256 of its canonical brief. */
  readonly inputHash?: string
  /** It was an attempt itself, after these. */
  readonly attempts?: readonly ActivationId[]
}
