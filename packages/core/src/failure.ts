/**
 * Failure: the recorded, serialisable account of work that went wrong. Not an `Error`: it is never thrown.
 */
import { messageOf, ReeveError, type ErrorCode } from './errors.ts'
import { own, type JsonObject } from './json.ts'
import { soundUsage, type CallUsage } from './usage.ts'

/** Which kind of failure decides on retries (spec team R-10): the first four may be tried again, the others not. */
export type FailureClass =
  'transport' | 'rate-limit' | 'timeout' | 'unknown' | 'validation' | 'policy' | 'budget' | 'rejected' | 'internal'

/** What is recorded when something failed. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
  readonly class: FailureClass
  /** Whether the one retry owner (the step) may try again. */
  readonly retryable: boolean
  /** Earliest moment for another try, in milliseconds after the failure, if the other side named one (Retry-After). */
  readonly retryAfterMs?: number
  readonly hint?: string
  /** More facts, for programs. */
  readonly details?: JsonObject
}

const retryableClasses: ReadonlySet<FailureClass> = new Set(['transport', 'rate-limit', 'timeout', 'unknown'])

/** Makes a failure; `retryable` follows from the class unless said. */
export function failure(
  code: ErrorCode,
  message: string,
  of: FailureClass,
  more: { retryable?: boolean; retryAfterMs?: number; hint?: string; details?: JsonObject } = {},
): Failure {
  return { code, message, class: of, retryable: retryableClasses.has(of), ...more }
}

const failureMarker = Symbol.for('reeve.failure')

/**
 * What a model call that failed has used: as it was reported, nothing, or that nobody knows. The provider may have
 * charged for an answer that never arrived.
 */
export type UsedByFailure = CallUsage | 'unknown' | 'nothing'

/** Thrown inside an effect to say exactly which failure is to be recorded. */
export class FailureError extends Error {
  readonly failure: Failure
  /** Of a model call: what it used although it failed. Default: `details.usage` of the failure, if it has one. */
  readonly used: UsedByFailure | undefined
  readonly [failureMarker] = true

  constructor(what: Failure, cause?: unknown, used?: UsedByFailure) {
    super(what.message, cause === undefined ? undefined : { cause })
    this.name = 'FailureError'
    this.failure = what
    this.used = used
  }
}

/** What a model call used that ended with this; undefined if it does not say. */
export function usedByFailure(thrown: unknown, { details }: Failure): UsedByFailure | undefined {
  const said =
    typeof thrown === 'object' && thrown !== null && failureMarker in thrown ? (thrown as FailureError).used : undefined
  if (said !== undefined) return typeof said === 'string' ? said : (soundUsage(said) ?? 'unknown')
  const usage = details === undefined ? undefined : own(details, 'usage')
  if (usage === 'unknown') return usage
  return typeof usage !== 'object' || usage === null ? undefined : soundUsage(usage as CallUsage)
}

/** A failure of a program that the compiler has not seen may lack anything: what it lacks is that of an unknown error. */
function soundFailure(given: Partial<Failure> | undefined, code: ErrorCode): Failure {
  const { code: own, message, class: of, retryable } = given ?? {}
  const isSound = [own, message, of].every((each) => typeof each === 'string') && typeof retryable === 'boolean'
  if (isSound) return given as Failure
  return failure(code, typeof message === 'string' ? message : 'a FailureError without a failure', 'unknown')
}

/**
 * The failure that a thrown value stands for. An unknown error is retryable ('unknown'), as R-10 says; a ReeveError
 * says so itself.
 */
export function failureFrom(thrown: unknown, code: ErrorCode): Failure {
  if (typeof thrown === 'object' && thrown !== null && failureMarker in thrown)
    return soundFailure((thrown as FailureError).failure, code)
  if (ReeveError.is(thrown)) {
    return failure(
      thrown.code,
      thrown.message,
      thrown.retryable ? 'unknown' : 'validation',
      thrown.hint === undefined ? {} : { hint: thrown.hint },
    )
  }
  if (thrown instanceof Error && (thrown.name === 'TimeoutError' || thrown.name === 'AbortError'))
    return failure('effect.timed-out', messageOf(thrown), 'timeout')
  return failure(code, messageOf(thrown), 'unknown')
}
