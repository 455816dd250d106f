/**
 * The store contract: what the host (host/) needs of the place where runs are kept. SQLite is embedded/, and whatever keeps this contract can stand in for it.
 *
 * Owns: the plain data of one commit, what is kept of a run, and who holds it. Does not own: SQL, what a batch means to a run (host/).
 * Holds, in every store: K1 (the journal is the truth), K2 (a commit names the epochs under which its runs are held; of what is another process's now nothing
 * is written), K5 (one transaction for everything that a tick has learned and intends).
 */
import type { ActivationId, Failure, Json, ReeveError, RunId } from '../core/index.ts'
import type { JournalEvent, Recorded } from '../journal/index.ts'
import type { AccountState } from './account.ts'
import type { PostResult, Question, RunEnd, RunFilter, RunSummary } from './port.ts'

// ---- what is written -----------------------------------------------------------------------------------------------------------------

export interface NewRun {
  readonly id: RunId
  readonly agent: string
  readonly version: string
  readonly caller: string | null
  readonly at: number
  /** Null: whoever drives may take it. */
  readonly owner: string | null
}
export interface LogEntry {
  readonly act: ActivationId
  readonly run: RunId
  readonly seq: number
  readonly at: number
  /** The event as JSON, redacted. How long strings of it are kept is the store's own affair. */
  readonly body: string
}
/** Whom a row is for: an open question, an activation at work, or a run that has not ended. */
export type Target = 'question' | 'activation' | 'run'
export interface NewRow {
  readonly act: ActivationId
  readonly target: Target
  /** For questions: the address asked under; else the row's key. */
  readonly key: string
  readonly kinds: readonly string[] | undefined
  readonly body: string
  /** When it was posted: an answer after the deadline has lost against it; one at the deadline counts. */
  readonly at: number
  /** A message's sender, who hears of it if nobody takes it. */
  readonly refusalTo?: ActivationId
  /** The run that sends it: its word counts only while it is this process's own. */
  readonly from?: RunId
}
export interface NewQuestion {
  readonly id: string
  readonly act: ActivationId
  readonly address: string
  readonly key: string
  readonly kind: string
  readonly until: number | null
  readonly at: number
  readonly body: string
}
export interface ValueWrite {
  readonly stream: string
  readonly key: string
  readonly expected: number
  readonly body: string
  /** Who writes it, if that is a run: its word counts only while it is this process's own, and it writes once under this key. */
  readonly by: { readonly run: RunId; readonly once: string } | undefined
  readonly event: string
  readonly at: number
}
/** `lost`: the run that wrote is somebody else's now. `repeated`: it has written before, and what it wrote stands there in the stream's log. */
export type ValueResult = { readonly status: 'written' | 'moved' | 'lost' } | { readonly status: 'repeated'; readonly seq: number }

/** Which of an operator's words to a run that is set aside have had their effect: left unread, they would wake it again and again. */
export interface WordsHeard {
  /** The last row that the run was given. */
  readonly upTo: number
  readonly cancel: boolean
}

/** Everything of one commit. */
export interface Batch {
  readonly owner: string
  /** Runs written to, with the epoch they are held under. */
  readonly epochs: Map<RunId, number>
  readonly runs: NewRun[]
  readonly acts: ActivationId[]
  readonly log: LogEntry[]
  readonly rows: NewRow[]
  readonly taken: { act: ActivationId; key: string }[]
  readonly questions: NewQuestion[]
  readonly closed: { act: ActivationId; address: string }[]
  readonly closedActs: ActivationId[]
  readonly ended: { run: RunId; status: string; at: number }[]
  readonly accounts: { act: ActivationId; run: RunId; body: string }[]
  readonly parked: RunId[]
  readonly control: { run: RunId; state: string | null }[]
  readonly stuck: { run: RunId; reason: string | null; words?: WordsHeard }[]
  readonly values: ValueWrite[]
}

export interface BatchResult {
  /** Somebody else has written since this connection last looked. */
  readonly moved: boolean
  /** Runs that somebody else has taken over: nothing of them was written. */
  readonly fenced: readonly RunId[]
  /** Runs that existed already. */
  readonly existed: readonly RunId[]
  readonly posts: readonly PostResult[]
  readonly values: readonly ValueResult[]
  /** Of the newest entry that was written; 0 if none was. */
  readonly position: number
}

export const emptyBatch = (owner: string): Batch => ({
  owner,
  epochs: new Map(),
  runs: [],
  acts: [],
  log: [],
  rows: [],
  taken: [],
  questions: [],
  closed: [],
  closedActs: [],
  ended: [],
  accounts: [],
  parked: [],
  control: [],
  stuck: [],
  values: [],
})

/** True if a commit of this batch would change nothing. */
export const isEmpty = (b: Batch): boolean =>
  b.log.length +
    b.rows.length +
    b.values.length +
    b.taken.length +
    b.parked.length +
    b.closed.length +
    b.control.length +
    b.runs.length +
    b.accounts.length +
    b.stuck.length ===
  0

/** What the clock answers. */
export const deadlineBody = (address: string): string => JSON.stringify({ type: 'deadline', address })
/** From whom rows come whose run was dropped before the commit: they are not written. */
export const nobody = '' as RunId

// ---- what is read --------------------------------------------------------------------------------------------------------------------

/** What is kept about a run. */
export interface StoredRun {
  readonly id: string
  readonly agent: string
  readonly version: string
  readonly status: string
  readonly control: string | null
  readonly stuck: string | null
  readonly parked: number
  readonly epoch: number
  readonly owner: string | null
  readonly caller: string | null
  readonly created: number
  readonly ended: number | null
  /** How often it was lost with its process, in a row. */
  readonly losses: number
}

/** Why a run is set aside. The column holds plain words where a run is stuck for want of code or of a decision: then other processes try it again. */
export const asideFor = ({ stuck }: Pick<StoredRun, 'stuck'>): Failure | undefined =>
  stuck?.startsWith('{') === true ? (JSON.parse(stuck) as Failure) : undefined

/** An unread inbox row. */
export interface InboxRow {
  readonly position: number
  readonly act: ActivationId
  readonly key: string
  readonly body: string
}

/** A timer, or a question with a deadline. */
export interface DueQuestion {
  readonly act: ActivationId
  readonly address: string
  readonly kind: string
  readonly until: number
}

/** Questions to a store. None of them writes; each throws what the store says (`Store.errorOf`). */
export interface StoreReader {
  // of a run that this process holds

  /** The log of one activation, in order. */
  activation(id: ActivationId): Iterable<{ seq: number; at: number; event: JournalEvent }>
  firstEvent(id: ActivationId): JournalEvent | undefined
  lastEvent(id: ActivationId): JournalEvent | undefined
  /** The logs of an activation and of those below it, in the order of the feed. */
  below(id: ActivationId): Iterable<{ readonly activation: ActivationId; readonly event: JournalEvent }>
  accounts(run: RunId): ReadonlyMap<ActivationId, AccountState>
  unreadOf(run: RunId): readonly InboxRow[]
  questionExists(id: string): boolean

  // of any run, stream or question

  run(run: RunId): StoredRun | undefined
  summary(run: RunId): RunSummary | undefined
  summaries(filter?: RunFilter): RunSummary[]
  /** How an ended run ended. */
  end(run: RunId): RunEnd | undefined
  /** Everything of a run after a position, in the order of the feed. */
  feed(run: RunId, from: number): Recorded[]
  /** True if the run has anything after this position. */
  hasNews(run: RunId, from: number): boolean
  questions(filter?: { readonly run?: RunId; readonly id?: string }): Question[]
  value(stream: string, key: string): { readonly version: number; readonly value: Json }
  valueKeys(stream: string): readonly string[]
  /** What a value became by an entry of its stream. */
  written(stream: string, seq: number): Json
  /** What was written to a stream, in order. */
  writtenTo(stream: string): Iterable<{ readonly position: number; readonly event: JournalEvent }>

  // what there is to do

  /** Unread rows after a position, of all runs. */
  unread(after: number): readonly InboxRow[]
  lastInboxPosition(): number
  /** The first moment at which `due` finds something. */
  nextDeadline(): number | undefined
  /** Timers whose moment has come, and questions whose deadline has passed: an answer at the deadline still counts (team C81). Of one moment, those of who began first come first (team C18). */
  due(now: number): readonly DueQuestion[]
  /** Which agents and versions the runs have that nobody drives and that have something to do. */
  orphanKinds(): Iterable<{ readonly agent: string; readonly version: string }>
  /** The oldest of these runs that were lost less often than `below`. */
  orphans(kind: { readonly agent: string; readonly version: string }, below: number, limit: number): readonly RunId[]
  /** Runs that nobody drives and that are suspected of killing whoever takes them up, the least suspected first. */
  suspects(from: number, limit: number): readonly RunId[]
  /** Runs that waited for an operator when they were last looked at: perhaps this process has what they lack. */
  stuck(): readonly RunId[]
  /** Runs that have read an operator's cancel and are parked. */
  leftCancelled(): readonly RunId[]
  /** Runs that waited for code that was missing where they were last looked at. */
  withoutCode(): readonly RunId[]
  /** What an operator said to a run that is set aside, and no process has read. A cancel counts more: it needs no code. */
  wordFor(run: RunId): 'cancel' | 'resume' | undefined
  isToBeCancelled(run: RunId): boolean
  /** Where the newest end of a run stands in the feed, and the runs that have ended after a position. */
  lastEnd(): number
  endedAfter(position: number): readonly RunId[]
  /** Runs that ended before a moment, the oldest first. */
  endedBefore(at: number, limit: number): readonly RunId[]
  /** Whether this store was ever driven by another clock than the system's. */
  hasOwnClock(): boolean
}

// ---- who holds what ------------------------------------------------------------------------------------------------------------------

/** What became of the runs of processes that are dead. */
export interface Buried {
  readonly owners: number
  /** Runs that were lost once too often. */
  readonly aside: readonly { readonly run: RunId; readonly error: ReeveError }[]
}

/** This process as one that holds runs (K2): one heartbeat for all of them. */
export interface StoreLease {
  /** Under which a run names its owner. */
  readonly id: string
  /** Whether this process may believe that its runs are its own. False after it stood still for longer than the lease: then it must look first. */
  readonly fresh: boolean
  /** Due for another heartbeat. */
  readonly tired: boolean
  beat(): void
  /** From here on there are runs to lose: the lease is not near its end, and is kept while users' code has the event loop. */
  guard(): void
  /** The event loop moves. */
  moved(): void
  /** Among its runs is one that was lost so often: the lease becomes longer. */
  stretch(losses: number): void
  /** After standing still: takes the lease again, and only then looks which of these runs, under these epochs, are still this process's own. */
  lookAgain(runs: Iterable<[RunId, number]>): ReadonlySet<RunId>
  /** Makes a run this process's own. Returns the new epoch; undefined if another process was faster or the run has ended. */
  claim(run: RunId): number | undefined
  /** A run that was lost before is like any other again. */
  steady(run: RunId): void
  /** Takes runs away from processes that are dead, and sets those aside that were lost too often. */
  buryDead(): Buried
  /** Nothing is said any more: what this process holds is lost to it. */
  fallSilent(): void
}

/** Where runs are kept. Made by a factory of its own (`embedded/`), closed by the engine that was given it. */
export interface Store {
  /** As errors name it. */
  readonly name: string
  /** No other process can open it. */
  readonly isPrivate: boolean
  readonly reader: StoreReader
  readonly lease: StoreLease
  /**
   * Writes everything or nothing, at once or later; later, rows that others post may be read before the answer is (`mayLag`). Throws or rejects with what the
   * store says: where `isRefusal`, the store is well and the content is not; else nothing was written.
   */
  commit(batch: Batch): BatchResult | Promise<BatchResult>
  /** Whether `commit` answers later. */
  readonly mayLag: boolean
  /** True if another process has committed since this was last asked. */
  moved(): boolean
  /** What is thrown here as a `store.*` error that says what to do. */
  errorOf(thrown: unknown): ReeveError
  isRefusal(thrown: unknown): boolean
  /** What is said of content that the store refuses; `run`: whose it is. */
  refusedBy(thrown: unknown, run: string | undefined): ReeveError
  /** Why this is not the store any more that was opened (`store.replaced`), if so. */
  readonly changed: ReeveError | undefined
  /** Throws `store.redacted` where another process takes out what this one would record. */
  mustHaveRules(): void
  /** From now on there is another clock than the system's: deadlines go by the clocks of the processes. */
  useOwnClock(): void
  /** Removes an ended run with everything of it. Positions of the feed are never given out again. */
  remove(run: RunId): void
  /** Gives some of the free space back if much lies free. True: there is more. */
  shrink(): boolean
  /** Stops what works beside the event loop; nothing is written after it. */
  stop(): Promise<void>
  /** Lets everything go that this process holds. Throws what the store says; nothing is lost by it. */
  release(): void
  close(): void
}
