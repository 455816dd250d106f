/**
 * The wire of Anthropic's messages.
 *
 * Owns: its streams, bodies and errors. Does not own: what is refused (anthropic-rules.ts).
 */
import { isObject, present, type Json, type JsonObject } from '@reeve/core'
import {
  inputPiecesOf,
  inputTextOf,
  partsOfAnswer,
  piecesOf,
  wholeOf,
  type FailureKind,
  type ProviderAnswer,
  type ProviderPart,
  type ProviderRan,
  type ProviderUsage,
} from './answer.ts'
import { signatureOf } from './content.ts'
import type {
  ErrorResponse,
  Frame,
  FrameStage,
  IdSource,
  ProviderRequest,
  ProviderWire,
  VendorFailure,
} from './wire.ts'
import { memberOf, textAt } from './wire.ts'

/** Why a message of Anthropic's stops; `StopReason` of its SDK. */
export const anthropicStops = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
] as const

/** Status, type and usual words of each failure: https://docs.claude.com/en/api/errors. */
const failures: { readonly [kind in FailureKind]: readonly [status: number, type: string, message: string] } = {
  'rate-limit': [
    429,
    'rate_limit_error',
    'This request would exceed your organization’s rate limit of 50 requests per minute.',
  ],
  'no-credit': [
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  ],
  overloaded: [529, 'overloaded_error', 'Overloaded'],
  unavailable: [500, 'api_error', 'Internal server error'],
  unauthorized: [401, 'authentication_error', 'invalid x-api-key'],
  'unknown-model': [404, 'not_found_error', 'model: '],
  'context-full': [400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum'],
  'bad-request': [400, 'invalid_request_error', 'messages: Input should be a valid list'],
  'prompt-blocked': [400, 'invalid_request_error', 'Output blocked by content filtering policy'],
}

/** The wire of Anthropic's messages. */
export const anthropicWire: ProviderWire = {
  takes: (method, path) => method === 'POST' && path === '/v1/messages',
  modelOf: (_, body) => textAt(body, 'model') ?? '',
  isStreamed: (_, body) => memberOf(body, 'stream') === true,
  stream: streamOf,
  whole: wholeBody,
  failed: failedWith,
  broken(kind, request) {
    const [, type, message] = failures[kind]
    return [eventOf('content', errorBody(type, errorText(kind, message, request)))]
  },
  refused(rule, why) {
    return { status: rule.status ?? 400, headers: {}, body: errorBody(rule.code ?? 'invalid_request_error', why) }
  },
  ping: { stage: 'open', event: 'ping', data: { type: 'ping' } },
}

const errorBody = (type: string, message: string): JsonObject => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_bench',
})

const errorText = (kind: FailureKind, message: string, request: ProviderRequest): string =>
  kind === 'unknown-model' ? `${message}${request.model}` : message

function failedWith(failure: VendorFailure, request: ProviderRequest): ErrorResponse {
  const [status, type, usual] = failures[failure.failure]
  const wait = failure.retryAfter
  const said = failure.message ?? errorText(failure.failure, usual, request)
  const inHeader = (failure.waitIn ?? 'header') === 'header'
  const message = wait === undefined || inHeader ? said : `${said} Please try again in ${wait} seconds.`
  return {
    status: failure.status ?? status,
    headers: wait !== undefined && inHeader ? waitHeaders(wait) : {},
    body: errorBody(type, message),
  }
}

/** https://docs.claude.com/en/api/rate-limits#response-headers; the moment is one of the server's clock. */
function waitHeaders(seconds: number): { readonly [name: string]: string } {
  const reset = new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
  const limits = Object.entries({ requests: 50, 'input-tokens': 30_000, 'output-tokens': 8_000 })
  return {
    'retry-after': String(Math.ceil(seconds)),
    ...Object.fromEntries(
      limits.flatMap(([what, limit]) => [
        [`anthropic-ratelimit-${what}-limit`, String(limit)],
        [`anthropic-ratelimit-${what}-remaining`, '0'],
        [`anthropic-ratelimit-${what}-reset`, reset],
      ]),
    ),
  }
}

/** Why it stopped, unless the answer says another. */
function stopOf(answer: ProviderAnswer): string {
  if (answer.finish !== undefined) return answer.finish
  const parts = partsOfAnswer(answer)
  if (parts.some(({ type }) => type === 'refusal')) return 'refusal'
  return parts.some(({ type }) => type === 'call') ? 'tool_use' : 'end_turn'
}

/** A refusal is no text on this wire: it is a detail of the end. */
function endOf(answer: ProviderAnswer): JsonObject {
  const stop = stopOf(answer)
  const refused = partsOfAnswer(answer).find((part) => part.type === 'refusal')
  return present({
    stop_reason: stop,
    stop_sequence: null,
    stop_details:
      refused?.type === 'refusal' ? { type: 'refusal', category: null, explanation: wholeOf(refused.text) } : undefined,
    ...answer.finishDetails,
  })
}

function inputUsage(usage: ProviderUsage): JsonObject {
  const { input = 10, cached = 0, cacheWrite = 0, cacheWriteHour = 0 } = usage
  return {
    input_tokens: input - cached - cacheWrite - cacheWriteHour,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: cacheWrite + cacheWriteHour,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: cacheWriteHour },
  }
}

function outputUsage(usage: ProviderUsage): JsonObject {
  return present({
    output_tokens: usage.output ?? 5,
    output_tokens_details: usage.reasoning === undefined ? undefined : { thinking_tokens: usage.reasoning },
  })
}

const eventOf = (stage: FrameStage, data: JsonObject): Frame => ({ stage, event: textAt(data, 'type') ?? '', data })

/** A block of an answer: how it begins, what is added to it, and what it is as a whole. */
interface AnswerBlock {
  readonly start: JsonObject
  readonly deltas: readonly JsonObject[]
  readonly whole: JsonObject
}

/** A search: the call, with its input as deltas, and its result unless the answer pauses before it. */
function blocksOfSearch({ query, found = [], error, open }: ProviderRan, ids: IdSource): readonly AnswerBlock[] {
  const id = ids('srvtoolu_')
  const call = { type: 'server_tool_use', id, name: 'web_search' }
  const asked = {
    start: { ...call, input: {} },
    deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify({ query }) }],
    whole: { ...call, input: { query } },
  }
  if (open === true) return [asked]
  const content: Json =
    error === undefined
      ? found.map(({ url, title }) => ({
          type: 'web_search_result',
          url,
          title,
          encrypted_content: `encrypted:${url}`,
          page_age: null,
        }))
      : { type: 'web_search_tool_result_error', error_code: error }
  const result = { type: 'web_search_tool_result', tool_use_id: id, content }
  return [asked, { start: result, deltas: [], whole: result }]
}

const blocksOf = (part: Exclude<ProviderPart, { type: 'refusal' | 'raw' }>, ids: IdSource): readonly AnswerBlock[] =>
  part.type === 'ran' ? blocksOfSearch(part, ids) : [blockOf(part, ids)]

function blockOf(part: Exclude<ProviderPart, { type: 'refusal' | 'raw' | 'ran' }>, ids: IdSource): AnswerBlock {
  if (part.type === 'text') {
    return {
      start: { type: 'text', text: '' },
      deltas: piecesOf(part.text).map((text) => ({ type: 'text_delta', text })),
      whole: { type: 'text', text: wholeOf(part.text) },
    }
  }
  if (part.type === 'call') {
    // this vendor always sends one
    const head = { type: 'tool_use', id: part.id ?? ids('toolu_'), name: part.name }
    return {
      start: { ...head, input: {} },
      deltas: ['', ...inputPiecesOf(part)].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      whole: { ...head, input: parsed(inputTextOf(part)) },
    }
  }
  if (part.redacted !== undefined) {
    const block = { type: 'redacted_thinking', data: part.redacted }
    return { start: block, deltas: [], whole: block }
  }
  const thinking = wholeOf(part.text)
  const signature = part.signature ?? signatureOf(thinking)
  return {
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...piecesOf(part.text).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature },
    ],
    whole: { type: 'thinking', thinking, signature },
  }
}

/** An answer that is not streamed has its arguments as JSON: those that were cut are not there. */
function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

const isEvent = (value: JsonObject): boolean =>
  /^(?:content_block_|message_|ping$|error$)/.test(textAt(value, 'type') ?? '')

function streamOf(answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): readonly Frame[] {
  const { usage = {} } = answer
  const frames: Frame[] = []
  const push = (stage: FrameStage, data: JsonObject): void => void frames.push(eventOf(stage, data))
  const message = {
    ...headOf(answer, request, ids),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(usage !== null && { usage: { ...inputUsage(usage), output_tokens: 1, service_tier: 'standard' } }),
  }
  push('open', { type: 'message_start', message })
  push('open', { type: 'ping' })
  let index = 0
  for (const part of partsOfAnswer(answer)) {
    if (part.type === 'refusal') continue
    if (part.type === 'raw' && isEvent(part.value)) {
      push('content', part.value)
      continue
    }
    const blocks = part.type === 'raw' ? [{ start: part.value, deltas: [] }] : blocksOf(part, ids)
    for (const block of blocks) {
      const at = (part.type === 'call' ? part.index : undefined) ?? index
      push('content', { type: 'content_block_start', index: at, content_block: block.start })
      for (const delta of block.deltas) push('content', { type: 'content_block_delta', index: at, delta })
      push('content', { type: 'content_block_stop', index: at })
      index++
    }
  }
  const told = usage === null ? {} : { usage: { ...inputUsage(usage), ...outputUsage(usage) } }
  push('end', { type: 'message_delta', delta: endOf(answer), ...told })
  push('end', { type: 'message_stop' })
  return frames
}

function wholeBody(answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): JsonObject {
  const { usage = {} } = answer
  const head = headOf(answer, request, ids)
  const content = partsOfAnswer(answer).flatMap((part) => {
    if (part.type === 'refusal') return []
    return part.type === 'raw' ? [part.value] : blocksOf(part, ids).map(({ whole }) => whole)
  })
  return {
    ...head,
    content,
    ...endOf(answer),
    ...(usage !== null && { usage: { ...inputUsage(usage), ...outputUsage(usage), service_tier: 'standard' } }),
  }
}

const headOf = (answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): JsonObject => ({
  id: ids('msg_'),
  type: 'message',
  role: 'assistant',
  model: answer.model ?? request.model,
})

export { anthropicRules } from './anthropic-rules.ts'
