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
  type ReasoningPart,
  type Source,
  type ToolCall,
} from '@reeve/core'
import type { ModelAnswer } from './model.ts'
import { mostRan, withSource } from './provider-tools.ts'

/** The message that an answer becomes in the conversation. */
export function answerMessage(answer: {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly files?: readonly FilePart[]
  readonly reasoning?: Reasoning
  readonly sources?: readonly Source[]
}): AssistantMessage {
  const { text, calls, files, reasoning, sources } = answer
  const message: Draft<AssistantMessage> = { role: 'assistant', content: text }
  if (calls.length > 0) message.calls = calls
  if (files !== undefined && files.length > 0) message.files = files
  if (reasoning !== undefined) message.reasoning = reasoning
  if (sources !== undefined && sources.length > 0) message.sources = sources
  return message
}

/** The parts of an answer that was paused or cut off, as the one answer that they are. */
export function joinedAnswer(parts: readonly ModelAnswer[], last: ModelAnswer): ModelAnswer {
  if (parts.length === 0) return last
  const all = [...parts, last]
  const files = all.flatMap(({ files: of = [] }) => of)
  const reasoning = joinedReasoning(all)
  const ran = all.flatMap(({ ran: of = [] }) => of).slice(0, mostRan)
  const sources = all.flatMap(({ sources: of = [] }) => of).reduce<readonly Source[]>(withSource, [])
  const { reasoning: _reasoning, files: _files, ran: _ran, sources: _sources, ...rest } = last
  return {
    ...rest,
    text: all.map(({ text }) => text).join(''),
    ...(files.length > 0 && { files }),
    ...(reasoning !== undefined && { reasoning }),
    ...(ran.length > 0 && { ran }),
    ...(sources.length > 0 && { sources }),
  }
}

/** In the order in which they came. Undefined where none has more than its text, or several models have answered. */
function joinedReasoning(all: readonly ModelAnswer[]): Reasoning | undefined {
  const [first, ...others] = all.flatMap(({ reasoning }) => reasoning ?? [])
  if (first === undefined || others.some(({ model }) => model !== first.model)) return undefined
  return { model: first.model, parts: all.flatMap(partsInOrder) }
}

const partsInOrder = ({ reasoning, text, calls, files = [] }: ModelAnswer): readonly ReasoningPart[] =>
  reasoning?.parts ?? [
    { type: 'text', length: text.length },
    ...files.map((): ReasoningPart => ({ type: 'file' })),
    ...calls.map(({ id }): ReasoningPart => ({ type: 'call', callId: id })),
  ]

/** A provider's metadata as JSON; undefined if it is absent or not an object. */
export function jsonObject(value: unknown): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const object = copy(value as JsonObject)
  return Object.keys(object).length > 0 ? object : undefined
}
