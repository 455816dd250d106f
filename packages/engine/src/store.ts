/**
 * The store contract: the log, which the host (host/) needs to move runs, and beside it the queries of operators
 * (`StoreQueries`). Whatever keeps this contract can stand under the host.
 *
 * Owns: the plain data of one commit, what is kept of a run, and who holds it. Does not own: SQL, what a batch means to
 * a run (host/). Answers may come later (`Now`), but for what a tick asks: what was read with the claim (`Past`), and
 * who holds what (`fresh`, `time`). Holds, in every store: K1 (the journal is the truth), K2 (a commit names the epochs
 * under which its runs are held; of what is another process's now nothing is written), K5 (one transaction for
 * everything that a tick has learned and intends).
 */
import {
  caught,
  messageOf,
  ReeveError,
  runOf,
  type ActivationId,
  type Failure,
  type Json,
  type Now,
  type RunId,
} from '@reeve/core'
import type { Caller, JournalEvent, Recorded } from '@reeve/journal'
import type { AccountState } from './replay/account.ts'
import type {
  Backlog,
  RunCounter,
  FeedPage,
  FiguresRow,
  IndexedRun,
  LivePart,
  PostResult,
  Question,
  QuestionFilter,
  RunEnd,
  RunFilter,
  RunSummary,
  RunUsage,
  StoredProcess,
  UnmovedRun,
} from './port.ts'

/** What a process is told by that can do nothing more with its store: the engine stops. */
export const isLost = ({ code }: ReeveError): boolean => code === 'store.replaced' || code === 'store.unsynced'

/**
 * Whether it was thrown by a mistake in code, Reeve's or its caller's, and not by a store: nothing is wrong with the
 * store then, and to wait for it would be to wait for ever.
 */
export const isMistake = (thrown: unknown): boolean =>
  (thrown instanceof TypeError || thrown instanceof ReferenceError) && !('errcode' in thrown)

/**
 * Asks the store whether everything is on disk. Whatever the store throws, it is not known then (decision 0015): throws
 * or rejects with an error that `isLost`.
 */
export const synced = (store: Pick<StoreLog, 'synced' | 'errorOf' | 'name'>): Now<void> =>
  caught(
    () => store.synced(),
    (thrown) => {
      const error = store.errorOf(thrown)
      throw isLost(error)
        ? error
        : new ReeveError('store.unsynced', `${store.name} cannot say what is on disk: ${messageOf(thrown)}`, {
            hint: 'This process has stopped: of what it did last, nothing was told or let out. Mend the cause, then start the process again. A store of your own: its `synced` must retry what may pass.',
            cause: thrown,
          })
    },
  )

export interface NewRun {
  readonly id: RunId
  readonly agent: string
  readonly version: string
  readonly caller: string | null
  readonly at: number
  /** Null: any process that drives may take it. */
  readonly owner: string | null
  /** Of a child run, the run of its leader: it is written only if that one is this process's own. */
  readonly from?: RunId
  /**
   * Under which it begins; every claim raises it. More than 1 (the default) for a run that comes from another store:
   * what effects were given there stays smaller.
   */
  readonly epoch?: number
}
export interface LogEntry {
  readonly act: ActivationId
  readonly run: RunId
  readonly seq: number
  readonly at: number
  /** The event as JSON, redacted. How long strings of it are kept is the store's own affair. */
  readonly body: string
}
/** The receiver of a row: an open question, an activation at work, or a run that has not ended. */
export type RowTarget = 'question' | 'activation' | 'run'
/** A post to an inbox. */
export interface NewRow {
  readonly act: ActivationId
  readonly target: RowTarget
  /** For questions: the address asked under; else the row's key. */
  readonly key: string
  readonly kinds: readonly string[] | undefined
  readonly body: string
  /** When it was posted: an answer after the deadline has lost against it; one at the deadline counts. */
  readonly at: number
  /** A message's sender, which receives the refusal if the receiver is gone. */
  readonly refusalTo?: ActivationId
  /** The run that sends it: its word counts only while it is this process's own. */
  readonly from?: RunId
}
/** A question or a timer that opens. */
export interface NewQuestion {
  readonly id: string
  readonly act: ActivationId
  readonly address: string
  readonly key: string
  readonly kind: string
  readonly until: number | null
  readonly at: number
  readonly body: string
  /** That of the run's caller. */
  readonly tenant?: string
}
/** A value that is written to a stream if its version is still the expected one. */
export interface ValueWrite {
  readonly stream: string
  readonly key: string
  readonly expected: number
  readonly body: string
  /**
   * Who writes it, if that is a run: its word counts only while it is this process's own, and it writes once under this
   * key.
   */
  readonly by: { readonly run: RunId; readonly once: string } | undefined
  readonly event: string
  readonly at: number
}
/**
 * `lost`: another process holds the run that wrote. `repeated`: it has written before, and what it wrote stands there
 * in the stream's log.
 */
export type ValueResult =
  { readonly status: 'written' | 'moved' | 'lost' } | { readonly status: 'repeated'; readonly seq: number }

/**
 * Which of an operator's commands to a run that is set aside have had their effect: left unread, they would wake it again
 * and again.
 */
export interface CommandsHeard {
  /** The last row that the run was given; 0: none. */
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
  /**
   * Parts of logs that a later entry stands for: those from `from` up to `upTo`, where that entry is. Who takes the run
   * up need not read them (`Past.activation`). A part replaces those inside it.
   */
  readonly summed: { act: ActivationId; from: number; upTo: number }[]
  readonly rows: NewRow[]
  readonly taken: { act: ActivationId; key: string }[]
  readonly questions: NewQuestion[]
  readonly closed: { act: ActivationId; address: string }[]
  readonly closedActs: ActivationId[]
  /** `why`: of a run that did not complete, what its row says of that: an `EndReason` (run-row.ts) as JSON, redacted. */
  readonly ended: { run: RunId; status: string; at: number; usage?: RunUsage; why?: string }[]
  readonly accounts: { act: ActivationId; run: RunId; state: AccountState }[]
  /**
   * Runs that leave memory; `heard`: the last row that each was given. One that has an unread row after it stays
   * (`BatchResult.awake`). `usage`: so far; absent where it is not known anew.
   */
  readonly parked: { run: RunId; heard: number; usage?: RunUsage }[]
  readonly control: { run: RunId; state: string | null }[]
  readonly stuck: { run: RunId; reason: string | null; commands?: CommandsHeard }[]
  readonly values: ValueWrite[]
  /** What a run that begins shares with another run: pieces of contents (`StoreContents`), by their keys. */
  readonly shares: { from: RunId; to: RunId; keys: readonly string[] }[]
}

/** What became of a commit. */
export interface BatchResult {
  /** Another process has written since this was last asked, here or by `Store.moved`. */
  readonly moved: boolean
  /** Runs that another process has taken over: nothing of them was written. */
  readonly fenced: readonly RunId[]
  /** Runs that existed already. */
  readonly existed: readonly RunId[]
  /** Runs that were to park and have not: there is mail that they were not given. */
  readonly awake: readonly RunId[]
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
  summed: [],
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
  shares: [],
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

/** The inbox row of a deadline. */
export const deadlineBody = (address: string): string => JSON.stringify({ type: 'deadline', address })
/** The sender of rows whose run was dropped before the commit: they are not written. */
export const noRun = '' as RunId

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

/**
 * Why a run is set aside. The column holds plain words where a run is stuck for want of code or of a decision: then
 * other processes try it again.
 */
export const asideFor = ({ stuck }: Pick<StoredRun, 'stuck'>): Failure | undefined =>
  stuck?.startsWith('{') === true ? (JSON.parse(stuck) as Failure) : undefined

/** A row of the table of open questions, as an SQL store reads it. */
export interface QuestionRow {
  readonly id: string
  readonly act: ActivationId
  readonly address: string
  readonly kind: string
  readonly until: number | null
  readonly at: number
  readonly body: string
  /** An answer is in the inbox. SQLite writes booleans as 0 and 1. */
  readonly answered: boolean | 0 | 1
}

/** The question that a row holds. */
export const questionOf = (row: QuestionRow): Question => ({
  id: row.id,
  kind: row.kind as Question['kind'],
  run: runOf(row.act),
  activation: row.act,
  address: row.address,
  askedAt: row.at,
  ...(row.until === null ? {} : { until: row.until }),
  ...(row.answered ? { answered: true as const } : {}),
  body: JSON.parse(row.body) as Json,
})

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

/**
 * What a held run's replay reads: everything of it as it was when it was claimed. It answers at once, because it is
 * asked inside a tick. What this process has written since need not be in it. Each throws what the store says
 * (`Store.errorOf`), for example where a journal cannot be read.
 */
export interface Past {
  /**
   * The log of one activation, in order, without what later entries stand for (`Batch.summed`); of one that has settled
   * it may be its last word alone.
   */
  activation(id: ActivationId): Iterable<{ readonly seq: number; readonly at: number; readonly event: JournalEvent }>
  /** Its last word, if it exists. */
  lastEvent(id: ActivationId): JournalEvent | undefined
  /** Whether this question is among those that were asked and not closed. */
  asked(question: string): boolean
}

/** An agent, and which version of it. */
export interface AgentVersion {
  readonly agent: string
  readonly version: string
}

/** A run that may be claimed, as it lies in the store. */
export interface ClaimCandidate extends StoredRun {
  /**
   * If it is stuck or set aside: what an operator has said to it that no process has read. A cancel counts more: it
   * needs no code.
   */
  readonly command: 'cancel' | 'resume' | undefined
}

/**
 * Which runs are to be claimed: these; or, of those that no process drives and that have something to do, at most
 * `limit` of the kinds that this process drives. Of those lost less often than `lossesBelow` the oldest of a kind
 * first; with `lossesFrom` those that were lost so often or more, the least often first.
 */
export type ClaimFilter =
  | readonly RunId[]
  | { readonly drives: (kind: AgentVersion) => boolean; readonly lossesBelow: number; readonly limit: number }
  | { readonly drives: (kind: AgentVersion) => boolean; readonly lossesFrom: number; readonly limit: number }

/** A run that this process holds from now on, with all that going on needs: nothing more is read while it is driven. */
export interface Claimed {
  /** As it was before. */
  readonly run: ClaimCandidate
  readonly epoch: number
  /** Of every activation that has one. */
  readonly accounts: ReadonlyMap<ActivationId, AccountState>
  /** How many questions to people are open. */
  readonly questions: number
  /** Its child runs that have not ended, at any depth. */
  readonly children: readonly RunId[]
  readonly past: Past
  /** Unread, in order. Those that come later are told by `unread`. */
  readonly mail: readonly InboxRow[]
}

/** Mail that has come in. */
export interface Unread {
  /** For runs that are held, in their order. */
  readonly rows: readonly InboxRow[]
  /**
   * Runs that this process does not hold and that may have something to do: they have new mail, or were begun for any
   * process that drives. A hint: it may be lost, and come twice.
   */
  readonly others: readonly RunId[]
}

/** An entry of a log. */
export interface StoredEntry {
  readonly activation: ActivationId
  readonly seq: number
  readonly at: number
  readonly event: JournalEvent
}

/** What a fork begins with, as it was at one moment. */
export interface StoredOrigin {
  readonly run: StoredRun
  /** All of it. */
  readonly feed: readonly Recorded[]
  /** Unread rows, in order. */
  readonly mail: readonly InboxRow[]
  readonly accounts: ReadonlyMap<ActivationId, AccountState>
  /** The values of its stream (`stream`), by key, as they were for it at this position of its feed. */
  readonly values: ReadonlyMap<string, Json>
}

/**
 * What the engine reads outside of a tick. Nothing here writes; each throws or rejects with what the store says
 * (`StoreLog.errorOf`).
 */
export interface StoreReader {
  run(run: RunId): Now<StoredRun | undefined>
  /** How a run began, how an ended run ended. */
  birth(run: RunId): Now<JournalEvent | undefined>
  end(run: RunId): Now<RunEnd | undefined>
  /**
   * Those of these runs that have ended since this was last asked. Cheap to ask again and again, also for many; who
   * asks for a run for the first time has looked at `run` before.
   */
  ends(runs: Pick<ReadonlyMap<RunId, unknown>, 'has' | 'size' | 'keys'>): Now<ReadonlyMap<RunId, RunEnd>>
  /**
   * A run after a position, in the order of the feed: everything, or so many entries at most. With `length` it ends after
   * the entry that makes the text so many characters long, so nothing longer is decoded at once; it may be shorter, but is
   * only empty where the feed ends.
   */
  feed(run: RunId, from: number, limit?: number, length?: number): Now<readonly Recorded[]>
  /**
   * A page of the feed of all runs (`Engine.feed`): what streams of values hold is not in it. Of one run its events
   * are in the order of its own feed. An event that becomes visible later has an id above `upTo`.
   */
  page(from: number | 'now', limit: number): Now<FeedPage>
  /** True if the run has anything after this position, has ended, or is not there. */
  hasNews(run: RunId, from: number): Now<boolean>
  /** The logs of an activation and of those below it, in the order of the feed. */
  below(id: ActivationId): Now<readonly StoredEntry[]>
  /** The log of one activation, in order. */
  log(id: ActivationId): Now<Iterable<StoredEntry>>
  /**
   * What a fork of this run begins with. `read`: the beginning of its feed, as far as the caller has read it: only what
   * follows is read here, so that a long run is not decoded at once.
   */
  origin(
    run: RunId,
    at: number,
    stream: (caller: Caller) => string,
    read?: readonly Recorded[],
  ): Now<StoredOrigin | undefined>

  value(stream: string, key: string): Now<{ readonly version: number; readonly value: Json }>
  valueKeys(stream: string): Now<readonly string[]>
  /** What a value became by an entry of its stream. */
  written(stream: string, seq: number): Now<Json>

  // what is to be done

  /** The first moment at which `due` finds something. */
  nextDeadline(): Now<number | undefined>
  /**
   * Timers whose moment has come, and questions whose deadline has passed: an answer at the deadline still counts (team
   * C81). Of one moment, those of who began first come first (team C18).
   */
  due(now: number): Now<readonly DueQuestion[]>
  /**
   * Runs that a process that begins to drive looks at: those that are stuck, and those that have read an operator's
   * cancel and are parked.
   */
  left(): Now<readonly RunId[]>
  /** Runs that waited for code that was missing where they were last looked at. */
  withoutCode(): Now<readonly RunId[]>
  /** Runs with an unread row that no process holds: news of it may have been lost. */
  withMail(): Now<readonly RunId[]>
  /**
   * Runs of the kinds that this process drives, that no process holds and that have not parked: so many at most, the
   * oldest of a kind first. It locks nothing: `claim` does.
   */
  ready(drives: (kind: AgentVersion) => boolean, limit: number): Now<readonly RunId[]>
  /** Runs that ended before a moment, the oldest first. */
  endedBefore(at: number, limit: number): Now<readonly RunId[]>
  /**
   * Open runs that are in memory somewhere, or wait for a process, and of which nothing was recorded since this moment of
   * the store's time; `most` are looked at. Absent: such runs are not looked for.
   */
  unmoved?(before: number, most: number): Now<readonly UnmovedRun[]>
}

/** What became of the runs of processes that are dead. */
export interface ReleasedOwners {
  readonly owners: number
  /** Runs that were lost once too often. */
  readonly aside: readonly { readonly run: RunId; readonly error: ReeveError }[]
}

/** This process as one that holds runs (K2): one heartbeat for all of them. */
export interface StoreLease {
  /** Under which a run names its owner. */
  readonly id: string
  /**
   * Whether this process may believe that its runs are its own. False after it stood still for longer than the lease:
   * then it must look first.
   */
  readonly fresh: boolean
  /** Due for another heartbeat. */
  readonly heartbeatDue: boolean
  beat(): Now<void>
  /**
   * From here on there are runs to lose: the lease is not near its end, and is kept while users' code has the event
   * loop.
   */
  guard(): Now<void>
  /** The event loop moves; what is due there is done so late, in milliseconds. Absent: as late as before. */
  moved(delayMs?: number): void
  /** Among its runs is one that was lost so often: the lease becomes longer. */
  stretch(losses: number): void
  /**
   * After standing still: takes the lease again, and only then looks which of these runs, under these epochs, are still
   * this process's own.
   */
  reclaim(runs: Iterable<[RunId, number]>): Now<ReadonlySet<RunId>>
  /** Runs that were lost before are like any other again. */
  resetLosses(runs: readonly RunId[]): Now<void>
  /**
   * How long after the last look at the other processes the next one is due, in milliseconds. Absent: as often as
   * anything is looked at.
   */
  readonly watchEveryMs?: number
  /** Takes runs away from processes that are dead, and sets those aside that were lost too often. */
  releaseDead(): Now<ReleasedOwners>
  /** Keeps what this process says of itself (`StoredProcess.report`), as JSON. Absent: nobody else reads it. */
  report?(text: string): Now<void>
  /** Nothing is said any more: what this process holds is lost to it. */
  abandon(): void
}

/** Live parts of one run, as the process that drives it has published them at once. */
export interface PublishedParts {
  /** The process. */
  readonly from: string
  /** Its number: grows with everything that this process publishes. */
  readonly n: number
  readonly parts: readonly LivePart[]
}

/**
 * Passes live parts on between processes (K9): best effort. They may be lost, come late or twice, and no caller waits
 * for them.
 */
export interface StoreParts {
  /**
   * For processes that listen to this run. Costs nothing where none does, and little where they are slow. Never throws.
   */
  publish(run: RunId, part: LivePart): void
  /**
   * Hears what other processes publish of this run, from about now on; returns how to stop. `hear` must return quickly
   * and never throw.
   */
  overhear(run: RunId, hear: (published: PublishedParts) => void): () => void
}

/** What the engine needs to move runs. One that connects does so by itself, before its first answer. */
export interface StoreLog {
  /** As errors name it: never with a password. */
  readonly name: string
  /** What it is, as operators are told: `sqlite`, `postgres`, `memory`, or a word of its own. */
  readonly kind: string
  /** Identifies the store, whichever process opens it and under whatever name. Throws or rejects with `store.*`. */
  id(): Now<string>
  /** No other process can open it. */
  readonly isPrivate: boolean
  /** A commit costs next to nothing: many small ones are better than few, since what waits for them begins sooner. */
  readonly commitsFree: boolean
  readonly reader: StoreReader
  readonly lease: StoreLease
  /** Absent: live parts are heard in the process that drives their run, and nowhere else. */
  readonly parts?: StoreParts
  /** Absent: large results stand in the journal as a whole (`content.unsupported`). */
  readonly contents?: StoreContents
  /**
   * Writes everything or nothing. Throws or rejects with what the store says: where `isRefusal`, the store is well and
   * the content is not; else nothing was written, and nothing of it will be: a commit whose answer was lost is waited
   * out.
   */
  commit(batch: Batch): Now<BatchResult>
  /**
   * Everything that was committed before this call, by any process, survives a power failure (K5): at once where a
   * commit always does, else as soon as it is so. Throws or rejects with `store.unsynced` where that cannot be known
   * any more: then this process has nothing more to tell of this store, and its next commit fails, too. Anything else
   * that it throws counts as that: what may pass is retried inside.
   */
  synced(): Now<void>
  /**
   * Makes runs this process's own (K2), and reads what is needed to go on with them: all of them or, if it throws,
   * none. `admits` is asked for each, once, before it is claimed. Left out are runs that have ended, that another
   * process holds or is faster with, and that are not there. One that this process holds already gets a new epoch.
   */
  claim(wanted: ClaimFilter, admits: (candidate: ClaimCandidate) => boolean): Now<readonly Claimed[]>
  /**
   * What has come in, since this was last asked or since a run was claimed, for these runs after the last row that each
   * was given, and for others. What this process has posted itself is there as soon as its commit is. One question at a
   * time.
   */
  unread(held: ReadonlyMap<RunId, { readonly lastRow: number }>): Now<Unread>
  /**
   * What other processes have written to since this was last asked: which runs, or all if that is unknown. Undefined:
   * nothing. A store whose news may be lost says `all` by itself every second or so.
   */
  moved(): ReadonlySet<RunId> | 'all' | undefined
  /**
   * Calls `heard` when there is something to ask `moved` for, from now on. A store that cannot tell does nothing: it is
   * asked every few milliseconds.
   */
  listen(heard: () => void): void
  /** An error of the database as a `store.*` error with a hint. */
  errorOf(thrown: unknown): ReeveError
  isRefusal(thrown: unknown): boolean
  /** The error for content that the store refuses; `run`: the run that wrote it. */
  refusedBy(thrown: unknown, run: string | undefined): ReeveError
  /**
   * Why this process can do nothing more with the store, if so: it is not the one any more that was opened
   * (`store.replaced`), or it is not known what of it is on disk (`store.unsynced`).
   */
  changed(): Now<ReeveError | undefined>
  /** Throws `store.redacted` where another process takes out what this one would record, as far as is known here. */
  mustHaveRules(): void
  /**
   * The time for deadlines. A process whose clock is behind brings none of them back; where another clock than the
   * system's has ever driven the store, the clocks of its processes count.
   */
  time(): number
  /** From now on there is another clock than the system's. */
  useOwnClock(): Now<void>
  /** Removes an ended run with everything of it. Positions of its feed are never given out again. */
  remove(run: RunId): Now<void>
  /**
   * Keeps runs that ended long before this moment in less space, if the store does so: some of them. True: there is
   * more. What is read, and what becomes of what is posted, is the same before and after.
   */
  archive(now: number): Now<boolean>
  /** Gives some of the free space back if much lies free. True: there is more. */
  shrink(): Now<boolean>
  /**
   * The process is about to end: the store waits a few seconds more for the answer of a commit, then the commit fails
   * with an error that says so. The next process that opens the store sees what was written. A server that does not
   * answer for five seconds is given up, and later calls fail at once. `mustWait`: an effect is under way whose end has
   * yet to be recorded, so the server is not given up.
   */
  leave(mustWait?: () => boolean): void
  /** Stops what works beside the event loop; nothing is written after it. */
  stop(): Promise<void>
  /**
   * Releases every run that this process holds, but for these: another process may take them up at once. Throws
   * `store.*`; nothing is lost by it.
   */
  letGo(except: readonly RunId[]): Now<void>
  /** Releases everything that this process holds. Throws `store.*`; nothing is lost by it. */
  release(): Now<void>
  close(): Now<void>
}

/**
 * What operators ask: which runs there are and how each is, which questions wait for people, what waits for a process.
 * Nothing here writes; each throws or rejects with what the store says (`StoreLog.errorOf`). A store without indexes of
 * its own has them from `queriesOver`.
 */
export interface StoreQueries {
  summary(run: RunId): Now<RunSummary | undefined>
  /** Newest first. */
  summaries(filter?: RunFilter): Now<readonly RunSummary[]>
  /** How many runs `summaries` would list without a limit, counted up to `most`. */
  count(filter: RunFilter, most: number): Now<number>
  /** Oldest first. */
  questions(filter?: QuestionFilter): Now<readonly Question[]>
  /** The processes that have a lease, at this moment of the store's time; of each at most `most` runs are counted. */
  processes(now: number, most: number): Now<readonly StoredProcess[]>
  /** What waits for a process, each counted up to `most`. */
  backlog(most: number): Now<Backlog>
  /** How many bytes it takes where it is kept. Undefined: not known. */
  size(): Now<number | undefined>
}

/** A run to be kept in an index, with what it adds to counters: once, when it is kept as final. */
export interface NewIndexedRun {
  readonly indexed: IndexedRun
  readonly counters: readonly RunCounter[]
}

/**
 * What a store keeps of runs besides their journals: texts that are searched, why they failed, who used what. It is
 * written behind the log, by no commit, and all of it follows from the journals. Of runs that were started from outside;
 * their child runs count with them. Each throws or rejects with what the store says (`StoreLog.errorOf`). A store that has
 * one finds runs by `text`, `code` and `cause` of a filter in `queries`, and tells `input` and `output` of a summary.
 */
export interface StoreIndex {
  /** Runs that it lacks as they are now, newest first: those that it has not, and those that have ended since. */
  behind(limit: number): Now<readonly RunId[]>
  /** How many these are, counted up to `most`: of a tenant, or all. */
  countBehind(most: number, tenant?: string): Now<number>
  /**
   * Keeps runs and what they add to counters: everything or nothing. Left out are those that were removed, and those
   * that it has as final, by whichever process: two may keep the same run at once. It waits for no commit.
   */
  keep(runs: readonly NewIndexedRun[]): Now<void>
  /** Runs of a filter, newest first, with what the index has of each. Without a `limit`: all of them. */
  rows(filter: RunFilter): Now<readonly FiguresRow[]>
  /** All counters, in any order. */
  counters(): Now<readonly RunCounter[]>
}

/**
 * Texts beside the journals, by run and key: pieces of contents (contents.ts). A key names one body only, in all runs. A
 * piece stays as long as a run that has it: removing a run removes what no other one has (`remove`), and archiving one
 * keeps it readable. Each throws or rejects with what the store says (`StoreLog.errorOf`).
 */
export interface StoreContents {
  /**
   * Keeps these pieces for a run, in this order: where it throws, the first of them may be kept. Those that the run has
   * stay as they are. It waits for no commit, and is as durable as one when it resolves: what is committed after it is
   * not there without it. Throws `run.unknown` for a run that is not there.
   */
  keep(run: RunId, pieces: ReadonlyMap<string, string>): Now<void>
  /** A piece that this run has. Undefined: it has none under this key, whatever other runs have. */
  piece(run: RunId, key: string): Now<string | undefined>
}

/** Where runs are kept. It is closed by the engine that was given it. */
export interface Store extends StoreLog {
  readonly queries: StoreQueries
  /** A run that is removed is removed from it, too. Absent: the engine keeps an index in memory. */
  readonly index?: StoreIndex
}
