/**
 * The wire: what the server and its clients say to each other, as types of JSON.
 *
 * Owns: the shape of every request and response of `reeve/server` that is not a view of the runtime as it is. Types
 * alone: nothing here exists at run time, so a browser may import it. Does not own: paths, roles and checks
 * (routes/), what the views mean (journal, runtime).
 */
import type { Revision } from '@reeve/edge'
import type { Span, SpanPage } from '@reeve/journal'
import type { ActivationId, Failure, Json, JsonObject, Outcome, RunId, Source, Usage } from '@reeve/core'
import type {
  ActivationView,
  Approval,
  ApprovalView,
  AuditDocument,
  AuditReport,
  BatchFilter,
  BatchOptions,
  BatchVerb,
  Causes,
  Chosen,
  ClientCall,
  InterruptView,
  JournalEvent,
  Recorded,
  RetryScope,
  RunStatus,
  RunSummary,
  RunView,
  SystemView,
  TeamView,
  Totals,
  TrialChanges,
  VersionUse,
} from '@reeve/runtime'

/**
 * What a person or program may do. `viewer`: see. `operator`: also start, pause, resume, cancel, take over, fork, retry,
 * settle, recruit, retire, post, share sessions of their own. `approver`: see, decide and answer, take back grants.
 * `admin`: all of it, and trust, versions, removal. A principal may have several.
 */
export type Role = 'viewer' | 'operator' | 'approver' | 'admin'

/** Who makes a request, as `auth` has found out. */
export interface Principal {
  /** Recorded with everything that they do; never taken from a request's body. */
  readonly name: string
  readonly roles: readonly Role[]
  /** They see and touch the runs of this tenant alone, and nothing that tenants share. Absent: all runs. */
  readonly tenant?: string
  /** They start these agents alone, and see the runs of these alone. Absent: all that the tenant may use. */
  readonly agents?: readonly string[]
}

/** The answer of `GET /api/me`. */
export interface Me extends Principal {
  /** How they proved it. `local`: the token of a server on this machine. */
  readonly via: 'local' | 'bearer' | 'oidc' | 'cookie'
  /** The server's clock, in milliseconds since 1970: deadlines are measured against it. */
  readonly now: number
  readonly version: string
}

/** A browser that is signed in: `GET /api/browser-sessions`. Times are milliseconds since 1970. */
export interface BrowserSessionView {
  readonly id: string
  /** Whose it is. */
  readonly name: string
  readonly tenant?: string
  readonly begun: number
  /** The last request, to a tenth of the time after which an unused session ends. */
  readonly seen: number
  /** The end, if it is used until then. */
  readonly until: number
  /** Where it was begun from. */
  readonly address?: string
  readonly userAgent?: string
  /** The browser that asks. */
  readonly isCurrent: boolean
}

/** The answer of `DELETE /api/browser-sessions`: how many were ended. */
export interface EndedSessions {
  readonly ended: number
}

/** The body of `POST /api/sessions/{session}/share` and `/unshare`. */
export interface ShareBody {
  /** Names of users, as their credentials say them. */
  readonly with: readonly string[]
}

/** The query of these: whose session it is. Of a principal of a tenant always theirs. */
export interface TenantQuery {
  readonly tenant?: string
}

/** The body of `POST /api/session`. */
export interface SessionBody {
  /** Absent: the bearer token of the request itself. */
  readonly token?: string
}

/** The body of every response that is not 2xx. */
export interface ErrorBody {
  readonly error: {
    /** A code of Reeve (`docs/reference/errors.md`). */
    readonly code: string
    readonly message: string
    readonly hint?: string
    /** The same request may succeed later. */
    readonly retryable: boolean
  }
}

/** A part of a long list. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Give it back as `after` for the next page. Absent: this was the last one. */
  readonly next?: string
}

/** The body of `POST /api/runs`. The header `Idempotency-Key` may stand for `runId`. */
export interface StartBody {
  /** The name of a registered agent. */
  readonly agent: string
  readonly input: Json
  /** Repeating an id with the same content returns the same run; anything else is `run.conflict` (409). */
  readonly runId?: string
  readonly session?: string
  /** Default: the name of the principal. Another name needs the role `admin`. */
  readonly user?: string
  readonly metadata?: JsonObject
  readonly values?: JsonObject
  readonly limits?: JsonObject
  readonly versions?: JsonObject
  /** What was said before, oldest first. A session brings its own. */
  readonly messages?: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[]
  /** The run is a trial, with these changes of agents by name: no effect of it leaves before a person has said so. */
  readonly trial?: TrialChanges
}

/** The models that a trial may use, by id; `GET /api/models`. */
export interface TrialModels {
  readonly models: readonly string[]
}

/** The answer of `POST /api/runs` and of a fork. 201 if it was begun by this request, 200 if before. */
export interface StartedRun {
  readonly run: RunId
}

/** The answer of `POST /api/runs/{run}/retry`. 201 if it was begun by this request, 200 if before. */
export interface StartedRetry extends StartedRun, RetryScope {}

/** The body of `POST /api/batches`: one command for all runs that match. Who commands is the principal. */
export interface BatchBody extends Omit<BatchOptions, 'by' | 'scope'> {
  readonly verb: BatchVerb
  /** At least one condition. */
  readonly filter: BatchFilter
}

/** The body of `POST /api/runs/{run}/messages`. */
export interface MessageBody {
  readonly to: ActivationId
  readonly message: Json
  readonly id?: string
}

/** What became of a message. */
export interface Posted {
  readonly result: 'accepted' | 'closed' | 'unknown'
}

/** How a run ended; `GET /api/runs/{run}/outcome`. 202 and no outcome while it goes on. */
export interface Ended {
  readonly run: RunId
  readonly status: RunStatus
  readonly outcome?: Outcome
  readonly usage?: Usage
}

/** One line of `GET /api/runs`. */
export type RunRow = RunSummary

/** The answer of `GET /api/runs`. */
export interface RunPage extends Page<RunRow> {
  /**
   * With `text`, `code` or `cause`: so many runs are not in the index yet, and may be missing here. Absent: none, or
   * nothing of the index was asked for.
   */
  readonly behind?: number
}

/** The answer of `GET /api/totals`: how many runs, how they ended, what they used, how long they took and waited. */
export type TotalsAnswer = Totals

/** The answer of `GET /api/causes`: why runs ended badly, equal failures together. */
export type CausesAnswer = Causes

/** The whole view of a run. */
export type RunDocument = RunView

/** Messages of the stream `GET /api/runs/{run}/feed`. The id of an event is its position, which `Last-Event-ID` names. */
export type FeedMessage =
  | { readonly type: 'event'; readonly event: Recorded }
  /** Live and not repeated: what is missed stands in the events that follow. */
  | { readonly type: 'part'; readonly part: PartMessage }
  | { readonly type: 'end' }

/** A live piece of work in progress. */
export interface PartMessage {
  readonly activation: ActivationId
  readonly address: string
  readonly attempt: number
  readonly agent: string
  readonly path: readonly string[]
  /** How long the text of its type was before this piece. Who has less has missed something. */
  readonly offset?: number
  /** As it was sent: `streamPartOf` of the client reads it. */
  readonly part: Json
}

/** The head of a run: what is shown above every tab. */
export interface RunHead {
  readonly run: RunId
  readonly status: RunStatus
  readonly agent: string
  readonly version: string
  /** What it was asked; of a long one the beginning. The conversation of the run has it whole. */
  readonly input: Json
  /** `input` is a beginning. */
  readonly inputCut?: true
  readonly user?: string
  readonly session?: string
  readonly tenant?: string
  readonly metadata?: JsonObject
  readonly startedAt: number
  readonly endedAt?: number
  readonly outcome?: Outcome
  /** Texts of `outcome` are beginnings: `GET /api/runs/{run}/outcome` has them whole. */
  readonly outcomeCut?: true
  /** Why it is stuck. */
  readonly reason?: string
  readonly failure?: Failure
  readonly usage: Usage
  readonly pause?: RunView['pause']
  readonly takeover?: RunView['takeover']
  readonly cancel?: RunView['cancel']
  readonly origin?: RunView['origin']
  readonly queued?: { readonly behind: RunId }
  /** The run is a trial. */
  readonly trial?: true
  /** How many events its journal has, and the position of the last one. */
  readonly events: number
  readonly position: number
}

/** An activation with its budget. */
export interface LiveActivation extends ActivationView {
  /** Hard limits of it, and what of them is reserved for calls in flight. */
  readonly limits?: { readonly tokens?: number; readonly usd?: number }
  readonly reserved?: { readonly tokens: number; readonly usd: number }
  /** Texts of `outcome` are beginnings: the journal has them whole. */
  readonly outcomeCut?: true
}

/** An effect in doubt or a diverged address, as an operator settles it. */
export interface LiveDoubt {
  /** The id of the question: `POST /api/questions/{id}/settle`. */
  readonly id: string
  readonly kind: 'in-doubt' | 'diverged'
  readonly activation: ActivationId
  readonly address: string
  readonly since: number
  /** The tool or model, and its arguments, where the journal has them. */
  readonly name?: string
  readonly input?: Json
  /** Of a divergence: recorded addresses that nothing has claimed, to map it to. */
  readonly unclaimed: readonly string[]
  /** It was not made: the run is a trial, which makes no effect before a person has said so. */
  readonly trial?: true
}

/** Everything that is shown of a run, but for what is read in pages (journal, conversation, timeline). */
export interface LiveRun {
  readonly head: RunHead
  /** By id, leaders before their workers. */
  readonly activations: Readonly<Record<string, LiveActivation>>
  readonly approvals: Readonly<Record<string, ApprovalView>>
  readonly interrupts: Readonly<Record<string, InterruptView>>
  readonly doubts: Readonly<Record<string, LiveDoubt>>
  /** Planned teams, by activation: plan, members, mailbox, topics, budget. */
  readonly teams: Readonly<Record<string, TeamView>>
}

/** What has changed: a whole new value for each key; null: it is gone. */
export type LivePatch = {
  readonly [Part in keyof LiveRun]?: Part extends 'head'
    ? RunHead
    : { readonly [key: string]: LiveRun[Part] extends Readonly<Record<string, infer V>> ? V | null : never }
}

/** Messages of the stream `GET /api/runs/{run}/live`. The first one is a snapshot; after a reconnect again. */
export type LiveMessage =
  | { readonly type: 'snapshot'; readonly run: LiveRun }
  | { readonly type: 'patch'; readonly patch: LivePatch }
  /** Pieces of text, joined; sent at most every 50 ms. */
  | { readonly type: 'parts'; readonly parts: readonly PartMessage[] }

/**
 * The timeline: `GET /api/runs/{run}/spans?after=<position>` gives the bars that began, changed or ended after a
 * position.
 */
export type { Span, SpanPage }

/** An entry of the journal, by its number in the run: `GET /api/runs/{run}/journal?from=<index>&limit=…`. */
export interface JournalRow {
  readonly index: number
  readonly position: number
  readonly at: number
  readonly activation: ActivationId
  readonly agent: string
  readonly event: JournalEvent
}

/** A part of the journal, by the numbers of its entries. */
export interface JournalPage {
  /** How many entries match. */
  readonly total: number
  readonly from: number
  readonly rows: readonly JournalRow[]
}

/** What an agent was shown and said: `GET /api/runs/{run}/conversation?activation=…`. */
export interface ConversationPage {
  readonly activation: ActivationId
  readonly agent: string
  /** What it was given: the instructions as recorded or as its code has them now, and the input of the activation. */
  readonly instructions?: string
  readonly input: Json
  readonly entries: readonly ConversationEntry[]
  /** Up to this position. */
  readonly position: number
}

/** One thing that was said to, by or below an agent, oldest first. */
export interface ConversationEntry {
  readonly position: number
  readonly at: number
  readonly type:
    | 'user'
    | 'assistant'
    | 'reasoning'
    | 'tool-call'
    | 'tool-result'
    | 'message'
    | 'question'
    /** What a model was told of its answer, because it did not fit the output of its agent. */
    | 'correction'
    | 'outcome'
  /** The agent, tool, sender. */
  readonly name?: string
  readonly callId?: string
  readonly text?: string
  readonly value?: Json
  readonly isError?: boolean
  /** What an answer is taken from, as the provider of its model says. */
  readonly sources?: readonly Source[]
  /** Files that were shown beside it, or made. */
  readonly files?: readonly EntryFile[]
}

/** A file of an entry: what it is, and of a picture its data, in base64, as far as a conversation holds so much. */
export interface EntryFile {
  readonly label: string
  readonly picture?: { readonly mediaType: string; readonly data: string }
}

/** The audit of a run and what its check says. */
export interface AuditAnswer {
  readonly document: AuditDocument
  readonly report: AuditReport
}

/** An open question with all that is needed to answer it: `GET /api/questions`. */
export interface QuestionView {
  readonly id: string
  readonly kind: 'approval' | 'interrupt' | 'in-doubt' | 'diverged'
  readonly run: RunId
  readonly activation: ActivationId
  /** Agents' names from the root to the one that asks. */
  readonly path: readonly string[]
  readonly askedAt: number
  readonly until?: number
  /** The agent of the run, and for whom it runs. */
  readonly agent: string
  readonly user?: string
  readonly session?: string
  /** What the whole run has used so far. Absent: not known. */
  readonly usage?: { readonly tokens: number; readonly usd?: number }
  /** `context.preview` is what the call would change: `{ before, after }` is shown as a difference. */
  readonly approval?: Approval
  /** `call`: it waits for the client to run this tool, and no person decides it. */
  readonly interrupt?: { readonly question: Json; readonly schema?: JsonObject; readonly call?: ClientCall }
  readonly doubt?: {
    readonly address: string
    readonly name?: string
    readonly input?: Json
    readonly unclaimed: readonly string[]
    /** It was not made: the run is a trial, which makes no effect before a person has said so. */
    readonly trial?: true
  }
  /** JSON Schema of the tool's arguments, where the server knows the tool. */
  readonly inputSchema?: JsonObject
  /** Whether the asking principal may answer it; a text says why not. */
  readonly mayAnswer: true | string
  /**
   * Requests with the same value differ in nothing that an approver would look at. `approval.alone` says which may not
   * be decided together.
   */
  readonly same: string
}

/** The body of `POST /api/approvals/{id}/decision`. The approver is the principal. */
export interface DecisionBody {
  readonly decision: 'approve' | 'reject' | 'edit' | 'retry'
  /** Of `edit`: all the arguments. */
  readonly input?: Json
  readonly comment?: string
  /** The scope of an approval; as `Decision.grant`. */
  readonly grant?: Json
  /** Of `retry`: the ids of the effects in `approval.done` that are to be made once more. */
  readonly repeat?: readonly string[]
  /**
   * The hash of the arguments that the approver was shown (`approval.inputHash`). Another one is refused: what was seen
   * is not what would run.
   */
  readonly inputHash?: string
}

/** The body of `POST /api/approvals/decisions`. The approver is the principal. At most 500. */
export interface DecisionsBody {
  readonly decisions: readonly DecisionRow[]
}

/** One decision of several. An approval that says `alone` is refused (`approval.alone`). */
export interface DecisionRow {
  /** Of the approval. */
  readonly id: string
  /** The hash of the arguments that the approver was shown (`approval.inputHash`). Another one is refused. */
  readonly inputHash: string
  readonly decision: 'approve' | 'reject'
  readonly comment?: string
}

/** The answer of `POST /api/approvals/decisions`: a row for each decision, in their order. */
export interface DecisionsAnswer {
  readonly results: readonly DecidedRow[]
}

/** What became of one decision. `lost`: another one was first. `refused`: nothing was decided. */
export interface DecidedRow {
  readonly id: string
  readonly status: 'decided' | 'lost' | 'refused'
  /** Why it was not decided. */
  readonly error?: ErrorBody['error']
}

/** The body of `POST /api/interrupts/{id}/answer`. */
export interface AnswerBody {
  readonly value: Json
}

/** The body of `POST /api/questions/{id}/settle`. */
export type SettleBody =
  | { readonly happened: boolean; readonly value?: Json }
  | { readonly action: 'map' | 'execute' | 'drop'; readonly to?: string }

/** The body of `POST /api/approvals/{id}/link`. */
export interface LinkBody {
  /** Whose decision it is: recorded as the approver. */
  readonly approver: string
  /** At most 7 days, and never beyond the deadline of the approval. Default 24 hours. */
  readonly expiresInMs?: number
  readonly decisions?: readonly ('approve' | 'reject')[]
}

/** A link by which one person outside decides one approval once: `POST /api/approvals/{id}/link`. */
export interface ApprovalLink {
  readonly url: string
  readonly expiresAt: number
}

/** Messages of the stream `GET /api/changes`: what to read again. Sent at once and then at most every 200 ms. */
export interface Changes {
  /** The position up to which this was seen. */
  readonly position: number
  /** Questions were asked, answered or closed. */
  readonly questions: boolean
  /** Runs that began, ended or changed their state; at most 100. Absent: too many, read the list again. */
  readonly runs?: readonly RunId[]
}

/** A registered agent: `GET /api/agents`. */
export interface AgentDocument {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly inputSchema?: JsonObject
  /** The instructions of its model, as its code says them. Absent: it has none, or a tenant asks. */
  readonly instructions?: string
  readonly tools: readonly {
    readonly name: string
    readonly description: string
    readonly inputSchema?: JsonObject
    /** Its model is not sent it before it finds it by search. Absent: it is always sent. */
    readonly searchable?: true
  }[]
  readonly workers: readonly string[]
  /** The tenants that it belongs to. Absent: it is everybody's, or a tenant asks. */
  readonly tenants?: readonly string[]
}

/** A session: `GET /api/sessions`. */
export interface SessionRow {
  readonly session: string
  readonly user?: string
  readonly tenant?: string
  readonly runs: number
  readonly lastRun: RunId
  readonly lastAt: number
  readonly status: RunStatus
}

/** How the installation is: `GET /api/system`. */
export interface SystemDocument {
  /** Of Reeve. */
  readonly version: string
  readonly runs: SystemView['runs']
  /** Absent for a principal of one tenant: all tenants share it. */
  readonly installation?: SystemInstallation
  /** The process of the server. Absent for a principal of one tenant. */
  readonly server?: SystemServer
}

/** What tenants share of an installation: its engine, store and workers, and what waits for one. */
export type SystemInstallation = NonNullable<SystemView['installation']>

/** The process of a server. */
export interface SystemServer {
  /** The version of Node. */
  readonly node: string
  readonly pid: number
  readonly uptimeMs: number
  /** How late what is due is done, in milliseconds, over the last `overMs`. Absent: not measured yet. */
  readonly eventLoop?: {
    readonly meanMs: number
    readonly p99Ms: number
    readonly maxMs: number
    readonly overMs: number
  }
}

/** The body of `POST /api/versions/{agent}`: data, or the name of a version that is kept. */
export interface VersionBody {
  readonly status: 'draft' | 'published'
  readonly revision?: Revision
  readonly version?: string
}

/** Who uses which version: `GET /api/versions/uses`. */
export interface VersionUses {
  /** What this installation chooses for runs whose start chooses nothing else. */
  readonly chosen: Chosen
  /** The newest runs, or those after the cursor. */
  readonly runs: readonly VersionUse[]
  /** The cursor of the next page. Absent: there are no more runs. */
  readonly next?: string
}

export type { Revision } from '@reeve/edge'
export type { DelegationView } from '@reeve/journal'
export type {
  ApprovalGrant,
  FailureGroup,
  FiguresGroup,
  FiguresOfTime,
  Percentiles,
  RunFigures,
  SummaryText,
  TotalsBy,
  BatchCause,
  BatchFilter,
  BatchVerb,
  BatchView,
  SessionAccess,
  CancelOptions,
  CompleteByHand,
  ContentPart,
  ContentRange,
  ControlState,
  FinishByHand,
  ForkOptions,
  TrialChange,
  TrialChanges,
  TrialOfCall,
  HandBack,
  Incident,
  KeptRevision,
  LinkView,
  PauseOptions,
  PostFromOutside,
  Recorded,
  Recruited,
  RecruitFromOutside,
  ResumeOptions,
  RetryOptions,
  RetryScope,
  Retired,
  RetireFromOutside,
  RunDiff,
  RunStatus,
  StopDelegation,
  TakenOver,
  TakeoverContext,
  TakeOverOptions,
  TrustSetting,
  TrustView,
  VersionUse,
} from '@reeve/runtime'
