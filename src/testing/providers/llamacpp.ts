/**
 * llama.cpp's server: its dialect of chat completions, and what it refuses besides.
 */
import type { JsonObject } from '../../core/index.ts'
import type { ChatDialect, ChatError } from './openai-chat.ts'
import type { ProviderRule } from './wire.ts'

/** https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md */
const errorBody = ({ status, message, type }: ChatError): JsonObject => ({ error: { code: status, message, type } })

const failure = (status: number, type: string, message: string) => ({ status, type, message })

/** The dialect of llama.cpp. */
export const llamacppChat: ChatDialect = {
  path: '/v1/chat/completions',
  reasoning: 'reasoning_content',
  callPrefix: '',
  extra: { system_fingerprint: 'b6500-strict' },
  failures: {
    'rate-limit': failure(429, 'unavailable_error', 'no slot available'),
    'no-credit': failure(402, 'permission_error', 'no credit'),
    overloaded: failure(503, 'unavailable_error', 'Loading model'),
    unavailable: failure(500, 'server_error', 'failed to decode the batch'),
    unauthorized: failure(401, 'authentication_error', 'Invalid API Key'),
    'unknown-model': failure(404, 'not_found_error', 'File Not Found'),
    'context-full': failure(
      400,
      'exceed_context_size_error',
      'the request exceeds the available context size. try increasing the context size or enable context shift',
    ),
    'bad-request': failure(400, 'invalid_request_error', 'bad request'),
    'prompt-blocked': failure(400, 'invalid_request_error', 'the prompt was refused'),
  },
  errorBody,
}

/** What llama.cpp refuses, besides what all of this wire do. */
export const llamacppRules: readonly ProviderRule[] = []
