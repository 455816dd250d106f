/**
 * Render: what a prompt is worth remembering by (a hash) and what it will roughly cost (an estimate), both incremental:
 * a growing conversation costs only its new messages.
 *
 * Owns: the hash, its version, the estimate. Does not own: the provider's prompt format (prompt.ts).
 */
import { asText, RollingHash, type Json, type Message } from '../core/index.ts'
import type { ToolSpec } from './model.ts'

/** The version of the way from messages to prompt. Recorded beside a prompt hash: hashes of different versions do not compare. */
export const rendererVersion = 1

/** The hash of a prompt that grows: add each message once; the text of the hash may be taken at any time. */
export class PromptHash {
  readonly #hash = new RollingHash()

  /** Adds the next message. */
  add(message: Message): this {
    this.#hash.addJson(message as unknown as Json)
    return this
  }

  /** The hash of all messages added so far: 16 hexadecimal digits. Not for security. */
  toString(): string {
    return this.#hash.toString()
  }
}

/** The hash of a whole prompt; the same as adding its messages one by one. */
export function promptHash(messages: readonly Message[]): string {
  const hash = new PromptHash()
  for (const message of messages) hash.add(message)
  return hash.toString()
}

const perMessage = 4
const perFile = 1_500
const known = new WeakMap<object, number>()

/**
 * A rough number of tokens of a prompt, for reserving a budget: a quarter of a token per ASCII character, one per other character, four per
 * message, 1,500 per file. An estimate: real tokenizers differ by tens of percent, more for code and rare scripts.
 */
export function estimateTokens(messages: readonly Message[], tools: readonly ToolSpec[] = []): number {
  let total = 0
  for (const message of messages) total += remembered(message, messageTokens)
  for (const spec of tools) total += remembered(spec, (tool) => textTokens(JSON.stringify(tool)))
  return total
}

function remembered<T extends object>(item: T, count: (item: T) => number): number {
  const before = known.get(item)
  if (before !== undefined) return before
  const tokens = count(item)
  known.set(item, tokens)
  return tokens
}

function messageTokens(message: Message): number {
  switch (message.role) {
    case 'system':
      return perMessage + textTokens(message.content)
    case 'user':
      if (typeof message.content === 'string') return perMessage + textTokens(message.content)
      return message.content.reduce((sum, part) => sum + (part.type === 'text' ? textTokens(part.text) : perFile), perMessage)
    case 'assistant': {
      const calls = message.calls === undefined ? 0 : textTokens(JSON.stringify(message.calls))
      const reasoning = message.reasoning === undefined ? 0 : textTokens(JSON.stringify(message.reasoning.parts))
      const files = perFile * (message.files?.length ?? 0)
      return perMessage + textTokens(message.content) + calls + files + reasoning
    }
    case 'tool':
      return perMessage + textTokens(asText(message.content))
  }
}

function textTokens(text: string): number {
  let ascii = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 128) ascii++
  return Math.ceil(ascii / 4) + (text.length - ascii)
}
