/**
 * Ollama's /v1: its dialect of chat completions, and what it refuses besides.
 */
import type { ChatDialect } from './openai-chat.ts'
import { openaiErrorBody } from './openai.ts'
import type { ProviderRule } from './wire.ts'

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
export const ollamaRules: readonly ProviderRule[] = []
