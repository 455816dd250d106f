/**
 * What a chat template wants that is as strict as those of Mistral, Gemma and Qwen: the system message first, then user
 * and assistant in turn, with the results of tools behind the calls.
 *
 * Owns: that order. Does not own: how a server says that it is broken (vllm.ts, llamacpp.ts).
 */
import type { JsonObject } from '@reeve/core'
import { messagesOf } from './openai-chat-rules.ts'
import { firstOf, objectsAt, textAt, type ProviderRequest } from './wire.ts'

/** A system message stands first, and there is one at most. */
export const systemFirstProblem = (request: ProviderRequest): string | undefined =>
  firstOf(messagesOf(request), (message, at) =>
    at > 0 && ['system', 'developer'].includes(textAt(message, 'role') ?? '')
      ? 'System message must be at the beginning.'
      : undefined,
  )

/** User and assistant speak in turn, the user first; calls and their results count for the assistant. */
export function turnsProblem(request: ProviderRequest): string | undefined {
  const broken = 'Conversation roles must alternate user/assistant/user/assistant/...'
  let awaited: 'user' | 'assistant' = 'user'
  let calling = false
  for (const message of messagesOf(request)) {
    const role = textAt(message, 'role') ?? ''
    if (role === 'system' || role === 'developer') continue
    if (role === 'tool') {
      if (!calling) return broken
      continue
    }
    if (calling && role === 'assistant') {
      calling = hasCalls(message)
      awaited = 'user'
      continue
    }
    if (role !== awaited) return broken
    calling = hasCalls(message)
    awaited = role === 'user' ? 'assistant' : 'user'
  }
  return undefined
}

const hasCalls = (message: JsonObject): boolean => objectsAt(message, 'tool_calls').length > 0
