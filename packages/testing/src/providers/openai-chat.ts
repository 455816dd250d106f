/**
 * The wire of OpenAI's chat completions, and of all that speak it after their own fashion.
 *
 * Owns: streams, bodies and errors of that form; what differs between vendors is data (`ChatDialect`).
 * Does not own: what is refused (openai-chat-rules.ts and the file of each vendor).
 */
import { present, type Json, type JsonObject } from '@reeve/core'
import {
  inputPiecesOf,
  inputTextOf,
  partsOfAnswer,
  piecesOf,
  wholeOf,
  type FailureKind,
  type ProviderAnswer,
  type ProviderCall,
  type ProviderUsage,
} from './answer.ts'
import { memberOf, objectAt, textAt } from './wire.ts'
import type {
  ErrorResponse,
  Frame,
  FrameStage,
  IdSource,
  ProviderRequest,
  ProviderRule,
  ProviderWire,
  VendorFailure,
} from './wire.ts'

/** What a vendor does in its own way on this wire. */
export interface ChatDialect {
  /** The path that questions come to, with the path of the preset's usual address before it. */
  readonly path: string
  /** The member that holds the reasoning; none is told without one. */
  readonly reasoning?: 'reasoning' | 'reasoning_content'
  /** What a call's id begins with. */
  readonly callPrefix: string
  /** Members of every answer and chunk beside the usual ones. */
  readonly extra?: JsonObject
  /** Members of a finished choice beside the usual ones. */
  readonly choiceExtra?: (finish: string) => JsonObject
  /** Members of the last chunk that carry the usage, beside or instead of a chunk of its own. */
  readonly usageExtra?: (usage: JsonObject) => JsonObject
  /** The vendor's failures. */
  readonly failures: { readonly [kind in FailureKind]: ChatFailure }
  /** Puts an error into the body the vendor sends. */
  readonly errorBody: (error: ChatError) => JsonObject
  /** What stands in a stream when it breaks. Default: the same body as an event. */
  readonly brokenFrames?: (error: ChatError, request: ProviderRequest) => readonly Json[]
  /** Where the vendor says when to come back. Default: in the header. */
  readonly waitIn?: 'header' | 'body' | 'text'
  /** Headers of a rate limit beside `retry-after`. */
  readonly limitHeaders?: (seconds: number) => { readonly [name: string]: string }
  /** A sign of life. Default: an empty comment. */
  readonly ping?: string
}

/** What a vendor says of one kind of failure. */
export interface ChatFailure {
  readonly status: number
  readonly type: string
  readonly code?: string | number | null
  readonly message: string
}

/** An error of a vendor, before it is in the vendor's body. */
export interface ChatError extends ChatFailure {
  readonly param?: string | null
  readonly retryAfter?: number
}

/** The wire of a vendor with that dialect. */
export function chatWire(dialect: ChatDialect): ProviderWire {
  const errorOf = (kind: FailureKind, failure?: VendorFailure): ChatError => {
    const usual = dialect.failures[kind]
    const wait = failure?.retryAfter
    const waitIn = failure?.waitIn ?? dialect.waitIn ?? 'header'
    const said = failure?.message ?? usual.message
    return {
      ...usual,
      status: failure?.status ?? usual.status,
      message: wait !== undefined && waitIn === 'text' ? `${said} Please try again in ${spelledOut(wait)}.` : said,
      ...(wait !== undefined && waitIn === 'body' && { retryAfter: wait }),
    }
  }
  return {
    takes: (method, path) => method === 'POST' && path === dialect.path,
    modelOf: (_, body) => textAt(body, 'model') ?? '',
    isStreamed: (_, body) => memberOf(body, 'stream') === true,
    stream: (answer, request, ids) => streamOf(answer, request, ids, dialect),
    whole: (answer, request, ids) => wholeBody(answer, request, ids, dialect),
    failed(failure) {
      const error = errorOf(failure.failure, failure)
      return { status: error.status, headers: waitHeaders(failure, dialect), body: dialect.errorBody(error) }
    },
    broken(kind, request) {
      const error = errorOf(kind)
      const frames = dialect.brokenFrames?.(error, request) ?? [dialect.errorBody(error)]
      return frames.map((data) => ({ stage: 'content' as const, data }))
    },
    refused: (rule, why) => refusal(rule, why, dialect),
    ping: { stage: 'open', comment: dialect.ping ?? '' },
  }
}

function refusal(rule: ProviderRule, why: string, dialect: ChatDialect): ErrorResponse {
  const { type, code } = dialect.failures['bad-request']
  const status = rule.status ?? dialect.failures['bad-request'].status
  const error: ChatError = { status, type, code: rule.code ?? code ?? null, message: why, param: null }
  return { status, headers: {}, body: dialect.errorBody(error) }
}

function waitHeaders(failure: VendorFailure, dialect: ChatDialect): { readonly [name: string]: string } {
  const { retryAfter } = failure
  if (retryAfter === undefined || (failure.waitIn ?? dialect.waitIn ?? 'header') !== 'header') return {}
  return { 'retry-after': String(Math.ceil(retryAfter)), ...dialect.limitHeaders?.(retryAfter) }
}

/** As OpenAI and Groq write durations: 20s, 1m2.5s, 450ms. */
export function spelledOut(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`
  const minutes = Math.floor(seconds / 60)
  const rest = Number((seconds - minutes * 60).toFixed(3))
  return `${minutes === 0 ? '' : `${minutes}m`}${rest}s`
}

/** The reason a choice ends with, unless the answer says another. */
function finishOf(answer: ProviderAnswer): string {
  if (answer.finish !== undefined) return answer.finish
  return partsOfAnswer(answer).some(({ type }) => type === 'call') ? 'tool_calls' : 'stop'
}

function usageOf(usage: ProviderUsage, part: 'whole' | 'first' = 'whole'): JsonObject {
  const { input = 10, output = 5 } = usage
  const completion = part === 'first' ? Math.min(1, output) : output
  return present({
    prompt_tokens: input,
    completion_tokens: completion,
    total_tokens: input + completion,
    prompt_tokens_details: { cached_tokens: usage.cached ?? 0 },
    completion_tokens_details: usage.reasoning === undefined ? undefined : { reasoning_tokens: usage.reasoning },
  })
}

const idOf = (call: ProviderCall, ids: IdSource, dialect: ChatDialect): string | null =>
  call.id === undefined ? ids(dialect.callPrefix) : call.id

/** Whether the client asked for usage in the stream. */
const wantsUsage = (request: ProviderRequest): boolean =>
  memberOf(objectAt(request.body, 'stream_options'), 'include_usage') === true

function streamOf(
  answer: ProviderAnswer,
  request: ProviderRequest,
  ids: IdSource,
  dialect: ChatDialect,
): readonly Frame[] {
  const head: JsonObject = {
    id: ids('chatcmpl-'),
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model: answer.model ?? request.model,
    ...dialect.extra,
  }
  const frames: Frame[] = []
  const chunk = (stage: FrameStage, delta: JsonObject, more: JsonObject = {}, top: JsonObject = {}): void => {
    frames.push({ stage, data: { ...head, choices: [{ index: 0, delta, finish_reason: null, ...more }], ...top } })
  }
  chunk('open', { role: 'assistant', content: '' })
  let calls = 0
  for (const part of partsOfAnswer(answer)) {
    if (part.type === 'ran') continue
    if (part.type === 'raw') frames.push({ stage: 'content', data: part.value })
    else if (part.type === 'call') {
      const index = part.index ?? calls
      calls++
      const [first = '', ...rest] = inputPiecesOf(part)
      const id = idOf(part, ids, dialect)
      const began = {
        index,
        ...(id !== null && { id }),
        type: 'function',
        function: { name: part.name, arguments: first },
      }
      chunk('content', { tool_calls: [began] })
      for (const piece of rest) chunk('content', { tool_calls: [{ index, function: { arguments: piece } }] })
    } else {
      const member = part.type === 'text' ? 'content' : part.type === 'refusal' ? 'refusal' : dialect.reasoning
      if (member === undefined) continue
      for (const piece of piecesOf(part.text)) chunk('content', { [member]: piece })
    }
  }
  const finish = finishOf(answer)
  const { usage = {} } = answer
  const told = usage === null ? undefined : usageOf(usage)
  const inChunk = told === undefined ? {} : (dialect.usageExtra?.(told) ?? {})
  chunk('end', {}, { finish_reason: finish, ...dialect.choiceExtra?.(finish), ...answer.finishDetails }, inChunk)
  if (told !== undefined && wantsUsage(request)) {
    if (usage?.split === true)
      frames.push({ stage: 'end', data: { ...head, choices: [], usage: usageOf(usage, 'first') } })
    frames.push({ stage: 'end', data: { ...head, choices: [], usage: told } })
  }
  frames.push({ stage: 'end', data: '[DONE]' })
  return frames
}

function wholeBody(answer: ProviderAnswer, request: ProviderRequest, ids: IdSource, dialect: ChatDialect): JsonObject {
  const parts = partsOfAnswer(answer)
  const joined = (type: 'text' | 'refusal' | 'reasoning'): string | undefined => {
    const found = parts.flatMap((part) => (part.type === type ? [wholeOf(part.text)] : []))
    return found.length === 0 ? undefined : found.join('')
  }
  const calls = parts.flatMap((part) => {
    if (part.type !== 'call') return []
    const id = idOf(part, ids, dialect)
    return [
      { ...(id !== null && { id }), type: 'function', function: { name: part.name, arguments: inputTextOf(part) } },
    ]
  })
  const reasoning = joined('reasoning')
  const message: JsonObject = {
    role: 'assistant',
    content: joined('text') ?? null,
    refusal: joined('refusal') ?? null,
    ...(dialect.reasoning !== undefined && reasoning !== undefined && { [dialect.reasoning]: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  const finish = finishOf(answer)
  const { usage = {} } = answer
  const told = usage === null ? undefined : usageOf(usage)
  return {
    id: ids('chatcmpl-'),
    object: 'chat.completion',
    created: 1_760_000_000,
    model: answer.model ?? request.model,
    ...dialect.extra,
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: finish,
        ...dialect.choiceExtra?.(finish),
        ...answer.finishDetails,
      },
    ],
    ...(told !== undefined && { usage: told, ...dialect.usageExtra?.(told) }),
  }
}
