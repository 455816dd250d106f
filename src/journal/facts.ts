/**
 * Facts: what the code of an activation notes of its own, without waiting for an end.
 *
 * Owns: these events. Does not own: the other families (events.ts). They are commands for replay: claimed by their addresses, recorded once (K4).
 */
import type { ActivationId, Failure, Json } from '../core/index.ts'

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
/** Control was handed on: by the model's choice, by code, or by the rule of whoever leads. Recorded by that leader; `from` and `path` say who had it. */
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
/** An agent ends the run, or the work under the nearest router, with its output. */
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
/** How an approval came out, with the arguments that hold from now on if a human edited them. */
export interface ApprovalResolved extends Fact {
  readonly type: 'approval.resolved'
  readonly id: string
  readonly resolution: 'approved' | 'rejected' | 'timed-out-rejected' | 'timed-out-approved' | 'edited' | 'cancelled'
  readonly approver?: string
  readonly comment?: string
  readonly inputHash?: string
}

/** Everything that is noted. */
export type FactEvent =
  | FactNoted
  | DelegationRefused
  | OutputForwarded
  | WorkerRecruited
  | ToolRefused
  | ApprovalResolved
  | TextSaid
  | AgentTransferred
  | ExitRequested
  | BreakRequested
  | LoopBroken
