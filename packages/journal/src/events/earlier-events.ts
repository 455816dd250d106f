/**
 * Earlier attempts in the journal: what an activation is given that does work which was attempted before (K12:
 * persistent format, optional everywhere).
 */
import type { ActivationId, Json, Outcome } from '@reeve/core'

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
  /** An approver has sent its work back: code that is `idempotent` has keys of its own after it. */
  readonly sentBack?: true
  /**
   * Its brief was another one: a delegation that was given again after it failed. Calls of tools are the same if their
   * arguments are; code at the same address may do something else.
   */
  readonly otherBrief?: true
}

/** A `once` effect that was made or may have been, or an `idempotent` call of a tool. */
export interface EarlierEffect extends Omit<EarlierAttempt, 'sentBack' | 'otherBrief'> {
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
  /** When it ended; of one without an outcome: when it was begun. */
  readonly at: number
  /** It was not made there: the outcome of an earlier one was used. */
  readonly copy?: true
  /** An approver has decided that it is to be made once more. */
  readonly repeat?: true
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

/** A `once` effect that was made, or may have been, as an approver is shown it. */
export interface DoneEffect {
  /** Names it in a decision: `decide({ decision: 'retry', repeat: [id] })`. */
  readonly id: string
  /** The name of the tool; of a step of code, its address. */
  readonly name: string
  /** `in-doubt`: it was begun, and may have happened. */
  readonly state: 'done' | 'in-doubt'
  /** When it ended; of one in doubt: when it was begun. */
  readonly at: number
  readonly agent: string
  readonly activation: ActivationId
  /** Of a call of a tool: its arguments; of very long ones, the beginning as a text. */
  readonly input?: Json
  /** Of a planned team: the task that it was done for. */
  readonly task?: string
}
