/**
 * Ollama's /v1: its dialect of chat completions, and what it refuses besides.
 */
import type { ChatDialect } from './openai-chat.ts'
import { openaiErrorBody } from './openai.ts'
import { isObjectText, messagesOf, partsOfMessage } from './openai-chat-rules.ts'
import { firstOf, memberOf, objectAt, objectsAt, textAt, type ProviderRule } from './wire.ts'

const source = 'https://github.com/ollama/ollama/blob/main/openai/openai.go'

const failure = (status: number, type: string, message: string) => ({ status, type, message })

/** Ollama's dialect: https://github.com/ollama/ollama/blob/main/openai/openai.go */
export const ollamaChat: ChatDialect = {
  path: '/v1/chat/completions',
  reasoning: 'reasoning',
  callPrefix: 'call_',
  extra: { system_fingerprint: 'fp_ollama' },
  failures: {
    'rate-limit': failure(429, 'api_error', 'too many requests'),
    'no-credit': failure(402, 'api_error', 'you have reached your usage limit'),
    overloaded: failure(503, 'api_error', 'server busy, please try again. maximum pending requests exceeded'),
    unavailable: failure(500, 'api_error', 'llama runner process has terminated'),
    unauthorized: failure(401, 'api_error', 'unauthorized'),
    'unknown-model': failure(404, 'not_found_error', 'model "nothing" not found, try pulling it first'),
    'context-full': failure(400, 'invalid_request_error', 'prompt too long; exceeded max context length'),
    'bad-request': failure(400, 'invalid_request_error', 'bad request'),
    'prompt-blocked': failure(400, 'invalid_request_error', 'the prompt was refused'),
  },
  errorBody: openaiErrorBody,
}

/** What Ollama refuses; it takes nearly everything, and leaves out what it does not understand. */
export const ollamaRules: readonly ProviderRule[] = [
  {
    id: 'ollama/content',
    providers: ['ollama'],
    what: 'A message has content; only one with calls may have none.',
    source,
    check: (request) =>
      firstOf(messagesOf(request), (message) => {
        const content = memberOf(message, 'content')
        if (typeof content === 'string' || Array.isArray(content)) return undefined
        return memberOf(message, 'tool_calls') === undefined ? 'invalid message content type: <nil>' : undefined
      }),
  },
  {
    id: 'ollama/parts',
    providers: ['ollama'],
    what: 'A part of a message is a text or a picture.',
    source,
    check: (request) =>
      firstOf(messagesOf(request).flatMap(partsOfMessage), (part) =>
        ['text', 'image_url'].includes(textAt(part, 'type') ?? '') ? undefined : 'invalid message format',
      ),
  },
  {
    id: 'ollama/images',
    providers: ['ollama'],
    what: 'A picture is base64 data of jpeg, png or webp, never a URL.',
    source,
    check: (request) =>
      firstOf(messagesOf(request).flatMap(partsOfMessage), (part) => {
        if (textAt(part, 'type') !== 'image_url') return undefined
        const url = textAt(objectAt(part, 'image_url'), 'url') ?? textAt(part, 'image_url') ?? ''
        return /^data:(?:image\/(?:jpeg|jpg|png|webp))?;base64,/.test(url) ? undefined : 'invalid image input'
      }),
  },
  {
    id: 'ollama/call-arguments',
    providers: ['ollama'],
    what: 'The arguments of a call are a JSON object as text.',
    source,
    check: (request) =>
      firstOf(
        messagesOf(request).flatMap((message) => objectsAt(message, 'tool_calls')),
        (call) =>
          isObjectText(textAt(objectAt(call, 'function'), 'arguments') ?? '')
            ? undefined
            : 'invalid tool call arguments',
      ),
  },
]
