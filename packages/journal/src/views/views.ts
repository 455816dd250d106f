/**
 * The types of a run's view: plain data, as programs, terminals and the studio get it.
 *
 * Owns: the types. Does not own: how views are made (fold.ts, projection.ts) and shown (cli, studio).
 * All times are milliseconds since 1970.
 */
import type { ActivationId, Failure, Json, JsonObject, MessageId, Outcome, RunId, Usage } from '@reeve/core'
import type { ApprovalRequested, Caller } from '../events/events.ts'
import type { ApprovalResolved } from '../events/facts.ts'
import type { TeamView } from './team-views.ts'

/** What an activation has open: an effect in flight, a question, a timer, a worker. */
export interface OpenOperation {
  readonly kind: 'model' | 'tool' | 'step' | 'approval' | 'interrupt' | 'timer' | 'worker'
  readonly address: string
  /** The model, the tool, the worker's agent, the id of an interrupt; for the others the address. */
  readonly name: string
  /** For an interrupt: the tool that the client is to run. Absent: code asks. */
  readonly tool?: string
  readonly since: number
  /** For an effect: how many of its attempts have failed. */
  readonly failedAttempts: number
  /**
   * For an effect: its last attempt has failed with this code, and the next one leaves at this moment, which its backoff
   * or its provider has set. Once that has passed, the attempt is under way. Absent: no attempt has failed.
   */
  readonly nextAttempt?: { readonly at: number; readonly after: string }
  /** For an effect: it may have happened, and an operator must say (`run.control.settleDoubt`). */
  readonly inDoubt: boolean
}

/** An activation: one agent at work once. */
export interface ActivationView {
  readonly activation: ActivationId
  readonly agent: string
  readonly version: string
  readonly parent?: ActivationId
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  /** `waiting`: everything in it waits for an answer, a decision or an operator. */
  readonly state: 'running' | 'waiting' | Outcome['status']
  readonly startedAt: number
  readonly endedAt?: number
  readonly outcome?: Outcome
  /** In the order in which they began. Empty once it has ended. */
  readonly open: readonly OpenOperation[]
  /** Usage of this activation and everything below it. */
  readonly usage: Usage
  readonly modelCalls: number
  readonly toolCalls: number
  /**
   * Its model call waits for room in this limit of this activation: there is room once calls under way have used less
   * than was reserved for them.
   */
  readonly shortOf?: {
    readonly limit: 'tokens' | 'usd'
    readonly max: number
    readonly activation: ActivationId
    readonly since: number
  }
  /** Attempts of effects that failed and were followed by another. */
  readonly failedAttempts: number
  /** It joined while the run went on. */
  readonly recruited: boolean
  /**
   * It is placed apart, as a run of its own, whose id is this activation's without `act_`. Where its own events were
   * not read, only what its leader's events say is here.
   */
  readonly apart?: true
  /** Control was handed to it, by the choice of a model, of code or of a rule. Absent where it was given work. */
  readonly handed?: 'model' | 'code' | 'rule'
  /** Of a member of a planned team: its name there, and the task it works on. */
  readonly member?: string
  readonly task?: string
}

/** What an approval asks for, without its place in a log. */
export type ApprovalAsked = Omit<ApprovalRequested, 'type' | 'op' | 'address' | 'until' | 'grantable'>

/** What this event asks for. Shares its values with it. */
export function approvalAsked(event: ApprovalRequested): ApprovalAsked {
  const { type: _type, op: _op, address: _address, until: _until, grantable: _grantable, ...asked } = event
  return asked
}

/** An approval: a yes/no question to a human. `resolution` is absent while it is open. */
export interface ApprovalView extends ApprovalAsked {
  readonly activation: ActivationId
  readonly address: string
  readonly agent: string
  readonly askedAt: number
  readonly until?: number
  readonly open: boolean
  readonly resolution?: ApprovalResolved['resolution']
  readonly approver?: string
  readonly comment?: string
  /** Of a yes: the id of the capability it gives. `tool.called` names it. */
  readonly capability?: string
  readonly resolvedAt?: number
}

/** An interrupt: a question to a human for a value. `outcome` is absent while it is open. */
export interface InterruptView {
  readonly id: string
  readonly activation: ActivationId
  readonly address: string
  readonly agent: string
  readonly path: readonly string[]
  readonly question: Json
  /** The tool that the client is to run, and the model's id of the call. Absent: code asks. */
  readonly tool?: string
  readonly callId?: string
  /** The JSON Schema of the answer, if it has one. */
  readonly schema?: JsonObject
  readonly askedAt: number
  readonly until?: number
  readonly open: boolean
  readonly outcome?: Outcome
  readonly resolvedAt?: number
}

/** A message between activations, or from outside (`from` absent). */
export interface MessageView {
  readonly id: MessageId
  readonly from?: ActivationId
  /** Who sent it, from outside. */
  readonly by?: string
  readonly to: ActivationId
  readonly sentAt: number
  readonly state: 'sent' | 'received' | 'refused'
  readonly body?: Json
}

/** A specialist that joined a supervisor's team. */
export interface RecruitView {
  readonly worker: string
  readonly reason: string
  readonly by: ActivationId
  readonly at: number
}

/** An attempt of an effect that failed. */
export interface FailedAttempt {
  readonly activation: ActivationId
  readonly address: string
  readonly attempt: number
  readonly failure: Failure
  readonly delayMs: number
  readonly at: number
}

/** An effect in doubt or a diverged address that an operator must settle. */
export interface DoubtView {
  readonly kind: 'in-doubt' | 'diverged'
  readonly activation: ActivationId
  readonly address: string
  readonly since: number
  readonly unclaimed: readonly string[]
  /** The run in which it happened, or may have happened: the origin of this fork. */
  readonly doneIn?: RunId
  /** The activation that made it, or may have made it: an earlier attempt at the same work. */
  readonly madeBy?: ActivationId
  /** Nobody has made it here: the run is a trial, which makes no effect before a person has said so. */
  readonly trial?: true
}

/**
 * `waiting`: everything in it waits for an answer, a decision or an operator. `queued`: it waits for its turn in its
 * session. `human_control`: a human has taken it over. `stuck`: an operator must settle a divergence or an error.
 */
export type ViewStatus =
  'running' | 'waiting' | 'queued' | 'pausing' | 'paused' | 'human_control' | 'stuck' | Outcome['status']

/** A whole run at one position of its feed. */
export interface RunView {
  readonly run: RunId
  readonly status: ViewStatus
  readonly agent: string
  readonly version: string
  readonly input: Json
  readonly caller: Caller
  readonly startedAt: number
  readonly endedAt?: number
  readonly outcome?: Outcome
  /** Every activation, in the order in which they began: leaders before their workers. */
  readonly activations: readonly ActivationView[]
  readonly approvals: readonly ApprovalView[]
  readonly interrupts: readonly InterruptView[]
  readonly doubts: readonly DoubtView[]
  readonly messages: readonly MessageView[]
  readonly recruits: readonly RecruitView[]
  /** Planned teams, in the order in which they began. Empty: no team has made a plan. */
  readonly teams: readonly TeamView[]
  readonly failedAttempts: readonly FailedAttempt[]
  readonly usage: Usage
  readonly pause?: { readonly at: string; readonly since: number; readonly reason?: string; readonly by?: string }
  /**
   * The run ahead of it in its session. Not in its journal: `run.view()` says so, a view folded from events does not.
   */
  readonly queued?: { readonly behind: RunId }
  /** A human has taken it over. `pause` says since when nothing new begins. */
  readonly takeover?: { readonly since: number; readonly reason?: string; readonly by?: string }
  readonly cancel?: { readonly reason: string; readonly by?: string }
  /** It was forked from another run, at this position of that run's feed. */
  readonly origin?: { readonly run: RunId; readonly at: number; readonly reason?: string; readonly by?: string }
  /** The last position folded in. */
  readonly position: number
}

/** A run without what is in it. */
export type RunViewHead = Omit<
  RunView,
  'activations' | 'approvals' | 'interrupts' | 'doubts' | 'messages' | 'recruits' | 'teams' | 'failedAttempts'
>
