/**
 * Messages: from what a provider said to our own words.
 *
 * Owns: making them. Does not own: their types (core/message.ts), the provider's prompt format (prompt.ts), what of a
 * conversation an agent is shown (agent/).
 */
import {
  copy,
  type AssistantMessage,
  type Draft,
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
  const { text, calls, files, reasoning } = answer
  const message: Draft<AssistantMessage> = { role: 'assistant', content: text }
  if (calls.length > 0) message.calls = calls
  if (files !== undefined && files.length > 0) message.files = files
  if (reasoning !== undefined) message.reasoning = reasoning
  return message
}

/** A provider's metadata as JSON; undefined if it is absent or not an object. */
export function jsonObject(value: unknown): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const object = copy(value as JsonObject)
  return Object.keys(object).length > 0 ? object : undefined
}
