/**
 * vLLM: its dialect of chat completions, and what it refuses besides.
 */
import type { JsonObject } from '../../core/index.ts'
import type { ChatDialect, ChatError } from './openai-chat.ts'
import type { ProviderRule } from './wire.ts'

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
export const vllmRules: readonly ProviderRule[] = []
