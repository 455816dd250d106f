/**
 * The Engine port: what a durable engine must offer so that teams run on it unchanged. The embedded engine is one, a
 * distributed one another.
 *
 * Owns: the interface, its plain data, and what every engine says of the same mistake or does with the same post. The
 * behaviour is pinned by the contract suite in `reeve/testing/contract`.
 */
import {
  amount,
  canonical,
  choice,
  expects,
  flag,
  holdsSecret,
  isObject,
  listOf,
  messageOf,
  mustNotBeReeveMessage,
  newId,
  number,
  openObject,
  optionProblems,
  recordOf,
  ReeveError,
  refuseProblems,
  required,
  rootActivation,
  string,
  wholeNumber,
  choiceIn,
  type ActivationId,
  type Check,
  type Checks,
  type Failure,
  type Json,
  type Outcome,
  type Redaction,
  type RunId,
  type Usage,
  type WithWorkerFailures,
} from '@reeve/core'
import type {
  ActivationStarted,
  ApprovalRequested,
  Caller,
  ForkEdit,
  InterruptRaised,
  JournalEvent,
  Recorded,
} from '@reeve/journal'
import type { AccountLimits, ContentReader, Registry } from './context.ts'
import type { Deadlines, UnderWay } from './replay/effects.ts'

import type { Causes, RunCounter, RunUsage, SummaryText, Totals, TotalsOptions } from './run-figures.ts'
import type { PartListenerOptions, PartListener } from './live-part.ts'

export type * from './run-figures.ts'
export type { PartListenerOptions, LivePart, PartAuthor, PartListener } from './live-part.ts'

/** A request to begin a run. The same `run` id twice begins it once. */
export interface StartRun {
  readonly run: RunId
  readonly agent: string
  readonly version: string
  readonly input: Json
  readonly caller?: Caller
  readonly limits?: AccountLimits
}

/** A request to fork a run. The same `to` twice forks it once. */
export interface ForkRun {
  /** The origin. It may be running or have ended; it is not touched. */
  readonly run: RunId
  /** A position of its feed: what is recorded up to it is copied. */
  readonly at: number
  readonly to: RunId
  readonly edit?: ForkEdit
  /** Keys of values that are not copied, whichever run wrote them. */
  readonly forget?: readonly string[]
  /** The queue of its stream: the fork stands in it as its origin did, with no other run. */
  readonly queue?: RootQueue
  readonly reason?: string
  readonly by?: string
}

/** A value that is a queue of runs, `{ roots }`: their root activations, in order. The first one is at work. */
export interface RootQueue {
  readonly key: string
  /** The message that tells a root that it is the first one now. */
  readonly turn: { readonly type: string }
}

/** The activations in a stored queue of runs. */
export function rootsInQueue(value: Json | undefined): readonly ActivationId[] {
  if (!isObject(value)) return []
  const { roots } = value
  return Array.isArray(roots) ? (roots as readonly ActivationId[]) : []
}

/** How a run ended. */
export interface RunEnd {
  readonly outcome: Outcome
  readonly usage: Usage
}

/**
 * `waiting`: everything inside waits for a person or a system outside. `queued`: it waits for its turn in its session;
 * a runtime says so, engines never do. `human_control`: a human has taken it over. `stuck`: it needs an operator
 * (diverged replay, missing agent).
 */
export type RunStatus =
  'running' | 'waiting' | 'queued' | 'pausing' | 'paused' | 'human_control' | 'stuck' | Outcome['status']

/** Every status: the names of a filter. */
const statuses: Readonly<Record<RunStatus, true>> = {
  running: true,
  waiting: true,
  queued: true,
  pausing: true,
  paused: true,
  human_control: true,
  stuck: true,
  completed: true,
  failed: true,
  limited: true,
  'timed-out': true,
  cancelled: true,
  bailed: true,
}

/** Every status of a run. */
export const runStatuses = Object.keys(statuses) as readonly RunStatus[]

/** One line about a run. `failures`: of a run that completed, the workers that did not, at any depth. */
export interface RunSummary extends WithWorkerFailures {
  readonly run: RunId
  readonly agent: string
  readonly version: string
  readonly status: RunStatus
  readonly caller: Caller
  readonly createdAt: number
  readonly endedAt?: number
  /** The beginning of what it was asked. Absent: the run is not in the index yet. */
  readonly input?: SummaryText
  /** The beginning of what it answered. Absent: the run is not in the index yet, or has not completed. */
  readonly output?: SummaryText
  /** The run that has the session in which it waits for its turn. Only of one that is `queued`. */
  readonly queued?: { readonly behind: RunId }
  /** Why it is stuck, or why it ended without completing. The journal has the whole text. */
  readonly reason?: string
  /**
   * What failed: of a run that ended `failed` or `limited`. Of one that is stuck: it is set aside for this, and no
   * process goes on with it until an operator resumes or cancels it; absent where it is stuck for want of code or of a
   * decision.
   */
  readonly failure?: Failure
  /** As of when it last came to rest, or ended. Absent: not known yet. */
  readonly usage?: RunUsage
  /** Questions to people that are open, in child runs too: how many, and the oldest. Absent: none. */
  readonly waitsFor?: { readonly questions: number; readonly oldest: OldestQuestion }
}

/** The question for which a run has waited longest. */
export type OldestQuestion = Pick<Question, 'id' | 'kind' | 'askedAt' | 'until'>

/** An open question of a run, as those who may answer it see it. */
export interface Question {
  readonly id: string
  readonly kind: 'approval' | 'interrupt' | 'in-doubt' | 'diverged'
  readonly run: RunId
  readonly activation: ActivationId
  readonly address: string
  readonly askedAt: number
  readonly until?: number
  /** The answer that counts is there, a person's or the clock's; the code that asked has yet to read it. */
  readonly answered?: true
  /** The event that asked; for `in-doubt` and `diverged`: what is in doubt. */
  readonly body: ApprovalRequested | InterruptRaised | Json
}

/**
 * What became of a post: `accepted`; `lost`, another answer was first; `closed`, the question or the receiver has
 * ended; `unknown`, no such receiver.
 */
export type PostResult = 'accepted' | 'lost' | 'closed' | 'unknown'

/** What may be posted from outside. */
export type Post =
  /** Answers a question. The first answer wins, from whichever process. */
  | { readonly type: 'answer'; readonly activation: ActivationId; readonly address: string; readonly outcome: Outcome }
  /**
   * A message; `id` is its idempotency key. `by`: who sent it, recorded beside the body. `command`: it is one of Reeve's
   * own, which alone may have a type that begins with `$`; any other with such a type is refused (`input.invalid`).
   */
  | {
      readonly type: 'message'
      readonly activation: ActivationId
      readonly id: string
      readonly body: Json
      readonly by?: string
      readonly command?: true
    }
  /**
   * An operator's command to a run. With `outcome` it ends as that says, and nothing is undone, also of those below it:
   * a human has finished it. `keeps`: it is cancelled, and what was done stays. `activation`: not the whole run, but
   * this one in it; its leader receives that end as the worker's own. A pause of the run goes on then.
   */
  | {
      readonly type: 'cancel'
      readonly run: RunId
      readonly activation?: ActivationId
      readonly reason: string
      readonly by?: string
      readonly outcome?: Outcome
      readonly keeps?: true
    }
  | {
      readonly type: 'pause'
      readonly run: RunId
      readonly at: 'next' | 'now' | 'after-model' | 'after-tools'
      readonly withinMs?: number
      /** A human takes it over, also while it is paused: only a hand back lets it go on. */
      readonly takeover?: true
      readonly reason?: string
      readonly by?: string
      /** Its idempotency key. Default: every word counts. */
      readonly id?: string
    }
  /** `handBack`: of a run that a human has taken over, and of no other. */
  | {
      readonly type: 'resume'
      readonly run: RunId
      readonly handBack?: true
      readonly reason?: string
      readonly by?: string
      readonly id?: string
    }
  /** Says what became of an effect in doubt, or of a diverged address. */
  | {
      readonly type: 'settle-doubt'
      readonly activation: ActivationId
      readonly address: string
      readonly happened: boolean
      readonly value?: Json
      readonly by?: string
    }
  | {
      readonly type: 'settle-divergence'
      readonly activation: ActivationId
      readonly address: string
      readonly action: 'map' | 'execute' | 'drop'
      readonly to?: string
      readonly by?: string
    }

/**
 * Which runs to list; newest first, by `createdAt` and then by id. A run must fit everything that is given. Found by an
 * index; what a run has used is looked at as of when it last came to rest.
 */
export interface RunFilter {
  /** The beginning of its id. */
  readonly idPrefix?: string
  readonly status?: readonly RunStatus[]
  /** Default: those of all agents, but for batches (`reeve:batch`), which are listed where they are asked for. */
  readonly agent?: string
  /** The version of that agent that it runs now. */
  readonly version?: string
  readonly user?: string
  readonly session?: string
  readonly tenant?: string
  /**
   * Words that it was asked, or that are in its answer or failure, in any order and of any language; `word*` is the
   * beginning of one, `"two words"` stand together. Of each text the first 4,000 characters are searched. A text without
   * a word finds nothing. Found are runs that are in the index.
   */
  readonly text?: string
  /** The code of its failure. Found are runs that are in the index. */
  readonly code?: string
  /** Why it ended badly: `FailureGroup.cause`. Found are runs that are in the index. */
  readonly cause?: string
  /** Members of the metadata of its start, each equal to this one. The first 64 that are no object and no list count. */
  readonly metadata?: { readonly [key: string]: string | number | boolean | null }
  /** Begun at this moment or later, in milliseconds. */
  readonly since?: number
  /** Begun before this moment, in milliseconds. */
  readonly before?: number
  /** It has cost so many US dollars or more, as far as that is known. */
  readonly usdFrom?: number
  /** Trials alone, or none of them. Default: all runs; figures count no trials. */
  readonly trial?: boolean
  /** So many at most. Default 1,000. */
  readonly limit?: number
  /** Only runs after this one in the list: the last one of the page before. */
  readonly after?: Pick<RunSummary, 'createdAt' | 'run'>
  /**
   * The child runs of this run, at any depth: its workers that are placed apart. Default: the runs that were started
   * from outside.
   */
  readonly childrenOf?: RunId
}

/** Of which runs figures are made: the filter of a list, which is never a part of one. */
export type FiguresFilter = Omit<RunFilter, 'limit' | 'after' | 'childrenOf'>

/** Whether a run is this one, or a child run of it, at any depth. */
export const isWithin = (id: RunId, run: RunId): boolean => id === run || id.startsWith(`${run}>`)

const scalar: Check = expects(
  (given) => given === null || typeof given === 'string' || typeof given === 'boolean' || Number.isFinite(given),
  'a text, a number, true, false or null',
)
/** What names something in a store, which holds no U+0000. */
const id = expects(
  (given) => typeof given === 'string' && given !== '' && !given.includes('\0'),
  'a text that is not empty and has no U+0000',
)
const moment = number((given) => Number.isFinite(given), 'a moment in milliseconds')

/** The checks of these options. */
const runFilterChecks: Checks<RunFilter> = {
  idPrefix: id,
  status: listOf(choiceIn(statuses), 'statuses'),
  agent: id,
  version: id,
  user: string,
  session: string,
  tenant: string,
  text: expects((given) => typeof given === 'string' && given.length <= 1_000, 'a text of at most 1,000 characters'),
  code: id,
  cause: id,
  metadata: recordOf(scalar, 'an object of values by name'),
  since: moment,
  before: moment,
  usdFrom: amount,
  trial: flag,
  limit: wholeNumber(1),
  after: openObject<NonNullable<RunFilter['after']>>({ createdAt: required(moment), run: required(id) }),
  childrenOf: id,
}

/** Throws `input.invalid` for a filter that cannot be. `where`: the function that was given it. */
export const mustBeRunFilter = (filter: RunFilter, where: string): void =>
  refuseProblems('input.invalid', optionProblems(runFilterChecks, filter, where))

/** Which questions to list; oldest first, those of one millisecond as they were asked. Found by an index. */
export interface QuestionFilter {
  /** Of this run and its child runs. */
  readonly run?: RunId
  readonly id?: string
  readonly kind?: Question['kind']
  /** Of runs of this tenant. */
  readonly tenant?: string
  /** Without those whose answer is there and unread. */
  readonly unanswered?: boolean
  /** So many at most. Default: all. */
  readonly limit?: number
  /** Only questions after this one in the list: the last one of the page before. */
  readonly after?: Pick<Question, 'askedAt' | 'id'>
}

const questionFilterChecks: Checks<QuestionFilter> = {
  run: id,
  id,
  kind: choice('approval', 'interrupt', 'in-doubt', 'diverged'),
  tenant: string,
  unanswered: flag,
  limit: wholeNumber(1),
  after: openObject<NonNullable<QuestionFilter['after']>>({ askedAt: required(moment), id: required(id) }),
}

/** As `mustBeRunFilter`. */
export const mustBeQuestionFilter = (filter: QuestionFilter, where: string): void =>
  refuseProblems('input.invalid', optionProblems(questionFilterChecks, filter, where))

/** An event in the feed of all runs. */
export interface FeedEvent extends Recorded {
  /**
   * Its place in the feed of all runs, and its id: the same whenever and wherever it is read. Grows from event to
   * event, with gaps. `position` is its place in the feed of its own run; the two may differ.
   */
  readonly id: number
}

/** A page of the feed of all runs. */
export interface FeedPage {
  readonly events: readonly FeedEvent[]
  /** Everything up to here was given, with this page or before: the next page begins after it. */
  readonly upTo: number
}

/**
 * The error of every store for an event that it cannot read. It is thrown only where it comes first in a page, so that

 */
export const unreadableEvent = (id: number, run: string, cause: unknown): ReeveError =>
  new ReeveError('store.corrupt', `event ${id} of the feed of all runs (run ${run}): ${messageOf(cause)}`, {
    hint: `Restore the store from a backup. To leave this event out, read on from ${id}.`,
    cause,
  })

/** How many runs of one kind a process holds. */
export interface HeldRuns {
  readonly agent: string
  readonly version: string
  readonly runs: number
}

/**
 * What a run waits for that nothing moves: `worker`, a process that takes it up; `takeover`, another process, because its
 * own is gone; `event-loop`, the event loop of its process, which stands still; `store`, the store, which does not
 * answer its process; `code`, its own code, which awaits something outside of a step; `engine`, its process, which lives
 * and does not say why.
 */
export type StallCause = 'worker' | 'takeover' | 'event-loop' | 'store' | 'code' | 'engine'

/** A run in the hands of a process that has not moved for longer than the delay of that process explains. */
export interface HeldStall {
  readonly run: RunId
  /** Since when nothing was done for it. Milliseconds since 1970, by the store's time. */
  readonly since: number
  readonly waitsFor: StallCause
}

/** A run that should move and does not, as any process sees it. */
export interface StalledRun extends HeldStall {
  /** The id of the process that holds it. Absent: none does. */
  readonly holder?: string
}

/** An open run in the memory of a process, or of none, and when something was last recorded of it. */
export interface UnmovedRun {
  readonly run: RunId
  readonly owner: string | null
  readonly since: number
}

/** What a process that drives says of itself, every few seconds while it holds runs. */
export interface ProcessReport {
  /** When, by the store's time: its event loop moved then. */
  readonly at: number
  /** When it began to drive, by the store's time. */
  readonly begun: number
  /**
   * How late is done what is due on its event loop: the ninety-ninth percentile of the last ten to twenty seconds, in
   * milliseconds.
   */
  readonly delayMs: number
  /** Runs that it has taken over from processes that died or stopped answering, since it began. */
  readonly takenOver: number
  readonly stalled: readonly HeldStall[]
}

/** A process that has a lease in the store, and what it drives. */
export interface StoredProcess {
  readonly id: string
  /** Where it runs, if the store knows. */
  readonly host?: string
  readonly pid?: number
  /** Whether it lives. Absent: not known; its lease is over, and it may be idle or dead on another host. */
  readonly isAlive?: boolean
  /** Runs in its hands, by kind. What has parked is in nobody's. */
  readonly drives: readonly HeldRuns[]
  /** It holds more runs than were counted. */
  readonly isMore?: true
  /** What it last said of itself. Absent: it has held no run yet. */
  readonly report?: ProcessReport
}

/** Work that no process has taken up. */
export interface Backlog {
  /** Runs that are ready and that no process holds. */
  readonly ready: number
  /** The one of them that began first, and when something was last recorded of it. Absent: none is ready. */
  readonly first?: { readonly run: RunId; readonly since: number }
  /** Runs that no process holds, and that have mail that no process has read. */
  readonly unheard: number
  /** Open runs that were lost with their process twice or more in a row. Absent: none. */
  readonly flapping?: number
}

/** What an engine is, and how its store and the processes on it are. */
export interface EngineStatus {
  /** What moves the runs: `restate`, `temporal`; else `embedded` (SQLite, or in memory), or the kind of the store. */
  readonly kind: string
  readonly store: {
    /** `sqlite`, `postgres`, `memory`, or what a store of your own is called. */
    readonly kind: string
    /** Never with a password. */
    readonly name: string
    /** Absent: not known. */
    readonly bytes?: number
  }
  /** The id under which this process would drive runs. */
  readonly process: string
  /** All processes that have a lease in the store. One that only reads has none. */
  readonly processes: readonly StoredProcess[]
  readonly backlog: Backlog
  /** Runs that nothing moves. Absent: none. */
  readonly stalled?: readonly StalledRun[]
}

/** Values of a stream, from outside of any run. */
export interface StreamValues {
  get(key: string): Promise<Json>
  /**
   * `change` is pure and may be called again when another writer was faster, from whichever process. Returns the new
   * value, when it is durable.
   */
  update(key: string, change: (value: Json) => Json): Promise<Json>
}

/** An entry that this process has recorded. */
export type RecordedHere = Omit<Recorded, 'position'>

/** A durable engine. All methods may reject with a ReeveError of the `store.*` codes. */
export interface Engine {
  /**
   * Begins a run. Resolves when it is durable. `created` is false if this id was begun before (with the same agent and
   * input; else `run.conflict`).
   */
  start(request: StartRun): Promise<{ readonly created: boolean }>
  /**
   * Throws `input.invalid` for an id, a user, a session or a tenant that holds what `redact` removes: they are recorded
   * as they are. `start` asks the same. Absent: everything may be recorded.
   */
  mustRecord?(names: Pick<StartRun, 'run' | 'caller'>): void
  post(post: Post): Promise<PostResult>
  /** Its deadlines, for a function of yours that is called outside of any run. Absent: the defaults. */
  readonly deadlines?: Deadlines
  /**
   * The time for deadlines, where the store's time counts and not that of the calling process. Absent: the process's
   * clock.
   */
  now?(): number
  /**
   * Resolves when the run has ended; at once if it has. Rejects with `run.unknown`. A failure of the store that may
   * pass (`retryable`) is waited out, once the store was reached: the run goes on by itself, and its end is told then.
   * Another one rejects.
   */
  outcome(run: RunId): Promise<RunEnd>
  summary(run: RunId): Promise<RunSummary | undefined>
  runs(filter?: RunFilter): Promise<readonly RunSummary[]>
  /** What is said of all runs of a filter. Runs that the index lacks are taken into it first, for a moment. */
  totals(filter: FiguresFilter, options?: TotalsOptions): Promise<Totals>
  /** Why runs of a filter ended badly. As `totals`. */
  causes(filter: FiguresFilter, options?: Pick<TotalsOptions, 'agents'>): Promise<Causes>
  /**
   * How many runs are not in the index as they are now, counted up to 100,000: those of a tenant, or all. They are taken
   * into it first, for a moment.
   */
  unindexed(tenant?: string): Promise<number>
  /** What was counted since the store was made, and only grows: of runs that were removed, too. */
  counters(): Promise<readonly RunCounter[]>
  /** How many runs the filter has, counted up to `most`. */
  countRuns(filter: RunFilter, most: number): Promise<number>
  /** How the engine is; runs are counted up to `most`. */
  status(most: number): Promise<EngineStatus>
  questions(filter?: QuestionFilter): Promise<readonly Question[]>
  /**
   * The feed of a run after `from` (a position; 0 = all), complete up to now; with `limit` so many entries at most: the
   * position of the last one is where the next page begins. With `length` it also ends after the entry that makes the
   * stored text so many characters long, and may be shorter than both bounds: only an empty page is the last one.
   */
  read(run: RunId, from?: number, limit?: number, length?: number): Promise<readonly Recorded[]>
  /** Resolves when the run may have something new after `from`, or has ended, or the signal is aborted. */
  changed(run: RunId, from: number, signal?: AbortSignal): Promise<void>
  /**
   * The events of all runs after the event `from`, at most `limit`, in the order in which they were recorded; `'now'`:
   * none, and where the feed ends. What is recorded later comes after it, so that nothing is missed by reading on from
   * `upTo`. Of a run that was removed nothing is left.
   */
  feed(from: number | 'now', limit: number): Promise<FeedPage>
  /** Resolves when the feed of all runs may have something new after `from`, or the signal is aborted. */
  feedChanged(from: number, signal?: AbortSignal): Promise<void>
  /**
   * Hears what this process itself records, redacted, after its commit and in the order of each run; returns how to stop.
   * One listener at a time. `hear` must return quickly and never throw. Absent: it cannot tell.
   */
  recorded?(hear: (entries: readonly RecordedHere[]) => void): () => void
  /**
   * Hears live parts of a run, from about now on; returns how to stop. Of a run that another process drives they are
   * heard where the store passes them on, without the text so far. `hear` must return quickly and never throw.
   */
  listen(run: RunId, hear: PartListener, options?: PartListenerOptions): () => void
  /**
   * The values of a stream: one that outlives runs (`reg_…`, `mem_…`, `trust_…`), or that of a session (`streamOf`).
   * Throws `input.invalid` for another name.
   */
  stream(name: string): StreamValues
  /**
   * Begins a run with what another one has recorded up to a position; that one is not touched. Resolves when it is
   * durable. `created` is false if this id was forked before (from the same position with the same edit; else
   * `run.conflict`). Rejects with `run.unknown` and `fork.invalid`.
   */
  fork(request: ForkRun): Promise<{ readonly created: boolean }>
  /**
   * The contents of a run and its child runs (`StepIO.contents`). Nothing is read until it is asked, and what is read is
   * on disk. A run that is not there has none.
   */
  contents(run: RunId): ContentReader
  /** Removes an ended run and everything of it. Rejects with `run.conflict` while it is running. */
  remove(run: RunId): Promise<void>
  /**
   * Begins to drive runs whose agents are in the registry, and goes on with those that were left. Resolves when it
   * does; rejects if it cannot.
   */
  drive(registry: Registry): void | Promise<void>
  /**
   * Stops driving: nothing new begins, what is under way has a time of grace to end, and all runs are released. Idempotent:
   * a second call waits for the first one, and may shorten the grace.
   */
  close(options?: CloseOptions): Promise<void>
}

/** How an engine, or a runtime, closes. */
export interface CloseOptions {
  /** Default: the option `graceMs` of the engine. */
  readonly graceMs?: number
  /**
   * Told what is still waited for, and for how many milliseconds at most, whenever that changes; at last that nothing is.
   * It must not throw.
   */
  readonly onWaiting?: (underWay: UnderWay, leftMs: number) => void
}

/** The error of every engine for a run that it does not have. */
export const unknownRun = (run: string): ReeveError =>
  new ReeveError('run.unknown', `there is no run "${run}" in this store`, {
    hint: 'List the runs: reeve runs, or runtime.runs().',
  })

/** The error of every engine for a run that cannot be removed yet. */
export const openRun = (run: string): ReeveError =>
  new ReeveError('run.conflict', `run ${run} has not ended`, { hint: 'Cancel it first.' })

/** How a run begins. */
export const birthOf = ({ agent, version, input, caller }: StartRun): ActivationStarted => ({
  type: 'activation.started',
  agent,
  version,
  input,
  ...(caller === undefined ? undefined : { caller }),
})

/** A run's id, its user, session and tenant are stored as they are: one that holds what may not be recorded is refused. */
export function mustHoldNoSecret(
  rules: Redaction | undefined,
  { run, caller }: Pick<StartRun, 'run' | 'caller'>,
): void {
  const names = Object.entries({ runId: run, user: caller?.user, session: caller?.session, tenant: caller?.tenant })
  const bad = names.flatMap(([name, value]) => (value !== undefined && holdsSecret(rules, value) ? [name] : []))
  if (bad.length === 0) return
  throw new ReeveError(
    'input.invalid',
    `${bad.join(', ')} of the start: holds a value that \`redact\` removes from everything that is recorded`,
    {
      hint: 'Ids of runs, users, sessions and tenants are recorded as they are: use a pseudonym. Nothing was started.',
    },
  )
}

/**
 * The same id again, with its birth as it would be recorded: fine if the run began with the same agent, caller and
 * input, else the caller has made a mistake (`run.conflict`). The error names what differs and shows nothing of it: it
 * may be another user's.
 */
export function mustBeSameStart(first: JournalEvent | undefined, run: RunId, again: JournalEvent): void {
  const differs =
    first?.type === 'activation.started' && again.type === 'activation.started'
      ? [
          ...(first.agent === again.agent ? [] : ['agent']),
          ...(['user', 'session', 'tenant', 'metadata'] as const).filter(
            (name) => !isSame(first.caller?.[name], again.caller?.[name]),
          ),
          ...new Set(differing(first.input, again.input, 2, 'input').map(asGiven)),
        ]
      : ['agent']
  if (differs.length === 0) return
  throw new ReeveError('run.conflict', `run ${run} exists already and was started with another ${differs.join(', ')}`, {
    hint: `Use a new run id, or look at the existing run: runtime.handle(${JSON.stringify(run)}).`,
  })
}

const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && canonical(one) === canonical(other))

/** What a place is called by those who start a run: the brief is their input. */
const asGiven = (place: string): string => place.replace(/^input\.brief\b.*/, 'input')

/** The places, at most so many levels deep, at which two values are not the same. */
function differing(one: Json | undefined, other: Json | undefined, levels: number, at: string): readonly string[] {
  if (isSame(one, other)) return []
  if (levels === 0 || !isObject(one) || !isObject(other)) return [at]
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return names.flatMap((name) => differing(one[name], other[name], levels - 1, `${at}.${name}`))
}

/** The receiver of a post, what has to exist for it, and the key under which it competes. */
export interface PostAddress {
  readonly target: 'run' | 'activation' | 'question'
  readonly to: ActivationId
  /** For `question`: its address. */
  readonly key: string
  /** For `question`: of which kinds. */
  readonly kinds?: readonly Question['kind'][]
}

/**
 * What names something in a store is kept as UTF-8, in which halves of surrogate pairs are one and the same. Throws
 * `input.invalid`.
 */
export function mustBeWellFormed(text: string, what: string): void {
  if (text.isWellFormed()) return
  throw new ReeveError(
    'input.invalid',
    `${what} is not well-formed: ${JSON.stringify(text)} holds half a surrogate pair`,
    {
      hint: 'Replace it: text.toWellFormed().',
    },
  )
}

/** A pause and a resume compete with no other post: each has a key of its own. */
export function addressOfPost(post: Post): PostAddress {
  switch (post.type) {
    case 'answer':
      return { target: 'question', to: post.activation, key: post.address, kinds: ['approval', 'interrupt'] }
    case 'settle-doubt':
      return { target: 'question', to: post.activation, key: post.address, kinds: ['in-doubt'] }
    case 'settle-divergence':
      return { target: 'question', to: post.activation, key: post.address, kinds: ['diverged'] }
    case 'message':
      mustBeWellFormed(post.id, 'the id of a message')
      if (post.command !== true) mustNotBeReeveMessage(post.body, 'message')
      return { target: 'activation', to: post.activation, key: `msg:${post.id}` }
    case 'cancel':
      return { target: 'run', to: post.activation ?? rootActivation(post.run), key: '!cancel' }
    case 'pause':
    case 'resume':
      return {
        target: 'run',
        to: rootActivation(post.run),
        key: post.id === undefined ? newId(`!${post.type}`) : `!${post.type}:${post.id}`,
      }
  }
}
