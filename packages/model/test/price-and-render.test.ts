/**
 * Prices, prompt digests, estimates.
 */
import { describe, expect, test } from 'vitest'
import {
  costOf,
  freeOfCharge,
  pricesCheck,
  estimateTokens,
  listPrices,
  priceIn,
  priceOf,
  pricesAsOf,
  MessagesContent,
  type Message,
} from '../src/index.ts'
import { digest } from '@reeve/core'
import { delegate } from './requests.ts'

describe('price', () => {
  test('tokens times price; the cached part at its own', () => {
    expect(priceOf('openai/gpt-5', { input: 1_000_000, output: 0 })).toBeCloseTo(1.25, 9)
    expect(priceOf('openai/gpt-5', { input: 1_000_000, cached: 1_000_000, output: 1_000_000 })).toBeCloseTo(10.125, 9)
    expect(
      costOf(
        { input: 100, cached: 40, cacheWrite: 10, output: 0 },
        { usdPerMillionTokens: { input: 1e6, output: 0, cacheRead: 1e5, cacheWrite: 2e6 } },
      ),
    ).toBeCloseTo(50 + 4 + 20, 9)
    expect(costOf({ input: 10, cached: 10, output: 1 }, { usdPerMillionTokens: { input: 1e6, output: 1e6 } })).toBe(11)
  })

  test('unknown stays unknown', () => {
    expect(priceOf('acme/m', { input: 1, output: 1 })).toBeUndefined()
    expect(priceOf('openai/gpt-5', { input: 1 })).toBeUndefined()
    expect(priceOf('openai/gpt-5', { output: 1 })).toBeUndefined()
    expect(priceOf('anthropic/claude-haiku-5-5', { input: 100_001, output: 1 })).toBeUndefined()
  })

  test('a dated version, and the other protocol, cost the same', () => {
    const price = listPrices['openai/gpt-5-mini']
    expect(price).toBeDefined()
    for (const id of ['openai/gpt-5-mini-2025-08-07', 'openai-chat/gpt-5-mini', 'openai-chat/gpt-5-mini-2025-08-07'])
      expect(priceIn(listPrices, id)).toBe(price)
    expect(priceIn(listPrices, 'anthropic/claude-sonnet-5-20260929')).toBe(listPrices['anthropic/claude-sonnet-5'])
    expect(priceIn(listPrices, 'openai/gpt-5-mini-turbo')).toBeUndefined()
  })

  test('own prices win, and a model can be given one', () => {
    const own = {
      'acme/m': { usdPerMillionTokens: { input: 1, output: 2 } },
      'openai/gpt-5': { usdPerMillionTokens: { input: 0, output: 0 } },
    }
    expect(priceOf('acme/m', { input: 1_000_000, output: 1_000_000 }, own)).toBe(3)
    expect(priceOf('openai/gpt-5-2025-08-07', { input: 5, output: 5 }, own)).toBe(0)
  })

  test('the table is dated and sane', () => {
    expect(pricesAsOf).toMatch(/^\d{4}-\d{2}-\d{2}$/)
    for (const { usdPerMillionTokens: price } of Object.values(listPrices)) {
      expect(price.output).toBeGreaterThan(price.input)
      expect(price.cacheRead ?? 0).toBeLessThan(price.input)
      expect(price.cacheWrite1h ?? Infinity).toBeGreaterThan(price.cacheWrite ?? 0)
    }
  })

  test('what was written to a cache for an hour has a price of its own; without it, none is known', () => {
    const used = { input: 1_010, cacheWrite: 1_000, cacheWrite1h: 1_000, output: 100 }
    expect(priceOf('anthropic/claude-sonnet-5', used)).toBeCloseTo(0.00502, 9)
    expect(priceOf('anthropic/claude-sonnet-5', { ...used, cacheWrite1h: 400 })).toBeCloseTo(
      (10 * 2 + 600 * 2.5 + 400 * 4 + 100 * 10) / 1e6,
      9,
    )
    expect(costOf(used, { usdPerMillionTokens: { input: 1, output: 1, cacheWrite: 1 } })).toBeUndefined()
  })

  test('a service tier with prices of its own has none here, unless all is free', () => {
    expect(priceOf('openai/gpt-5', { input: 1, output: 1, tier: 'flex' })).toBeUndefined()
    expect(costOf({ input: 1, output: 1, tier: 'flex' }, freeOfCharge)).toBe(0)
  })

  test('a table says what is wrong with it', () => {
    expect(pricesCheck({ 'a/b': { usdPerMillionTokens: { input: 1, output: 2, cacheRead: 0.5 } } }, 'prices')).toEqual(
      [],
    )
    for (const wrong of [
      [],
      { 'a/b': 1 },
      { 'a/b': { inputPerMillion: 1, outputPerMillion: 1 } },
      { 'a/b': { usdPerMillionTokens: { input: 1 } } },
      { 'a/b': { usdPerMillionTokens: { input: -1, output: 1 } } },
      { 'a/b': { usdPerMillionTokens: { input: 1, output: 1, cached: 1 } } },
    ])
      expect(pricesCheck(wrong, 'prices')).not.toEqual([])
  })
})

const conversation: Message[] = [
  { role: 'system', content: 'Lead.' },
  { role: 'user', content: 'Write a report.' },
  { role: 'assistant', content: '', calls: [{ id: 'a', name: 'delegate', input: { worker: 'w', instructions: 'x' } }] },
  { role: 'tool', callId: 'a', name: 'delegate', content: { ok: true } },
]

describe('render', () => {
  const contentOf = (messages: readonly Message[]): string => new MessagesContent().of(messages, digest)

  test('what grows is what the whole is', () => {
    const growing = new MessagesContent()
    const seen = new Set<string>()
    for (const [i] of conversation.entries()) {
      const said = growing.of(conversation.slice(0, i + 1), digest)
      expect(said).toBe(contentOf(conversation.slice(0, i + 1)))
      seen.add(said)
    }
    expect(seen.size).toBe(conversation.length)
    // of what was said up to the last answer only the digest
    expect(growing.of(conversation, digest)).toMatch(/^[0-9a-f]{64}assistant /)
  })

  test('the order of keys does not matter, the content and its borders do', () => {
    expect(contentOf([{ content: 'a', role: 'user' }])).toBe(contentOf([{ role: 'user', content: 'a' }]))
    expect(contentOf([{ role: 'user', content: 'ab' }])).not.toBe(
      contentOf([
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ]),
    )
    expect(contentOf(conversation.toReversed())).not.toBe(contentOf(conversation))
  })

  test('ids of calls do not matter; which call a result belongs to does', () => {
    const named = (one: string, other: string, first = one): Message[] => [
      {
        role: 'assistant',
        content: '',
        calls: [
          { id: one, name: 'read', input: 1 },
          { id: other, name: 'read', input: 2 },
        ],
        reasoning: { model: 'm', parts: [{ type: 'call', callId: one }] },
      },
      { role: 'tool', callId: first, name: 'read', content: 'x' },
    ]
    expect(contentOf(named('a', 'b'))).toBe(contentOf(named('call_1', 'call_2')))
    expect(contentOf(named('a', 'b'))).not.toBe(contentOf(named('a', 'b', 'b')))
    // an id that comes again in a later answer is another call
    expect(contentOf([...named('a', 'b'), ...named('a', 'b')])).toBe(
      contentOf([...named('a', 'b'), ...named('c', 'd')]),
    )
  })

  test('an estimate counts every message, tools, files, and scripts that are not ASCII', () => {
    expect(estimateTokens([])).toBe(0)
    expect(estimateTokens([{ role: 'user', content: 'x'.repeat(400) }])).toBe(104)
    expect(estimateTokens([{ role: 'user', content: '報告書' }])).toBe(7)
    expect(
      estimateTokens([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'xxxx' },
            { type: 'file', mediaType: 'image/png', data: 'A'.repeat(100_000) },
          ],
        },
      ]),
    ).toBe(1_505)
    const messages = estimateTokens(conversation)
    expect(messages).toBeGreaterThan(4 * conversation.length)
    expect(estimateTokens(conversation, [delegate])).toBeGreaterThan(messages + 20)
    expect(estimateTokens(conversation.map((message) => ({ ...message })))).toBe(messages)
  })
})
