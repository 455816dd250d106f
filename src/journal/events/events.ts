/**
 * What can have happened: the event union, by family. Past tense, JSON, append-only (K1).
 *
 * An activation's log holds three sorts of events. Replay treats each differently.
 *
 * Commands (they have `op` and `address`) are what the code asked for. The same code asks again on replay and claims
 * them (K4).
 *
 * Arrivals are what came in, in the order in which the code saw it. They are the only nondeterminism.
 *
 * Notes are what the engine did by itself. The code never sees them; views do.
 *
 * A released event is never edited: bump its version in codec.ts and add an upcaster and a golden journal (K12).
 */
import type {
  ActivationId,
  Failure,
  Json,
  JsonObject,
  MessageId,
  Outcome,
  RunId,
  SessionId,
  Usage,
} from '../../core/index.ts'
import type { Earlier } from './earlier-events.ts'
import type { FactEvent } from './facts.ts'
import type { Copied, RunForked } from './fork-events.ts'
import type { EscalationHit } from './oversight-facts.ts'

/**
 * How an effect behaves when it must be run again after a crash (K6). `model` is a model call: repeatable, but paid
 * for.
 */
export type EffectClass = 'read' | 'model' | 'idempotent' | 'once'

/** Who asked for a run and what the caller wants workers to know. Goes down the tree, copied and read-only. */
export interface Caller {
  readonly user?: string
  readonly metadata?: JsonObject
  readonly session?: SessionId
}

// ---- lifecycle
// --------------------------------------------------------------------------------------------------------------------

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
  /** Of a forked run: whose log the beginning of this one was copied from, part by part. */
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
  /** What model calls used that were called off here: calls of unknown usage, whose ends are not recorded. */
  readonly lost?: Usage
}
/** The code that goes on with this activation is another version than the one that began it. */
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

// ---- commands: steps
// ----------------------------------------------------------------------------------------------------------------

/** What a recorded operation is known by. */
interface Keyed {
  /**
   * Its content key: the same content has the same key, whenever it is done. Not in older journals; see `contentKeys`.
   */
  readonly contentKey?: string
}
interface StepCommand {
  readonly op: 'step'
  readonly address: string
  readonly effect: EffectClass
  /** What the account of the tree sets aside for it until its end is known. */
  readonly reserve?: Charge
  /** It did not fit: nothing was set aside, and it is never run. */
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
  /** Only in older journals, which have no content keys: a 64-bit hash of the messages, and how it was made. */
  readonly prompt?: string
  readonly renderer?: number
  readonly messages: number
  /** What for, if not for the next turn of its agent: then the answer is nothing that the agent has said. */
  readonly purpose?: 'summary' | 'choice'
  /**
   * What middlewares of its agent may still change: this answer, the results of its calls, how the agent ends. Nobody
   * is told of it before they had their word.
   */
  readonly changeable?: readonly Changeable[]
}
/** What a middleware may change of what is recorded before it is asked. */
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
   * on. A later attempt at the same work knows it by that.
   */
  readonly inputHash?: string
  /** The id of the capability that it is done with, where it needed an approval. */
  readonly capability?: string
}
/** A charge on the account of a tree: model calls, tokens, US dollars. */
export interface Charge {
  readonly turns?: number
  /** It may take the turn that the account of this activation keeps for its last call. */
  readonly last?: ActivationId
  readonly tokens?: number
  readonly usd?: number
}

// ---- commands: workers, questions, messages, facts
// -----------------------------------------------------------------------------------

/** A worker was started. What crossed to it is the input of its own `activation.started`. */
export interface WorkerStarted extends Keyed {
  readonly type: 'worker.started'
  readonly op: 'worker'
  readonly address: string
  readonly agent: string
  readonly callId?: string
  /**
   * SHA-256 of the canonical brief, where a model asked for it; not where redaction is on. A later attempt at the same
   * work knows it by that.
   */
  readonly inputHash?: string
  /**
   * What for, if it measures or summarizes the work of its leader, or tells somebody of it: then it says nothing in the
   * conversation.
   */
  readonly purpose?: 'score' | 'summary' | 'notice'
  /** Of one that is placed apart: which version begins. */
  readonly version?: string
  /**
   * It is placed apart: as a run of its own, whose id is that of its activation without `act_`. Its events are in that
   * run.
   */
  readonly apart?: true
  /** Of one that is placed apart: what the accounts above it set aside, which is all that it may use. */
  readonly reserve?: Charge
  /** That did not fit: nothing was set aside, and it does not begin. */
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
  /** Of the pause before another attempt: the attempt that has failed. Absent in journals older than this field. */
  readonly retryOf?: ActivationId
}
/** A request for a value from the outside. */
export interface InterruptRaised extends AskCommand, Keyed {
  readonly type: 'interrupt.raised'
  readonly id: string
  readonly question: Json
  readonly path: readonly string[]
}
/** A yes/no question to the outside about one exact action. */
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
  readonly risk: 'low' | 'medium' | 'high' | 'critical'
  readonly onTimeout: 'reject' | 'approve' | 'escalate'
  /** Its yes may hold for later calls, too. */
  readonly grantable?: true
  /** What it is about, if not a call of a tool. */
  readonly kind?: 'task' | 'plan' | 'recruit' | 'mail' | 'result' | 'work'
  /** Of a planned team: the task that it is about. */
  readonly task?: string
  readonly description?: string
  /** All that speaks for asking, the weightiest first. */
  readonly hits?: readonly EscalationHit[]
  /** What whoever decides may want to see. */
  readonly context?: Json
  /**
   * Of whoever asks, where it works for a leader: what its leader calls this delegation, and its brief (of a long one
   * the beginning, and how much is left out).
   */
  readonly delegation?: string
  readonly brief?: string
  /** What may be decided. Absent: all of it. */
  readonly options?: readonly ('approve' | 'reject' | 'edit' | 'retry')[]
  /** Who may decide. Absent: anybody. */
  readonly approvers?: readonly string[]
  /** Who may not: they have approved it already, and somebody else is to look. */
  readonly excludes?: readonly string[]
  /** Two different people have to approve it: whoever does has to say who they are. */
  readonly fourEyes?: true
  /** The approval before this one: its deadline has passed (`tier`), or it was given and a second one is needed. */
  readonly follows?: string
  /** Which of those who are asked one after the other, from 1. */
  readonly tier?: number
}
/** A message was sent to another activation's inbox. */
export interface MessageSent {
  readonly type: 'message.sent'
  readonly op: 'send'
  readonly address: string
  readonly to: ActivationId
  readonly id: MessageId
}
// ---- arrivals
// -----------------------------------------------------------------------------------------------------------------------

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
  /** It was not made: this activation, an earlier attempt at the same work, had made it, and it ended so then. */
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
  /** Of one that was placed apart: what it used of what was set aside. */
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
  readonly from?: ActivationId
  readonly body: Json
}
/** A message of mine was not taken: nobody has that address, or they have settled. */
export interface MessageRefused {
  readonly type: 'message.refused'
  readonly id: MessageId
  readonly reason: 'unknown' | 'closed'
}
/** The operator, the leader or a limit ended this activation. */
export interface CancelReceived {
  readonly type: 'cancel.received'
  readonly reason: string
  readonly by?: string
  readonly limit?: 'usd' | 'tokens' | 'minutes' | 'turns'
  /** Its leader gave it so many milliseconds, and they are over: it has timed out. */
  readonly timedOutMs?: number
  /** It ends so, and nothing is undone: a human has finished it. */
  readonly outcome?: Outcome
  /** What was done stays: only what must happen in any case (`onCancel` with `always`) is done. */
  readonly keeps?: true
}

// ---- notes
// --------------------------------------------------------------------------------------------------------------------------

/** One try of an effect failed and another follows after `delayMs`. */
export interface AttemptFailed {
  readonly type: 'step.attempt-failed'
  readonly address: string
  readonly attempt: number
  readonly failure: Failure
  readonly delayMs: number
}
/** A `once` effect was in flight when its process ended: nobody knows whether it happened, and somebody must say. */
export interface EffectInDoubt {
  readonly type: 'effect.in-doubt'
  readonly address: string
  readonly id: string
  readonly round: number
  /** The run in which it happened, or may have: the one that this run was forked from. */
  readonly doneIn?: RunId
  /** The activation that made it, or may have: an earlier attempt at the same work. */
  readonly madeBy?: ActivationId
}
/** Somebody said that an effect in doubt did not happen: it runs (again). */
export interface EffectCleared {
  readonly type: 'effect.cleared'
  readonly address: string
  readonly by?: string
}
/**
 * A `once` effect that was asked for is known not to have left this process: whoever goes on lets it out and need not
 * ask.
 */
export interface EffectHeld {
  readonly type: 'effect.held'
  readonly address: string
}
/**
 * A `once` effect that was held leaves now: from here on nobody knows whether it happened until its end is recorded.
 */
export interface EffectReleased {
  readonly type: 'effect.released'
  readonly address: string
}
/** The operator asked for a pause; effects in flight may still end. Recorded on the root. */
export interface RunPausing {
  readonly type: 'run.pausing'
  readonly at: 'next' | 'now' | 'after-model' | 'after-tools'
  /** What has not ended after this many milliseconds is called back. */
  readonly withinMs?: number
  /** They are over: what was in flight is called back. */
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
/** The code asks for a new effect while a recorded one is unclaimed: somebody must say what became of it. */
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

export type LifecycleEvent = ActivationStarted | ActivationRestarted | AgentMoved | ActivationSettled
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

/** Everything that a journal can hold. */
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

const arrivals: ReadonlySet<string> = new Set<ArrivalEvent['type']>([
  'step.settled',
  'worker.settled',
  'ask.settled',
  'message.received',
  'message.refused',
  'cancel.received',
])

/** True for what the code asked for. */
export const isCommand = (event: JournalEvent): event is CommandEvent => 'op' in event
/** True for what came in. */
export const isArrival = (event: JournalEvent): event is ArrivalEvent => arrivals.has(event.type)

/**
 * What the names of those begin with who tell people that somebody asks: never an agent's name, and never that of an
 * agent's tool. Persistent.
 */
export const noticePrefix = 'notice:'
/** Whether this is the name of one of them: part of how a question is put, and no member of any team. */
export const isNotice = (agent: string): boolean => agent.startsWith(noticePrefix)

/**
 * Agents' names from the root to one that has begun: its own path if it was given one, else that of its leader and its
 * name.
 */
export const pathOf = (
  { agent, path, under }: Pick<ActivationStarted, 'agent' | 'path' | 'under'>,
  leader: readonly string[] | undefined,
): readonly string[] => path ?? [...(under ?? leader ?? []), agent]
