/**
 * Called: what the call of a model comes to, at once or later.
 *
 * Owns: these types. Does not own: who makes them (binding.ts and whoever contributes calls), what the loop makes of
 * them (turn-loop.ts, background.ts).
 */
import type { Action, Failure, Outcome } from '../../core/index.ts'
import type { Told } from '../../edge/index.ts'
import type { Context } from '../../engine/index.ts'
import type { ToolCall } from '../../model/index.ts'

/** How a call ends the agent that made it. */
export interface Finish {
  readonly outcome: Outcome
  /** What becomes of control, where there is somebody to hand it to. */
  readonly action?: Action
  /**
   * The model answers by this call, as it would by words: it is measured, and a hook may ask for more. Absent: the end,
   * whatever they say.
   */
  readonly answers?: {
    /** Records what follows from it, once it is the end. */
    readonly counts: () => void
    /** What the model is told in the place of the result, should its work not end with it. */
    readonly otherwise: string
  }
}

/** What a call has come to. */
export interface CallResult extends Told {
  /**
   * Ends the agent once all calls of the turn have settled, without another model call. Of several the last in the
   * order of the calls.
   */
  readonly finish?: Finish
  /** The nearest loop is to end; the agent goes on. */
  readonly breaks?: true
  /** Why it was not done at all, for whoever called and is code. */
  readonly refused?: Failure
}

/** Work that may go on in the background. */
export interface DeferrableWork {
  readonly callId: string
  /** How a model may name it: `d1`, `d2`, … for delegations, `t1`, `t2`, … for calls of tools. */
  readonly label: string
  /** Who works, or which tool. */
  readonly who: string
  /** How it has ended; undefined: it never began. */
  status(): string | undefined
  /** Where it stands, in words. */
  state(): string
  stop(reason: string): void
}

/** Lets calls go on while the model agent that made them does something else. */
export interface WorkDeferrer {
  /** Lets it work. What the call is answered with meanwhile. */
  defer(what: DeferrableWork, work: Promise<CallResult>): CallResult
  /** The same for the call of a tool, which is named and recorded as such. */
  deferCall(ctx: Context, call: ToolCall, work: Promise<CallResult>): CallResult
}
