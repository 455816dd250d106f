/** Usage as packages of specification v2 report it. */
import { expect, test } from 'vitest'
import { costOf } from '../src/index.ts'
import { hasOwnTier, readUsage } from '../src/usage.ts'

const price = { usdPerMillionTokens: { input: 1, output: 1, cacheRead: 0.1, cacheWrite: 1.25 } }

test('the input of Claude holds what was read from a cache and written to it', () => {
  const raw = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 1_000, cache_creation_input_tokens: 100 }
  const metadata = { anthropic: { usage: raw, cacheCreationInputTokens: 100 } }
  const usage = readUsage({ inputTokens: 10, outputTokens: 5, cachedInputTokens: 1_000 }, metadata, (used) =>
    costOf(used, price),
  )
  expect(usage).toEqual({ input: 1_110, output: 5, cached: 1_000, cacheWrite: 100, usd: expect.closeTo(240e-6, 9) })
})

test('a tier with prices of its own is known of the usage, so that no list price is taken for it later', () => {
  const tiered = readUsage({ inputTokens: 1, outputTokens: 1 }, { openai: { serviceTier: 'priority' } }, () => 1)
  const usual = readUsage({ inputTokens: 1, outputTokens: 1 }, { openai: { serviceTier: 'default' } }, () => 1)
  expect([tiered, usual].map((usage) => hasOwnTier(usage!))).toEqual([true, false])
})

test('reasoning is told apart where the server says it, and is not known where its package makes 0 of nothing', () => {
  const reasoningOf = (reported: unknown): number | undefined => readUsage(reported, {}, () => undefined)?.reasoning
  const v2 = (reasoningTokens: unknown): object => ({ inputTokens: 10, outputTokens: 5, reasoningTokens })
  expect([v2(3), v2(0), v2(undefined), v2(-1), v2(9)].map(reasoningOf)).toEqual([3, 0, undefined, undefined, 5])
  const v4 = (reasoning: unknown, raw?: object): object => ({
    inputTokens: { total: 10 },
    outputTokens: { total: 5, reasoning },
    raw,
  })
  expect(reasoningOf(v4(3))).toBe(3)
  expect(reasoningOf(v4(0, { completion_tokens: 5, prompt_tokens: 10 }))).toBeUndefined()
  const details = { reasoning_tokens: 0 }
  expect(reasoningOf(v4(0, { completion_tokens: 5, prompt_tokens: 10, completion_tokens_details: details }))).toBe(0)
  expect(reasoningOf(v4(0, { output_tokens: 5, output_tokens_details: details }))).toBe(0)
  expect(reasoningOf(v4(0, { output_tokens: 5, output_tokens_details: { thinking_tokens: 0 } }))).toBe(0)
  expect(reasoningOf(v4(0, { candidatesTokenCount: 5 }))).toBeUndefined()
  expect(reasoningOf(v4(0, { candidatesTokenCount: 5, thoughtsTokenCount: 0 }))).toBe(0)
})
