/** Requests to the server that this page is from. Owns: how one is made, and what an error is. */
import type { ErrorBody } from '@reeve/server/wire'
import type { Json } from './json.ts'

/** An answer that is no success. `status` 0: there was no answer. */
export class RequestError extends Error {
  readonly status: number
  readonly code: string
  readonly hint?: string
  readonly retryable: boolean

  constructor(status: number, body: ErrorBody['error']) {
    super(body.message)
    this.name = 'RequestError'
    this.status = status
    this.code = body.code
    if (body.hint !== undefined) this.hint = body.hint
    this.retryable = body.retryable
  }
}

const away: ErrorBody['error'] = {
  code: 'server.unreachable',
  message: 'The server does not answer.',
  hint: 'It may have stopped. This page tries again by itself.',
  retryable: true,
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** Makes a request to a path under `/api`. Rejects with `RequestError`, or with the reason of `signal`. */
export async function request<Answer>(
  path: string,
  { method = 'GET', body, signal }: RequestOptions = {},
): Promise<Answer> {
  let response: Response
  try {
    response = await fetch(`/api${path}`, {
      method,
      credentials: 'same-origin',
      headers: {
        accept: 'application/json',
        ...(method === 'GET' ? undefined : { 'content-type': 'application/json', 'x-reeve': '1' }),
      },
      ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : undefined),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new RequestError(0, away)
  }
  const answer = (await response.json().catch(() => undefined)) as Json | undefined
  if (response.ok) return answer as Answer
  throw new RequestError(
    response.status,
    errorIn(answer) ?? {
      ...away,
      code: `http.${response.status}`,
      message: `The server answered with ${response.status}.`,
    },
  )
}

function errorIn(answer: unknown): ErrorBody['error'] | undefined {
  const error = (answer as Partial<ErrorBody> | undefined)?.error
  return typeof error?.message === 'string' ? error : undefined
}

/** Parameters as text for a path; those without a value are left out. */
export function query(params: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(params).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, `${value}`] as [string, string]],
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`
}
