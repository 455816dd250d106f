/**
 * What OpenAI refuses on the wire of chat completions.
 */
import type { ProviderRule } from './wire.ts'

/** What OpenAI refuses on that wire. */
export const openaiChatRules: readonly ProviderRule[] = []
