/**
 * The error of the client: what the server refused, or why it could not be asked.
 *
 * Owns: `ClientError`, reading one from a response. `ReeveError.is` recognises it, without the client loading Reeve.
 */
import type { ErrorBody } from '@reeve/server/wire'

const marker: unique symbol = Symbol.for('reeve.error') as never

/** An error of the server, or of the way to it. `ReeveError.is(error, code)` recognises it, too. */
export class ClientError extends Error {
  /**
   * A code of `docs/reference/errors.md`. `server.unreachable`: no answer; `server.answer-invalid`: an answer that is not one of
   * Reeve's, as of a proxy.
   */
  readonly code: string
  readonly hint: string | undefined
  /** The same request may succeed later. */
  readonly retryable: boolean
  /** The status of the response; 0 without one. */
  readonly status: number
  /** When the server wants to be asked again, in milliseconds from now. */
  readonly retryAfterMs: number | undefined
  readonly [marker] = true

  constructor(status: number, error: ErrorBody['error'], options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(error.message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ClientError'
    this.status = status
    this.code = error.code
    this.hint = error.hint
    this.retryable = error.retryable
    this.retryAfterMs = options.retryAfterMs
  }
}

/** There was no answer. */
export const unreachable = (url: string, cause: unknown): ClientError =>
  new ClientError(
    0,
    {
      code: 'server.unreachable',
      message: `the server at ${url} does not answer`,
      hint: 'Is it running, and is the address right? Try again later.',
      retryable: true,
    },
    { cause },
  )

/** An answer that is not Reeve's. */
export const invalidAnswer = (url: string, status: number, what: string, cause?: unknown): ClientError =>
  new ClientError(
    status,
    {
      code: 'server.answer-invalid',
      message: `the answer of ${url} (status ${status}) is not one of a Reeve server: ${what}`,
      hint: 'Is there a proxy between, or is the base URL another one?',
      retryable: status === 429 || status >= 500,
    },
    { cause },
  )

/** The error that a response says. */
export async function errorIn(url: string, response: Response): Promise<ClientError> {
  const retryAfterMs = retryAfter(response.headers.get('Retry-After'))
  const body: unknown = await response.json().catch(() => undefined)
  const error = (body as Partial<ErrorBody> | null | undefined)?.error
  if (typeof error?.code !== 'string' || typeof error.message !== 'string')
    return invalidAnswer(url, response.status, 'it says no error')
  return new ClientError(response.status, error, retryAfterMs === undefined ? {} : { retryAfterMs })
}

/** `Retry-After` in milliseconds: seconds, or a date. */
function retryAfter(text: string | null): number | undefined {
  if (text === null || text === '') return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
