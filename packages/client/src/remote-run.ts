/**
 * A run over HTTP: the verbs of `Run`, and what a page shows of it.
 *
 * Owns: the paths below `/runs/{run}`. Does not own: requests (http.ts), streams (event-source.ts).
 * Holds: nothing of the run; any number of them are the same.
 */
import type { ActivationId, Json, Outcome, RunId, StreamPart, Usage } from '@reeve/core'
import { streamPartOf } from '@reeve/core/stream-part'
import type {
  AnswerBody,
  AuditAnswer,
  CancelOptions,
  CompleteByHand,
  ContentPart,
  ContentRange,
  ControlState,
  ConversationPage,
  DecisionBody,
  DelegationView,
  Ended,
  FeedMessage,
  FinishByHand,
  ForkOptions,
  HandBack,
  JournalPage,
  LiveMessage,
  LiveRun,
  Page,
  PartMessage,
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
  RunDocument,
  SpanPage,
  StopDelegation,
  TakenOver,
  TakeoverContext,
  TakeOverOptions,
} from '@reeve/server/wire'
import type { VerbAnswer, VerbInput, VerbPath } from '@reeve/server/verbs'
import { eventSource, type StreamOptions } from './event-source.ts'
import { backoff, isPassing, newKey, newRunId, pause, type CallOptions, type Http } from './http.ts'
import { applyMessage, type LiveState } from './live-run.ts'
import type { RunTextChange } from '@reeve/core/seen-text'
import { isWanted, RunTextReader, type RemoteParts } from './run-text.ts'

/** How a run ended, which run it was and what its whole tree used. */
export type RemoteOutcome<O = Json> = Outcome<O> & { readonly run: RunId; readonly usage: Usage }

/** Who commands is the principal of the request; the options of a call have a signal of their own. */
type FromClient<T> = Omit<T, 'by' | 'signal'>

/** A decision on an approval. The approver is the principal. */
export interface RemoteDecision extends DecisionBody {
  readonly approvalId: string
}

/** An answer to a question. */
export interface RemoteAnswer extends AnswerBody {
  readonly interruptId: string
}

/** What an operator does to a run. Every command is durable when it resolves. */
export interface RemoteControl {
  pause(options?: FromClient<PauseOptions>): Promise<void>
  resume(options?: FromClient<ResumeOptions>): Promise<void>
  cancel(reason?: string, options?: CancelOptions): Promise<void>
  /** Resolves once the takeover is in the journal; waits while no process drives the run. */
  takeOver(options?: FromClient<TakeOverOptions> & CallOptions): Promise<TakenOver>
  /** The document that `takeOver` would resolve to now. */
  context(): Promise<TakeoverContext>
  /** Resolves when the run goes on; waits while no process drives it. */
  handBack(options?: FromClient<HandBack> & CallOptions): Promise<void>
  complete(step: FromClient<CompleteByHand>): Promise<void>
  finish(end: FromClient<FinishByHand>): Promise<void>
  stop(delegation: FromClient<StopDelegation>): Promise<void>
  state(): Promise<ControlState>
}

/** Members of a planned team, and mail to them. */
export interface RemoteTeam {
  recruit(request: FromClient<RecruitFromOutside>): Promise<Recruited>
  /** Undefined: the request is recorded, and no process has decided it yet. */
  retire(request: FromClient<RetireFromOutside>): Promise<Retired | undefined>
  post(mail: FromClient<PostFromOutside>): Promise<'accepted' | 'closed'>
}

/** A live part, told apart by `part.type`. */
export interface RemotePart extends PartMessage {
  readonly part: StreamPart
}

/** The beginning and end of reading events. */
export interface RemoteRead extends StreamOptions {
  /** Events after this position. Default 0: all. */
  readonly from?: number
}

/** A run seen over HTTP. Streams go on over restarts of the server. */
export interface RemoteRun<O = Json> {
  readonly id: RunId
  /** How it ended; waits for the end, also while the server is away. Rejects with `run.unknown`. */
  outcome(options?: CallOptions): Promise<RemoteOutcome<O>>
  /** How it is now, without waiting. */
  status(options?: CallOptions): Promise<Ended>
  /** The journal after `from`, then live, until the run has ended: each event once, in order. */
  events(options?: RemoteRead): AsyncIterableIterator<Recorded, undefined>
  /** One page of the journal after a position: what is recorded so far. */
  recorded(options?: { readonly after?: number; readonly limit?: number } & CallOptions): Promise<Page<Recorded>>
  /** A part of a large result, by the name in its reference: at most 262,144 characters. Rejects with `content.unknown`. */
  content(name: string, range?: ContentRange & CallOptions): Promise<ContentPart>
  /** The whole of it in order, at most 262,144 characters at a time. */
  contentPieces(name: string, options?: CallOptions): AsyncIterableIterator<string, undefined>
  /** Events and live parts, until the run has ended. */
  feed(options?: RemoteRead): AsyncIterableIterator<FeedMessage, undefined>
  /** Live pieces of work, from now on. */
  parts(options?: RemoteParts & StreamOptions): AsyncIterableIterator<RemotePart, undefined>
  /**
   * The text of the run, from its first word to its end, while it is written: of the root and of those that control was
   * handed to, or of the agents that `path` and `agent` name.
   */
  text(options?: RemoteParts & StreamOptions): AsyncIterableIterator<string, undefined>
  /**
   * The same as changes: each takes `withdrawn` characters off the end of what its agent has said, then adds `text`. What
   * an attempt said that did not become the answer is withdrawn.
   */
  textChanges(options?: RemoteParts & StreamOptions): AsyncIterableIterator<RunTextChange, undefined>
  /** The state of the run as a page shows it, now and whenever it changes. Endless; leave it. */
  live(options?: StreamOptions): AsyncIterableIterator<LiveState, undefined>
  view(options?: CallOptions): Promise<RunDocument>
  delegations(options?: CallOptions): Promise<readonly DelegationView[]>
  /** Bars of the timeline, begun or ended after a position. */
  spans(options?: { readonly after?: number; readonly limit?: number } & CallOptions): Promise<SpanPage>
  /** Entries of the journal by their number. */
  journal(
    options?: {
      readonly from?: number
      readonly limit?: number
      readonly activation?: string
      /** A type of events, or what stands before its dot. */
      readonly family?: string
      /** A text that they hold. */
      readonly find?: string
    } & CallOptions,
  ): Promise<JournalPage>
  conversation(
    options?: { readonly activation?: string; readonly after?: number; readonly limit?: number } & CallOptions,
  ): Promise<ConversationPage>
  /** Decides an open approval; the first decision wins. */
  decide(decision: RemoteDecision): Promise<void>
  /** Answers an open question; the first answer wins. */
  answer(answer: RemoteAnswer): Promise<void>
  /** Sends a message to an agent at work. */
  post(
    to: ActivationId | string,
    message: Json,
    options?: { readonly id?: string },
  ): Promise<'accepted' | 'closed' | 'unknown'>
  /** A new run from a position of this one. */
  fork(options?: FromClient<Omit<ForkOptions, 'run'>>): Promise<RemoteRun>
  /** Goes on from the last good point of a failed run, as a new run. `from` says where. */
  retry(options?: FromClient<RetryOptions>): Promise<RemoteRun<O> & RetryScope>
  diff(other: string, options?: CallOptions): Promise<RunDiff>
  audit(options?: CallOptions): Promise<AuditAnswer>
  /** Removes an ended run and all its data. */
  remove(): Promise<void>
  readonly control: RemoteControl
  readonly team: RemoteTeam
}

/** How long the server holds a question for the outcome before it answers that the run goes on. Milliseconds. */
const waitMs = 25_000

/** A name in a path. */
export const segment = encodeURIComponent

/** The run of this id. Nothing is asked; an unknown id shows when it is used. */
export function remoteRun<O>(http: Http, id: RunId): RemoteRun<O> {
  const at = `/runs/${segment(id)}` as const
  const feed = (options: RemoteRead = {}): AsyncGenerator<FeedMessage, undefined> => feedOf(http, at, options)
  return {
    id,
    outcome: async (options = {}) => {
      const { outcome, usage } = await ended(http, at, options)
      return { ...(outcome as Outcome<O>), run: id, usage: usage! }
    },
    status: (options) => http.get(`${at}/outcome`, options),
    async *events(options) {
      for await (const message of feed(options)) if (message.type === 'event') yield message.event
      return undefined
    },
    recorded: ({ signal, ...query } = {}) => http.get(`${at}/events`, { query, ...callOptions(signal) }),
    content: (name, { signal, ...query } = {}) =>
      http.get(`${at}/contents/${segment(name)}`, { query, ...callOptions(signal) }),
    async *contentPieces(name, options = {}) {
      for (let from = 0; ;) {
        const part = await http.get<ContentPart>(`${at}/contents/${segment(name)}`, { query: { from }, ...options })
        yield part.text
        from = part.to
        if (from >= part.size || part.text === '') return undefined
      }
    },
    feed,
    async *parts({ path, agent, ...options } = {}) {
      const filter = { ...(path && { path }), ...(agent !== undefined && { agent }) }
      for await (const message of feed({ ...options, from: fromNow }))
        if (message.type === 'part' && isWanted(message.part, filter))
          yield { ...message.part, part: streamPartOf(message.part) }
      return undefined
    },
    async *text({ path, agent, ...options } = {}) {
      const reader = new RunTextReader({ ...(path && { path }), ...(agent !== undefined && { agent }) })
      for await (const message of feed(options)) {
        const text = reader.piece(message)
        if (text !== '') yield text
      }
      return undefined
    },
    async *textChanges({ path, agent, ...options } = {}) {
      const reader = new RunTextReader({ ...(path && { path }), ...(agent !== undefined && { agent }) })
      for await (const message of feed(options)) yield* reader.take(message)
      return undefined
    },
    async *live(options = {}) {
      let run: LiveRun | undefined
      for await (const { data } of eventSource(http, { ...options, path: `${at}/live` })) {
        const state = applyMessage(run, JSON.parse(data) as LiveMessage)
        run = state?.run
        if (state !== undefined) yield state
      }
      return undefined
    },
    view: (options) => http.get(at, options),
    delegations: (options) => http.get(`${at}/delegations`, options),
    spans: ({ signal, ...query } = {}) => http.get(`${at}/spans`, { query, ...callOptions(signal) }),
    journal: ({ signal, ...query } = {}) => http.get(`${at}/journal`, { query, ...callOptions(signal) }),
    conversation: ({ signal, ...query } = {}) => http.get(`${at}/conversation`, { query, ...callOptions(signal) }),
    decide: (decision) => decide(http, decision),
    answer: (answer) => answerTo(http, answer),
    post: async (to, message, options = {}) =>
      (await http.verb(`${at}/messages`, { to: to as ActivationId, message, ...options })).result,
    fork: async (options = {}) => {
      const body = { runId: newRunId(), ...options }
      return remoteRun(http, (await http.verb(`${at}/fork`, body, { repeatable: true })).run)
    },
    retry: async (options = {}) => {
      const { run, from, discarded } = await http.verb(`${at}/retry`, options)
      return { ...remoteRun(http, run), from, discarded }
    },
    diff: (other, options) => http.get(`${at}/diff/${segment(other)}`, options),
    audit: (options) => http.get(`${at}/audit`, options),
    remove: () => http.delete(at),
    control: {
      pause: (options = {}) => http.verb(`${at}/pause`, options),
      resume: (options = {}) => http.verb(`${at}/resume`, options),
      cancel: (reason, options) =>
        http.verb(`${at}/cancel`, { ...(reason === undefined ? undefined : { reason }), ...options }),
      takeOver: (options) => carriedOut(http, `${at}/take-over`, named(options)),
      context: () => http.get(`${at}/takeover-context`),
      handBack: (options) => carriedOut(http, `${at}/hand-back`, named(options)),
      complete: (step) => http.verb(`${at}/complete`, step),
      finish: (end) => http.verb(`${at}/finish`, end),
      stop: (delegation) => http.verb(`${at}/stop`, delegation),
      state: () => http.get(`${at}/control`),
    },
    team: {
      recruit: ({ requestId = newKey(), ...request }) =>
        carriedOut(http, `${at}/team/recruit`, { ...request, requestId }),
      retire: async (request) => {
        const { status, value } = await http.verbReply(`${at}/team/retire`, request)
        return status === 202 ? undefined : value
      },
      post: async ({ id = newKey(), ...mail }) => {
        const { result } = await carriedOut(http, `${at}/team/post`, { ...mail, id })
        return result as Exclude<typeof result, 'unknown'>
      },
    },
  }
}

/** A position that no event has: nothing that is recorded is wanted. */
const fromNow = 999_999_999_999_999

const callOptions = (signal: AbortSignal | undefined): CallOptions => (signal === undefined ? {} : { signal })

/** Decides an approval of any run. */
export const decide = (http: Http, { approvalId, ...body }: RemoteDecision): Promise<void> =>
  http.verb(`/approvals/${segment(approvalId)}/decision`, body)

/** Answers a question of any run. */
export const answerTo = (http: Http, { interruptId, ...body }: RemoteAnswer): Promise<void> =>
  http.verb(`/interrupts/${segment(interruptId)}/answer`, body)

async function* feedOf(
  http: Http,
  at: string,
  { from = 0, ...options }: RemoteRead,
): AsyncGenerator<FeedMessage, undefined> {
  let position = from
  const source = eventSource(http, { ...options, path: `${at}/feed`, ...(from > 0 && { after: String(from) }) })
  for await (const { data } of source) {
    const message = JSON.parse(data) as FeedMessage
    if (message.type === 'end') return undefined
    if (message.type === 'event') {
      if (message.event.position <= position) continue
      position = message.event.position
    }
    yield message
  }
  return undefined
}

/** Asks until the run has ended, however often the server is away meanwhile. */
async function ended(http: Http, at: string, options: CallOptions): Promise<Ended> {
  for (let failures = 0; ;) {
    try {
      const end = await http.get<Ended>(`${at}/outcome`, { ...options, query: { waitMs } })
      failures = 0
      if (end.outcome !== undefined) return end
    } catch (thrown) {
      if (!isPassing(thrown)) throw thrown
      await pause(thrown.retryAfterMs ?? backoff(500, failures++), options.signal)
    }
  }
}

/** A command with an id: it may be given again. */
const named = <T extends { readonly id?: string }>(options?: T): T & { readonly id: string } =>
  ({ id: newKey(), ...options }) as T & { readonly id: string }

/** What a command says, and its idempotency key. */
type Command<Path extends VerbPath> = CallOptions &
  VerbInput<Path> &
  ({ readonly id: string } | { readonly requestId: string })

/** A command that a process has to carry out: given again, under the same id, until one has. */
async function carriedOut<Path extends VerbPath>(
  http: Http,
  path: Path,
  { signal, ...input }: Command<Path>,
): Promise<VerbAnswer<Path>> {
  const call = { repeatable: true, ...callOptions(signal) }
  for (;;) {
    const { status, value } = await http.verbReply<Path>(path, input as unknown as VerbInput<Path>, call)
    if (status !== 202) return value
    signal?.throwIfAborted()
  }
}
