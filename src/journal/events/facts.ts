/**
 * Facts: what the code of an activation notes of its own, without waiting for an end.
 *
 * Owns: these events. Does not own: the other families (events.ts). They are commands for replay: claimed by their
 * addresses, recorded once (K4).
 */
import type { ActivationId, Failure, Json } from '../../core/index.ts'
import type { OversightFactEvent } from './oversight-facts.ts'
import type { TeamFactEvent } from './team-facts.ts'

interface Fact {
  readonly op: 'fact'
  readonly address: string
}
/** A fact of the user's own. */
export interface FactNoted extends Fact {
  readonly type: 'fact.noted'
  readonly name: string
  readonly data: Json
}
/** A delegation that never became a worker: unknown worker, depth, permission, or a hook that said no. */
export interface DelegationRefused extends Fact {
  readonly type: 'delegation.refused'
  readonly worker: string
  readonly callId?: string
  /** How the leader's model may name it: `d1`, `d2`, … */
  readonly delegation?: string
  readonly failure: Failure
}
/** The leader answers with a worker's output, verbatim. */
export interface OutputForwarded extends Fact {
  readonly type: 'output.forwarded'
  readonly worker: string
  readonly delegation: ActivationId
}
/** A specialist joined the team while the run went on. */
export interface WorkerRecruited extends Fact {
  readonly type: 'worker.recruited'
  readonly worker: string
  readonly reason: string
}
/** A code agent said something before its answer. */
export interface TextSaid extends Fact {
  readonly type: 'text.said'
  readonly text: string
}
/**
 * Control was handed on: by the model's choice, by code, or by the rule of whoever leads. Recorded by that leader;
 * `from` and `path` say who had it.
 */
export interface AgentTransferred extends Fact {
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
export interface ExitRequested extends Fact {
  readonly type: 'exit.requested'
  readonly scope: 'run' | 'supervisor'
  readonly callId?: string
}
/** An agent asked the nearest loop to end. Outside of a loop nothing follows. */
export interface BreakRequested extends Fact {
  readonly type: 'break.requested'
  readonly callId?: string
}
/** A loop ends because somebody in it asked for it. */
export interface LoopBroken extends Fact {
  readonly type: 'loop.broken'
  readonly from: string
  /** Counted from 0. */
  readonly iteration: number
}
/** A tool call that did not run: unknown tool, invalid arguments, not permitted, rejected. */
export interface ToolRefused extends Fact {
  readonly type: 'tool.refused'
  readonly tool: string
  readonly callId?: string
  readonly failure: Failure
}
/** A call needed an approval, and a human had granted it before: it was done without asking. */
export interface ApprovalGranted extends Fact {
  readonly type: 'approval.granted'
  /** Of the grant. */
  readonly id: string
  readonly tool: string
  readonly callId?: string
  /** SHA-256 of the canonical arguments. */
  readonly inputHash: string
  /** Who granted it. */
  readonly approver?: string
  /** The id of what it is good for here, one use. */
  readonly capability?: string
}
/** How an approval came out, with the arguments that hold from now on if a human edited them. */
export interface ApprovalResolved extends Fact {
  readonly type: 'approval.resolved'
  readonly id: string
  /**
   * `retry`: to be changed and tried again. `escalated`: its deadline has passed and the next ones are asked.
   * `seconded`: approved, and a second one is needed. `ignored`: whoever decided may not, or it was not offered: it is
   * asked again. Only a decision that reached the run is here; one that `decide` refuses changes nothing and leaves
   * nothing.
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
  /** Of a yes: the id of what it is good for, one use. */
  readonly capability?: string
}
/** A hook has thrown, or given back what it may not. What followed from it is the business of whoever called it. */
export interface HookFailed extends Fact {
  readonly type: 'hook.failed'
  /** As the option is called: `onStart`, `filterMessages`, `onComplete`, `onIterationComplete`, … */
  readonly hook: string
  readonly worker?: string
  readonly callId?: string
  /** How the leader's model may name the delegation: `d1`, `d2`, … */
  readonly delegation?: string
  readonly failure: Failure
}
/** A delegation goes on while its leader does something else. */
export interface DelegationDeferred extends Fact {
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
export interface DelegationDecided extends Fact {
  readonly type: 'delegation.decided'
  readonly callId?: string
  readonly rule: string
  readonly kept: readonly ActivationId[]
  readonly stopped: readonly ActivationId[]
}
/** An answer was measured by the scorers of its agent. */
export interface CompletionScored extends Fact {
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
/** What was said before is shown to the model as a summary from now on. */
export interface ContextCompacted extends Fact {
  readonly type: 'context.compacted'
  readonly turn: number
  /** How many messages the summary stands for, and how many stayed. */
  readonly replaced: number
  readonly kept: number
}
/** Who speaks next in a conversation that somebody leads. */
export interface SpeakerChosen extends Fact {
  readonly type: 'speaker.chosen'
  readonly speaker: string
  /** Counted from 1. */
  readonly round: number
  readonly by: string
  readonly instruction?: string
}

/** Everything that is noted. */
export type FactEvent =
  | FactNoted
  | DelegationRefused
  | OutputForwarded
  | WorkerRecruited
  | ToolRefused
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
  | CompletionScored
  | ContextCompacted
  | SpeakerChosen
  | TeamFactEvent
