/**
 * Groq: its dialect of chat completions, and what it refuses besides.
 */
import { openaiErrorBody, openaiFailures } from './openai.ts'
import { spelledOut, type ChatDialect } from './openai-chat.ts'
import { asksForJson, messagesOf } from './openai-chat-rules.ts'
import { strictObjectsProblem } from './openai-schemas.ts'
import { firstOf, listAt, memberOf, objectAt, textAt, type ProviderRule } from './wire.ts'

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
export const groqRules: readonly ProviderRule[] = [
  {
    id: 'groq/json-beside-tools',
    providers: ['groq'],
    what: 'A format of the output and tools exclude one another.',
    source: 'https://github.com/vercel/ai/pull/16540',
    check: (request) =>
      asksForJson(request) && listAt(request.body, 'tools').length > 0
        ? 'json mode cannot be combined with tool/function calling'
        : undefined,
  },
  {
    id: 'groq/json-schema-models',
    providers: ['groq'],
    what: 'Only some models take json_schema: gpt-oss, kimi-k2 and llama-4.',
    source: 'https://console.groq.com/docs/structured-outputs#supported-models',
    check: (request) =>
      textAt(objectAt(request.body, 'response_format'), 'type') === 'json_schema' &&
      !/gpt-oss|kimi-k2|llama-4/.test(request.model)
        ? 'This model does not support response format `json_schema`.'
        : undefined,
  },
  {
    id: 'groq/json-schema-strict',
    providers: ['groq'],
    what: 'Only gpt-oss takes strict schemas; all their objects are closed and require all properties.',
    source: 'https://console.groq.com/docs/structured-outputs',
    check: (request) => {
      const wanted = objectAt(objectAt(request.body, 'response_format'), 'json_schema')
      const schema = objectAt(wanted, 'schema')
      if (memberOf(wanted, 'strict') !== true || schema === undefined) return undefined
      if (!request.model.includes('gpt-oss')) return 'strict mode of json_schema is not supported with this model'
      const found = strictObjectsProblem(schema)
      return found === undefined ? undefined : `invalid JSON schema for response_format: ${found}`
    },
  },
  {
    id: 'groq/message-members',
    providers: ['groq'],
    what: 'An assistant message has no member that Groq does not know: reasoning_content is one.',
    source: 'https://github.com/janhq/jan/issues/8136',
    check: (request) =>
      firstOf(messagesOf(request), (message, at) => {
        const role = textAt(message, 'role') ?? ''
        const unknown = Object.keys(message).find((name) => !known.includes(name))
        return unknown === undefined
          ? undefined
          : `'messages.${at}' : for 'role:${role}' the following must be satisfied[('messages.${at}' : property '${unknown}' is unsupported)]`
      }),
  },
  {
    id: 'groq/reasoning-models',
    providers: ['groq'],
    what: 'Only reasoning models take reasoning back: gpt-oss, qwen3 and deepseek-r1.',
    source: 'https://github.com/vercel/ai/pull/8057',
    check: (request) =>
      firstOf(messagesOf(request), (message, at) =>
        memberOf(message, 'reasoning') !== undefined && !/gpt-oss|qwen3|deepseek-r1/.test(request.model)
          ? `messages[${at}].reasoning: reasoning is not supported with this model`
          : undefined,
      ),
  },
]

/** The members of messages that Groq knows: https://console.groq.com/docs/api-reference#chat-create */
const known = ['role', 'content', 'name', 'tool_calls', 'tool_call_id', 'function_call', 'reasoning', 'channel']
