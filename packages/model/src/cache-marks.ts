/**
 * Cache marks: where a prompt is kept in the provider's cache, for a provider that caches what it is asked to.
 *
 * Owns: which messages of a prompt carry a mark. Does not own: which providers take marks (provider-limits.ts), what
 * reading and writing a cache costs (price.ts).
 */
import { isObject, type JsonObject } from '@reeve/core'
import type { ModelSettings } from './model.ts'
import type { SpecMessage } from './spec.ts'

/**
 * The prompt with three marks, of the four that Anthropic takes: on the system text, which other conversations of the
 * agent share; where the last request ended, so that it is found also behind a long turn; and at the end, for the next
 * request (https://docs.claude.com/en/docs/build-with-claude/prompt-caching). The same prompt if nothing is to be cached,
 * or if the caller's provider options say what is.
 */
export function withCacheMarks(
  prompt: SpecMessage[],
  cache: ModelSettings['cache'],
  providerOptions: ModelSettings['providerOptions'],
): SpecMessage[] {
  if (cache === undefined || cache === false || saysItself(providerOptions)) return prompt
  const mark = { anthropic: { cacheControl: { type: 'ephemeral', ...(cache === true ? {} : { ttl: cache }) } } }
  const lastAnswer = prompt.findLastIndex(({ role }) => role === 'assistant')
  const marked = new Set([
    prompt[0]?.role === 'system' ? 0 : -1,
    prompt.findLastIndex(({ role }, at) => at < lastAnswer && isAsked(role)),
    prompt.findLastIndex(({ role }) => isAsked(role)),
  ])
  return prompt.map((message, at) => (marked.has(at) ? { ...message, providerOptions: mark } : message))
}

/** Thoughts, which an answer may end with, carry no mark. */
const isAsked = (role: SpecMessage['role']): boolean => role === 'user' || role === 'tool'

/** Whether provider options say themselves what is cached. */
const saysItself = (options: { readonly [provider: string]: JsonObject } | undefined): boolean =>
  Object.values(options ?? {}).some(
    (each) => isObject(each) && (Object.hasOwn(each, 'cacheControl') || Object.hasOwn(each, 'cache_control')),
  )
