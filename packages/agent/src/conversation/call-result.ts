/**
 * Call result: the result of a call, at once or later.
 *
 * Owns: these types. Does not own: what makes them (../tool/binding.ts), what the loop does with them (../loop/turn-loop.ts,
 * ../loop/background.ts).
 */
import type { Action, Failure, FilePart, Json, Outcome } from '@reeve/core'
import type { FormattedResult } from '@reeve/edge'
import type { Context } from '@reeve/engine'
import type { ToolCall } from '@reeve/model'

/** The result of a call as the model sees it. */
export interface ToolResult {
  readonly content: Json
  readonly isError?: boolean
  /** Pictures, sounds and documents that the model is shown beside the content. */
  readonly files?: readonly FilePart[]
}

/** How a call ends its agent. */
export interface Finish {
  readonly outcome: Outcome
  /** Where control goes, if it is handed on. */
  readonly action?: Action
  /**
   * The call is an answer of the model, as a text would be: it is measured, and a hook may ask for more. Absent: it is
   * the end in any case.
   */
  readonly answers?: {
    /** Records the effects of the call once it is the end. */
    readonly counts: () => void
    /** What the model is told instead of the result if the work continues. */
    readonly otherwise: string
  }
}

/** The result of a call. */
export interface CallResult extends FormattedResult {
  /**
   * Ends the agent once all calls of the turn have settled, without another model call. The last of several calls
   * counts.
   */
  readonly finish?: Finish
  /** There is no tool of this name, so nothing was called. */
  readonly unknownTool?: true
  /** Asks the nearest loop to end; the agent continues. */
  readonly breaks?: true
  /** What Reeve says of the call: that a person has changed it, and why. It is recorded as `call.reviewed`. */
  readonly note?: string
  /** The note is a person's comment to this agent: other agents see the result without it. */
  readonly isNoteOwn?: true
  /** The call works in the background under this label: the content is a placeholder. */
  readonly pending?: string
  /** Why the call did not run, for callers that are code. */
  readonly refused?: Failure
}

/** Work that may continue in the background. */
export interface DeferrableWork {
  readonly callId: string
  /** The label that models use: `d1`, `d2`, … for delegations, `t1`, `t2`, … for calls of tools. */
  readonly label: string
  /** The worker or the tool. */
  readonly who: string
  /** The status of its end; undefined: it never began. */
  status(): string | undefined
  /** Its present state, as text. */
  state(): string
  stop(reason: string): void
}

/** Takes calls into the background. */
export interface WorkDeferrer {
  /** Defers the work. Returns the placeholder for the result. */
  defer(what: DeferrableWork, work: Promise<CallResult>): CallResult
  /**
   * The same for the call of a tool, which is labelled and recorded as such. `isWrapped`: middlewares decide its
   * result, which is recorded as it is told.
   */
  deferCall(ctx: Context, call: ToolCall, work: Promise<CallResult>, isWrapped: boolean): CallResult
}
