/**
 * Groq: its dialect of chat completions, and what it refuses besides.
 */
import { openaiErrorBody, openaiFailures } from './openai.ts'
import { spelledOut, type ChatDialect } from './openai-chat.ts'
import type { ProviderRule } from './wire.ts'

/** Groq's dialect: https://console.groq.com/docs/errors, https://console.groq.com/docs/rate-limits */
export const groqChat: ChatDialect = {
  path: '/openai/v1/chat/completions',
  reasoning: 'reasoning',
  callPrefix: 'call_',
  extra: { system_fingerprint: 'fp_strict' },
  usageExtra: (usage) => ({ x_groq: { id: 'req_strict', usage } }),
  failures: {
    ...openaiFailures,
    'rate-limit': {
      status: 429,
      type: 'tokens',
      code: 'rate_limit_exceeded',
      message:
        'Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_example` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Used 11500, Requested 1200.',
    },
    overloaded: {
      status: 498,
      type: 'flex_capacity_exceeded',
      code: 'capacity_exceeded',
      message: 'Capacity exceeded: there is no flex capacity at the moment.',
    },
    'context-full': {
      status: 400,
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
      message: 'Please reduce the length of the messages or completion.',
    },
  },
  errorBody: openaiErrorBody,
  brokenFrames: (error) => [openaiErrorBody(error)],
  limitHeaders: (seconds) => ({
    'x-ratelimit-limit-tokens': '12000',
    'x-ratelimit-remaining-tokens': '500',
    'x-ratelimit-reset-tokens': spelledOut(seconds),
  }),
}

/** What Groq refuses, besides what all of this wire do. */
export const groqRules: readonly ProviderRule[] = []
