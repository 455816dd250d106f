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
