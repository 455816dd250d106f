/**
 * The client: a server of Reeve as an object.
 *
 * Owns: `createClient`, the paths that belong to no run. Does not own: those of one run (remote-run.ts), requests
 * (http.ts), streams (event-source.ts).
 */
import type { Json, RunId } from '@reeve/core'
import type {
  AgentDocument,
  ApprovalGrant,
  ApprovalLink,
  BatchBody,
  BatchView,
  BrowserSessionView,
  CausesAnswer,
  Changes,
  DecidedRow,
  DecisionRow,
  EndedSessions,
  Incident,
  KeptRevision,
  LinkBody,
  LinkView,
  Me,
  Page,
  QuestionView,
  Revision,
  RunPage,
  RunRow,
  RunStatus,
  SessionAccess,
  SessionRow,
  SettleBody,
  StartBody,
  StartedRun,
  SystemDocument,
  TotalsAnswer,
  TotalsBy,
  TrustSetting,
  TrustView,
  TrialModels,
  VersionUses,
} from '@reeve/server/wire'
import { runClientTools, type ClientTools, type RunClientToolsOptions } from './client-tools.ts'
import { eventSource, type StreamOptions } from './event-source.ts'
import { Http, newRunId, type CallOptions, type ReeveClientOptions } from './http.ts'
import {
  answerTo,
  decide,
  remoteRun,
  segment,
  type RemoteAnswer,
  type RemoteDecision,
  type RemoteRun,
} from './remote-run.ts'

/** Agents as a client knows them: `{ refunds: { input: { order: string }; output: string } }`. */
export type ClientAgents<A> = { readonly [Name in keyof A]: { readonly input: unknown; readonly output: unknown } }

/** Any agent, with any JSON. */
export type AnyAgents = { readonly [agent: string]: { readonly input: Json; readonly output: Json } }

/** Which runs; all given conditions must hold. */
export interface RunQuery {
  /** The beginning of its id. */
  readonly idPrefix?: string
  readonly status?: readonly RunStatus[]
  readonly agent?: string
  readonly version?: string
  readonly user?: string
  readonly session?: string
  /** For principals without one. */
  readonly tenant?: string
  /** Words of its input, output or failure; `word*` is the beginning of one, `"two words"` stand together. */
  readonly text?: string
  /** The code of its failure. */
  readonly code?: string
  /** Why it ended badly: a `cause` of `causes()`. */
  readonly cause?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** Begun at or after this time, in milliseconds since 1970. */
  readonly since?: number
  /** Begun before this time. */
  readonly before?: number
  /** Cost so far, at least. */
  readonly usdFrom?: number
  readonly limit?: number
}

/** Which runs are counted: all of a filter. */
export type FiguresQuery = Omit<RunQuery, 'limit'>

/** A part of a list: `next` of the page before. */
export interface PageOptions extends CallOptions {
  readonly after?: string
}

/** Which questions. */
export interface QuestionQuery {
  readonly run?: string
  readonly kind?: readonly QuestionView['kind'][]
  readonly limit?: number
}

/** The options of a start, besides agent and input. */
export type RemoteStart = Omit<StartBody, 'agent' | 'input'>

/** The options of a batch, besides its verb and filter. */
export type BatchStart = Omit<BatchBody, 'verb' | 'filter'>

/** A server of Reeve. */
export interface ReeveClient<A extends ClientAgents<A> = AnyAgents> {
  /** Runs: start them, find them. */
  readonly runs: {
    /** Newest first; one page. */
    list(query?: RunQuery & PageOptions): Promise<RunPage>
    /** Newest first, all of them, page by page. */
    pages(query?: RunQuery & PageOptions): AsyncIterableIterator<readonly RunRow[], undefined>
    /**
     * Starts a run; resolves when it is durable. It has an id from the beginning, so it is made again if the answer is
     * lost. The same `runId` again is the same run; with another input it is `run.conflict`.
     */
    start<Name extends keyof A & string>(
      agent: Name,
      input: A[Name]['input'],
      options?: RemoteStart & CallOptions,
    ): Promise<RemoteRun<A[Name]['output']>>
  }
  /** One command for all runs that match, as one tracked action. */
  readonly batches: {
    /**
     * Retries, cancels, pauses or resumes all runs that match. Resolves when that is durable. It has an id from the
     * beginning, so it is made again if the answer is lost.
     */
    start(verb: BatchBody['verb'], filter: BatchBody['filter'], options?: BatchStart): Promise<BatchView>
    /** Newest first; one page. */
    list(query?: { readonly limit?: number } & PageOptions): Promise<Page<BatchView>>
    /** How far it is. */
    get(id: string, options?: CallOptions): Promise<BatchView>
    /** Stops it: runs that it has not got to stay as they are. */
    cancel(id: string, reason?: string): Promise<BatchView>
  }
  /** How many runs, how they ended, what they used, how long they took and waited; in groups and over time. */
  totals(
    query?: FiguresQuery & { readonly by?: TotalsBy; readonly bucket?: 'hour' | 'day' } & CallOptions,
  ): Promise<TotalsAnswer>
  /** Why runs ended badly: equal failures together, the most frequent first. */
  causes(query?: FiguresQuery & CallOptions): Promise<CausesAnswer>
  /** The handle of a run. Nothing is asked; an unknown id shows when it is used. */
  run<O = Json>(id: string): RemoteRun<O>
  /** What waits for an answer, over all runs. */
  readonly questions: {
    /** Oldest first; one page. */
    list(query?: QuestionQuery & PageOptions): Promise<Page<QuestionView>>
    pages(query?: QuestionQuery & PageOptions): AsyncIterableIterator<readonly QuestionView[], undefined>
    get(id: string, options?: CallOptions): Promise<QuestionView>
    /** Decides an open approval; the first decision wins. */
    decide(decision: RemoteDecision): Promise<void>
    /**
     * Approves or rejects several open approvals, each recorded by itself; at most 500. Resolves to what became of each,
     * in their order. One whose `approval.alone` says why is refused (`approval.alone`).
     */
    decideAll(decisions: readonly DecisionRow[]): Promise<readonly DecidedRow[]>
    /** Answers an open question; the first answer wins. */
    answer(answer: RemoteAnswer): Promise<void>
    /** Says what became of an effect in doubt, or how a diverged run goes on. */
    settle(id: string, settlement: SettleBody): Promise<void>
    /** A link to a page on which one person outside decides once. It is shown once. */
    link(approvalId: string, body: LinkBody): Promise<ApprovalLink>
    /** The links of an approval that the caller issued or that are in their name; for an admin all. No tokens. */
    links(approvalId: string, options?: CallOptions): Promise<readonly LinkView[]>
    /** Revokes one of them, by its id. */
    revokeLink(approvalId: string, id: string): Promise<void>
  }
  /**
   * Runs these tools, which a run leaves to its client, until it has ended: each open call once, at once and in any order.
   * Calls of other tools are left to other clients. Rejects with `run.unknown`.
   */
  runClientTools(
    run: string | { readonly id: string },
    tools: ClientTools,
    options?: RunClientToolsOptions,
  ): Promise<void>
  agents(options?: CallOptions): Promise<readonly AgentDocument[]>
  readonly sessions: {
    /** The one that was used last first. */
    list(query?: { readonly user?: string } & CallOptions): Promise<Page<SessionRow>>
    /** Its runs, newest first. */
    get(session: string, query?: { readonly user?: string } & CallOptions): Promise<Page<RunRow>>
    /** Who may continue it. `tenant`: for principals without one. */
    access(session: string, query?: { readonly tenant?: string } & CallOptions): Promise<SessionAccess>
    /** Lets these users continue it as well. Its owner may, or an admin. */
    share(session: string, users: readonly string[], query?: { readonly tenant?: string }): Promise<SessionAccess>
    /** Ends that. */
    unshare(session: string, users: readonly string[], query?: { readonly tenant?: string }): Promise<SessionAccess>
  }
  /** What was granted for a session or a run. */
  readonly grants: {
    of(whose: {
      readonly session?: string
      readonly tenant?: string
      readonly run?: string
    }): Promise<readonly ApprovalGrant[]>
    /** Takes back one, or all; resolves to how many. */
    revoke(which: {
      readonly session?: string
      readonly tenant?: string
      readonly run?: string
      readonly grant?: string
    }): Promise<number>
  }
  readonly trust: {
    all(options?: CallOptions): Promise<readonly TrustView[]>
    of(name: string, options?: CallOptions): Promise<TrustView>
    set(setting: Omit<TrustSetting, 'by'>): Promise<TrustView>
    incident(incident: Omit<Incident, 'by'>): Promise<TrustView>
  }
  readonly versions: {
    all(options?: CallOptions): Promise<readonly KeptRevision[]>
    /** Publishes data over unchanged code; a name publishes a version that is kept already. */
    publish(agent: string, revision: Revision | string): Promise<void>
    draft(agent: string, revision: Revision): Promise<void>
    /** The versions that the newest runs began with. */
    uses(query?: { readonly limit?: number } & CallOptions): Promise<VersionUses>
    /** The models that a trial may use, by id. */
    models(options?: CallOptions): Promise<readonly string[]>
  }
  /** What has changed, over all runs: what to read again. Endless; leave it. */
  live(options?: StreamOptions): AsyncIterableIterator<Changes, undefined>
  /** Who asks. */
  me(options?: CallOptions): Promise<Me>
  /** How the installation is; for a principal of one tenant, its runs by status alone. */
  system(options?: CallOptions): Promise<SystemDocument>
  /** Metrics of the installation as Prometheus text. Not for a principal of one tenant. */
  metrics(options?: CallOptions): Promise<string>
  health(options?: CallOptions): Promise<Json>
  /** The OpenAPI document of the server. */
  openapi(options?: CallOptions): Promise<Json>
  /** Changes a token into the browser's cookie. */
  signIn(token: string): Promise<Me>
  signOut(): Promise<void>
  /** Browsers that are signed in: your own; as an admin those of everyone, or of everyone of your tenant. */
  readonly browserSessions: {
    list(): Promise<readonly BrowserSessionView[]>
    /** Signs out the one with this id, or all of this name, wherever they are. Resolves to how many there were. */
    end(which: { readonly id?: string; readonly name?: string }): Promise<number>
  }
}

/**
 * The client of a server. For browsers and Node; asks nothing until it is used. Everything rejects with `ClientError`, or
 * with the reason of the signal that was given.
 */
export function createClient<A extends ClientAgents<A> = AnyAgents>(options: ReeveClientOptions = {}): ReeveClient<A> {
  const http = new Http(options)
  const page = <T, P = Page<T>>(path: string, { signal, ...query }: object & CallOptions = {}): Promise<P> =>
    http.get(path, { query, ...(signal && { signal }) })
  async function* pages<T>(path: string, query: object & PageOptions = {}): AsyncGenerator<readonly T[], undefined> {
    for (let next = query.after; ;) {
      const found = await page<T>(path, { ...query, ...(next !== undefined && { after: next }) })
      if (found.items.length > 0) yield found.items
      next = found.next
      if (next === undefined) return undefined
    }
  }
  const runQuery = ({ metadata = {}, ...query }: RunQuery & PageOptions = {}): object => ({
    ...query,
    ...Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value])),
  })
  const client: ReeveClient<A> = {
    runs: {
      list: (query) => page<RunRow, RunPage>('/runs', runQuery(query)),
      pages: (query) => pages('/runs', runQuery(query)),
      start: async (agent, input, { signal, ...said } = {}) => {
        const body = { runId: newRunId(), ...said, agent, input }
        const { run } = await http.post<StartedRun>('/runs', body, { repeatable: true, ...(signal && { signal }) })
        return remoteRun(http, run)
      },
    },
    batches: {
      start: (verb, filter, options = {}) =>
        http.verb('/batches', { id: newRunId(), ...options, verb, filter }, { repeatable: true }),
      list: (query) => page('/batches', query),
      get: (id, call) => http.get(`/batches/${segment(id)}`, call),
      cancel: (id, reason) => http.verb(`/batches/${segment(id)}/cancel`, reason === undefined ? {} : { reason }),
    },
    totals: ({ signal, ...query } = {}) => http.get('/totals', { query: runQuery(query), ...(signal && { signal }) }),
    causes: ({ signal, ...query } = {}) => http.get('/causes', { query: runQuery(query), ...(signal && { signal }) }),
    run: (id) => remoteRun(http, id as RunId),
    questions: {
      list: (query) => page('/questions', query),
      pages: (query) => pages('/questions', query),
      get: (id, call) => http.get(`/questions/${segment(id)}`, call),
      decide: (decision) => decide(http, decision),
      decideAll: async (decisions) => (await http.verb('/approvals/decisions', { decisions })).results,
      answer: (answer) => answerTo(http, answer),
      settle: (id, settlement) => http.verb(`/questions/${segment(id)}/settle`, settlement),
      link: (approvalId, body) => http.post(`/approvals/${segment(approvalId)}/link`, body),
      links: (approvalId, call) => http.get(`/approvals/${segment(approvalId)}/links`, call),
      revokeLink: (approvalId, id) => http.delete(`/approvals/${segment(approvalId)}/links/${segment(id)}`),
    },
    runClientTools: (run, tools, options) => runClientTools(client, run, tools, options),
    agents: (call) => http.get('/agents', call),
    sessions: {
      list: (query) => page('/sessions', query),
      get: (session, query) => page(`/sessions/${segment(session)}`, query),
      access: (session, { signal, ...query } = {}) =>
        http.get(`/sessions/${segment(session)}/access`, { query, ...(signal && { signal }) }),
      share: (session, users, query = {}) =>
        http.verb(`/sessions/${segment(session)}/share`, { with: users }, { query }),
      unshare: (session, users, query = {}) =>
        http.verb(`/sessions/${segment(session)}/unshare`, { with: users }, { query }),
    },
    grants: {
      of: (query) => http.get('/grants', { query: query }),
      revoke: (query) => http.delete('/grants', { query: query }),
    },
    trust: {
      all: (call) => http.get('/trust', call),
      of: (name, call) => http.get(`/trust/${segment(name)}`, call),
      set: ({ trust, ...body }) => http.verb(`/trust/${segment(trust)}/level`, body),
      incident: ({ trust, ...body }) => http.verb(`/trust/${segment(trust)}/incidents`, body),
    },
    versions: {
      all: (call) => http.get('/versions', call),
      publish: (agent, given) => {
        const what = typeof given === 'string' ? { version: given } : { revision: given }
        return http.verb(`/versions/${segment(agent)}`, { status: 'published', ...what })
      },
      uses: ({ signal, ...query } = {}) => http.get('/versions/uses', { query, ...(signal && { signal }) }),
      draft: (agent, revision) => http.verb(`/versions/${segment(agent)}`, { status: 'draft', revision }),
      models: async (call) => (await http.get<TrialModels>('/models', call)).models,
    },
    async *live(stream = {}) {
      for await (const { data } of eventSource(http, { ...stream, path: '/changes' })) yield JSON.parse(data) as Changes
      return undefined
    },
    me: (call) => http.get('/me', call),
    system: (call) => http.get('/system', call),
    metrics: (call) => http.text('/metrics', call),
    health: (call) => http.get('/health', call),
    openapi: (call) => http.get('/openapi.json', call),
    signIn: (token) => http.post('/session', { token }),
    signOut: () => http.delete('/session'),
    browserSessions: {
      list: () => http.get('/browser-sessions'),
      end: async (query) => (await http.delete<EndedSessions>('/browser-sessions', { query })).ended,
    },
  }
  return client
}
