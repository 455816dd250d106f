/**
 * The words of a run's view: plain data, as programs, terminals and the studio get it.
 *
 * Owns: the types. Does not own: how they are made (fold.ts, projection.ts), how they are shown (cli, studio).
 */
import type { ActivationId, Failure, Json, MessageId, Outcome, RunId, Usage } from '../../core/index.ts'
import type { ApprovalRequested, Caller } from '../events/events.ts'
import type { ApprovalResolved } from '../events/facts.ts'
import type { TeamView } from './team-views.ts'

/** What an activation has open: an effect in flight, a question, a timer, a worker. */
export interface OpenOperation {
  readonly kind: 'model' | 'tool' | 'step' | 'approval' | 'interrupt' | 'timer' | 'worker'
  readonly address: string
  /** The model, the tool, the worker's agent; for the others the address. */
  readonly name: string
  readonly since: number
  /** For an effect: how many of its tries have failed. */
  readonly failedAttempts: number
  /** For an effect: nobody knows whether it happened, and somebody must say. */
  readonly inDoubt: boolean
}

/** One agent at work once. */
export interface ActivationView {
  readonly activation: ActivationId
  readonly agent: string
  readonly version: string
  readonly parent?: ActivationId
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  readonly state: 'running' | 'waiting' | Outcome['status']
  readonly startedAt: number
  readonly endedAt?: number
  readonly outcome?: Outcome
  readonly open: readonly OpenOperation[]
  /** Usage of this activation and everything below it. */
  readonly usage: Usage
  readonly modelCalls: number
  readonly toolCalls: number
  /**
   * Its model call waits: it has room in this limit, of this activation, only once calls that are under way have used
   * less than was set aside for them.
   */
  readonly shortOf?: {
    readonly limit: 'tokens' | 'usd'
    readonly max: number
    readonly activation: ActivationId
    readonly since: number
  }
  /** Tries of effects that failed and were made again. */
  readonly failedAttempts: number
  /** Joined while the run went on. */
  readonly recruited: boolean
  /**
   * It is placed apart, as a run of its own, whose id is this activation's without `act_`. Where its own events were
   * not folded, only what its leader knows of it is here.
   */
  readonly apart?: true
  /** Control was handed to it, and by whose choice; absent where it was started in another way. */
  readonly handed?: 'model' | 'code' | 'rule'
  /** Of a member of a planned team: who it is there, and which task it works on. */
  readonly member?: string
  readonly task?: string
}

/** What a yes/no question asks for, without its place in a log. */
export type ApprovalAsked = Omit<ApprovalRequested, 'type' | 'op' | 'address' | 'until' | 'grantable'>

/** What this question asks for. Shares its values with it. */
export function approvalAsked(event: ApprovalRequested): ApprovalAsked {
  const { type: _type, op: _op, address: _address, until: _until, grantable: _grantable, ...asked } = event
  return asked
}

/** A yes/no question to the outside. `resolution` is absent while it is open. */
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
  /** Of a yes: the id of what it is good for. `tool.called` names it. */
  readonly capability?: string
  readonly resolvedAt?: number
}

/** A request for a value from the outside. `outcome` is absent while it is open. */
export interface InterruptView {
  readonly id: string
  readonly activation: ActivationId
  readonly address: string
  readonly agent: string
  readonly path: readonly string[]
  readonly question: Json
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
  readonly to: ActivationId
  readonly sentAt: number
  readonly state: 'sent' | 'received' | 'refused'
  readonly body?: Json
}

/** A specialist that joined. */
export interface RecruitView {
  readonly worker: string
  readonly reason: string
  readonly by: ActivationId
  readonly at: number
}

/** A try of an effect that failed. */
export interface FailedAttempt {
  readonly activation: ActivationId
  readonly address: string
  readonly attempt: number
  readonly failure: Failure
  readonly delayMs: number
  readonly at: number
}

/** An effect in doubt or a diverged address that somebody must settle. */
export interface DoubtView {
  readonly kind: 'in-doubt' | 'diverged'
  readonly activation: ActivationId
  readonly address: string
  readonly since: number
  readonly unclaimed: readonly string[]
  /** The run in which it happened, or may have: the one that this run was forked from. */
  readonly doneIn?: RunId
  /** The activation that made it, or may have: an earlier attempt at the same work. */
  readonly madeBy?: ActivationId
}

/**
 * `waiting`: everything inside waits for somebody outside. `queued`: it waits for its turn in its session.
 * `human_control`: a human has taken it over. `stuck`: it needs an operator.
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
  /** Every activation in the order in which they began; parents before their workers. */
  readonly activations: readonly ActivationView[]
  readonly approvals: readonly ApprovalView[]
  readonly interrupts: readonly InterruptView[]
  readonly doubts: readonly DoubtView[]
  readonly messages: readonly MessageView[]
  readonly recruits: readonly RecruitView[]
  /** Planned teams, in the order in which they began. Empty: nobody here has made a plan. */
  readonly teams: readonly TeamView[]
  readonly failedAttempts: readonly FailedAttempt[]
  readonly usage: Usage
  readonly pause?: { readonly at: string; readonly since: number; readonly reason?: string; readonly by?: string }
  /**
   * The run that has the session in which it waits for its turn. Not in its journal: `run.view()` says so, a view
   * folded from events does not.
   */
  readonly queued?: { readonly behind: RunId }
  /** A human has it. `pause` says since when nothing new begins. */
  readonly takeover?: { readonly since: number; readonly reason?: string; readonly by?: string }
  readonly cancel?: { readonly reason: string; readonly by?: string }
  /** It was forked from another run, at this position of that one's feed. */
  readonly origin?: { readonly run: RunId; readonly at: number; readonly reason?: string; readonly by?: string }
  /** The last position folded in. */
  readonly position: number
}
