/**
 * The context: everything that orchestration may do (K3), as types. Every engine implements it; no code agent
 * needs more.
 *
 * Owns: the verbs and the words they use. Does not own: how they are kept (replay/scope.ts and replay/activation.ts for
 * the embedded engine).
 */
import type {
  ActivationId,
  CallUsage,
  ContentRef,
  ContentType,
  Json,
  MessageId,
  Now,
  OpId,
  Outcome,
  RunId,
  Sha256,
  Usage,
  Shape,
} from '@reeve/core'
import type {
  ApprovalRequested,
  Caller,
  Charge,
  DoneEffect,
  DoneElsewhere,
  EarlierEffect,
  EffectClass,
  FactEvent,
  InterruptRaised,
  ModelRequested,
  StepBegun,
  TimerSet,
  ToolCalled,
  WorkerStarted,
} from '@reeve/journal'

type Without<E, K extends string> = E extends unknown ? Omit<E, K> : never

/** Large texts beside the journal, within the run: what one run and its child runs have kept. */
export interface Contents {
  /**
   * Keeps a text; resolves when it is as durable as a commit. The same text has the same reference, and is kept once.
   * `json`: redaction goes by its members. An outage of the store is waited out, until the step is told to stop. Rejects
   * with `store.*`, with `content.unsupported` where the store keeps no contents, and with `input.invalid` for what is no
   * text.
   */
  keep(text: string, type: ContentType): Promise<ContentRef>
  /** What is known of a name in this run. Undefined: it has no such content. Rejects with `store.*`. */
  find(name: string): Promise<ContentRef | undefined>
  /**
   * Characters from `from` (included) to `to` (excluded) of a content, counted as JavaScript counts them; '' beyond its
   * end. Rejects with `content.unknown` for a name of another run, too, and with `store.*`.
   */
  slice(name: string, from: number, to: number): Promise<string>
  /**
   * The whole in order, at most 262,144 characters at a time; no piece ends between the two halves of a character.
   * Throws as `slice`.
   */
  pieces(name: string): AsyncIterable<string>
}

/** Contents of a run to read, as people and services do. */
export type ContentReader = Pick<Contents, 'find' | 'slice' | 'pieces'>

/** What an effect gets. */
export interface StepIO {
  /** Idempotency key: the same for every attempt of this step, in every process (K6). Hand it to whatever you call. */
  readonly key: string
  /**
   * Fencing token: grows when another process takes the run over. A tool that keeps the largest one it saw can refuse a
   * frozen process.
   */
  readonly epoch: number
  /** 1 for the first try. */
  readonly attempt: number
  /**
   * When this try began, in milliseconds since 1970, by the engine's clock. Orchestration has `ctx.now()`, which is
   * recorded; this is not.
   */
  readonly now: number
  /**
   * The W3C header `traceparent` for whatever it calls: the span of this step, in the trace of the caller or of the run.
   * The same for every attempt.
   */
  readonly traceparent: string
  /** Aborted when the step is stopped, times out, or the process closes. */
  readonly signal: AbortSignal
  /**
   * Shows a piece of work in progress to those who watch. Never journaled, never needed (K9). A piece of a text,
   * `{ type: 'text.delta', id, text }`, is shown as text; a value of a form of your own is read as
   * `{ type: 'custom', value }`.
   */
  readonly emit: (part: Json) => void
  /** Large texts beside the journal: of this run and its child runs. */
  readonly contents: Contents
}

/**
 * When and how often a step is tried that throws. The defaults are spec team R-10: 3 attempts, 1 s doubling up to 30 s,
 * with jitter.
 */
export interface RetryPolicy {
  readonly attempts?: number
  readonly backoffMs?: number
  readonly maxBackoffMs?: number
  readonly jitter?: boolean
  /**
   * Milliseconds. A provider that asks for a longer wait, or limits the rate of calls for longer in all, is not waited
   * for: the step fails. Default: no limit.
   */
  readonly maxWaitMs?: number
}

/** How a step is to be recorded and run. */
export interface StepOptions<T = Json> {
  /**
   * `once` is tried once, and is repeated only if an operator says so. Default `idempotent`: repeated after a crash with
   * the same `io.key`; if it throws, it is tried again only if `effect` or `retry` is given.
   */
  readonly effect?: EffectClass
  /** Former names of this step. `[]` says: new, replaces nothing (K4). */
  readonly aliases?: readonly string[]
  /** The event that opens it in the journal. Default `step.begun`. */
  readonly as?: Without<
    StepBegun | ModelRequested | ToolCalled,
    'op' | 'address' | 'effect' | 'reserve' | 'refused' | 'inputHash' | 'contentKey'
  >
  /**
   * All that it depends on, as canonical text: its content key is made of it. Asked for once, when the step is
   * recorded. Default: it has no key.
   */
  readonly content?: (sha256: Sha256) => string | undefined
  /**
   * Of a call of a tool: its arguments, by which a later attempt at the same work knows it. Only their SHA-256 is
   * recorded, and not where redaction is on.
   */
  readonly equalBy?: Json
  /** Default: one attempt, and with an `effect` other than `once` 3. */
  readonly retry?: RetryPolicy
  /**
   * Milliseconds for one attempt. Default: no limit, but for calls of models and tools, and for functions: theirs stand
   * in the `deadlines` of the engine.
   */
  readonly timeoutMs?: number
  /** A person has approved it in this run, with these arguments: a trial does not ask again. Default false. */
  readonly isApproved?: boolean
  /**
   * It only records what an answer in the journal says was done, under the name of what was done: it does nothing itself,
   * so it may run again, and is never in doubt. Default false.
   */
  readonly isAnswered?: true
  /** It asks a function that a user gave as an option. Default false: it is the code's own work. */
  readonly isFunction?: true
  /** Of a model call: an attempt whose end nobody has seen has cost nothing. Default false: it counts as unknown. */
  readonly isFree?: boolean
  /**
   * What to set aside on the accounts above; if it does not fit, the step ends at once with `budget.exceeded`
   * (`details.later`: it may fit later) and is never run.
   */
  readonly reserve?: Charge
  /**
   * What of its result is structure, and what payload that redaction may change. Default: all of it is payload; of a
   * model call, what its answer has.
   */
  readonly holds?: Shape
  /**
   * Says what a result used: one model call, or each of several. Not called for a failed step. An absent charge settles
   * at the reserve.
   */
  readonly settle?: (result: T) => { readonly charge?: Charge; readonly usage?: StepUsage | readonly StepUsage[] }
}

/** A model call within a step: by which agent, of which model, what it used. `undefined`: it did not say. */
export interface StepUsage {
  readonly agent: string
  readonly model: string
  readonly used: CallUsage | undefined
}

/**
 * Hard limits of an activation and everything below it. `minutes` counts working time. `depth` is checked where a
 * worker is started.
 */
export interface AccountLimits {
  readonly turns?: number
  /** One of the turns is kept for a last call of the activation itself (`Charge.last`). */
  readonly keepsLast?: true
  /** The turns are the default of the run, not set by the user. */
  readonly byDefault?: true
  /** Of a worker that is placed apart: these are shares of what its leader had left, not set by the user. */
  readonly shares?: readonly ('turns' | 'tokens' | 'usd')[]
  readonly tokens?: number
  readonly usd?: number
  readonly minutes?: number
}

/** Earlier work that a worker may repeat. */
export interface FollowedWork {
  readonly activation: ActivationId
  /**
   * Its brief: the same; another text, which may ask for the same; or other data. With other data, code at the same
   * address does something else.
   */
  readonly brief: 'equal' | 'reworded' | 'other'
}

/** How a worker is started. */
export interface StartWorkerOptions {
  /** The operation's name in its scope. Default: the agent's name. */
  readonly name?: string
  /** The model's id of the call that asked for it. */
  readonly callId?: string
  /**
   * The brief, where a model asked for it: equal work is known by that in another attempt. Only its SHA-256 is
   * recorded, and not where redaction is on. Default: by its address.
   */
  readonly equalBy?: Json
  /**
   * It is another attempt at the work of this worker, which has ended or is slow: it begins with what that one, and the
   * workers below it, have done by then. Default: it is new work.
   */
  readonly after?: ActivationId
  /**
   * Work of the same agent that ended without an answer, and that this may repeat. Like another attempt, it begins with
   * what was done there. Default: none.
   */
  readonly follows?: readonly FollowedWork[]
  /** Of another attempt: an approver has sent the work back, and decided which effects are made once more. */
  readonly sentBack?: SentBack
  /** Its purpose, if it measures or summarizes the work of its leader. */
  readonly purpose?: WorkerStarted['purpose']
  /** `leader`: the leader records what it tells its model of the end (`result.told`). Default: the end is the result. */
  readonly toldBy?: WorkerStarted['toldBy']
  readonly limits?: AccountLimits
  /**
   * Agents' names from the root to it, its own last. Default: this one's and its own. Another one only where control
   * was handed on instead of down.
   */
  readonly path?: readonly string[]
  /** Exactly this registered version. Default: the one that belongs to its leader, else the newest. */
  readonly version?: string
  /**
   * `apart`: as a run of its own, which any process may take up, so that one large run can use several machines. What
   * it may use is set aside at once: for every limit above it its own limit, or a share of what is free there if it has
   * none, or one that would leave nothing; if that does not fit, it fails with `budget.exceeded`. The share is a tenth;
   * of turns at least 20 as far as half of what is free goes, or `turns` if that is more. Default: in the process that drives its
   * leader.
   */
  readonly place?: 'apart'
  /** Of a worker that is placed apart: the turns that it may take itself. Its workers' turns are not among them. */
  readonly turns?: number
}

/** An approver has sent work back. `repeat`: the ids of the effects that are to be made once more. */
export interface SentBack {
  readonly repeat: readonly string[]
}

/** A call of a tool that is about to be made. */
export interface ForeseenCall {
  readonly tool: string
  readonly effect: EffectClass
  /** Its arguments, as in `StepOptions.equalBy`. */
  readonly equalBy: Json
  /**
   * The name of the question whose answer is the effect. Where the origin had its answer before the fork, nothing is
   * known: the answer stands here, too.
   */
  readonly asked?: string
}

/** An effect that the origin has made, or may have. */
export interface OriginDeed extends Omit<DoneElsewhere, 'activation'> {
  readonly name: string
  /** Of the activation in which it is looked for: the address of the effect, or of the worker that would make it. */
  readonly place: string
}

/** What is known of a call before it is made. `release`: it is not made, and an equal one after it is this one. */
export type KnownEffect =
  /** It has completed: it is not made again, and ends as it ended then. */
  | { readonly state: 'made'; readonly release: () => void }
  /** It was made, or may have been. `isExact`: with exactly these arguments. */
  | {
      readonly state: 'done'
      readonly done: DoneElsewhere
      readonly isExact: boolean
      readonly release: () => void
    }

/** How a question is put. */
export interface AskOptions {
  /** Absolute deadline. */
  readonly until?: Date
  /** The event that opens it. Default `timer.set`, which only the clock answers. */
  readonly as?: Without<TimerSet | InterruptRaised | ApprovalRequested, 'op' | 'address' | 'until' | 'contentKey'>
}

/** What `next` delivers. */
export type Arrival =
  | { readonly type: 'step.settled'; readonly id: OpId; readonly outcome: Outcome }
  | { readonly type: 'worker.settled'; readonly id: ActivationId; readonly outcome: Outcome; readonly usage: Usage }
  | { readonly type: 'ask.settled'; readonly id: OpId; readonly outcome: Outcome }
  /** `from`: the activation that sent it; undefined: it came from outside, `by` whom its caller said. */
  | {
      readonly type: 'message'
      readonly id: MessageId
      readonly from: ActivationId | undefined
      readonly by?: string
      readonly body: Json
    }
  | { readonly type: 'message.refused'; readonly id: MessageId; readonly reason: 'unknown' | 'closed' }

/** What to wait for: one id, or anything that a pure predicate accepts. */
export type Matcher = OpId | ActivationId | MessageId | ((arrival: Arrival) => boolean)

/** A fact of the domain, without its address. */
export type DomainEvent = Without<FactEvent, 'op' | 'address'>

/**
 * Values shared by all activations of a run (and of its session). Reads are recorded, writes are compare-and-set and
 * happen once.
 */
export interface SessionValues {
  /** `null` also for a key that was never written: `has` tells them apart. */
  get(key: string): Promise<Json>
  /** Several at once, in the order of the keys, as one recorded read. */
  getAll(keys: readonly string[]): Promise<readonly Json[]>
  /**
   * Every key that was written, in the order of their characters; not those that begin with `$`, which belong to Reeve.
   * A recorded read.
   */
  keys(): Promise<readonly string[]>
  /** Whether this key was written, if only with `null`. Reads as `keys` does. */
  has(key: string): Promise<boolean>
  /** Replaces the value, whichever writer wrote it. Use `update` for a change that depends on the old value. */
  set(key: string, value: Json): Promise<void>
  /**
   * Writes several, one after the other in their order: each for itself, so that others may see some before the rest.
   * Nothing is written if one of them is not JSON.
   */
  setAll(values: { readonly [key: string]: Json }): Promise<void>
  /** `change` is pure and may be called again when another writer was faster. Returns the new value. */
  update(key: string, change: (value: Json) => Json): Promise<Json>
}

/** Where an activation is. */
export interface Place {
  /** The run that was started from outside. */
  readonly run: RunId
  readonly activation: ActivationId
  readonly agent: string
  readonly version: string
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
  readonly caller: Caller
  /** What the addresses of everything in this scope begin with; empty at the top of the activation. */
  readonly scope: string
  /** Its beginning was copied from another run. */
  readonly forked?: true
}

/** A time in which nothing new began. Milliseconds since 1970. */
export interface Pause {
  readonly from: number
  readonly to: number
}

/**
 * One activation's hold on the world. Everything that can be awaited goes through `next`, so what the code saw is
 * recorded and the code can be run again from the journal at any time. After a cancel every verb throws `Cancelled`,
 * except inside compensations.
 */
export interface Context {
  readonly place: Place
  /** What this activation was started with, as recorded. */
  readonly input: Json
  /** State handed over by `restart`; undefined in the first segment. */
  readonly carried: Json | undefined
  /**
   * Whether the journal has an operation of this name at this place that the code has yet to ask for: then it has asked
   * before, and must not pass it over, whatever has changed since.
   */
  wasAsked(name: string): boolean
  /**
   * What is known of a call, before it is made, because it was made before: by an earlier attempt at the same work, or
   * by the run that this one was forked from. `name`: that of the step. Undefined: nothing.
   */
  known(name: string, call: ForeseenCall): KnownEffect | undefined
  /**
   * The `once` effects that earlier attempts at the work of this activation have made, or may have; `worker`: those of
   * its workers by this name.
   */
  knownBefore(worker?: string): readonly EarlierEffect[]
  /**
   * What the run that this one was forked from has made of the work of this activation and of its workers, and was not
   * decided here; `name`: of the worker of this name that begins next. None where the origin had answered a question of
   * this scope.
   */
  deedsOfOrigin(name?: string): readonly OriginDeed[]
  /**
   * The `once` effects that this worker, those below it and the attempts before it have made. A recorded read. Default:
   * those of this activation.
   */
  doneBy(worker?: ActivationId): Promise<readonly DoneEffect[]>
  /**
   * A branch that does the work of this activation once more, because an approver has sent it back: it knows what was
   * done so far, like another attempt.
   */
  again(sentBack: SentBack): Promise<Context>
  /** Starts an effect and returns at once; its end arrives as `step.settled`. */
  begin<T extends Json>(name: string, effect: (io: StepIO) => T | Promise<T>, options?: StepOptions<T>): OpId
  /** Starts a registered agent as a worker and returns at once; its end arrives as `worker.settled`. */
  start(agent: string, input: Json, options?: StartWorkerOptions): ActivationId
  /** Puts a question to the outside, or to the clock; its end arrives as `ask.settled`, once. */
  ask(name: string, options?: AskOptions): OpId
  /**
   * Sends a message to another activation. It leaves with this activation's next commit; a refusal arrives as
   * `message.refused`.
   */
  send(to: ActivationId, body: Json): MessageId
  /**
   * Stops an operation or a worker; its end still arrives. Stopping an operation that has ended does nothing.
   * `timedOutMs`: it had so many milliseconds, which are over: a worker then ends as `timed-out`, not as `cancelled`.
   */
  stop(what: OpId | ActivationId, reason: string, cause?: { readonly timedOutMs?: number }): void
  /** Stops every open operation that began in this scope and below it, except timers. */
  stopAll(reason: string): void
  /**
   * Stops every function of a user that is asked in this scope and has not answered. Values, timers and workers go on.
   */
  stopFunctions(reason: string): void
  /** The one wait. */
  next(match: OpId): Promise<Extract<Arrival, { id: OpId }>>
  next(match: ActivationId): Promise<Extract<Arrival, { type: 'worker.settled' }>>
  next(match?: Matcher): Promise<Arrival>
  /** A branch with names of its own: open one for every concurrent part (K4). */
  scope(name: string): Context
  /** Records a fact, once. */
  emit(event: DomainEvent): void
  /**
   * Registers what undoes earlier work if this activation is cancelled. Last registered runs first. `ended`: how the
   * activation will have ended.
   */
  onCancel(name: string, undo: (ctx: Context, ended: Outcome) => Promise<void>, options?: OnCancelOptions): void
  /**
   * The hook that a start refers to by this name: a function, or an agent that measures. Absent where the runtime has
   * no named hooks.
   */
  hook?(name: string): unknown
  /**
   * What this run of the code keeps in memory for a maker, made when it is first asked for. Nothing of it is recorded:
   * every run of the code, a replay too, makes it anew. `make`: a constant.
   */
  local<T>(make: () => T): T
  readonly values: SessionValues
  /**
   * Values of a stream that outlives runs and sessions: `reg_…`, `mem_…` or `trust_…`. The same promises as for
   * `values`. Throws `input.invalid` for another name.
   */
  stream(name: string): SessionValues
  /**
   * When the run has stood still so far, because it was paused or a human had it; oldest first. A recorded read: while
   * it stands still, this waits.
   */
  pauses(): Promise<readonly Pause[]>
  /**
   * Ends this log segment; the code is called again with `carried` = state, the open workers and questions and the
   * unread inbox.
   */
  restart(state: Json): never
  /**
   * For code that hears very many messages: says how those that it has answered with facts and messages alone are
   * summed up, and returns what is to be called after each of them, in the same turn. Who takes the run up later goes
   * on from the last summary.
   */
  sums(parts: SummedTraffic): (message: MessageId) => void
  /** How often facts and messages of this scope were named so far, for such a summary; `counted`: in another process. */
  ordinals(counted?: Ordinals): Ordinals
  /** The largest recorded time delivered so far. */
  now(): Date
  random(): number
  id(prefix: string): string
}

/** How often each kind of fact or message of a scope was named. */
export type Ordinals = { readonly [name: string]: number }

/** How answered messages are summed up. */
export interface SummedTraffic {
  /** The facts with which such a message may be answered. Another one ends what is summed up. */
  readonly facts: readonly DomainEvent['type'][]
  /** A summary is recorded after at least so many entries of the log. Default 5,000; large ones come more seldom. */
  readonly entries?: number
  /** Everything that answering them has changed; undefined: it cannot be said right now. */
  state(): Json | undefined
  /** Takes over that state, in code that has gone through everything else in the log. Opens nothing. */
  restore(state: Json): void
}

/** When a compensation runs. */
export interface OnCancelOptions {
  /**
   * Also where what was done is to stay (`run.control.cancel` with `undo: false`, `run.control.finish`): it gives
   * something back, and undoes nothing. Default false.
   */
  readonly always?: boolean
}

/** Thrown by every verb of a cancelled activation. Let it pass; cleaning up belongs into `onCancel`. */
export class Cancelled extends Error {
  readonly reason: string
  constructor(reason: string) {
    super(reason)
    this.name = 'Cancelled'
    this.reason = reason
  }
}

/**
 * A piece of orchestration under a name and version: what an engine runs. It resolves to how it ended; a throw becomes
 * a failure.
 */
export interface Orchestration {
  readonly name: string
  readonly version: string
  run(ctx: Context, input: Json): Promise<Outcome>
  /**
   * The message that an activation with this input sends upwards when it begins (true) or ceases to wait for an
   * operator. Absent, or undefined: none. Pure.
   */
  waiting?(input: Json, waits: boolean): { readonly to: ActivationId; readonly body: Json } | undefined
}

/** Where an engine finds orchestration. */
export interface Registry {
  /**
   * The named agent at exactly this version, or the newest if no version is given; undefined if it is not registered.
   */
  find(name: string, version?: string): Orchestration | undefined
  /**
   * The version of a worker that belongs to this leader at this version; undefined if its definition does not have that
   * worker. Absent: no definition has workers.
   */
  workerVersion?(leader: string, version: string, worker: string): string | undefined
  /**
   * Whether a worker of this name may begin in a run of this tenant: if not, it is as one that is not registered.
   * Absent: every agent in every run.
   */
  mayBegin?(name: string, tenant: string | undefined): boolean
  /**
   * Loads what the code of its agents needs and is not loaded yet. An engine awaits it before it drives, and so does
   * whoever adds agents later. Idempotent. Absent: nothing is to be loaded.
   */
  load?(): Now<void>
  /** What becomes of an activation whose version is gone: go on with the newest (default) or park until it is back. */
  readonly onMissingVersion: 'move' | 'park'
}
