/**
 * Errors as OpenAI's API says them.
 *
 * Owns: the body of an error, and whether a client should send the request again by itself. Does not own: statuses (the
 * server). `code` is Reeve's code.
 */
import type { Outcome } from '@reeve/core'
import type { ShownError } from '@reeve/server'

/** The error of OpenAI's API. */
export interface OpenAiError {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string
}

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
}

const typeOf = (status: number): string => (status >= 500 ? 'server_error' : (types[status] ?? 'invalid_request_error'))

/** An error of the server or the request. */
export function refuse({ status, code, message, hint, retryable }: ShownError): Response {
  const told = hint === undefined ? message : `${message}. ${hint}`
  return errorResponse(status, { message: told, type: typeOf(status), param: parameterOf(message), code }, retryable)
}

/** The official clients send 409 and 5xx again unless they are told not to. */
const errorResponse = (status: number, error: OpenAiError, retryable: boolean): Response =>
  Response.json({ error }, { status, headers: { 'x-should-retry': String(retryable) } })

/** The parameter that a message begins with: `messages[0]: …`. */
const parameterOf = (message: string): string | null => /^([a-z_.]+(?:\[\d+\])?): /.exec(message)?.[1] ?? null

/** The error of a run that did not answer; undefined if it did. */
export function outcomeError(outcome: Outcome): OpenAiError | undefined {
  const error = (code: string, message: string): OpenAiError => ({ message, type: 'server_error', param: null, code })
  switch (outcome.status) {
    case 'failed':
      return error(outcome.failure.code, outcome.failure.message)
    case 'timed-out':
      return error('effect.timed-out', outcome.message)
    case 'cancelled':
      return error('run.ended', `the run was cancelled: ${outcome.reason}`)
    default:
      return undefined
  }
}

/** The response of a run that did not answer. The same request again would be another run, or end in the same way. */
export const failedResponse = (error: OpenAiError): Response => errorResponse(500, error, false)
