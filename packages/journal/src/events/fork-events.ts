/**
 * Forks in the journal: what a run says that was forked from another (K12: persistent format, optional everywhere).
 */
import type { ActivationId, Json, JsonObject, Outcome, RunId } from '@reeve/core'

/** A copied part of a log: it ends before `seq`, and what it drew (ids, random numbers) derives from `seed`. */
export interface Copied {
  readonly seed: ActivationId
  readonly seq: number
  /**
   * How long the origin had stood still when it was forked: deadlines that are counted from a moment before move by
   * this. Milliseconds.
   */
  readonly shiftMs: number
}

/** What a fork changes. */
export type ForkEdit =
  /** The operation whose end is at the fork point ends with this instead. */
  | { readonly type: 'outcome'; readonly outcome: Outcome }
  /** The run begins with this. */
  | { readonly type: 'input'; readonly input: Json }
  /** An activation in it is sent this message. */
  | { readonly type: 'message'; readonly to: ActivationId; readonly body: Json }
  /** The fork is a trial of one model call. */
  | TrialEdit

/** A model call is made again with a change. The fork is a trial: no effect leaves before a person has said so. */
export interface TrialEdit {
  readonly type: 'trial'
  /** The position of the model call (`model.requested`) in the origin: it and what follows are not copied. */
  readonly call: number
  /** The activation that asks the model. */
  readonly to: ActivationId
  /** The versions of agents that are different from here on, by name: as in the edge of a run. */
  readonly versions?: JsonObject
  /** What the activation was asked, instead. */
  readonly brief?: Json
}
/** The run was forked from another: everything before this was copied. Recorded on the root. */
export interface RunForked {
  readonly type: 'run.forked'
  /** The origin, and the position of its feed up to which it was copied. */
  readonly run: RunId
  readonly at: number
  readonly edit?: ForkEdit
  /** The edit is of an answer that a person gave: it counts for nothing, the fork asks that question itself. */
  readonly asksAgain?: true
  /** Effects that the origin made or began after that. None is made again unless an operator says so. */
  readonly done: readonly {
    /** Of the fork. */
    readonly activation: ActivationId
    readonly address: string
    /** The first attempt at the work in which it was made; absent: that activation. */
    readonly work?: ActivationId
    readonly run: RunId
    /** Absent: it was under way. */
    readonly outcome?: Outcome
    /** When it ended; without an outcome: when it was begun. */
    readonly at?: number
  }[]
  readonly reason?: string
  readonly by?: string
}
/** What the origin, or an earlier attempt, has done already. Without an outcome: it was begun, and may be done. */
export interface DoneElsewhere {
  readonly run: RunId
  /** Of an earlier attempt at the same work: which one. */
  readonly activation?: ActivationId
  readonly outcome?: Outcome
  /** When it ended; without an outcome: when it was begun. */
  readonly at?: number
}
