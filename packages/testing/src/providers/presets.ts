/**
 * The vendors that can be played: their wire, their rules, the model they are asked for.
 *
 * Owns: that table. Does not own: what is in it.
 */
import { anthropicRules, anthropicWire } from './anthropic.ts'
import { googleRules, googleWire } from './google.ts'
import { groqChat, groqRules } from './groq.ts'
import { llamacppChat, llamacppRules } from './llamacpp.ts'
import { ollamaChat, ollamaRules } from './ollama.ts'
import { openaiChatRules } from './openai-chat-rules.ts'
import { chatWire } from './openai-chat.ts'
import { openaiResponsesRules } from './openai-responses-rules.ts'
import { openaiResponsesWire } from './openai-responses.ts'
import { openaiChat } from './openai.ts'
import { openrouterChat, openrouterRules } from './openrouter.ts'
import { vllmChat, vllmRules } from './vllm.ts'
import type { ProviderName, ProviderRule, ProviderWire } from './wire.ts'

/** What is known of a vendor. */
interface ProviderPreset {
  readonly wire: ProviderWire
  readonly rules: readonly ProviderRule[]
  /** What its variables of the environment begin with. */
  readonly variable: string
  /** A model of it, without the vendor's name. */
  readonly model: string
  /** Whether it wants a key. */
  readonly needsKey: boolean
}

const every: readonly ProviderRule[] = [
  ...openaiChatRules,
  ...openaiResponsesRules,
  ...anthropicRules,
  ...googleRules,
  ...groqRules,
  ...openrouterRules,
  ...vllmRules,
  ...llamacppRules,
  ...ollamaRules,
]

const preset = (
  name: ProviderName,
  wire: ProviderWire,
  variable: string,
  model: string,
  needsKey = true,
): ProviderPreset => ({
  wire,
  variable,
  model,
  needsKey,
  rules: every.filter(({ providers }) => providers.includes(name)),
})

/** The vendors by name. */
export const providerPresets: { readonly [name in ProviderName]: ProviderPreset } = {
  openai: preset('openai', openaiResponsesWire, 'OPENAI', 'gpt-5'),
  'openai-chat': preset('openai-chat', chatWire(openaiChat), 'OPENAI', 'gpt-5'),
  anthropic: preset('anthropic', anthropicWire, 'ANTHROPIC', 'claude-sonnet-5'),
  google: preset('google', googleWire, 'GOOGLE', 'gemini-3.5-flash'),
  groq: preset('groq', chatWire(groqChat), 'GROQ', 'llama-3.3-70b-versatile'),
  openrouter: preset('openrouter', chatWire(openrouterChat), 'OPENROUTER', 'openai/gpt-5'),
  vllm: preset('vllm', chatWire(vllmChat), 'VLLM', 'mistral-7b-instruct', false),
  llamacpp: preset('llamacpp', chatWire(llamacppChat), 'LLAMACPP', 'gemma-3', false),
  ollama: preset('ollama', chatWire(ollamaChat), 'OLLAMA', 'llama3.2', false),
}

/** The names of the vendors that can be played. */
export const strictProviderNames = Object.keys(providerPresets) as readonly ProviderName[]

/** All rules, each with where it comes from. */
export const providerRules: readonly ProviderRule[] = every
