/**
 * The wire of Google's generateContent.
 *
 * Owns: its streams, bodies and errors. Does not own: what is refused (google-rules.ts).
 */
import { isObject, present, type Json, type JsonObject } from '@reeve/core'
import {
  inputTextOf,
  partsOfAnswer,
  piecesOf,
  wholeOf,
  type FailureKind,
  type ProviderAnswer,
  type ProviderPart,
  type ProviderUsage,
} from './answer.ts'
import { googleModel } from './google-models.ts'
import { modelSignature } from './google-rules.ts'
import type { ErrorResponse, Frame, IdSource, ProviderRequest, ProviderWire, VendorFailure } from './wire.ts'
import { memberOf } from './wire.ts'

export { googleRules } from './google-rules.ts'

/** Why a candidate of Google's stops: `FinishReason` of its reference and SDK. */
export const googleStops = [
  'STOP',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MALFORMED_FUNCTION_CALL',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
  'IMAGE_OTHER',
  'NO_IMAGE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
] as const

/** Code, status and usual words of each failure: https://ai.google.dev/gemini-api/docs/troubleshooting. */
const failures: { readonly [kind in FailureKind]: readonly [code: number, status: string, message: string] } = {
  'rate-limit': [
    429,
    'RESOURCE_EXHAUSTED',
    'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.',
  ],
  'no-credit': [
    429,
    'RESOURCE_EXHAUSTED',
    'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.',
  ],
  overloaded: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  unavailable: [500, 'INTERNAL', 'An internal error has occurred. Please retry.'],
  unauthorized: [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
  'unknown-model': [
    404,
    'NOT_FOUND',
    'is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.',
  ],
  'context-full': [
    400,
    'INVALID_ARGUMENT',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  ],
  'bad-request': [400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  'prompt-blocked': [
    400,
    'INVALID_ARGUMENT',
    "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices.",
  ],
}

/** The wire of Google's generateContent. */
export const googleWire: ProviderWire = {
  takes: (method, path) =>
    method === 'POST' && /^\/v1(?:beta)?\/models\/[^/:]+:(?:streamG|g)enerateContent$/.test(path),
  modelOf: (path) => /models\/([^/:]+)/.exec(path)?.[1] ?? '',
  isStreamed: (path) => path.endsWith(':streamGenerateContent'),
  stream: streamOf,
  whole: wholeBody,
  failed: failedWith,
  broken(kind, request) {
    const [code, status, message] = failures[kind]
    return [{ stage: 'content', data: errorBody(code, status, errorText(kind, message, request)) }]
  },
  refused(rule, why) {
    return { status: rule.status ?? 400, headers: {}, body: errorBody(rule.status ?? 400, 'INVALID_ARGUMENT', why) }
  },
  ping: { stage: 'open', comment: '' },
}

const errorBody = (code: number, status: string, message: string, details?: readonly JsonObject[]): JsonObject => ({
  error: { code, message, status, ...(details !== undefined && { details }) },
})

const errorText = (kind: FailureKind, message: string, request: ProviderRequest): string =>
  kind === 'unknown-model' ? `models/${request.model} ${message}` : message

function failedWith(failure: VendorFailure, request: ProviderRequest): ErrorResponse {
  const [code, status, usual] = failures[failure.failure]
  const wait = failure.retryAfter
  const waitIn = failure.waitIn ?? 'body'
  const said = failure.message ?? errorText(failure.failure, usual, request)
  const message = wait === undefined || waitIn === 'header' ? said : `${said}\nPlease retry in ${wait}s.`
  return {
    status: failure.status ?? code,
    headers: wait !== undefined && waitIn === 'header' ? { 'retry-after': String(Math.ceil(wait)) } : {},
    body: errorBody(
      failure.status ?? code,
      status,
      message,
      detailsOf(failure, waitIn === 'body' ? wait : undefined, request),
    ),
  }
}

/** The details beside an error, as google.rpc has them: https://google.aip.dev/193. */
function detailsOf(
  failure: VendorFailure,
  wait: number | undefined,
  request: ProviderRequest,
): readonly JsonObject[] | undefined {
  const type = (name: string): JsonObject => ({ '@type': `type.googleapis.com/google.rpc.${name}` })
  if (failure.failure === 'unauthorized')
    return [{ ...type('ErrorInfo'), reason: 'API_KEY_INVALID', domain: 'googleapis.com' }]
  if (failure.failure !== 'rate-limit' || failure.waitIn === 'text') return undefined
  const violation = {
    quotaMetric: 'generativelanguage.googleapis.com/generate_content_free_tier_requests',
    quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier',
    quotaDimensions: { location: 'global', model: request.model },
    quotaValue: '10',
  }
  return [
    { ...type('QuotaFailure'), violations: [violation] },
    ...(wait === undefined ? [] : [{ ...type('RetryInfo'), retryDelay: `${wait}s` }]),
  ]
}

/** Why it stopped, unless the answer says another. A call stops as everything does. */
const stopOf = (answer: ProviderAnswer): string =>
  answer.finish ?? (partsOfAnswer(answer).some(({ type }) => type === 'refusal') ? 'SAFETY' : 'STOP')

function usageOf(usage: ProviderUsage, share: 'whole' | 'prompt' = 'whole'): JsonObject {
  const { input = 10, output = 5, reasoning = 0 } = usage
  if (share === 'prompt') return { promptTokenCount: input, totalTokenCount: input }
  return present({
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: input + output,
    cachedContentTokenCount: usage.cached,
    thoughtsTokenCount: usage.reasoning,
  })
}

/** The parts on the wire; a text that comes in pieces is as many. */
function partsOnWire(
  part: Exclude<ProviderPart, { type: 'refusal' | 'ran' }>,
  isFirstCall: boolean,
  request: ProviderRequest,
  ids: IdSource,
): readonly JsonObject[] {
  switch (part.type) {
    case 'raw':
      return [part.value]
    case 'text':
      return piecesOf(part.text).map((text) => ({ text }))
    case 'reasoning': {
      const pieces = piecesOf(part.text).map((text): JsonObject => ({ text, thought: true }))
      const last = pieces.at(-1) ?? { text: '', thought: true }
      return part.signature === undefined
        ? pieces
        : [...pieces.slice(0, -1), { ...last, thoughtSignature: part.signature }]
    }
    case 'call': {
      const isNew = googleModel(request.model).generation >= 3
      const id = part.id === undefined && isNew ? ids('call') : part.id
      const signature = part.signature ?? (isNew && isFirstCall ? modelSignature(request.model) : undefined)
      const functionCall = { ...(typeof id === 'string' && { id }), name: part.name, args: parsed(inputTextOf(part)) }
      return [{ functionCall, ...(signature !== undefined && { thoughtSignature: signature }) }]
    }
  }
}

/** Google sends arguments as JSON proper: a text that is none cannot be said on this wire. */
function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return {}
  }
}

function allOnWire(answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): readonly JsonObject[] {
  let called = false
  return partsOfAnswer(answer).flatMap((part) => {
    if (part.type === 'refusal' || part.type === 'ran') return []
    const first = part.type === 'call' && !called
    if (part.type === 'call') called = true
    return partsOnWire(part, first, request, ids)
  })
}

/** What is said of the end: the refusal is its message. */
function endOf(answer: ProviderAnswer): JsonObject {
  const refused = partsOfAnswer(answer).find((part) => part.type === 'refusal')
  return {
    finishReason: stopOf(answer),
    ...(refused?.type === 'refusal' && { finishMessage: wholeOf(refused.text) }),
    ...groundingOf(answer),
    ...answer.finishDetails,
  }
}

/** Searches are no parts: https://ai.google.dev/gemini-api/docs/google-search#understanding_the_grounding_response. */
function groundingOf(answer: ProviderAnswer): JsonObject {
  const ran = partsOfAnswer(answer).filter((part) => part.type === 'ran')
  if (ran.length === 0) return {}
  const found = ran.flatMap(({ found: pages = [] }) => pages)
  return {
    groundingMetadata: {
      webSearchQueries: ran.map(({ query }) => query),
      groundingChunks: found.map(({ url, title }) => ({ web: { uri: url, title } })),
    },
  }
}

const headOf = (answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): JsonObject => ({
  modelVersion: answer.model ?? request.model,
  responseId: ids('response'),
})

/** A prompt that is blocked has an answer without candidates: https://ai.google.dev/api/generate-content#PromptFeedback. */
const blockedBody = (blockReason: string, usage: ProviderUsage | null, head: JsonObject): JsonObject => ({
  promptFeedback: { blockReason },
  ...(usage !== null && { usageMetadata: usageOf(usage, 'prompt') }),
  ...head,
})

const isChunk = (value: JsonObject): boolean =>
  ['candidates', 'promptFeedback', 'usageMetadata', 'error'].some((name) => memberOf(value, name) !== undefined)

function streamOf(answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): readonly Frame[] {
  const { usage = {} } = answer
  const head = headOf(answer, request, ids)
  if (answer.blocked !== undefined) return [{ stage: 'end', data: blockedBody(answer.blocked, usage, head) }]
  const chunk = (
    parts: readonly JsonObject[],
    end: JsonObject,
    told: ProviderUsage | null,
    share: 'whole' | 'prompt',
  ): JsonObject => ({
    candidates: [{ content: { parts, role: 'model' }, ...end, index: 0 }],
    ...(told !== null && { usageMetadata: usageOf(told, share) }),
    ...head,
  })
  const early = usage?.split === false ? null : usage
  const frames = allOnWire(answer, request, ids).map((part): Frame => ({
    stage: 'content',
    data: isChunk(part) ? part : chunk([part], {}, early, 'prompt'),
  }))
  return [...frames, { stage: 'end', data: chunk([{ text: '' }], endOf(answer), usage, 'whole') }]
}

function wholeBody(answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): JsonObject {
  const { usage = {} } = answer
  const head = headOf(answer, request, ids)
  if (answer.blocked !== undefined) return blockedBody(answer.blocked, usage, head)
  const parts = joined(allOnWire(answer, request, ids))
  return {
    candidates: [{ content: { ...(parts.length > 0 && { parts }), role: 'model' }, ...endOf(answer), index: 0 }],
    ...(usage !== null && { usageMetadata: usageOf(usage) }),
    ...head,
  }
}

/** Pieces of one text are one part of an answer that is not streamed. */
function joined(parts: readonly JsonObject[]): readonly JsonObject[] {
  const list: JsonObject[] = []
  for (const part of parts) {
    const last = list.at(-1)
    const isText = (value: JsonObject | undefined): value is JsonObject & { text: string } =>
      isObject(value) && typeof value.text === 'string' && memberOf(value, 'thoughtSignature') === undefined
    if (isText(part) && isText(last) && last.thought === part.thought)
      list[list.length - 1] = { ...last, text: last.text + part.text }
    else list.push(part)
  }
  return list
}
