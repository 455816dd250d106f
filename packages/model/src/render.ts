/**
 * Render: what a prompt is known by (a digest) and what it will roughly cost (an estimate), both incremental: a growing
 * conversation costs only its new messages.
 *
 * Owns: of what the content key of a model call is made, the estimate. Does not own: the provider's prompt format
 * (prompt.ts), what else has content keys (../journal/content-key.ts).
 */
import {
  asText,
  CallNumbers,
  canonical,
  messageContent,
  textTokens,
  type Json,
  type Message,
  type Sha256,
} from '@reeve/core'
import type { ModelSettings, ToolSpec } from './model.ts'
import { contentOfTool } from './provider-tools.ts'

/** All that an answer of a model depends on, besides the messages that it is shown. */
export interface ModelCall {
  readonly model: string
  readonly tools: readonly ToolSpec[]
  readonly settings?: ModelSettings | undefined
  readonly outputSchema?: ToolSpec['parameters'] | undefined
  readonly purpose?: string | undefined
}

/**
 * What the content key of a model call is made of. Tools and schemas are walked once, however often they are offered.
 */
export function modelCallContent(
  { model, tools, settings, outputSchema, purpose }: ModelCall,
  messages: string,
  sha256: Sha256,
): string {
  let text = `model ${canonical(model)}`
  if (tools.length > 0)
    text += remembered(lists, tools, (all) => all.map((tool) => ` tool ${toolDigest(tool, sha256)}`).join(''))
  if (settings !== undefined) text += ` settings ${canonical(settings as Json)}`
  if (outputSchema !== undefined) text += ` output ${digestOf(outputSchema, sha256)}`
  if (purpose !== undefined) text += ` purpose ${canonical(purpose)}`
  return `${text} ${messages}`
}

const toolDigest = (tool: ToolSpec, sha256: Sha256): string =>
  remembered(digests, tool, (each) => sha256(canonical(contentOfTool(each) as unknown as Json)))

const digestOf = (value: object, sha256: Sha256): string =>
  remembered(digests, value, (each) => sha256(canonical(each as Json)))

/**
 * What a conversation that grows puts into content keys: the digest of what was said up to the last answer, and what
 * was said since. A call costs what was added since the one before.
 */
export class MessagesContent {
  #said = 0
  #chain = ''
  #link = ''
  readonly #calls = new CallNumbers()

  /** `messages`: those of the last call, and what was said since. */
  of(messages: readonly Message[], sha256: Sha256): string {
    for (; this.#said < messages.length; this.#said++) {
      const message = messages[this.#said]!
      if (message.role === 'assistant' && this.#said > 0) {
        this.#chain = sha256(this.#chain + this.#link)
        this.#link = ''
      }
      this.#link += messageContent(message, this.#calls)
    }
    return this.#chain + this.#link
  }
}

const perMessage = 4
const perFile = 1_500
/** What was made of an object once. Objects are not changed any more. */
const sizes = new WeakMap<object, number>()
const digests = new WeakMap<object, string>()
const lists = new WeakMap<readonly ToolSpec[], string>()

/**
 * A rough number of tokens of a prompt, for reserving a budget: a quarter of a token per ASCII character, one per other
 * character, four per message, 1,500 per file. An estimate: real tokenizers differ by tens of percent, more for code
 * and rare scripts.
 */
export function estimateTokens(messages: readonly Message[], tools: readonly ToolSpec[] = []): number {
  let total = 0
  for (const message of messages) total += remembered(sizes, message, messageTokens)
  for (const spec of tools) total += remembered(sizes, spec, (tool) => textTokens(JSON.stringify(tool)))
  return total
}

function remembered<T extends object, V>(memory: WeakMap<object, V>, item: T, make: (item: T) => V): V {
  const before = memory.get(item)
  if (before !== undefined) return before
  const made = make(item)
  memory.set(item, made)
  return made
}

function messageTokens(message: Message): number {
  switch (message.role) {
    case 'system':
      return perMessage + textTokens(message.content)
    case 'user':
      if (typeof message.content === 'string') return perMessage + textTokens(message.content)
      return message.content.reduce(
        (sum, part) => sum + (part.type === 'text' ? textTokens(part.text) : perFile),
        perMessage,
      )
    case 'assistant': {
      const calls = message.calls === undefined ? 0 : textTokens(JSON.stringify(message.calls))
      const reasoning = message.reasoning === undefined ? 0 : textTokens(JSON.stringify(message.reasoning.parts))
      const files = perFile * (message.files?.length ?? 0)
      return perMessage + textTokens(message.content) + calls + files + reasoning
    }
    case 'tool':
      return perMessage + textTokens(asText(message.content)) + perFile * (message.files?.length ?? 0)
  }
}
