/**
 * Faults: what goes wrong with a model call, as a `Failure` whose class decides on retries.
 *
 * Owns: the table from status codes, network errors and provider errors to codes and classes; whether a failed call is paid
 * for; keeping secrets out of messages.
 * Does not own: retrying, when to come back (waits.ts).
 */
import {
  failure,
  FailureError,
  failureFrom,
  messageOf,
  ReeveError,
  type Failure,
  type JsonObject,
  type UsedByFailure,
} from '../core/index.ts'
import { waitOf } from './waits.ts'

/** What is known of the call that failed. */
export interface CallFacts {
  /** The model's id, for the message. */
  readonly model: string
  /** Texts that must not appear anywhere. */
  readonly secrets: readonly string[]
  /** Whether the answer had begun: then an unknown error means that it was cut off. */
  readonly begun: boolean
  /** Something of the answer had arrived: it is paid for. */
  readonly hasContent?: boolean
  /** The variable that holds the key, for the hint. */
  readonly keyName?: string
}

interface Facts {
  readonly status: number | undefined
  readonly kind: string
  readonly headers: { readonly [name: string]: unknown }
  readonly name: string
}

const failureMarker = Symbol.for('reeve.failure')
const networkCode = /^(?:E[A-Z]+|UND_ERR_[A-Z_]+)$/
const longestMessage = 500

/** A failure, and what the call used that ended with it. */
export interface ModelFault {
  readonly failure: Failure
  /** Undefined: nothing is known, not even whether it was sent. */
  readonly used: UsedByFailure | undefined
}

/** The failure that a thrown value or an error part stands for, and what the call used. */
export const modelFault = (thrown: unknown, of: CallFacts): ModelFault => ({
  failure: modelFailure(thrown, of),
  used: thrown instanceof FailureError && thrown.used !== undefined ? thrown.used : usedBy(thrown, of),
})

/** What went wrong on the way to the provider, so that it never saw the call. */
const neverArrived = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT)$/
/** A gateway gave up waiting for the model behind it, which may have answered and be paid for. */
const gaveUpWaiting: ReadonlySet<number> = new Set([408, 499, 502, 504, 524])

/**
 * Whether a call that failed is paid for. A provider that refuses a call charges nothing; one whose answer did not
 * arrive whole may charge for all of it.
 */
function usedBy(thrown: unknown, of: CallFacts): UsedByFailure | undefined {
  const facts = factsOf(thrown)
  if (of.hasContent === true) return 'unknown'
  switch (verdict(facts, thrown, of.begun)) {
    case 'rate-limited':
    case 'no-credit':
    case 'not-authorized':
    case 'unknown-model':
    case 'bad-request':
      return 'nothing'
    case 'unavailable':
      if (facts.status !== undefined) return gaveUpWaiting.has(facts.status) ? 'unknown' : 'nothing'
      return chain(thrown).some((error) => neverArrived.test(String(member(error, 'code')))) ? 'nothing' : 'unknown'
    case 'cut-off':
    case 'not-understood':
      return 'unknown'
    case 'other':
      return of.begun ? 'unknown' : undefined
  }
}

/** The failure that a thrown value or an error part stands for. A `FailureError` or `ReeveError` says so itself. */
export function modelFailure(thrown: unknown, of: CallFacts): Failure {
  if (ReeveError.is(thrown) || (typeof thrown === 'object' && thrown !== null && failureMarker in thrown))
    return failureFrom(thrown, 'model.failed')
  const facts = factsOf(thrown)
  const said = redact(textOf(thrown), of.secrets).slice(0, longestMessage)
  const details: JsonObject = {
    model: of.model,
    ...(facts.status !== undefined && { status: facts.status }),
    ...(facts.kind !== '' && { kind: facts.kind }),
  }
  const wait = waitOf({ headers: facts.headers, body: bodyOf(thrown), text: textOf(thrown) })
  const more = { details, ...(wait !== undefined && { retryAfterMs: wait }) }
  const http = facts.status === undefined ? '' : ` (HTTP ${facts.status})`
  switch (verdict(facts, thrown, of.begun)) {
    case 'rate-limited':
      return failure(
        'model.rate-limited',
        `${of.model} is limiting the rate of calls${http}: ${said}`,
        'rate-limit',
        more,
      )
    case 'no-credit':
      return failure('model.rate-limited', `${of.model} has no credit left${http}: ${said}`, 'policy', {
        details,
        hint: 'Check the plan and the billing of the account.',
      })
    case 'not-authorized':
      return failure('model.not-authorized', `${of.model} refused the credentials${http}: ${said}`, 'policy', {
        details,
        hint: keyHint(of),
      })
    case 'unknown-model':
      return failure(
        'model.unknown',
        `the provider does not know the model ${of.model}${http}: ${said}`,
        'validation',
        {
          details,
          hint: 'Check the name of the model and the base URL.',
        },
      )
    case 'bad-request':
      return failure('model.bad-request', `${of.model} refused the request${http}: ${said}`, 'validation', { details })
    case 'unavailable':
      return failure(
        'model.unavailable',
        `${of.model} could not be reached or is not working${http}: ${said}`,
        'transport',
        more,
      )
    case 'not-understood':
      return failure(
        'model.answer-invalid',
        `${of.model} sent an answer that its provider package does not understand${http}: ${said}`,
        'unknown',
        { details },
      )
    case 'cut-off':
      return { ...cutOff(of.model, said), details }
    case 'other':
      return failure('model.failed', `${of.model} failed: ${said}`, 'unknown', { details })
  }
}

/** The failure of an answer that did not reach its end. */
export function cutOff(model: string, why: string): Failure {
  return failure('model.cut-off', `the answer of ${model} was cut off: ${why}`, 'transport')
}

type FaultKind =
  | 'rate-limited'
  | 'no-credit'
  | 'not-authorized'
  | 'unknown-model'
  | 'bad-request'
  | 'unavailable'
  | 'not-understood'
  | 'cut-off'
  | 'other'

function verdict(facts: Facts, thrown: unknown, begun: boolean): FaultKind {
  const { status, kind, name } = facts
  if (/insufficient_quota|billing/i.test(kind)) return 'no-credit'
  if (status !== undefined && status >= 400) return byStatus(status, kind)
  const named = byKind(kind) ?? byName(name)
  if (named !== undefined) return named
  if (begun) return 'cut-off'
  if (status !== undefined)
    return chain(thrown).some((error) => error.name === 'AI_TypeValidationError') ? 'not-understood' : 'cut-off'
  if (chain(thrown).some((error) => isNetwork(error))) return 'unavailable'
  return name === 'AI_APICallError' ? 'unavailable' : 'other'
}

function byStatus(status: number, kind: string): FaultKind {
  if (status === 429) return 'rate-limited'
  if (status === 401 || status === 402 || status === 403) return 'not-authorized'
  if (status === 404 || /model_not_found/i.test(kind)) return 'unknown-model'
  if (status === 408 || status === 409 || status === 425 || status >= 500) return 'unavailable'
  return 'bad-request'
}

/** Errors inside a stream come without a status; their type or code is all there is. */
function byKind(kind: string): FaultKind | undefined {
  if (/rate_limit|resource_exhausted|too_many_requests/i.test(kind)) return 'rate-limited'
  if (/authentication|permission|unauthenticated|invalid_api_key/i.test(kind)) return 'not-authorized'
  if (/model_not_found|not_found_error/i.test(kind)) return 'unknown-model'
  if (/invalid_request|invalid_argument|context_length|invalid_prompt/i.test(kind)) return 'bad-request'
  if (/overloaded|unavailable|server_error|api_error|internal|timeout/i.test(kind)) return 'unavailable'
  return undefined
}

function byName(name: string): FaultKind | undefined {
  switch (name) {
    case 'AI_LoadAPIKeyError':
      return 'not-authorized'
    case 'AI_NoSuchModelError':
      return 'unknown-model'
    case 'AI_InvalidArgumentError':
    case 'AI_InvalidPromptError':
    case 'AI_LoadSettingError':
    case 'AI_UnsupportedFunctionalityError':
      return 'bad-request'
    case 'AI_EmptyResponseBodyError':
      return 'cut-off'
    default:
      return undefined
  }
}

function factsOf(thrown: unknown): Facts {
  const data = member(thrown, 'data')
  const inner = member(data, 'error') ?? member(thrown, 'error')
  // an error inside a stream has a status only as a code: OpenRouter, Google
  const status =
    numberOf(member(thrown, 'statusCode')) ??
    numberOf(member(thrown, 'status')) ??
    [inner, thrown].map((at) => numberOf(member(at, 'code'))).find((code) => code !== undefined && isErrorStatus(code))
  const words = [thrown, data, inner].flatMap((at) => [member(at, 'type'), member(at, 'code'), member(at, 'status')])
  const kind = [
    ...new Set(
      words.filter((word): word is string => typeof word === 'string' && word !== 'error' && !networkCode.test(word)),
    ),
  ].join(' ')
  const name = member(thrown, 'name')
  const headers = member(thrown, 'responseHeaders')
  return {
    status,
    kind,
    name: typeof name === 'string' ? name : '',
    headers: typeof headers === 'object' && headers !== null ? { ...headers } : {},
  }
}

const isErrorStatus = (code: number): boolean => code >= 400 && code <= 599

/** The body of an answer that was an error; of an error inside a stream, itself. */
function bodyOf(thrown: unknown): string | undefined {
  const body = member(thrown, 'responseBody')
  if (typeof body === 'string') return body
  const data = member(thrown, 'data') ?? (thrown instanceof Error ? undefined : thrown)
  try {
    return typeof data === 'object' && data !== null ? JSON.stringify(data) : undefined
  } catch {
    return undefined
  }
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as { readonly [key: string]: unknown })[key] : undefined
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) ? value : undefined

function textOf(thrown: unknown): string {
  const message = member(thrown, 'message') ?? member(member(thrown, 'error'), 'message')
  return typeof message === 'string' && message !== '' ? message : messageOf(thrown)
}

function chain(thrown: unknown): Error[] {
  const found: Error[] = []
  for (let at = thrown; at instanceof Error && found.length < 8 && !found.includes(at); at = at.cause) found.push(at)
  return found
}

function isNetwork(error: Error): boolean {
  const code = member(error, 'code')
  return (
    (typeof code === 'string' && networkCode.test(code)) ||
    (error instanceof TypeError && /^(?:fetch failed|terminated)/.test(error.message))
  )
}

function keyHint(of: CallFacts): string {
  return of.keyName === undefined
    ? 'Check the API key and what it may be used for.'
    : `Check ${of.keyName} and what that key may be used for.`
}

const keyLike = /\b(?:(?:sk|pk|rk|gsk|xai|key)[-_]|AIza)[-_A-Za-z0-9]{14,}|\bBearer\s+[^\s"',]+/g

/** The text without the secrets, and without anything that looks like an API key. */
function redact(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) if (secret !== '') clean = clean.replaceAll(secret, '[redacted]')
  return clean.replace(keyLike, '[redacted]')
}
