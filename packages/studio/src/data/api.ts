/** The server's routes that the shell, the inbox and the list of runs use. Owns: their paths. */
import type { AnswerBody, DecisionBody, Me, Page, QuestionView, RunRow, SettleBody } from '@reeve/server/wire'
import { query, request } from './request.ts'

const id = encodeURIComponent

export const readMe = (signal?: AbortSignal): Promise<Me> => request('/me', signal ? { signal } : {})
export const signIn = (token: string): Promise<unknown> => request('/session', { method: 'POST', body: { token } })
export const signOut = (): Promise<unknown> => request('/session', { method: 'DELETE' })

export const readQuestions = (signal: AbortSignal, after?: string): Promise<Page<QuestionView>> =>
  request(`/questions${query({ limit: 200, after })}`, { signal })
export const decide = (approval: string, body: DecisionBody): Promise<unknown> =>
  request(`/approvals/${id(approval)}/decision`, { method: 'POST', body })
export const answer = (interrupt: string, body: AnswerBody): Promise<unknown> =>
  request(`/interrupts/${id(interrupt)}/answer`, { method: 'POST', body })
export const settle = (question: string, body: SettleBody): Promise<unknown> =>
  request(`/questions/${id(question)}/settle`, { method: 'POST', body })

export type RunsFilter = Readonly<Record<string, string | number | undefined>>

export const readRuns = (filter: RunsFilter, signal: AbortSignal): Promise<Page<RunRow>> =>
  request(`/runs${query(filter)}`, { signal })

export const retryRuns = (filter: RunsFilter): Promise<unknown> =>
  request(`/runs/retry${query(filter)}`, { method: 'POST', body: {} })
