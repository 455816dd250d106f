/**
 * OpenAI on the wire of chat completions: its dialect.
 *
 * Owns: how OpenAI says that something failed. Does not own: what it refuses (openai-chat-rules.ts).
 */
import type { JsonObject } from '@reeve/core'
import type { ChatDialect, ChatError } from './openai-chat.ts'
import { spelledOut } from './openai-chat.ts'

/** The failures of OpenAI, on both of its wires: https://platform.openai.com/docs/guides/error-codes/api-errors */
export const openaiFailures: ChatDialect['failures'] = {
  'rate-limit': {
    status: 429,
    type: 'tokens',
    code: 'rate_limit_exceeded',
    message:
      'Rate limit reached for gpt-5 in organization org-example on tokens per min (TPM): Limit 30000, Used 29500, Requested 1800.',
  },
  'no-credit': {
    status: 429,
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    message: 'You exceeded your current quota, please check your plan and billing details.',
  },
  overloaded: {
    status: 503,
    type: 'server_error',
    code: 'server_is_overloaded',
    message: 'Our servers are currently overloaded. Please try again later.',
  },
  unavailable: {
    status: 500,
    type: 'server_error',
    code: null,
    message: 'The server had an error while processing your request. Sorry about that!',
  },
  unauthorized: {
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    message: 'Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.',
  },
  'unknown-model': {
    status: 404,
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: 'The model does not exist or you do not have access to it.',
  },
  'context-full': {
    status: 400,
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    message:
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens. Please reduce the length of the messages.",
  },
  'bad-request': { status: 400, type: 'invalid_request_error', code: null, message: 'Invalid request.' },
  'prompt-blocked': {
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid_prompt',
    message:
      'Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.',
  },
}

/** OpenAI's body of an error. */
export const openaiErrorBody = ({ message, type, param = null, code = null }: ChatError): JsonObject => ({
  error: { message, type, param, code },
})

/** Headers of a rate limit: https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers */
export const openaiLimitHeaders = (seconds: number): { readonly [name: string]: string } => ({
  'retry-after-ms': String(Math.ceil(seconds * 1000)),
  'x-ratelimit-limit-tokens': '30000',
  'x-ratelimit-remaining-tokens': '500',
  'x-ratelimit-reset-tokens': spelledOut(seconds),
})

/** OpenAI's chat completions. */
export const openaiChat: ChatDialect = {
  path: '/v1/chat/completions',
  callPrefix: 'call_',
  extra: { system_fingerprint: 'fp_strict', service_tier: 'default' },
  failures: openaiFailures,
  errorBody: openaiErrorBody,
  waitIn: 'text',
  limitHeaders: openaiLimitHeaders,
}
