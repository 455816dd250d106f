/**
 * Messages: what is said to a language model and what it says back, in our own words.
 *
 * Owns: the message types. They are JSON, so they can be journaled, and they never name a provider's format.
 * Does not own: the provider's prompt format (prompt.ts), what of a conversation an agent is shown (agent/).
 */
import { copy, type Json, type JsonObject } from '../core/index.ts'

/** A model's wish that a tool be called. */
export interface ToolCall {
  /** Names the call inside its answer; unique there. The result of the call refers to it. */
  readonly id: string
  readonly name: string
  /** The arguments, not yet checked against the tool's schema. `null` if they were not JSON. */
  readonly input: Json
  /** The raw text of arguments that were not JSON. Such a call is never executed; the model is told. */
  readonly invalid?: string
}

/** One piece of a user's message. A file is carried as base64 data, or as a URL that the provider fetches. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly filename?: string; readonly data: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly filename?: string; readonly url: string }

/** One piece of an assistant's answer, in the order the provider gave it. `metadata` is the provider's own and opaque to us. */
export type ReasoningPart =
  | { readonly type: 'reasoning'; readonly text: string; readonly metadata?: JsonObject }
  | { readonly type: 'text'; readonly length: number; readonly metadata?: JsonObject }
  | { readonly type: 'call'; readonly callId: string; readonly metadata?: JsonObject }
  | { readonly type: 'opaque'; readonly part: JsonObject }

/**
 * What a reasoning model needs to see again to go on thinking: thoughts, signatures, encrypted content, item ids, in order.
 * Texts and calls are not repeated here, only pointed to. It is shown only to the model that made it (`model`); others get the plain answer.
 */
export interface Reasoning {
  readonly model: string
  readonly parts: readonly ReasoningPart[]
}

/** One message of a conversation. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** Instructions from the operator. */
export interface SystemMessage {
  readonly role: 'system'
  readonly content: string
}

/** What a user, or whoever stands in for one, says. */
export interface UserMessage {
  readonly role: 'user'
  readonly content: string | readonly ContentPart[]
}

/** What the model answered. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string
  readonly calls?: readonly ToolCall[]
  readonly reasoning?: Reasoning
}

/** The result of one tool call. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly callId: string
  readonly name: string
  readonly content: Json
  /** The call failed and `content` says why. Default false. */
  readonly isError?: boolean
}

/** The message that an answer becomes in the conversation. */
export function answerMessage(answer: {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly reasoning?: Reasoning
}): AssistantMessage {
  return {
    role: 'assistant',
    content: answer.text,
    ...(answer.calls.length > 0 && { calls: answer.calls }),
    ...(answer.reasoning !== undefined && { reasoning: answer.reasoning }),
  }
}

/** A provider's metadata as JSON; undefined if there is none, or if it is not an object. */
export function jsonObject(value: unknown): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const object = copy(value as JsonObject)
  return Object.keys(object).length > 0 ? object : undefined
}
