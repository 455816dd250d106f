/**
 * Faults: what goes wrong with a model call, as a `Failure` whose class decides on retries.
 *
 * Owns: the table from status codes, network errors and provider errors (too long, blocked) to codes and classes;
 * whether a failed call is paid for; keeping secrets out of messages.
 * Does not own: retrying, when to come back (waits.ts).
 */
import {
  beginning,
  isObject,
  own,
  readJson,
  failure,
  FailureError,
  failureFrom,
  messageOf,
  ReeveError,
  type Failure,
  type Json,
  type JsonObject,
  type UsedByFailure,
} from '@reeve/core'
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
    case 'unsupported':
    case 'context-full':
    case 'prompt-blocked':
      return 'nothing'
    case 'unavailable':
      if (facts.status !== undefined) return gaveUpWaiting.has(facts.status) ? 'unknown' : 'nothing'
      return chain(thrown).some((error) => neverArrived.test(String(member(error, 'code')))) ? 'nothing' : 'unknown'
    case 'cut-off':
    case 'filtered':
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
  const said = beginning(redact(textOf(thrown), of.secrets), longestMessage)
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
    case 'context-full':
      return failure('model.context-full', `${of.model} cannot take so much${http}: ${said}`, 'validation', {
        details,
        hint: tooLongHint,
      })
    case 'prompt-blocked':
      return failure('model.prompt-blocked', `${of.model} blocked what it was sent${http}: ${said}`, 'policy', {
        details,
      })
    case 'filtered':
      return failure('model.filtered', `a content filter stopped the answer of ${of.model}${http}: ${said}`, 'policy', {
        details,
      })
    case 'bad-request':
      return failure('model.bad-request', `${of.model} refused the request${http}: ${said}`, 'validation', { details })
    case 'unsupported':
      return failure('model.unsupported', `${of.model} does not take what it would be sent: ${said}`, 'validation', {
        details,
        hint: 'Nothing was sent. Give a file in another form, leave it or the setting out, or use another model.',
      })
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
  | 'context-full'
  | 'prompt-blocked'
  | 'filtered'
  | 'bad-request'
  | 'unsupported'
  | 'unavailable'
  | 'not-understood'
  | 'cut-off'
  | 'other'

function verdict(facts: Facts, thrown: unknown, begun: boolean): FaultKind {
  const { status, kind, name } = facts
  if (/insufficient_quota|billing/i.test(kind)) return 'no-credit'
  const refused = refusedContent(facts, thrown)
  if (refused !== undefined) return refused
  if (status !== undefined && status >= 400) return byStatus(status, kind)
  const named = byKind(kind) ?? byName(name)
  if (named !== undefined) return named
  if (begun) return 'cut-off'
  if (status !== undefined)
    return chain(thrown).some((error) => error.name === 'AI_TypeValidationError') ? 'not-understood' : 'cut-off'
  if (chain(thrown).some((error) => isNetwork(error))) return 'unavailable'
  return name === 'AI_APICallError' ? 'unavailable' : 'other'
}

/** What to do about a conversation that is too long. */
export const tooLongHint =
  'Give the agent `compaction`, a shorter brief or smaller tool results, or use a model with a larger context window.'

/**
 * How providers say that a request is too large for the model, each from its documentation or a public report. Where the
 * status or the code says it alone, no words are needed.
 */
const tooLong: readonly RegExp[] = [
  // Anthropic: https://platform.claude.com/docs/en/api/errors (request_too_large), …/build-with-claude/context-windows
  /prompt is too long/i,
  /input length and `?max_tokens`? exceed context limit/i,
  // OpenAI, and most who speak its wire (Groq, OpenRouter, vLLM, DeepSeek): https://platform.openai.com/docs/guides/error-codes
  /maximum context length/i,
  /exceeds? the context window/i,
  /reduce the length of the (?:messages|input|prompt)/i,
  /maximum model length/i,
  // OpenAI and Groq, of one request above the tokens of a minute, which no waiting helps: github.com/openai/openai-python#1096
  /request too large for (?:model|gpt|o\d)/i,
  // Google: https://ai.google.dev/gemini-api/docs/troubleshooting
  /input token count.{0,40}exceeds the maximum/i,
  /request payload size exceeds/i,
  // llama.cpp: github.com/ggml-org/llama.cpp tools/server (exceed_context_size_error); LM Studio, which writes "context the overflows"; Ollama
  /exceeds? the available context size/i,
  /context the overflows|greater than the context length/i,
  /input length exceeds the (?:maximum )?context length/i,
  // Ollama: github.com/ollama/ollama runner (a prompt that may not be shortened)
  /exceeded max(?:imum)? context length/i,
  // xAI, Mistral, Amazon Bedrock, Moonshot, MiniMax: from public reports
  /maximum prompt length is \d/i,
  /too large for model with \d+ maximum context length/i,
  /input is too long for requested model/i,
  /exceeded model token limit/i,
  /context window exceeds limit/i,
]
const tooLongCode =
  /context_length_exceeded|exceed_context_size|request_too_large|string_above_max_length|prompt_tokens_exceeded/i

/**
 * How providers say that they block what they were sent: Azure OpenAI (https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter),
 * OpenAI (`invalid_prompt`, `content_policy_violation`), OpenRouter (https://openrouter.ai/docs/api-reference/errors, 403
 * with moderation metadata).
 */
const blockedCode =
  /content_filter|content_policy_violation|responsibleaipolicyviolation|invalid_prompt|prompt_blocked/i
const blockedPattern =
  /requires moderation|input was flagged|flagged as potentially violating|violates? (?:our )?usage (?:guidelines|polic)/i
/** Anthropic, of an answer: github.com/anthropics/claude-code/issues (400 "Output blocked by content filtering policy"). */
const filteredPattern = /output (?:was )?blocked by content filtering/i

/** Of a request that was refused for what it holds: too much, or something that a filter blocks. */
function refusedContent({ status, kind }: Facts, thrown: unknown): FaultKind | undefined {
  if (status !== undefined && !contentStatuses.has(status)) return undefined
  if (tooLongCode.test(kind)) return 'context-full'
  const said = errorText(thrown)
  if (tooLong.some((words) => words.test(said))) return 'context-full'
  if (filteredPattern.test(said)) return 'filtered'
  if (blockedCode.test(kind) || (status !== 429 && blockedPattern.test(said))) return 'prompt-blocked'
  return status === 413 ? 'context-full' : undefined
}

/** 429 is among them for a single request that is larger than a minute's tokens, 500 for older servers of one's own. */
const contentStatuses: ReadonlySet<number> = new Set([400, 403, 413, 422, 429, 500])
/** How much of an error is looked through. */
const longestError = 4_000

/** What an error says, in its message and in the body that the provider package could not read. */
function errorText(thrown: unknown): string {
  const body = member(thrown, 'responseBody')
  return `${textOf(thrown).slice(0, longestError)}\n${typeof body === 'string' ? body.slice(0, longestError) : ''}`
}

function byStatus(status: number, kind: string): FaultKind {
  if (status === 402) return 'no-credit'
  if (status === 429) return 'rate-limited'
  if (status === 401 || status === 403 || /api_key_invalid/i.test(kind)) return 'not-authorized'
  if (status === 404 || /model_not_found/i.test(kind)) return 'unknown-model'
  // 498: no capacity at the moment, https://console.groq.com/docs/flex-processing
  if (status === 498) return 'unavailable'
  if (status === 408 || status === 409 || status === 425 || status >= 500) return 'unavailable'
  return 'bad-request'
}

/** Errors inside a stream come without a status; their type or code is all there is. */
function byKind(kind: string): FaultKind | undefined {
  if (/rate_limit|resource_exhausted|too_many_requests/i.test(kind)) return 'rate-limited'
  if (/authentication|permission|unauthenticated|invalid_api_key/i.test(kind)) return 'not-authorized'
  if (/model_not_found|not_found_error/i.test(kind)) return 'unknown-model'
  if (/invalid_request|invalid_argument/i.test(kind)) return 'bad-request'
  if (/overloaded|unavailable|capacity_exceeded|server_error|api_error|internal|timeout/i.test(kind))
    return 'unavailable'
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
      return 'bad-request'
    case 'AI_UnsupportedFunctionalityError':
      return 'unsupported'
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
  words.push(...reasonsIn(inner))
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

/** Said in words alone, with a status that others use for other things. */
const noCredit = [
  /credit balance is too low/i, // Anthropic, 400: https://github.com/anthropics/claude-code/issues/4208
  /prepayment credits are depleted/i, // Google, 429: https://github.com/dyad-sh/dyad/issues/3626
]

/** Reasons beside the type of an error: Google's `details` (https://google.aip.dev/193), an account without credit. */
function reasonsIn(error: unknown): unknown[] {
  const details = member(error, 'details')
  const reasons = Array.isArray(details) ? details.slice(0, 10).map((detail) => member(detail, 'reason')) : []
  const said = member(error, 'message')
  const isBroke = typeof said === 'string' && noCredit.some((words) => words.test(said.slice(0, longestMessage)))
  return isBroke ? [...reasons, 'billing'] : reasons
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

/** What was said of it: by the body of the answer where the provider package did not understand it, else by the error. */
function textOf(thrown: unknown): string {
  const body = member(thrown, 'data') === undefined ? member(thrown, 'responseBody') : undefined
  const said = typeof body === 'string' ? bodyText(body) : undefined
  const message = said ?? member(thrown, 'message') ?? member(member(thrown, 'error'), 'message')
  return typeof message === 'string' && message !== '' ? message : messageOf(thrown)
}

/**
 * The words in the body of an error, whatever its form: `{ error: { message } }` (OpenAI), `{ message }` (the
 * `ErrorResponse` of vLLM, vllm/entrypoints/openai/protocol.py), `{ error: "…" }` (Ollama, TGI), `{ detail: "…" | [{ msg }] }` (FastAPI),
 * `{ errors: […] }`, or a plain text. Undefined if there are none that a person can read.
 */
function bodyText(body: string): string | undefined {
  const text = body.trim()
  const read = readJson(text)
  if (read.ok) return isObject(read.value) || Array.isArray(read.value) ? textIn(read.value, 0) : undefined
  // a page for a browser says nothing here
  return read.none !== true || text === '' || text.startsWith('<') ? undefined : text
}

function textIn(value: Json | undefined, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  if (depth > 4) return undefined
  if (Array.isArray(value)) {
    const each = (value as readonly Json[]).slice(0, 5).flatMap((one) => textIn(one, depth + 1) ?? [])
    return each.length === 0 ? undefined : each.join('; ')
  }
  if (!isObject(value)) return undefined
  for (const name of ['error', 'message', 'detail', 'msg', 'errors', 'error_description'])
    if (own(value, name) !== undefined) {
      const said = textIn(own(value, name), depth + 1)
      if (said !== undefined) return said
    }
  return undefined
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

/**
 * Shorter ones are placeholders ("k", "none", "ollama") of servers that take any key: keys of real providers have 20
 * characters and more, and a word that short stands in ordinary text.
 */
const shortestSecret = 8

/** The text without the secrets, and without anything that looks like an API key. */
function redact(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) if (secret.length >= shortestSecret) clean = clean.replaceAll(secret, '[redacted]')
  return clean.replace(keyLike, '[redacted]')
}
