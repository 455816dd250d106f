/**
 * OpenRouter: its dialect of chat completions, and what it refuses besides.
 */
import type { JsonObject } from '@reeve/core'
import type { ChatDialect, ChatError } from './openai-chat.ts'
import type { ProviderRule } from './wire.ts'

/** https://openrouter.ai/docs/api/reference/errors-and-debugging */
const errorBody = ({ status, message, retryAfter }: ChatError): JsonObject => ({
  error: {
    code: status,
    message,
    metadata: {
      provider_name: 'Strict',
      ...(retryAfter !== undefined && { retry_after_seconds: retryAfter }),
    },
  },
  user_id: 'user_strict',
})

const failure = (status: number, message: string) => ({ status, type: '', code: status, message })

/** OpenRouter's dialect. An error in a stream is a chunk with `error` beside a choice that ends with `error`. */
export const openrouterChat: ChatDialect = {
  path: '/api/v1/chat/completions',
  reasoning: 'reasoning',
  callPrefix: 'call_',
  extra: { provider: 'Strict' },
  choiceExtra: (finish) => ({ native_finish_reason: finish }),
  failures: {
    'rate-limit': failure(429, 'Provider returned error'),
    'no-credit': failure(402, 'Insufficient credits. Add more using https://openrouter.ai/settings/credits'),
    overloaded: failure(503, 'There is no available model provider that meets your routing requirements'),
    unavailable: failure(502, 'Provider returned error'),
    unauthorized: failure(401, 'No auth credentials found'),
    'unknown-model': failure(400, 'nobody/nothing is not a valid model ID'),
    'context-full': failure(
      400,
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (138000 of text input, 2000 in the output).",
    ),
    'bad-request': failure(400, 'Provider returned error'),
    'prompt-blocked': failure(403, 'Your chosen model requires moderation and your input was flagged'),
  },
  errorBody,
  brokenFrames: (error, request) => [
    {
      id: 'gen-broken',
      object: 'chat.completion.chunk',
      created: 1_760_000_000,
      model: request.model,
      provider: 'Strict',
      error: { code: error.status, message: error.message },
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: 'error' }],
    },
  ],
  ping: 'OPENROUTER PROCESSING',
}

/** What OpenRouter refuses, besides what all of this wire do. */
export const openrouterRules: readonly ProviderRule[] = [
  {
    id: 'openrouter/model-id',
    providers: ['openrouter'],
    what: 'A model is named with its author: author/model.',
    source: 'https://github.com/BerriAI/litellm/issues/24795',
    check: ({ model }) =>
      /^[^/\s]+\/[^/\s]+$/.test(model) || model === '' ? undefined : `${model} is not a valid model ID`,
  },
]
