/**
 * Usage: what a provider says a call used, read from the shapes of v2 (flat) and v3/v4 (nested).
 *
 * Owns: the reading, what of the output was reasoning, what of a cache was written for how long, at which service tier. What is missing or not a number
 * stays unknown; what is reported as 0 is 0.
 */
import type { CallUsage } from '@reeve/core'
import type { BilledUsage } from './price.ts'

/** Usage of calls that were answered at a service tier with prices of its own: no list price holds for it. */
const ofOwnTier = new WeakSet<CallUsage>()

/** Whether a call was answered at a service tier with prices of its own. */
export const hasOwnTier = (usage: CallUsage): boolean => ofOwnTier.has(usage)

type Draft = { -readonly [Member in keyof BilledUsage]: BilledUsage[Member] }
type Members = { readonly [member: string]: unknown }

/**
 * The usage with its cost, if both are known; undefined if the provider reported no tokens at all. `metadata`: what the
 * provider says besides.
 */
export function readUsage(
  reported: unknown,
  metadata: unknown,
  cost: (usage: BilledUsage) => number | undefined,
): CallUsage | undefined {
  const { tier, ...usage } = tokensOf(reported, metadata)
  if (usage.input === undefined && usage.output === undefined) return undefined
  const usd = cost(tier === undefined ? usage : { ...usage, tier })
  const read: CallUsage = { ...usage, ...(usd !== undefined && { usd }) }
  if (tier !== undefined) ofOwnTier.add(read)
  return read
}

function tokensOf(reported: unknown, metadata: unknown): BilledUsage {
  const usage = membersOf(reported)
  const nestedInput = membersOf(usage.inputTokens)
  const nestedOutput = membersOf(usage.outputTokens)
  const anthropic = membersOf(membersOf(metadata).anthropic)
  const raw = usage.raw === undefined ? membersOf(anthropic.usage) : membersOf(usage.raw)
  const found: Draft = {}
  const set = (member: Exclude<keyof Draft, 'usd' | 'tier'>, tokens?: number): void => {
    if (tokens !== undefined) found[member] = tokens
  }
  set('input', count(usage.inputTokens) ?? count(nestedInput.total))
  set('output', count(usage.outputTokens) ?? count(nestedOutput.total))
  // packages of providers make 0 of counts that a server left out
  if (isMissing(raw, 'prompt_tokens', 'completion_tokens')) delete found.input
  if (isMissing(raw, 'completion_tokens', 'prompt_tokens')) delete found.output
  const thought = count(usage.reasoningTokens) ?? count(nestedOutput.reasoning)
  // never more than was put out in all
  if (thought !== undefined && (thought > 0 || tellsReasoning(raw)))
    set('reasoning', Math.min(thought, found.output ?? thought))
  set('cached', count(usage.cachedInputTokens) ?? count(nestedInput.cacheRead))
  const written = writtenIn(raw)
  const total = count(nestedInput.cacheWrite) ?? count(anthropic.cacheCreationInputTokens) ?? written.total
  if (total !== undefined && total > 0) {
    set('cacheWrite', total)
    // never more than was written in all
    if (written.hour !== undefined && written.hour > 0) set('cacheWrite1h', Math.min(total, written.hour))
  }
  // v2: Anthropic's input is told without what was read from a cache and written to it
  if (typeof usage.inputTokens === 'number' && anthropic.usage !== undefined && found.input !== undefined)
    found.input += (found.cached ?? 0) + (found.cacheWrite ?? 0)
  const tier = tierOf(raw, membersOf(metadata))
  if (tier !== undefined) found.tier = tier
  return found
}

/** Whether chat completions report their usage without this count. `other`: by which it is told that they do. */
const isMissing = (raw: Members, member: string, other: string): boolean =>
  (member in raw || other in raw) && count(raw[member]) === undefined

/**
 * Whether a server has said how much of the output was reasoning: packages of providers make 0 of a count that it left
 * out. Nothing is known of what the server said: yes.
 */
const tellsReasoning = (raw: Members): boolean =>
  Object.keys(raw).length === 0 ||
  count(raw.thoughtsTokenCount) !== undefined ||
  [raw.completion_tokens_details, raw.output_tokens_details].some((details) => {
    const { reasoning_tokens, thinking_tokens } = membersOf(details)
    return count(reasoning_tokens) !== undefined || count(thinking_tokens) !== undefined
  })

/**
 * What was written to a cache, and what of it for an hour: `usage.cache_creation.ephemeral_1h_input_tokens` of
 * Anthropic's messages (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching#1-hour-cache-duration).
 */
function writtenIn(raw: Members): { readonly total: number | undefined; readonly hour: number | undefined } {
  return {
    total: count(raw.cache_creation_input_tokens),
    hour: count(membersOf(raw.cache_creation).ephemeral_1h_input_tokens),
  }
}

/**
 * The tiers to which list prices apply: `standard` of Anthropic (https://docs.anthropic.com/en/api/service-tiers),
 * `default` of OpenAI (https://platform.openai.com/docs/api-reference/responses/object#service_tier), `on_demand` of
 * Groq (https://console.groq.com/docs/service-tiers). `auto` is what was asked for, and says nothing of what was given.
 */
const listTiers: ReadonlySet<string> = new Set(['', 'standard', 'default', 'on_demand', 'auto'])

/** The service tier that has answered, if it has prices of its own: batch, flex, priority, scale. */
function tierOf(raw: Members, metadata: Members): string | undefined {
  const said = [raw.service_tier, ...Object.values(metadata).map((of) => membersOf(of).serviceTier)]
  return said.find((tier): tier is string => typeof tier === 'string' && !listTiers.has(tier.toLowerCase()))
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
