/**
 * Messages: from what a provider said to our own words.
 *
 * Owns: making them. Does not own: their types (core/message.ts), the provider's prompt format (prompt.ts), what of a
 * conversation an agent is shown (agent/).
 */
import {
  copy,
  type AssistantMessage,
  type FilePart,
  type JsonObject,
  type Reasoning,
  type ToolCall,
} from '../core/index.ts'

/** The message that an answer becomes in the conversation. */
export function answerMessage(answer: {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly files?: readonly FilePart[]
  readonly reasoning?: Reasoning
}): AssistantMessage {
  return {
    role: 'assistant',
    content: answer.text,
    ...(answer.calls.length > 0 && { calls: answer.calls }),
    ...(answer.files !== undefined && answer.files.length > 0 && { files: answer.files }),
    ...(answer.reasoning !== undefined && { reasoning: answer.reasoning }),
  }
}

/** A provider's metadata as JSON; undefined if it is absent or not an object. */
export function jsonObject(value: unknown): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const object = copy(value as JsonObject)
  return Object.keys(object).length > 0 ? object : undefined
}
