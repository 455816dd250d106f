/** The server's routes of one run. Owns: their paths and bodies. Does not own: requests (data/request.ts). */
import type {
  AuditAnswer,
  ConversationPage,
  JournalPage,
  QuestionView,
  Page,
  RunDiff,
  SettleBody,
  SpanPage,
  StartedRun,
  TakenOver,
  TakeoverContext,
} from '@reeve/server/wire'
import type { Json } from '../../data/json.ts'
import { query, request } from '../../data/request.ts'
import type { PlanEdit } from './plan-draft.ts'

/** What is asked for of the journal. */
export interface JournalQuery {
  readonly from: number
  readonly limit: number
  readonly activation?: string | undefined
  readonly family?: string | undefined
  /** A text that the entry holds. */
  readonly find?: string | undefined
}

export interface ForkBody {
  readonly at?: number
  readonly edit?:
    | { readonly type: 'outcome'; readonly outcome: Json }
    | { readonly type: 'input'; readonly input: Json }
    | { readonly type: 'message'; readonly to: string; readonly body: Json }
  readonly reason?: string
}

const id = encodeURIComponent

/** The routes of a run. */
export function runApi(run: string) {
  const path = `/runs/${id(run)}`
  const get = <T>(rest: string, signal?: AbortSignal): Promise<T> => request(`${path}${rest}`, signal ? { signal } : {})
  const post = <T = unknown>(rest: string, body: object = {}): Promise<T> =>
    request(`${path}${rest}`, { method: 'POST', body })
  return {
    run,
    livePath: `/api${path}/live`,
    spans: (after: number, signal?: AbortSignal): Promise<SpanPage> => get(`/spans${query({ after })}`, signal),
    journal: (asked: JournalQuery, signal?: AbortSignal): Promise<JournalPage> =>
      get(`/journal${query({ ...asked })}`, signal),
    /** The conversation up to now. `known`: what was read of it before; only what is new is read. */
    async conversation(activation: string, known?: ConversationPage, signal?: AbortSignal): Promise<ConversationPage> {
      const limit = 500
      let whole = known
      for (;;) {
        const after = whole?.position ?? 0
        const page: ConversationPage = await get(`/conversation${query({ activation, after, limit })}`, signal)
        whole =
          whole === undefined
            ? page
            : { ...whole, entries: [...whole.entries, ...page.entries], position: page.position }
        if (page.entries.length < limit) return whole
      }
    },
    questions: (signal?: AbortSignal): Promise<Page<QuestionView>> =>
      request(`/questions${query({ run, limit: 200 })}`, signal ? { signal } : {}),
    audit: (signal?: AbortSignal): Promise<AuditAnswer> => get('/audit', signal),
    diff: (other: string, signal?: AbortSignal): Promise<RunDiff> => get(`/diff/${id(other)}`, signal),
    context: (signal?: AbortSignal): Promise<TakeoverContext> => get('/takeover-context', signal),
    pause: (body: object) => post('/pause', body),
    resume: (body: object) => post('/resume', body),
    cancel: (body: object) => post('/cancel', body),
    takeOver: (body: object): Promise<TakenOver | undefined> => post('/take-over', body),
    handBack: (body: { readonly plan?: PlanEdit; readonly team?: string; readonly reason?: string }) =>
      post('/hand-back', body),
    complete: (body: {
      readonly task?: string
      readonly delegation?: string
      readonly output: Json
      readonly reason?: string
    }) => post('/complete', body),
    finish: (body: { readonly output: Json; readonly reason?: string }) => post('/finish', body),
    stop: (body: { readonly delegation: string; readonly reason?: string }) => post('/stop', body),
    recruit: (body: object): Promise<{ readonly admitted?: boolean; readonly message?: string } | undefined> =>
      post('/team/recruit', body),
    retire: (body: object) => post('/team/retire', body),
    post: (body: object) => post('/team/post', body),
    message: (body: object) => post('/messages', body),
    fork: (body: ForkBody): Promise<StartedRun> => post('/fork', body),
    retry: () => post('/retry', {}),
    settle: (question: string, body: SettleBody) =>
      request(`/questions/${id(question)}/settle`, { method: 'POST', body }),
  }
}

export type RunApi = ReturnType<typeof runApi>
