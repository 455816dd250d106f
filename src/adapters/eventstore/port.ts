/**
 * The event store: where a distributed engine keeps what people read and what activations in different processes must agree on.
 *
 * Owns: the interface and its plain data. Does not own: who moves when (the engine), what an entry means (journal).
 * One transaction per commit of one activation, serialised by the run's row: K1 (gapless seq, positions given in the appending transaction),
 * K2 (the epoch fences; the first row under a key wins, a deadline competes with the answer), K11 (reserve and settle where they occur).
 */
import type { ActivationId, Json, OutcomeStatus, RunId } from '../../core/index.ts'
import type { Caller, Charge, DoneElsewhere, JournalEvent, Recorded } from '../../journal/index.ts'
import type {
  AccountLimits,
  AccountState,
  ForkOrigin,
  ForkRun,
  LivePart,
  PostResult,
  Question,
  RunEnd,
  RunFilter,
  RunSummary,
} from '../../engine/index.ts'

/** A run to be created, with its root activation. `first` is the encoded `activation.started`. */
export interface NewRun {
  readonly run: RunId
  readonly agent: string
  readonly version: string
  readonly caller: Caller | undefined
  readonly limits: AccountLimits | undefined
  readonly first: string
  readonly at: number
}

/** A pause of a run, kept on its row while it lasts. */
export interface Control {
  /**
   * `human`: as `next`, and a human has the run; `human-now`: as `now`, likewise. `cancelled`: the run was cancelled while it was paused; what is held back
   * stays so until its own activation knows of it.
   */
  readonly at: 'next' | 'now' | 'after-model' | 'after-tools' | 'human' | 'human-now' | 'cancelled'
  /** Nothing of the run is out any more. */
  readonly reached: boolean
}

/** An unread row of an inbox. `body` is JSON text. */
export interface InboxRow {
  readonly key: string
  readonly body: string
}

/** An account above an activation, with its own. `since`: its clock has been running from then on; null: it stands. */
export interface StoredAccount {
  readonly activation: ActivationId
  readonly state: AccountState
  readonly since: number | null
}

/** What an attempt gets that takes an activation over, with what `pull` would say in the same moment. */
export interface Claimed extends Pulled {
  readonly epoch: number
  readonly run: RunId
  readonly agent: string
  readonly version: string
  readonly path: readonly string[]
  readonly caller: Caller
  readonly settled: boolean
  /** It waited for an operator when it was last committed. */
  readonly stuck: boolean
  /** Ids of its open questions, timers among them. */
  readonly asked: readonly string[]
  readonly log: readonly { readonly seq: number; readonly at: number; readonly event: JournalEvent }[]
  /** Workers that have been born and that nobody has begun to move (no invocation), and that have not settled. */
  readonly unborn: readonly Birth[]
  /** Invocations of this run that have unread mail and may not have been told. */
  readonly wakes: readonly string[]
  /** Of a forked run: what its origin has done, by activation and address. */
  readonly doneElsewhere: ReadonlyMap<string, DoneElsewhere> | undefined
}

/** A worker whose workflow is to be begun. */
export interface Birth {
  readonly id: ActivationId
  readonly generation: number
}

/** What has come in since the last look. */
export interface Pulled {
  readonly control: Control | undefined
  readonly rows: readonly InboxRow[]
  /** Its own and those of everybody above it that have limits, the root's first. */
  readonly accounts: readonly StoredAccount[]
  /** No other activation of the run works or moves. */
  readonly othersRest: boolean
  /** The next moment at which a question of its own is due. */
  readonly due: number | undefined
}

export interface NewBirth {
  readonly id: ActivationId
  /** The build of the worker that it was born to. Absent: any. */
  readonly build?: string
  readonly agent: string
  readonly version: string
  readonly path: readonly string[]
  readonly limits: AccountLimits | undefined
  readonly first: string
  readonly at: number
}

/** A row for another activation's inbox. If it is a message that cannot be delivered, the sender finds `refused:<key>` in its own. */
export interface NewPost {
  readonly to: ActivationId
  readonly key: string
  readonly body: string
  readonly refusable: boolean
}

export interface NewQuestion {
  readonly id: string
  readonly address: string
  /** The inbox key that answers compete for. */
  readonly key: string
  readonly kind: 'timer' | 'approval' | 'interrupt' | 'in-doubt' | 'diverged'
  readonly until: number | null
  readonly at: number
  readonly body: string
}

/** A run that has the beginning of another one: everything that it begins with. Texts are encoded. */
export interface NewFork extends Omit<NewRun, 'limits' | 'first'> {
  /** Leaders before their workers. */
  readonly activations: readonly (Omit<NewBirth, 'limits' | 'first'> & { readonly length: number; readonly settled: boolean })[]
  /** In the order of their positions; of every activation from 0 on. */
  readonly entries: readonly { readonly act: ActivationId; readonly seq: number; readonly at: number; readonly text: string }[]
  /** Where in the root's log it says that the run was forked. */
  readonly forked: number
  readonly accounts: readonly Omit<StoredAccount, 'since'>[]
  readonly questions: readonly (NewQuestion & { readonly act: ActivationId })[]
  readonly mail: readonly Omit<NewPost, 'refusable'>[]
  readonly stream: string
  readonly values: readonly { readonly key: string; readonly value: Json; readonly event: string }[]
}

/** What happened to the accounts above, in order. `refused`: it did not fit. */
export type AccountOp =
  | { readonly op: 'reserve' | 'refused'; readonly charge: Charge }
  | { readonly op: 'settle'; readonly reserved: Charge; readonly actual: Charge | undefined }

/** Everything of one commit of one activation. */
export interface Commit {
  readonly activation: ActivationId
  readonly epoch: number
  readonly now: number
  /** Entries of its log; `text` is the encoded event. `seq` goes on where the log ends. */
  readonly entries: readonly { readonly seq: number; readonly at: number; readonly text: string }[]
  readonly births: readonly NewBirth[]
  readonly posts: readonly NewPost[]
  readonly opened: readonly NewQuestion[]
  /** Addresses whose questions need no answer any more. */
  readonly closed: readonly string[]
  /** Keys of inbox rows that are used up. */
  readonly taken: readonly string[]
  readonly accounts: readonly AccountOp[]
  /** Effects of it are out after this commit. */
  readonly working: boolean
  /** Nothing of it moves without the outside, the clock or other activations. */
  readonly resting: boolean
  /** Why it waits for an operator; undefined: unchanged. */
  readonly stuck?: string | null
  /** The run's pause; undefined: unchanged. Of the root only. */
  readonly control?: Control | null
  /** Its last word is among the entries. For the root, the run has ended with this. */
  readonly settled?: OutcomeStatus
}

/**
 * `fenced`: another attempt has taken it over, nothing was written. `moved`: an account has changed so that a reserve (or a refusal) of this commit does
 * not hold any more; nothing was written, begin again from `claim`. `gone`: there is no such activation any more.
 */
export type Committed =
  | { readonly status: 'fenced' }
  | { readonly status: 'moved' }
  | { readonly status: 'gone' }
  | {
      readonly status: 'written'
      readonly control: Control | undefined
      readonly accounts: readonly StoredAccount[]
      /** The generation that its births begin with. */
      readonly generation: number
      /** Invocations to be told: they have mail, or the run's pause has changed, or the root is to see that everybody rests. */
      readonly wakes: readonly string[]
      readonly othersRest: boolean
      readonly due: number | undefined
      /** It has been told of mail that it has not looked at: whoever told it may have died before its word came, so it had better look now. */
      readonly unread: boolean
    }

/** Something from outside. `run`: to a run's root. `activation`: a message. `question`: an answer to the open question at address `key`. */
export interface OutsidePost {
  readonly target: 'run' | 'activation' | 'question'
  readonly to: ActivationId
  readonly key: string
  /** For `question`: of which kinds. */
  readonly kinds?: readonly Question['kind'][]
  readonly body: string
  readonly now: number
}

/** An activation that somebody should be moving. */
export interface Sentinel {
  readonly id: ActivationId
  /** Whose code it needs. */
  readonly agent: string
  readonly version: string
  readonly invocation: string | null
  readonly generation: number
  /** The build that it belongs to. */
  readonly build: string | null
  /** It has mail that it has not looked at. */
  readonly unread: boolean
}

/** Where a run is. */
export interface Tip {
  readonly position: number
  readonly ended: boolean
  /** Of its root. */
  readonly generation: number
  /** An invocation has its root. */
  readonly begun: boolean
}

export interface EventStore {
  /** Opens it and makes its tables where there are none. Throws `store.*`. */
  open(): Promise<void>
  close(): Promise<void>

  // ---- runs
  /** Idempotent: false if the run exists (whatever its agent and input are). */
  create(run: NewRun): Promise<boolean>
  /**
   * Creates a run from another one, in one transaction that nothing of the origin is written in. `plan` may be called again. Idempotent: false if the new run exists
   * (whatever it is). Rejects with `run.unknown` if there is no origin, and with what `plan` throws.
   */
  fork(request: Pick<ForkRun, 'run' | 'at' | 'to'>, plan: (origin: ForkOrigin) => NewFork): Promise<boolean>
  summary(run: RunId): Promise<RunSummary | undefined>
  summaries(filter: RunFilter): Promise<readonly RunSummary[]>
  /** Open questions to the outside; timers are not among them. */
  questions(filter: { readonly run?: RunId; readonly id?: string }): Promise<readonly Question[]>
  read(run: RunId, from: number): Promise<readonly Recorded[]>
  /** Undefined: there is no such run. */
  tip(run: RunId): Promise<Tip | undefined>
  /** The first event of a run's root. */
  first(run: RunId): Promise<JournalEvent | undefined>
  /** How it ended; undefined while it has not, or if it does not exist. */
  end(run: RunId): Promise<RunEnd | undefined>
  /** Removes an ended run and everything of it. False if it has not ended. Rejects with `run.unknown`. */
  remove(run: RunId): Promise<boolean>
  endedBefore(at: number, limit: number): Promise<readonly RunId[]>

  // ---- activations, for whoever moves them
  /**
   * Takes an activation over for an invocation, and looks: the epoch grows, whoever had it is fenced. Undefined: there is none, its generation is another,
   * or another invocation has this one (nobody takes it from that one but by `bury` or `handOver`). Clocks that ran for whoever had it and is gone stand.
   */
  claim(activation: ActivationId, generation: number, invocation: string, now: number, build?: string): Promise<Claimed | undefined>
  /**
   * What has come in; due questions of its own are answered by the clock. `fenced`: it is another attempt's now. `invocation`: under which word it is to be
   * told from now on; absent: as before.
   */
  pull(activation: ActivationId, epoch: number, now: number, invocation?: string): Promise<Pulled | 'fenced'>
  commit(commit: Commit): Promise<Committed>
  /** True while this epoch still holds the activation. */
  holds(activation: ActivationId, epoch: number): Promise<boolean>
  /**
   * Prepares for the next invocation of a long activation: no invocation is known any more. The next generation, or undefined if fenced or settled.
   * Idempotent: asked again by the same epoch, the generation that it has been handed over to.
   */
  handOver(activation: ActivationId, epoch: number): Promise<number | undefined>

  // ---- the outside
  /** The first row under a key wins. `wake`: an invocation to be told. Idempotent in effect: a repeated post is `lost` or `accepted` again and wakes again. */
  post(post: OutsidePost): Promise<{ readonly result: PostResult; readonly wake?: string }>

  // ---- values of sessions
  value(stream: string, key: string): Promise<{ readonly version: number; readonly value: Json }>
  /** The keys that hold a value, in any order. */
  valueKeys(stream: string): Promise<readonly string[]>
  /** Compare and set; by a run once under its key: a repeated call gives what the first one wrote. `moved`: somebody else was faster. Appends `event` to the stream. */
  writeValue(write: {
    readonly stream: string
    readonly key: string
    readonly expected: number
    readonly value: Json
    /** The run that writes it, once under its key; absent: somebody outside of any run, each time anew. */
    readonly by?: { readonly run: RunId; readonly once: string }
    readonly event: string
    readonly at: number
  }): Promise<{ readonly status: 'written'; readonly value: Json } | { readonly status: 'moved' }>

  // ---- care
  /**
   * Unsettled activations that should have moved since `before` and have not (what merely waits is not among them), by id after `after`. Whoever has mail
   * that it has not looked at is among them at any time.
   */
  sentinels(after: string, before: number, limit: number): Promise<readonly Sentinel[]>
  /**
   * Says that an invocation is dead: if it is still the one that is known (null: none), the next generation begins with none. That generation, or undefined.
   * `build`: who is to begin it ('' for workers without one), so that all who look after it begin the same workflow; absent: as before.
   */
  bury(activation: ActivationId, invocation: string | null, build?: string): Promise<number | undefined>
  /** Activations that are stuck, perhaps for want of code that somebody has now. */
  stuck(): Promise<readonly Sentinel[]>

  // ---- news
  /** Hears that something of a run was written (`ends`: only that it has ended), by anybody; 'all' after a gap in hearing. Must not throw. */
  watch(hear: (run: RunId | 'all') => void, only?: 'ends'): () => void
  /** Live parts for readers in other processes. Best effort (K9): never rejects. */
  publish(run: RunId, parts: readonly LivePart[]): void
  /**
   * What this process has published of a run so far is written, and what others have published so far is heard. Never rejects, and takes a second at most;
   * at once if there is nothing.
   */
  settleParts(run: RunId): Promise<void>
  /** Live parts that other processes have published. */
  overhear(run: RunId, hear: (part: LivePart) => void): () => void
}
