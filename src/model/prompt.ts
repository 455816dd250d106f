/**
 * Prompt: from our messages to the prompt of a provider.
 *
 * Owns: the conversion, the differences between specification versions in it, its memory (a message is converted once
 * per model).
 * Does not own: which messages are sent (agent/).
 */
import {
  isObject,
  type AssistantMessage,
  type ContentPart,
  type FilePart,
  type Json,
  type JsonObject,
  type Message,
  type ReasoningPart,
  type ToolCall,
  type ToolMessage,
} from '../core/index.ts'
import { withDistinctIds } from './call-ids.ts'
import type { SpecMessage, SpecVersion } from './spec.ts'

type SpecContent = { readonly type: string; readonly [member: string]: unknown }

/** Converts conversations for one model. */
export class PromptRenderer {
  readonly #version: SpecVersion
  readonly #model: string
  readonly #known = new WeakMap<Message, SpecMessage>()

  /** `model`: only its own reasoning may be shown to it again. */
  constructor(version: SpecVersion, model: string) {
    this.#version = version
    this.#model = model
  }

  /** The prompt. Results of tools that follow one another become one message, as providers want it. */
  render(messages: readonly Message[]): SpecMessage[] {
    const prompt: SpecMessage[] = []
    for (const message of withDistinctIds(messages)) {
      const next = this.#one(message)
      const last = prompt.at(-1)
      if (next.role === 'tool' && last?.role === 'tool')
        prompt[prompt.length - 1] = { role: 'tool', content: [...last.content, ...next.content] }
      else prompt.push(next)
    }
    return prompt
  }

  #one(message: Message): SpecMessage {
    const before = this.#known.get(message)
    if (before !== undefined) return before
    const made = this.#convert(message)
    this.#known.set(message, made)
    return made
  }

  #convert(message: Message): SpecMessage {
    switch (message.role) {
      case 'system':
        return { role: 'system', content: message.content }
      case 'user':
        return { role: 'user', content: userContent(message.content, this.#version) }
      case 'assistant':
        return { role: 'assistant', content: assistantContent(message, this.#version, this.#model) }
      case 'tool':
        return { role: 'tool', content: [toolResult(message)] }
    }
  }
}

function userContent(content: string | readonly ContentPart[], version: SpecVersion): SpecContent[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text } : filePart(part, version, part.metadata),
  )
}

function filePart(part: FilePart, version: SpecVersion, metadata: JsonObject | undefined): SpecContent {
  const { mediaType, filename } = part
  const more = { ...(filename !== undefined && { filename }), ...withMetadata(metadata) }
  if ('url' in part) {
    const url = new URL(part.url)
    return { type: 'file', mediaType, ...more, data: version === 'v4' ? { type: 'url', url } : url }
  }
  return { type: 'file', mediaType, ...more, data: version === 'v4' ? { type: 'data', data: part.data } : part.data }
}

function assistantContent(message: AssistantMessage, version: SpecVersion, model: string): SpecContent[] {
  const { reasoning } = message
  const isAnothers = reasoning !== undefined && reasoning.model !== model
  if (reasoning !== undefined && !isAnothers && fits(message, reasoning.parts))
    return reasonedContent(message, reasoning.parts, version)
  return [
    ...(message.content.trim() === '' ? [] : [{ type: 'text', text: message.content }]),
    ...(message.files ?? []).map((file) => filePart(file, version, isAnothers ? undefined : file.metadata)),
    ...(message.calls ?? []).map((call) => callContent(call, undefined)),
  ]
}

/**
 * Whether the order of parts still describes the message: it may have been edited or redacted since, and then the plain
 * form is sent.
 */
function fits(message: AssistantMessage, parts: readonly ReasoningPart[]): boolean {
  let length = 0
  let files = 0
  const ids = new Set(message.calls?.map((call) => call.id))
  for (const part of parts) {
    if (part.type === 'text') length += part.length
    if (part.type === 'file') files++
    if (part.type === 'call' && !ids.delete(part.callId)) return false
  }
  return length === message.content.length && files === (message.files?.length ?? 0) && ids.size === 0
}

function reasonedContent(
  message: AssistantMessage,
  parts: readonly ReasoningPart[],
  version: SpecVersion,
): SpecContent[] {
  const content: SpecContent[] = []
  const files = message.files?.values()
  let at = 0
  for (const part of parts) {
    switch (part.type) {
      case 'reasoning':
        content.push({ type: 'reasoning', text: part.text, ...withMetadata(part.metadata) })
        break
      case 'text':
        content.push({
          type: 'text',
          text: message.content.slice(at, at + part.length),
          ...withMetadata(part.metadata),
        })
        at += part.length
        break
      case 'call': {
        const call = message.calls?.find((each) => each.id === part.callId)
        if (call !== undefined) content.push(callContent(call, part.metadata))
        break
      }
      case 'file': {
        const file = files?.next().value
        if (file !== undefined) content.push(filePart(file, version, file.metadata))
        break
      }
      case 'opaque':
        if (typeof part.part.type === 'string') content.push({ ...part.part, type: part.part.type })
        break
    }
  }
  return content
}

const withMetadata = (metadata: JsonObject | undefined) => (metadata === undefined ? {} : { providerOptions: metadata })

/** Providers want the arguments of a call to be an object, also of a call that had none. */
function callContent(call: ToolCall, metadata: JsonObject | undefined): SpecContent {
  const input = isObject(call.input) ? call.input : {}
  return { type: 'tool-call', toolCallId: call.id, toolName: call.name, input, ...withMetadata(metadata) }
}

function toolResult(message: ToolMessage): SpecContent {
  const kind: 'text' | 'json' = typeof message.content === 'string' ? 'text' : 'json'
  const output: { type: string; value: Json } = {
    type: message.isError === true ? `error-${kind}` : kind,
    value: message.content,
  }
  return { type: 'tool-result', toolCallId: message.callId, toolName: message.name, output }
}
