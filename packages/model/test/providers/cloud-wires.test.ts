/**
 * What the bench sends for Anthropic and Google is read by the packages that speak to them, streamed and whole: why a
 * message stopped, thoughts and their signatures, accounts, failures in each vendor's form.
 */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4Prompt,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { strictProvider, type ProviderReply, type StrictProvider } from '../../../testing/src/providers/index.ts'
import { anthropicStops } from '../../../testing/src/providers/anthropic.ts'
import { googleStops } from '../../../testing/src/providers/google.ts'

type Cloud = 'anthropic' | 'google'
const apiKey = 'sk-strict-provider-key'

function modelAt(provider: StrictProvider): LanguageModelV4 {
  const id = provider.model.slice(provider.model.indexOf('/') + 1)
  if (provider.preset === 'anthropic') return createAnthropic({ baseURL: `${provider.url}/v1`, apiKey })(id)
  return createGoogleGenerativeAI({ baseURL: `${provider.url}/v1beta`, apiKey })(id)
}

const prompt: LanguageModelV4Prompt = [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }]
type Part = LanguageModelV4StreamPart & { readonly [member: string]: unknown }

/** What the package reads: parts of a stream, or the content and the end of a whole answer as such parts. */
async function read(preset: Cloud, reply: ProviderReply, streamed: boolean): Promise<readonly Part[]> {
  await using provider = await strictProvider({ preset, answer: [reply] })
  const model = modelAt(provider)
  if (!streamed) {
    const { content, finishReason, usage } = await model.doGenerate({ prompt })
    return [...content, { type: 'finish', finishReason, usage }] as unknown as readonly Part[]
  }
  const { stream } = await model.doStream({ prompt })
  const parts: Part[] = []
  for await (const part of stream) parts.push(part as Part)
  return parts
}

const ofType = (parts: readonly Part[], ...types: string[]): readonly Part[] =>
  parts.filter(({ type }) => types.includes(type))
const textIn = (parts: readonly Part[]): string =>
  ofType(parts, 'text', 'text-delta')
    .map(({ text, delta }) => text ?? delta)
    .join('')

const stops: readonly (readonly [Cloud, string, boolean])[] = [
  ...anthropicStops.map((stop) => ['anthropic', stop] as const),
  ...googleStops.map((stop) => ['google', stop] as const),
].flatMap(([cloud, stop]) => [true, false].map((streamed) => [cloud, stop, streamed] as const))

test.each(stops)('%s stops with %s, streamed %s', async (cloud, stop, streamed) => {
  const parts = await read(cloud, { text: ['The answer ', 'is'], finish: stop }, streamed)
  expect(textIn(parts)).toBe('The answer is')
  expect(ofType(parts, 'error')).toEqual([])
  expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: { raw: stop } })
})

describe.each([true, false])('streamed %s', (streamed) => {
  test('a thought has its signature, a hidden one its data', async () => {
    const thoughts = [
      { type: 'reasoning', text: ['let me ', 'see'], signature: 'c2ln' },
      { type: 'text', text: 'hi' },
    ] as const
    const claude = await read(
      'anthropic',
      { parts: [{ type: 'reasoning', text: '', redacted: 'aGlk' }, ...thoughts] },
      streamed,
    )
    expect(JSON.stringify(claude)).toContain('"redactedData":"aGlk"')
    expect(JSON.stringify(claude)).toContain('"signature":"c2ln"')
    const gemini = await read('google', { parts: thoughts }, streamed)
    expect(JSON.stringify(gemini)).toContain('"thoughtSignature":"c2ln"')
    for (const parts of [claude, gemini]) {
      const said = ofType(parts, 'reasoning', 'reasoning-delta').map(({ text, delta }) => text ?? delta)
      expect(said.join('')).toBe('let me see')
    }
  })

  test('calls have their arguments, whatever pieces they come in', async () => {
    const calls = [{ name: 'look', input: { at: 'ravens', deep: [1, 2] }, pieces: 4, id: 'call_1' }, { name: 'see' }]
    for (const cloud of ['anthropic', 'google'] as const) {
      const made = ofType(await read(cloud, { calls }, streamed), 'tool-call')
      expect(made.map(({ toolName, input }) => [toolName, JSON.parse(String(input)) as unknown])).toEqual([
        ['look', { at: 'ravens', deep: [1, 2] }],
        ['see', {}],
      ])
      expect(made[0]?.toolCallId).toBe('call_1')
    }
  })

  test('Anthropic’s account tells what was read from the cache, and written for five minutes and for an hour', async () => {
    const usage = { input: 1000, output: 50, reasoning: 20, cached: 300, cacheWrite: 200, cacheWriteHour: 100 }
    const [end] = ofType(await read('anthropic', { text: 'hi', usage }, streamed), 'finish')
    expect(end?.usage).toMatchObject({
      inputTokens: { total: 1000, noCache: 400, cacheRead: 300, cacheWrite: 300 },
      outputTokens: { total: 50 },
      raw: { cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 } },
    })
  })

  test('Google’s account tells thoughts and the cache', async () => {
    const usage = { input: 1000, output: 50, reasoning: 20, cached: 300 }
    const [end] = ofType(await read('google', { text: 'hi', usage }, streamed), 'finish')
    expect(end?.usage).toMatchObject({
      inputTokens: { total: 1000, cacheRead: 300 },
      outputTokens: { total: 50, reasoning: 20 },
    })
  })

  test('a refusal of Anthropic’s is a detail of the end', async () => {
    const [end] = ofType(
      await read('anthropic', { text: 'I', refusal: 'I cannot help with that.' }, streamed),
      'finish',
    )
    expect(end?.finishReason).toMatchObject({ raw: 'refusal' })
  })

  test('a prompt that Google blocks has no candidates', async () => {
    const parts = await read('google', { blocked: 'PROHIBITED_CONTENT' }, streamed)
    expect(textIn(parts)).toBe('')
    expect(JSON.stringify(parts)).toContain('PROHIBITED_CONTENT')
  })
})

/** The error that a request fails with, whole and as it is told. */
async function errorOf(preset: Cloud, reply: ProviderReply): Promise<APICallError> {
  await using provider = await strictProvider({ preset, answer: [reply] })
  const failed: unknown = await Promise.resolve(modelAt(provider).doGenerate({ prompt })).catch((why: unknown) => why)
  expect(APICallError.isInstance(failed)).toBe(true)
  return failed as APICallError
}

test.each([
  ['anthropic', 'rate-limit', 429, 'rate limit'],
  ['anthropic', 'no-credit', 400, 'credit balance is too low'],
  ['anthropic', 'overloaded', 529, 'Overloaded'],
  ['anthropic', 'unavailable', 500, 'Internal server error'],
  ['anthropic', 'unknown-model', 404, 'model: claude-sonnet-5'],
  ['anthropic', 'context-full', 400, 'prompt is too long: 208310 tokens > 200000 maximum'],
  ['anthropic', 'prompt-blocked', 400, 'content filtering policy'],
  ['google', 'rate-limit', 429, 'exceeded your current quota'],
  ['google', 'no-credit', 429, 'prepayment credits are depleted'],
  ['google', 'overloaded', 503, 'overloaded'],
  ['google', 'unavailable', 500, 'internal error'],
  ['google', 'unauthorized', 400, 'API key not valid'],
  ['google', 'unknown-model', 404, 'models/gemini-3.5-flash is not found'],
  ['google', 'context-full', 400, 'exceeds the maximum number of tokens allowed'],
] as const)('%s says %s with %i', async (cloud, failure, status, words) => {
  const error = await errorOf(cloud, { failure })
  expect([error.statusCode, error.message]).toEqual([status, expect.stringContaining(words)])
})

test('a rate limit says when to come back where the vendor says it', async () => {
  const claude = await errorOf('anthropic', { failure: 'rate-limit', retryAfter: 12 })
  const {
    'retry-after': after,
    'anthropic-ratelimit-requests-reset': reset,
    'anthropic-ratelimit-requests-remaining': left,
  } = claude.responseHeaders!
  expect([after, left]).toEqual(['12', '0'])
  expect(reset).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  const gemini = await errorOf('google', { failure: 'rate-limit', retryAfter: 38.5 })
  expect(gemini.responseHeaders).not.toHaveProperty('retry-after')
  expect(gemini.message).toContain('Please retry in 38.5s.')
  expect(JSON.parse(gemini.responseBody!)).toMatchObject({
    error: {
      status: 'RESOURCE_EXHAUSTED',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.QuotaFailure' },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '38.5s' },
      ],
    },
  })
})

test.each(['anthropic', 'google'] as const)('%s breaks inside a stream with an error event', async (cloud) => {
  const parts = await read(cloud, { text: ['one ', 'two'], breaks: { with: 'error', after: 1 } }, true)
  expect(textIn(parts)).toBe('one ')
  expect(ofType(parts, 'error')).toHaveLength(1)
  expect(JSON.stringify(ofType(parts, 'error'))).toMatch(/overloaded/i)
})

test('signs of life are no part of an answer', async () => {
  for (const cloud of ['anthropic', 'google'] as const) {
    const parts = await read(cloud, { text: ['one ', 'two'], pings: 3 }, true)
    expect(textIn(parts)).toBe('one two')
    expect(ofType(parts, 'error')).toEqual([])
  }
})

test('what a turn of a vendor’s says goes back to it: thoughts, texts, calls and results', async () => {
  for (const preset of ['anthropic', 'google'] as const) {
    await using provider = await strictProvider({
      preset,
      answer: [{ reasoning: 'let me see', text: 'Looking.', calls: [{ name: 'look' }, { name: 'see' }] }, 'done'],
    })
    const model = modelAt(provider)
    const { content } = await model.doGenerate({ prompt })
    const said = content.map((part) => {
      if (part.type === 'tool-call')
        return { ...part, input: JSON.parse(part.input) as unknown, providerOptions: part.providerMetadata }
      return { ...part, providerOptions: part.providerMetadata }
    })
    const results = content.flatMap((part) =>
      part.type === 'tool-call'
        ? [
            {
              type: 'tool-result',
              toolCallId: part.toolCallId,
              toolName: part.toolName,
              output: { type: 'text', value: 'seen' },
            },
          ]
        : [],
    )
    const history = [...prompt, { role: 'assistant', content: said }, { role: 'tool', content: results }]
    await model.doGenerate({ prompt: history as LanguageModelV4Prompt })
    expect(provider.refused).toEqual([])
    expect(provider.requests).toHaveLength(2)
    expect(provider.requests[1]?.text).not.toContain('skip_thought_signature_validator')
  }
})
