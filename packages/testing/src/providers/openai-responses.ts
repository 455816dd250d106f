/**
 * The wire of OpenAI's responses.
 *
 * Owns: its streams, bodies and errors. Does not own: what is refused (openai-responses-rules.ts).
 */
import { present, type JsonObject } from '@reeve/core'
import {
  inputPiecesOf,
  inputTextOf,
  partsOfAnswer,
  piecesOf,
  wholeOf,
  type ProviderAnswer,
  type ProviderPart,
  type ProviderUsage,
} from './answer.ts'
import { openaiErrorBody, openaiFailures, openaiLimitHeaders } from './openai.ts'
import { spelledOut } from './openai-chat.ts'
import { listAt, memberOf, textAt } from './wire.ts'
import type { Frame, FrameStage, IdSource, ProviderRequest, ProviderWire } from './wire.ts'

type Emit = (stage: FrameStage, type: string, members: JsonObject) => void

/** The wire of OpenAI's responses: https://platform.openai.com/docs/api-reference/responses-streaming */
export const openaiResponsesWire: ProviderWire = {
  takes: (method, path) => method === 'POST' && path === '/v1/responses',
  modelOf: (_, body) => textAt(body, 'model') ?? '',
  isStreamed: (_, body) => memberOf(body, 'stream') === true,
  stream: streamOf,
  whole: (answer, request, ids) => {
    const items: JsonObject[] = []
    for (const part of partsOfAnswer(answer)) items.push(itemOf(part, request, ids))
    return responseOf(answer, request, ids('resp_'), items)
  },
  failed({ failure, status, message, retryAfter, waitIn = 'text' }) {
    const usual = openaiFailures[failure]
    const said = message ?? usual.message
    const text =
      retryAfter !== undefined && waitIn === 'text' ? `${said} Please try again in ${spelledOut(retryAfter)}.` : said
    const headers =
      retryAfter !== undefined && waitIn === 'header'
        ? { 'retry-after': String(Math.ceil(retryAfter)), ...openaiLimitHeaders(retryAfter) }
        : {}
    return { status: status ?? usual.status, headers, body: openaiErrorBody({ ...usual, message: text }) }
  },
  // The published form of the event; older servers put the same members into `error`.
  broken(kind) {
    const { code = null, message } = openaiFailures[kind]
    return [
      { stage: 'content', event: 'error', data: { type: 'error', sequence_number: 0, code, message, param: null } },
    ]
  },
  refused: (rule, why) => ({
    status: rule.status ?? 400,
    headers: {},
    body: openaiErrorBody({ ...openaiFailures['bad-request'], message: why, code: rule.code ?? null, param: 'input' }),
  }),
  ping: { stage: 'open', event: 'keepalive', data: { type: 'keepalive', sequence_number: 0 } },
}

function usageOf(usage: ProviderUsage): JsonObject {
  const { input = 10, output = 5, cached = 0, reasoning = 0 } = usage
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}

/** How the response ends: `completed`, `incomplete` with its reason, `failed` with an error. */
function endOf(answer: ProviderAnswer): { readonly status: string; readonly members: JsonObject } {
  const { finish } = answer
  if (finish === undefined || finish === 'completed')
    return { status: 'completed', members: { error: null, incomplete_details: null } }
  if (finish === 'failed') {
    const error = answer.finishDetails ?? { code: 'server_error', message: 'The model had an error.' }
    return { status: 'failed', members: { error, incomplete_details: null } }
  }
  return { status: 'incomplete', members: { error: null, incomplete_details: { reason: finish } } }
}

function responseOf(
  answer: ProviderAnswer,
  request: ProviderRequest,
  id: string,
  output: readonly JsonObject[],
): JsonObject {
  const { status, members } = endOf(answer)
  const { usage = {} } = answer
  return {
    id,
    object: 'response',
    created_at: 1_760_000_000,
    status,
    ...members,
    model: answer.model ?? request.model,
    output,
    usage: usage === null || status === 'failed' ? null : usageOf(usage),
    service_tier: 'default',
  }
}

const wantsEncrypted = (request: ProviderRequest): boolean =>
  listAt(request.body, 'include').includes('reasoning.encrypted_content')

const wantsSources = (request: ProviderRequest): boolean =>
  listAt(request.body, 'include').includes('web_search_call.action.sources')

function itemOf(part: ProviderPart, request: ProviderRequest, ids: IdSource): JsonObject {
  switch (part.type) {
    case 'raw':
      return part.value
    case 'reasoning': {
      const text = wholeOf(part.text)
      const id = ids('rs_')
      const encrypted = wantsEncrypted(request) ? (part.encrypted ?? `encrypted:${id}`) : undefined
      return present({
        id,
        type: 'reasoning',
        summary: text === '' ? [] : [{ type: 'summary_text', text }],
        encrypted_content: encrypted,
      })
    }
    case 'ran': {
      const { query, found = [], error } = part
      const sources = found.map(({ url }) => ({ type: 'url', url }))
      const action = { type: 'search', query, ...(wantsSources(request) && { sources }) }
      return { id: ids('ws_'), type: 'web_search_call', status: error === undefined ? 'completed' : 'failed', action }
    }
    case 'text':
    case 'refusal':
      return { id: ids('msg_'), type: 'message', status: 'completed', role: 'assistant', content: [contentOf(part)] }
    case 'call':
      return {
        id: ids('fc_'),
        type: 'function_call',
        status: 'completed',
        call_id: part.id === undefined ? ids('call_') : (part.id ?? ''),
        name: part.name,
        arguments: inputTextOf(part),
      }
  }
}

const contentOf = (part: ProviderPart & { readonly type: 'text' | 'refusal' }): JsonObject =>
  part.type === 'text'
    ? { type: 'output_text', text: wholeOf(part.text), annotations: [] }
    : { type: 'refusal', refusal: wholeOf(part.text) }

function streamOf(answer: ProviderAnswer, request: ProviderRequest, ids: IdSource): readonly Frame[] {
  const frames: Frame[] = []
  const emit: Emit = (stage, type, members) => {
    frames.push({ stage, event: type, data: { type, sequence_number: frames.length, ...members } })
  }
  const id = ids('resp_')
  const begun = { ...responseOf({ usage: null }, request, id, []), status: 'in_progress' }
  emit('open', 'response.created', { response: begun })
  emit('open', 'response.in_progress', { response: begun })
  const items: JsonObject[] = []
  for (const part of partsOfAnswer(answer)) {
    if (part.type === 'raw') {
      emit('content', textAt(part.value, 'type') ?? 'raw', part.value)
      continue
    }
    const item = itemOf(part, request, ids)
    emitItem(part, item, items.length, emit)
    items.push(item)
  }
  const response = responseOf(answer, request, id, items)
  emit('end', `response.${endOf(answer).status}`, { response })
  return frames
}

function emitItem(
  part: Exclude<ProviderPart, { readonly type: 'raw' }>,
  item: JsonObject,
  output_index: number,
  emit: Emit,
): void {
  const item_id = item.id ?? ''
  const at = { item_id, output_index }
  switch (part.type) {
    case 'reasoning':
      emit('content', 'response.output_item.added', { output_index, item: { ...item, summary: [] } })
      if (wholeOf(part.text) !== '') {
        const place = { ...at, summary_index: 0 }
        emit('content', 'response.reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } })
        for (const delta of piecesOf(part.text))
          emit('content', 'response.reasoning_summary_text.delta', { ...place, delta })
        emit('content', 'response.reasoning_summary_text.done', { ...place, text: wholeOf(part.text) })
        emit('content', 'response.reasoning_summary_part.done', {
          ...place,
          part: { type: 'summary_text', text: wholeOf(part.text) },
        })
      }
      break
    case 'text':
    case 'refusal': {
      const kind = part.type === 'text' ? 'output_text' : 'refusal'
      const place = { ...at, content_index: 0 }
      const empty: JsonObject =
        part.type === 'text' ? { type: kind, text: '', annotations: [] } : { type: kind, refusal: '' }
      emit('content', 'response.output_item.added', {
        output_index,
        item: { ...item, status: 'in_progress', content: [] },
      })
      emit('content', 'response.content_part.added', { ...place, part: empty })
      for (const delta of piecesOf(part.text)) emit('content', `response.${kind}.delta`, { ...place, delta })
      emit('content', `response.${kind}.done`, {
        ...place,
        [part.type === 'text' ? 'text' : 'refusal']: wholeOf(part.text),
      })
      emit('content', 'response.content_part.done', { ...place, part: contentOf(part) })
      break
    }
    case 'ran':
      emit('content', 'response.output_item.added', {
        output_index,
        item: { id: item_id, type: 'web_search_call', status: 'in_progress' },
      })
      for (const stage of ['in_progress', 'searching', 'completed'])
        emit('content', `response.web_search_call.${stage}`, at)
      break
    case 'call':
      emit('content', 'response.output_item.added', {
        output_index,
        item: { ...item, status: 'in_progress', arguments: '' },
      })
      for (const delta of inputPiecesOf(part))
        emit('content', 'response.function_call_arguments.delta', { ...at, delta })
      emit('content', 'response.function_call_arguments.done', { ...at, arguments: inputTextOf(part) })
      break
  }
  emit('content', 'response.output_item.done', { output_index, item })
}
