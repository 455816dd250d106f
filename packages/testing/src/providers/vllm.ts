/**
 * vLLM: its dialect of chat completions, and what it refuses besides.
 */
import type { JsonObject } from '@reeve/core'
import type { ChatDialect, ChatError } from './openai-chat.ts'
import { systemFirstProblem, turnsProblem } from './chat-template.ts'
import { isObjectText, messagesOf } from './openai-chat-rules.ts'
import { firstOf, listAt, memberOf, objectAt, objectsAt, textAt, type ProviderRule } from './wire.ts'

/** The form of most servers in use; newer ones wrap it in `error`: https://github.com/vllm-project/vllm/issues/6862 */
const errorBody = ({ message, type, param = null, status }: ChatError): JsonObject => ({
  object: 'error',
  message,
  type,
  param,
  code: status,
})

const failure = (status: number, type: string, message: string) => ({ status, type, message })

/** vLLM's dialect. */
export const vllmChat: ChatDialect = {
  path: '/v1/chat/completions',
  reasoning: 'reasoning_content',
  callPrefix: 'chatcmpl-tool-',
  choiceExtra: () => ({ stop_reason: null }),
  failures: {
    'rate-limit': failure(429, 'TooManyRequestsError', 'Too many requests.'),
    'no-credit': failure(402, 'PaymentRequiredError', 'No credit.'),
    overloaded: failure(503, 'ServiceUnavailableError', 'The engine is overloaded.'),
    unavailable: failure(500, 'InternalServerError', 'EngineCore encountered an issue.'),
    unauthorized: failure(401, 'UnauthorizedError', 'Unauthorized'),
    'unknown-model': failure(404, 'NotFoundError', 'The model `nothing` does not exist.'),
    'context-full': failure(
      400,
      'BadRequestError',
      "This model's maximum context length is 8192 tokens. However, you requested 9216 tokens in the messages. Please reduce the length of the messages.",
    ),
    'bad-request': failure(400, 'BadRequestError', 'Bad request.'),
    'prompt-blocked': failure(400, 'BadRequestError', 'The prompt was refused.'),
  },
  errorBody,
  brokenFrames: (error) => [errorBody(error), '[DONE]'],
}

/** What vLLM refuses, besides what all of this wire do. */
export const vllmRules: readonly ProviderRule[] = [
  {
    id: 'vllm/turns',
    providers: ['vllm'],
    what: 'User and assistant speak in turn, as the templates of Mistral and Gemma want it.',
    source: 'https://github.com/vllm-project/vllm/issues/6862',
    check: turnsProblem,
  },
  {
    id: 'vllm/system-first',
    providers: ['vllm'],
    what: 'There is one system message at most, and it stands first.',
    source: 'https://github.com/suitenumerique/conversations/issues/197',
    check: systemFirstProblem,
  },
  {
    id: 'vllm/tool-choice',
    providers: ['vllm'],
    what: 'A choice of tool is made only beside tools.',
    source: 'https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/protocol.py',
    check: ({ body }) => {
      const choice = memberOf(body, 'tool_choice')
      return choice !== undefined && choice !== 'none' && listAt(body, 'tools').length === 0
        ? 'When using `tool_choice`, `tools` must be set.'
        : undefined
    },
  },
  {
    id: 'vllm/call-arguments',
    providers: ['vllm'],
    what: 'The arguments of a call in the history are a JSON object: the server parses them for its template.',
    source: 'https://github.com/vllm-project/vllm/pull/48922',
    check: (request) =>
      firstOf(
        messagesOf(request).flatMap((message) => objectsAt(message, 'tool_calls')),
        (call) =>
          isObjectText(textAt(objectAt(call, 'function'), 'arguments') ?? '')
            ? undefined
            : 'Expecting value: the arguments of a tool call are not JSON.',
      ),
  },
]
