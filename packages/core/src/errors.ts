/**
 * ReeveError: thrown when Reeve is used wrongly, or when its environment (store, network) fails.
 *
 * Owns: the closed list of error codes. Each is a section of docs/reference/errors.md.
 * Does not own: what is recorded when work fails; that is a `Failure` (failure.ts), never an `Error`.
 */

/** Every code that Reeve throws or records. Slugs: `subject.what-happened`. */
export const errorCodes = [
  'agent.failed',
  'agent.invalid',
  'agent.needs-credentials',
  'agent.not-registered',
  'agent.too-much',
  'approval.alone',
  'approval.already-decided',
  'approval.expired',
  'approval.forbidden',
  'approval.invalid',
  'approval.unknown',
  'budget.answer-cut',
  'budget.exceeded',
  'budget.no-price',
  'capability.refused',
  'cli.usage',
  'config.invalid',
  'content.unknown',
  'content.unsupported',
  'delegation.depth',
  'delegation.ended',
  'delegation.refused',
  'delegation.unknown',
  'delegation.unknown-worker',
  'effect.in-doubt',
  'effect.timed-out',
  'engine.attempt-failed',
  'engine.closed',
  'engine.no-worker',
  'engine.not-authorized',
  'engine.not-driving',
  'engine.not-trusted',
  'engine.reachable-again',
  'engine.registered-again',
  'engine.server-not-started',
  'engine.unreachable',
  'engine.worker-refused',
  'engine.worker-unreachable',
  'engine.wrong-address',
  'fork.invalid',
  'hook.failed',
  'input.invalid',
  'input.not-json',
  'input.too-large',
  'interrupt.already-answered',
  'interrupt.expired',
  'interrupt.invalid',
  'interrupt.unknown',
  'journal.hole',
  'journal.unknown-event',
  'limit.reached',
  'link.expired',
  'link.revoked',
  'link.unknown',
  'loop.not-reached',
  'middleware.failed',
  'model.answer-invalid',
  'model.bad-request',
  'model.calls-missing',
  'model.context-full',
  'model.cut-off',
  'model.empty',
  'model.failed',
  'model.filtered',
  'model.invalid-id',
  'model.length',
  'model.lost',
  'model.not-authorized',
  'model.not-installed',
  'model.paused',
  'model.prompt-blocked',
  'model.rate-limited',
  'model.refused',
  'model.silent',
  'model.unavailable',
  'model.unknown',
  'model.unsupported',
  'notice.failed',
  'orchestration.address-in-use',
  'orchestration.foreign-await',
  'orchestration.nothing-to-await',
  'orchestration.threw',
  'output.invalid',
  'permission.denied',
  'plan.failed',
  'plan.invalid',
  'replay.diverged',
  'request.failed',
  'request.forbidden',
  'request.headers-too-large',
  'request.not-authenticated',
  'request.not-json',
  'request.timed-out',
  'request.too-many',
  'request.unknown-path',
  'request.wrong-method',
  'run.conflict',
  'run.crash-loop',
  'run.ended',
  'run.invalid-id',
  'run.not-completed',
  'run.not-paused',
  'run.not-taken-over',
  'run.taken-over',
  'run.unknown',
  'server.answer-invalid',
  'server.unreachable',
  'session.busy',
  'session.forbidden',
  'session.invalid',
  'session.unknown',
  'store.busy',
  'store.corrupt',
  'store.foreign',
  'store.full',
  'store.newer',
  'store.older',
  'store.read-only',
  'store.redacted',
  'store.refused',
  'store.replaced',
  'store.unavailable',
  'store.unsynced',
  'task.dependency-failed',
  'task.dependency-timeout',
  'task.rejected',
  'task.unanswered',
  'task.unsuccessful',
  'team.deadlock',
  'team.empty',
  'team.invalid',
  'team.no-results',
  'team.not-a-member',
  'team.too-many-failures',
  'telemetry.failed',
  'tool.failed',
  'tool.invalid',
  'tool.invalid-input',
  'tool.unanswered',
  'tool.unknown',
  'transfer.loop',
  'transfer.refused',
  'trust.invalid',
  'version.conflict',
  'version.unknown',
  'work.rejected',
  'worker.failed',
] as const

/** A code of the closed list. */
export type ErrorCode = (typeof errorCodes)[number]

const marker = Symbol.for('reeve.error')

export interface ReeveErrorOptions {
  /** Whether trying the same call again may help. Default false. */
  retryable?: boolean
  /** What to do next, as one or two sentences for the person who reads it. */
  hint?: string
  /** What it came from. */
  cause?: unknown
}

/**
 * An error with a stable `code`, a word on whether to retry, and a hint on what to do next.
 * Use `ReeveError.is(error)`, not `instanceof`: it also recognises errors of another copy of the package.
 */
export class ReeveError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly hint: string | undefined
  readonly [marker] = true

  constructor(code: ErrorCode, message: string, options: ReeveErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ReeveError'
    this.code = code
    this.retryable = options.retryable ?? false
    this.hint = options.hint
  }

  /** True for a ReeveError of any copy of the package; with a code, only for that code. */
  static is(error: unknown, code?: ErrorCode): error is ReeveError {
    return (
      typeof error === 'object' &&
      error !== null &&
      marker in error &&
      (code === undefined || (error as ReeveError).code === code)
    )
  }
}

/** The text of anything that was thrown. Never throws itself. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message === '' ? thrown.name : thrown.message
  if (typeof thrown === 'string') return thrown
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return Object.prototype.toString.call(thrown)
  }
}
