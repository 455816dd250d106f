/**
 * The event union: everything that a journal can hold, by family. Past tense, JSON, append-only (K1).
 *
 * An activation's log holds three sorts of events, and replay treats them differently:
 *
 * - *Commands* (with `op` and `address`): what the code asked for. On replay the same code asks again and claims them
 *   (K4).
 * - *Arrivals*: what came in, in the order in which the code saw it. They are the only nondeterminism.
 * - *Notes*: what the engine did on its own. The code never sees them; views do.
 *
 * A released event is never edited: raise `v` in its row (event-table.ts) and add an upcaster and a golden journal (K12).
 */
import type {
  ActivationId,
  Failure,
  Json,
  JsonObject,
  MessageId,
  Outcome,
  RiskLevel,
  RunId,
  SessionId,
  Usage,
  WithWorkerFailures,
} from '@reeve/core'
import type { DoneEffect, Earlier } from './earlier-events.ts'
import type { FactEvent } from './facts.ts'
import type { Copied, RunForked } from './fork-events.ts'
import type { EscalationHit } from './oversight-facts.ts'

/**
 * How an effect behaves when it must be run again after a crash (K6). `model` is a model call: repeatable, but paid
 * for.
 */
export type EffectClass = 'read' | 'model' | 'idempotent' | 'once'

/** The caller of a run, and what workers are to know of it. It goes down the tree, copied and read-only. */
export interface Caller {
  readonly user?: string
  /** Who started it for that user. Absent: the user did. */
  readonly by?: string
  readonly metadata?: JsonObject
  readonly session?: SessionId
  /** The customer, department or environment that the run belongs to: sessions and their memories are its own. */
  readonly tenant?: string
  /**
   * The place in the caller's trace that it was started from: a W3C `traceparent` of version 00. Absent: the caller
   * gave none.
   */
  readonly traceparent?: string
  /**
   * The run is a trial: an operator tries another prompt, model or version. No effect of it leaves before a person has
   * said so, nobody is notified, and it counts for no trust.
   */
  readonly trial?: true
}

/** First event of every activation. `caller` only on the root. */
export interface ActivationStarted {
  readonly type: 'activation.started'
  readonly agent: string
  readonly version: string
  readonly input: Json
  readonly caller?: Caller
  /** Agents' names from the root to this one; absent: its leader's and its own. */
  readonly path?: readonly string[]
  /** Of one that is placed apart: the path of its leader, whose events are in another run. */
  readonly under?: readonly string[]
  /** Of a forked run: the logs that the beginning of this one was copied from, part by part. Empty: it has another input. */
  readonly copied?: readonly Copied[]
  /** Of another attempt at work that was attempted before: what the earlier attempts did. */
  readonly earlier?: Earlier
}
/** The log begins a new segment with carried state; everything before it is history only. */
export interface ActivationRestarted {
  readonly type: 'activation.restarted'
  readonly state: Json
  readonly segment: number
  /** Workers and questions still open: their ends will arrive in the new segment. */
  readonly open: readonly { readonly address: string; readonly op: 'worker' | 'ask' }[]
  /** Arrivals that the code had not read yet. */
  readonly unread: readonly ArrivalEvent[]
  /** Usage of model calls that were cancelled here: calls of unknown usage, whose ends are not recorded. */
  readonly lost?: Usage
  /** What goes on of everything before, so that nobody has to read it. */
  readonly before: Before
}
/** What goes on of the former segments of a log. */
export interface Before extends WithWorkerFailures {
  /** What was used so far, `lost` included. Absent: nothing. */
  readonly usage?: Usage
  /** The version of the code that drives it. Absent: the one that it began with. */
  readonly version?: string
  /** The commands of what is open, or has ended and was not read. */
  readonly begun: readonly CommandEvent[]
}
/**
 * What the entries from `from` up to this one came to: messages, and facts and messages that answered them. Who goes on
 * from the log may take the state and leave the entries unread. They stay in the log.
 */
export interface ActivationSummed {
  readonly type: 'activation.summed'
  /** The place in the log of the first of these entries. */
  readonly from: number
  readonly state: Json
}
/** Another version of the code continues this activation. */
export interface AgentMoved {
  readonly type: 'agent.moved'
  readonly from: string
  readonly to: string
}
/** Last event of every activation, exactly one (K7). */
export interface ActivationSettled {
  readonly type: 'activation.settled'
  readonly outcome: Outcome
  /** Usage of this activation and everything below it. Absent: no model was called. */
  readonly usage?: Usage
  /** Addresses of operations that were still open and were stopped; their ends are not recorded. */
  readonly open?: readonly string[]
  /** The part of `usage` that the model calls among them used: calls of unknown usage. */
  readonly lost?: Usage
}

/** What a recorded operation is known by. */
interface Keyed {
  /** Its content key: the same content has the same key, whenever it is done; see `contentKeys`. */
  readonly contentKey?: string
}
interface StepCommand {
  readonly op: 'step'
  readonly address: string
  readonly effect: EffectClass
  /** What the account of the tree reserves for it until its end is known. */
  readonly reserve?: Charge
  /** The account had no room: nothing was reserved, and it is never run. */
  readonly refused?: Failure
}
/** An effect of code agents, hooks and the runtime itself. */
export interface StepBegun extends StepCommand {
  readonly type: 'step.begun'
}
/**
 * A model call. The prompt is not stored: its messages are elsewhere in the journal; the content key tells whether it
 * was the same.
 */
export interface ModelRequested extends StepCommand, Keyed {
  readonly type: 'model.requested'
  readonly model: string
  readonly messages: number
  /** Its purpose, if it is not the next turn of its agent: then the answer is no message of the agent. */
  readonly purpose?: 'summary' | 'choice'
  /** Of a later model of a chain: which one could not answer, and why. */
  readonly instead?: {
    readonly of: string
    readonly why: 'down' | 'limited' | 'denied' | 'too-large' | 'slow' | 'refused'
  }
  /**
   * What middlewares of its agent may still change: this answer, the results of its calls, the end of the agent. Each
   * is said only after they have run.
   */
  readonly changeable?: readonly Changeable[]
  /** It goes on with the answer of the call before it, which was paused or cut off: both are parts of one answer. */
  readonly continues?: true
}
/** What a middleware may change after it was recorded. */
export type Changeable = 'answer' | 'results' | 'end'
/**
 * A tool call. Its arguments stand in the model's answer; `input` is here only if they were changed since (edited,
 * validated with defaults).
 */
export interface ToolCalled extends StepCommand, Keyed {
  readonly type: 'tool.called'
  readonly tool: string
  readonly callId?: string
  readonly input?: Json
  /**
   * SHA-256 of the canonical arguments that it is called with; not of calls that only read, and not where redaction is
   * on. A later attempt at the same work finds the call by it.
   */
  readonly inputHash?: string
  /** The id of the capability that it is done with, where it needed an approval. */
  readonly capability?: string
  /**
   * The id of the approval whose approver was told that this may have been done before, and decided that it is done: no
   * operator is asked about that doubt.
   */
  readonly again?: string
}
/** A charge on the account of a tree: model calls, tokens, US dollars. */
export interface Charge {
  readonly turns?: number
  /** It may take the turn that the account of this activation keeps for its last call. */
  readonly last?: ActivationId
  readonly tokens?: number
  readonly usd?: number
}

/** A worker was started. What crossed to it is the input of its own `activation.started`. */
export interface WorkerStarted extends Keyed {
  readonly type: 'worker.started'
  readonly op: 'worker'
  readonly address: string
  readonly agent: string
  readonly callId?: string
  /**
   * SHA-256 of the canonical brief, where a model asked for it; not where redaction is on. A later attempt at the same
   * work finds the worker by it.
   */
  readonly inputHash?: string
  /**
   * Its purpose, if it scores or summarizes its leader's work, or sends a notice: then it says nothing in the
   * conversation.
   */
  readonly purpose?: 'score' | 'summary' | 'notice'
  /**
   * Its end is not yet the result of its call: its leader records what it told its model (`result.told`).
   */
  readonly toldBy?: 'leader'
  /** Of a worker that is placed apart: its version. */
  readonly version?: string
  /**
   * It is placed apart: as a run of its own, whose id is that of its activation without `act_`. Its events are in that
   * run.
   */
  readonly apart?: true
  /** Of a worker that is placed apart: what the accounts above it reserve, which is all that it may use. */
  readonly reserve?: Charge
  /** The accounts had no room: nothing was reserved, and it does not begin. */
  readonly refused?: Failure
}
interface AskCommand {
  readonly op: 'ask'
  readonly address: string
  /** Absolute deadline in milliseconds since 1970; the clock then answers `timed-out`. */
  readonly until?: number
}
/** A timer. Only the clock answers it. */
export interface TimerSet extends AskCommand {
  readonly type: 'timer.set'
  /** Of the pause before another attempt: the attempt that has failed. */
  readonly retryOf?: ActivationId
}
/** A question to the outside for a value: to a person, or to the client that is to run a tool. */
export interface InterruptRaised extends AskCommand, Keyed {
  readonly type: 'interrupt.raised'
  readonly id: string
  /** The tool that the client is to run for this question. Absent: it is asked by code. */
  readonly tool?: string
  /** The model's id of the call of that tool. */
  readonly callId?: string
  readonly question: Json
  readonly path: readonly string[]
  /** The JSON Schema of the answer. Absent: any JSON. */
  readonly schema?: JsonObject
}
/** A question to a human whether one exact action may be done. */
export interface ApprovalRequested extends AskCommand, Keyed {
  readonly type: 'approval.requested'
  readonly id: string
  readonly path: readonly string[]
  readonly tool: string
  readonly toolVersion: string
  readonly callId?: string
  readonly input: Json
  /** SHA-256 of the canonical arguments: the approval holds for exactly these. */
  readonly inputHash: string
  readonly reason: string
  readonly risk: RiskLevel
  readonly onTimeout: 'reject' | 'approve' | 'escalate'
  /** A yes may hold for later calls, too. */
  readonly grantable?: true
  /** The subject, if it is not a tool call. */
  readonly kind?: 'task' | 'plan' | 'recruit' | 'mail' | 'result' | 'work'
  /** Of a planned team: the task that it is about. */
  readonly task?: string
  readonly description?: string
  /** Every reason to ask, the weightiest first. */
  readonly hits?: readonly EscalationHit[]
  /** More for the approver to see. */
  readonly context?: Json
  /**
   * Of a worker that asks: its leader's label for the delegation, and its brief (of a long one the beginning, and how
   * much is left out).
   */
  readonly delegation?: string
  readonly brief?: string
  /** The decisions that are offered. Absent: all. */
  readonly options?: readonly ('approve' | 'reject' | 'edit' | 'retry')[]
  /** The people who may decide. Absent: everyone. */
  readonly approvers?: readonly string[]
  /** The people who may not decide: they have approved it already, and a second approver is needed. */
  readonly excludes?: readonly string[]
  /** Two different people must approve it, each under a name. */
  readonly fourEyes?: true
  /** The approval before this one: its deadline has passed (`tier`), or it was given and a second one is needed. */
  readonly follows?: string
  /** Which tier of approvers is asked, from 1. */
  readonly tier?: number
  /**
   * The `once` effects that were made, or may have been, for what is asked about. `retry` repeats none of them, except
   * those that the decision names. At most 50; `doneMore`: how many more there are.
   */
  readonly done?: readonly DoneEffect[]
  readonly doneMore?: number
  /**
   * Of a forked run: what it permits had begun in the origin with exactly these arguments, and goes on with a yes. It
   * can be approved or rejected, not changed.
   */
  readonly begun?: true
}
/** A message was sent to another activation's inbox. */
export interface MessageSent {
  readonly type: 'message.sent'
  readonly op: 'send'
  readonly address: string
  readonly to: ActivationId
  readonly id: MessageId
}

/**
 * An effect has ended. `usage` and `charge` say what it used. Without a charge its reserve counts; a model call that
 * was stopped after it had left is a call of unknown usage (K11).
 */
export interface StepSettled {
  readonly type: 'step.settled'
  readonly address: string
  readonly outcome: Outcome
  readonly attempts?: number
  readonly usage?: Usage
  readonly charge?: Charge
  /** It was not made again: this activation, an earlier attempt at the same work, had made it with this outcome. */
  readonly madeBy?: ActivationId
}
/** A worker has ended, with the usage of its whole tree. */
export interface WorkerSettled {
  readonly type: 'worker.settled'
  readonly address: string
  readonly outcome: Outcome
  readonly usage?: Usage
  /** It was placed apart. */
  readonly apart?: true
  /** Of a worker that was placed apart: what it used of its reserve. */
  readonly charge?: Charge
}
/** A question was answered or its deadline passed. */
export interface AskSettled {
  readonly type: 'ask.settled'
  readonly address: string
  readonly outcome: Outcome
}
/** A message came in. */
export interface MessageReceived {
  readonly type: 'message.received'
  readonly id: MessageId
  /** The activation that sent it. Absent: it came from outside. */
  readonly from?: ActivationId
  /** Who sent it, from outside, as the runtime was told. Absent: no sender was named. */
  readonly by?: string
  readonly body: Json
}
/** A message that this activation sent was refused: its receiver is unknown or has settled. */
export interface MessageRefused {
  readonly type: 'message.refused'
  readonly id: MessageId
  readonly reason: 'unknown' | 'closed'
}
/** An operator, the leader or a limit cancelled this activation. */
export interface CancelReceived {
  readonly type: 'cancel.received'
  readonly reason: string
  readonly by?: string
  readonly limit?: 'usd' | 'tokens' | 'minutes' | 'turns'
  /** Its leader's time limit in milliseconds has passed: it has timed out. */
  readonly timedOutMs?: number
  /** It ends with this outcome, and nothing is undone: a human has completed it. */
  readonly outcome?: Outcome
  /** Nothing is undone; only compensations with `always` run. */
  readonly keeps?: true
}

/** One attempt of an effect has failed, and another follows after `delayMs`. */
export interface AttemptFailed {
  readonly type: 'step.attempt-failed'
  readonly address: string
  readonly attempt: number
  readonly failure: Failure
  readonly delayMs: number
  /** Of a model call: what this attempt used, as far as it is known. Absent: nothing. */
  readonly usage?: Usage
  /** What of this attempt counts on the budgets above, besides what is set aside for the next one. Absent: nothing. */
  readonly charge?: Charge
  /** Its process ended, or it was called back, while it was under way: it does not count as one of the attempts. */
  readonly lost?: true
}
/**
 * A `once` effect was in flight when its process ended. It may have happened; an operator must say. Or it is an effect of
 * a trial.
 */
export interface EffectInDoubt {
  readonly type: 'effect.in-doubt'
  readonly address: string
  readonly id: string
  readonly round: number
  /** The run in which it happened, or may have happened: the origin of this fork. */
  readonly doneIn?: RunId
  /** The activation that made it, or may have made it: an earlier attempt at the same work. */
  readonly madeBy?: ActivationId
  /** Nobody has made it here: the run is a trial, which makes no effect before a person has said so. */
  readonly trial?: true
}
/** An operator said that an effect in doubt did not happen: it runs (again). */
export interface EffectCleared {
  readonly type: 'effect.cleared'
  readonly address: string
  readonly by?: string
}
/**
 * A `once` effect was recorded and not let out: the next process may let it out without asking.
 */
export interface EffectHeld {
  readonly type: 'effect.held'
  readonly address: string
}
/**
 * A `once` effect that was held is let out now: from here on it is in doubt until its end is recorded.
 */
export interface EffectReleased {
  readonly type: 'effect.released'
  readonly address: string
}
/** The operator asked for a pause; effects in flight may still end. Recorded on the root. */
export interface RunPausing {
  readonly type: 'run.pausing'
  readonly at: 'next' | 'now' | 'after-model' | 'after-tools'
  /** Effects that have not ended after this many milliseconds are called back. */
  readonly withinMs?: number
  /** `withinMs` is over: effects in flight are called back. */
  readonly escalated?: true
  readonly reason?: string
  readonly by?: string
  readonly id?: string
}
/** Nothing is in flight any more. */
export interface RunPaused {
  readonly type: 'run.paused'
}
/** The operator let the run go on. */
export interface RunResumed {
  readonly type: 'run.resumed'
  readonly by?: string
  readonly reason?: string
  readonly id?: string
}
/** A human has the run: nothing new begins until it is handed back. */
export interface RunTakenOver {
  readonly type: 'run.taken-over'
  readonly reason?: string
  readonly by?: string
  /** Of the command. */
  readonly id?: string
}
/** The human has handed the run back: it goes on. */
export interface RunHandedBack {
  readonly type: 'run.handed-back'
  readonly reason?: string
  readonly by?: string
  readonly id?: string
}
/** An operator's command changed nothing: a pause of a run that was paused already, a resume of one that was not. */
export interface ControlIgnored {
  readonly type: 'control.ignored'
  readonly command: 'pause' | 'resume' | 'takeover' | 'handback'
  readonly why?: string
  readonly id?: string
  readonly reason?: string
  readonly by?: string
}
/** The code asks for a new effect while a recorded one is unclaimed: an operator must settle it. */
export interface ReplayDiverged {
  readonly type: 'replay.diverged'
  readonly address: string
  readonly unclaimed: readonly string[]
}
/** What was decided about an address after `replay.diverged`. */
export interface ReplayResolved {
  readonly type: 'replay.resolved'
  readonly address: string
  readonly action: 'map' | 'execute' | 'drop'
  readonly to?: string
  readonly by?: string
}
/** A value of a session was written; recorded in the session's own stream. */
export interface ValueUpdated {
  readonly type: 'value.updated'
  readonly key: string
  readonly value: Json
  readonly version: number
  readonly by?: RunId
}

export type LifecycleEvent = ActivationStarted | ActivationRestarted | ActivationSummed | AgentMoved | ActivationSettled
export type StepOpened = StepBegun | ModelRequested | ToolCalled
export type AskOpened = TimerSet | InterruptRaised | ApprovalRequested
export type CommandEvent = StepOpened | WorkerStarted | AskOpened | MessageSent | FactEvent
export type ArrivalEvent = StepSettled | WorkerSettled | AskSettled | MessageReceived | MessageRefused | CancelReceived
export type NoteEvent =
  | AttemptFailed
  | EffectInDoubt
  | EffectCleared
  | EffectHeld
  | EffectReleased
  | RunPausing
  | RunPaused
  | RunResumed
  | RunTakenOver
  | RunHandedBack
  | ControlIgnored
  | RunForked
  | ReplayDiverged
  | ReplayResolved
  | ValueUpdated
  | AgentMoved

/** Every event that a journal can hold. */
export type JournalEvent = LifecycleEvent | CommandEvent | ArrivalEvent | NoteEvent

/**
 * An event with its place: `seq` is gapless in its activation, `position` orders the feed of a run, `at` is
 * milliseconds since 1970.
 */
export interface Recorded<E extends JournalEvent = JournalEvent> {
  readonly position: number
  readonly run: RunId
  readonly activation: ActivationId
  readonly seq: number
  readonly at: number
  readonly event: E
}

/** True for a command: the code asked for it. */
export const isCommand = (event: JournalEvent): event is CommandEvent => 'op' in event

/**
 * The prefix of the workers that send notices: never that of an agent's name, or of an agent's tool. Persistent.
 */
export const noticePrefix = 'notice:'
/** Whether a worker of this name sends a notice. It is part of a question, and no member of any team. */
export const isNotice = (agent: string): boolean => agent.startsWith(noticePrefix)

/**
 * Agents' names from the root to one that has begun: its own path if it was given one, else that of its leader and its
 * name.
 */
export const pathOf = (
  { agent, path, under }: Pick<ActivationStarted, 'agent' | 'path' | 'under'>,
  leader: readonly string[] | undefined,
): readonly string[] => path ?? [...(under ?? leader ?? []), agent]
