/**
 * Facts: what the code of an activation records without waiting for an end.
 *
 * Owns: these events. Does not own: the other families (events.ts). They are commands for replay: claimed by their
 * addresses, recorded once (K4).
 */
import type { ActivationId, Failure, FilePart, Json } from '@reeve/core'
import type { OversightFactEvent } from './oversight-facts.ts'
import type { TeamFactEvent } from './team-facts.ts'
import type { FactCommand } from './fact-command.ts'

/** A fact of the user's own. */
export interface FactNoted extends FactCommand {
  readonly type: 'fact.noted'
  readonly name: string
  readonly data: Json
}
/** A delegation that never became a worker: unknown worker, depth, permission, or a hook that said no. */
export interface DelegationRefused extends FactCommand {
  readonly type: 'delegation.refused'
  readonly worker: string
  readonly callId?: string
  /** How the leader's model may name it: `d1`, `d2`, … */
  readonly delegation?: string
  readonly failure: Failure
  /** One of several under one call: the leader records what it told of all of them (`result.told`). */
  readonly toldBy?: 'leader'
}
/**
 * What a leader told its model of the end of a delegation, or an agent of a call in the background. Recorded where the
 * recorded end alone does not say it: hooks, references, a time limit, several attempts or workers, middlewares.
 */
export interface ResultTold extends FactCommand {
  readonly type: 'result.told'
  readonly callId: string
  readonly content: Json
  readonly isError?: true
  /** Pictures, sounds and documents beside the content. */
  readonly files?: readonly FilePart[]
}
/** The leader answers with a worker's output, verbatim. */
export interface OutputForwarded extends FactCommand {
  readonly type: 'output.forwarded'
  readonly worker: string
  readonly delegation: ActivationId
}
/** A specialist joined the team while the run went on. */
export interface WorkerRecruited extends FactCommand {
  readonly type: 'worker.recruited'
  readonly worker: string
  readonly reason: string
}
/** A code agent said this text before its answer. */
export interface TextSaid extends FactCommand {
  readonly type: 'text.said'
  readonly text: string
}
/**
 * Control was handed on: by the model's choice, by code, or by the leader's rule. The leader records it; `from` and
 * `path` name the agent that had control.
 */
export interface AgentTransferred extends FactCommand {
  readonly type: 'agent.transferred'
  readonly from: string
  readonly path: readonly string[]
  readonly to: string
  readonly by: 'model' | 'code' | 'rule'
  /** Of the call that asked for it, or made for the pair of messages that stands for it. */
  readonly callId: string
  readonly task?: string
}
/** An agent ends the run, or the work under the nearest router or round table, with its output. */
export interface ExitRequested extends FactCommand {
  readonly type: 'exit.requested'
  readonly scope: 'run' | 'supervisor'
  readonly callId?: string
}
/** An agent asked the nearest loop to end. Outside of a loop nothing follows. */
export interface BreakRequested extends FactCommand {
  readonly type: 'break.requested'
  readonly callId?: string
}
/** A loop ends because an agent in it asked for that. */
export interface LoopBroken extends FactCommand {
  readonly type: 'loop.broken'
  readonly from: string
  /** Counted from 0. */
  readonly iteration: number
}
/** A tool call that did not run: unknown tool, invalid arguments, not permitted, rejected. */
export interface ToolRefused extends FactCommand {
  readonly type: 'tool.refused'
  readonly tool: string
  readonly callId?: string
  readonly failure: Failure
  /** What the model was told, if not the message of the failure in brackets. */
  readonly content?: string
}
/** An answer of a model does not have the form that the output of its agent must have. */
export interface OutputRejected extends FactCommand {
  readonly type: 'output.rejected'
  /** What is wrong with it. */
  readonly problem: string
  /** What its model was told, which is then asked again. Absent: it may not be asked again, and its agent fails. */
  readonly told?: string
  /** As of `model.requested`: the answer is no message of the agent. */
  readonly purpose?: 'choice'
}
/** A call needed an approval, and a human had granted it before: it was done without asking. */
export interface ApprovalGranted extends FactCommand {
  readonly type: 'approval.granted'
  /** Of the grant. */
  readonly id: string
  readonly tool: string
  readonly callId?: string
  /** SHA-256 of the canonical arguments. */
  readonly inputHash: string
  /** Who granted it. */
  readonly approver?: string
  /** The id of the capability it gives here, for one use. */
  readonly capability?: string
}
/** How an approval was resolved, with the arguments that hold from now on if a human edited them. */
export interface ApprovalResolved extends FactCommand {
  readonly type: 'approval.resolved'
  readonly id: string
  /**
   * `retry`: to be changed and tried again. `escalated`: its deadline has passed, and the next approvers are asked.
   * `seconded`: approved, and a second one is needed. `ignored`: the approver may not decide it, or the decision was
   * not offered: it is asked again. A decision that `decide` refuses is not recorded.
   */
  readonly resolution:
    | 'approved'
    | 'rejected'
    | 'retry'
    | 'timed-out-rejected'
    | 'timed-out-approved'
    | 'edited'
    | 'cancelled'
    | 'escalated'
    | 'seconded'
    | 'ignored'
  readonly approver?: string
  readonly comment?: string
  readonly inputHash?: string
  /** Of a yes: the id of the capability it gives, for one use. */
  readonly capability?: string
  /** Of `retry`: the ids of the effects that are to be made once more. */
  readonly repeat?: readonly string[]
}
/** A hook has thrown, or returned an invalid value. Its caller decides what follows. */
export interface HookFailed extends FactCommand {
  readonly type: 'hook.failed'
  /** As the option is called: `onStart`, `filterMessages`, `onComplete`, `onIterationComplete`, … */
  readonly hook: string
  readonly worker?: string
  readonly callId?: string
  /** How the leader's model may name the delegation: `d1`, `d2`, … */
  readonly delegation?: string
  readonly failure: Failure
}
/** A delegation goes on in the background. */
export interface DelegationDeferred extends FactCommand {
  readonly type: 'delegation.deferred'
  readonly worker: string
  readonly callId: string
  /** How the leader's model may name it: `d1`, `d2`, … */
  readonly delegation: string
}
/**
 * Of several workers who were given the same brief, these were kept; the others were stopped, and are accounted for all
 * the same.
 */
export interface DelegationDecided extends FactCommand {
  readonly type: 'delegation.decided'
  readonly callId?: string
  readonly rule: string
  readonly kept: readonly ActivationId[]
  readonly stopped: readonly ActivationId[]
}
/** An answer was measured by the scorers of its agent. */
export interface CompletionScored extends FactCommand {
  readonly type: 'completion.scored'
  readonly turn: number
  readonly passed: boolean
  readonly strategy: 'all' | 'any'
  readonly timedOut: boolean
  readonly results: readonly {
    readonly scorer: string
    readonly score: number
    readonly passed: boolean
    readonly reason?: string
    /** It threw, or did not finish in time. */
    readonly error?: string
  }[]
}
/** The conversation so far was replaced by a summary in the model's prompts. */
export interface ContextCompacted extends FactCommand {
  readonly type: 'context.compacted'
  readonly turn: number
  /** How many messages the summary stands for, and how many stayed. */
  readonly replaced: number
  readonly kept: number
}
/** The leader of a conversation has chosen the next speaker. */
export interface SpeakerChosen extends FactCommand {
  readonly type: 'speaker.chosen'
  readonly speaker: string
  /** Counted from 1. */
  readonly round: number
  readonly by: string
  readonly instruction?: string
}

/** Every fact. */
export type FactEvent =
  | FactNoted
  | DelegationRefused
  | OutputForwarded
  | WorkerRecruited
  | ToolRefused
  | OutputRejected
  | ApprovalResolved
  | ApprovalGranted
  | OversightFactEvent
  | TextSaid
  | AgentTransferred
  | ExitRequested
  | BreakRequested
  | LoopBroken
  | HookFailed
  | DelegationDeferred
  | DelegationDecided
  | ResultTold
  | CompletionScored
  | ContextCompacted
  | SpeakerChosen
  | TeamFactEvent
