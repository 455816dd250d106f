/**
 * Errors as responses: the status of every code, and what is said of it to the outside.
 *
 * Owns: the table of all codes, the body of an error. Does not own: the codes (core/errors.ts).
 * Holds: what is said is bounded, whatever a caller has sent. Nothing internal leaves: what is not the caller's fault is
 * said in the words of this table, without the message of the error, which may hold a path, a statement or an address.
 */
import { cut, ReeveError, type ErrorCode } from '@reeve/core'
import type { ErrorBody } from './wire.ts'

/** The status of every code. Below 500 the caller is told the message; from 500 on only that it failed. */
export const errorStatuses: Readonly<Record<ErrorCode, number>> = {
  'agent.failed': 500,
  'agent.invalid': 400,
  'agent.needs-credentials': 500,
  'agent.not-registered': 404,
  'agent.too-much': 500,
  'approval.alone': 400,
  'approval.already-decided': 409,
  'approval.expired': 409,
  'approval.forbidden': 403,
  'approval.invalid': 400,
  'approval.unknown': 404,
  'budget.answer-cut': 409,
  'budget.exceeded': 409,
  'budget.no-price': 400,
  'capability.refused': 403,
  'cli.usage': 400,
  'config.invalid': 500,
  'content.unknown': 404,
  'content.unsupported': 500,
  'delegation.depth': 409,
  'delegation.ended': 409,
  'delegation.refused': 409,
  'delegation.unknown': 404,
  'delegation.unknown-worker': 404,
  'effect.in-doubt': 409,
  'effect.timed-out': 504,
  'engine.attempt-failed': 503,
  'engine.closed': 503,
  'engine.no-worker': 503,
  'engine.not-authorized': 500,
  'engine.not-driving': 503,
  'engine.not-trusted': 500,
  'engine.reachable-again': 503,
  'engine.registered-again': 503,
  'engine.server-not-started': 503,
  'engine.unreachable': 503,
  'engine.worker-refused': 503,
  'engine.worker-unreachable': 503,
  'engine.wrong-address': 500,
  'fork.invalid': 400,
  'hook.failed': 503,
  'input.invalid': 400,
  'input.not-json': 400,
  'input.too-large': 413,
  'interrupt.already-answered': 409,
  'interrupt.expired': 409,
  'interrupt.invalid': 400,
  'interrupt.unknown': 404,
  'journal.hole': 500,
  'journal.unknown-event': 500,
  'limit.reached': 409,
  'link.expired': 409,
  'link.revoked': 409,
  'link.unknown': 404,
  'loop.not-reached': 409,
  'middleware.failed': 500,
  'model.answer-invalid': 500,
  'model.bad-request': 500,
  'model.calls-missing': 500,
  'model.context-full': 409,
  'model.cut-off': 500,
  'model.empty': 500,
  'model.failed': 500,
  'model.filtered': 409,
  'model.invalid-id': 400,
  'model.length': 409,
  'model.lost': 503,
  'model.not-authorized': 500,
  'model.not-installed': 500,
  'model.paused': 503,
  'model.prompt-blocked': 409,
  'model.rate-limited': 503,
  'model.refused': 409,
  'model.silent': 503,
  'model.unavailable': 503,
  'model.unknown': 400,
  'model.unsupported': 400,
  'notice.failed': 500,
  'orchestration.address-in-use': 500,
  'orchestration.foreign-await': 500,
  'orchestration.nothing-to-await': 500,
  'orchestration.threw': 500,
  'output.invalid': 400,
  'permission.denied': 403,
  'plan.failed': 409,
  'plan.invalid': 400,
  'replay.diverged': 409,
  'request.failed': 500,
  'request.forbidden': 403,
  'request.headers-too-large': 431,
  'request.not-authenticated': 401,
  'request.not-json': 415,
  'request.timed-out': 408,
  'request.too-many': 429,
  'request.unknown-path': 404,
  'request.wrong-method': 405,
  'run.conflict': 409,
  'run.crash-loop': 409,
  'run.ended': 409,
  'run.invalid-id': 400,
  'run.not-completed': 409,
  'run.not-paused': 409,
  'run.not-taken-over': 409,
  'run.taken-over': 409,
  'run.unknown': 404,
  'server.answer-invalid': 502,
  'server.unreachable': 503,
  'session.busy': 409,
  'session.forbidden': 403,
  'session.invalid': 400,
  'session.unknown': 404,
  'store.busy': 503,
  'store.corrupt': 500,
  'store.foreign': 500,
  'store.full': 503,
  'store.newer': 500,
  'store.older': 500,
  'store.read-only': 503,
  'store.redacted': 500,
  'store.refused': 500,
  'store.replaced': 500,
  'store.unavailable': 503,
  'store.unsynced': 500,
  'task.dependency-failed': 409,
  'task.dependency-timeout': 409,
  'task.rejected': 409,
  'task.unanswered': 409,
  'task.unsuccessful': 409,
  'team.deadlock': 409,
  'team.empty': 409,
  'team.invalid': 400,
  'team.no-results': 409,
  'team.not-a-member': 404,
  'team.too-many-failures': 409,
  'telemetry.failed': 502,
  'tool.failed': 500,
  'tool.invalid': 400,
  'tool.invalid-input': 400,
  'tool.unanswered': 504,
  'tool.unknown': 404,
  'transfer.loop': 409,
  'transfer.refused': 409,
  'trust.invalid': 400,
  'version.conflict': 409,
  'version.unknown': 404,
  'work.rejected': 409,
  'worker.failed': 500,
}

/** How long a caller should wait before it asks again, in seconds. */
const retryAfter = '1'

/** An error as it may be shown to the caller, with its status. */
export interface ShownError extends Readonly<ErrorBody['error']> {
  readonly status: number
}

/** What the caller is told of anything that was thrown. */
export function shownError(thrown: unknown): ShownError {
  const error = ReeveError.is(thrown) ? thrown : undefined
  const code = error !== undefined && Object.hasOwn(errorStatuses, error.code) ? error.code : 'request.failed'
  const status = errorStatuses[code]
  return { ...(status < 500 && error !== undefined ? errorBody(error) : untold(code, status, error)), status }
}

/** The response for anything that was thrown. */
export const errorResponse = (thrown: unknown): Response => responseOf(shownError(thrown))

/** The response for an error as it may be shown. */
export const responseOf = ({ status, ...error }: ShownError): Response =>
  Response.json({ error } satisfies ErrorBody, { status, headers: errorHeaders(status) })

/** The headers that belong to the status of an error. */
export const errorHeaders = (status: number): Record<string, string> =>
  status === 503 || status === 429
    ? { 'Retry-After': retryAfter }
    : status === 401
      ? { 'WWW-Authenticate': 'Bearer realm="reeve"' }
      : status === 408
        ? { Connection: 'close' }
        : {}

/** How much of an error is said, in characters: it may name what the caller sent. */
const longestSaid = 8_000

const errorBody = ({ code, message, hint, retryable }: ReeveError): ErrorBody['error'] => ({
  code,
  message: cut(message, longestSaid),
  ...(hint === undefined ? undefined : { hint: cut(hint, longestSaid) }),
  retryable,
})

const untold = (code: ErrorCode, status: number, error: ReeveError | undefined): ErrorBody['error'] => ({
  code,
  message: status === 503 ? 'the server cannot answer now' : 'the server failed to answer',
  hint: 'The log of the server says why.',
  retryable: status === 503 || error?.retryable === true,
})
