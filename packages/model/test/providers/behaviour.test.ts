/**
 * How strict providers fail and end: each in the words and in the form of its vendor.
 */
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '@reeve/core'
import { resolveModel } from '../../src/index.ts'
import {
  strictProvider,
  type FailureKind,
  type ProviderAnswer,
  type ProviderName,
  type ProviderReply,
} from '../../../testing/src/providers/index.ts'
import { asking, sink } from '../requests.ts'

interface Sent {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const paths: { readonly [name in ProviderName]?: string } = {
  openai: '/v1/responses',
  groq: '/openai/v1/chat/completions',
  openrouter: '/api/v1/chat/completions',
}

/** What comes over the wire when one reply is given. */
async function sent(preset: ProviderName, reply: ProviderReply, more: JsonObject = {}): Promise<Sent> {
  await using provider = await strictProvider({ preset, answer: [reply] })
  const model = provider.model.slice(preset.length + 1)
  const body =
    preset === 'openai' ? { model, input: 'hello' } : { model, messages: [{ role: 'user', content: 'hello' }] }
  const response = await fetch(provider.url + (paths[preset] ?? '/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${provider.options.apiKeys[preset] ?? ''}` },
    body: JSON.stringify({ ...body, ...more }),
  })
  const text = await response.text()
  expect(provider.refused).toEqual([])
  return { status: response.status, headers: response.headers, text }
}

/** The events of a stream. */
const eventsOf = ({ text }: Sent): readonly JsonObject[] =>
  text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as JsonObject] : []))

const shapes: readonly (readonly [ProviderName, (message: string, status: number) => JsonObject])[] = [
  ['openai', (message) => ({ error: expect.objectContaining({ message, param: null }) as JsonObject })],
  ['openai-chat', (message) => ({ error: expect.objectContaining({ message, param: null }) as JsonObject })],
  ['groq', (message) => ({ error: expect.objectContaining({ message }) as JsonObject })],
  ['openrouter', (message, code) => ({ error: expect.objectContaining({ message, code }) as JsonObject })],
  ['vllm', (message, code) => ({ object: 'error', message, code })],
  ['llamacpp', (message, code) => ({ error: expect.objectContaining({ message, code }) as JsonObject })],
  ['ollama', (message) => ({ error: expect.objectContaining({ message, code: null }) as JsonObject })],
]

const kinds: readonly FailureKind[] = [
  'rate-limit',
  'no-credit',
  'overloaded',
  'unavailable',
  'unauthorized',
  'unknown-model',
  'context-full',
  'bad-request',
  'prompt-blocked',
]

describe.each(shapes)('%s', (preset, shape) => {
  test.each(kinds)('%s has a status of its own kind and the body of the vendor', async (failure) => {
    const { status, text } = await sent(preset, { failure, message: 'the words' })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(JSON.parse(text)).toMatchObject(shape('the words', status))
    const usual = await sent(preset, { failure })
    expect(usual.text).not.toContain('the words')
  })

  test('the same error in a stream comes after what was said, and nothing after it ends the answer', async () => {
    const stream = await sent(preset, { text: ['one', 'two'], breaks: { with: 'error', after: 1 } }, { stream: true })
    expect(stream.status).toBe(200)
    expect(stream.text).toContain('one')
    expect(stream.text).not.toContain('two')
    expect(stream.text).toMatch(/"(?:object|type)":"error"|"error":\{/)
    expect(stream.text).not.toMatch(/"finish_reason":"stop"|response\.completed/)
  })

  test('an error may come with status 200, and a body may be anything', async () => {
    const { status, text } = await sent(preset, { failure: 'overloaded', status: 200 })
    expect(status).toBe(200)
    expect(text).toMatch(/error/)
    expect(await sent(preset, { failure: 'bad-request', body: 'upstream connect error' })).toMatchObject({
      text: 'upstream connect error',
    })
  })

  test('a whole answer and a stream say the same usage, and none if there is none', async () => {
    const answer: ProviderAnswer = { text: 'a', usage: { input: 40, output: 9, cached: 8 } }
    const whole = await sent(preset, answer)
    const streamed = await sent(preset, answer, { stream: true, stream_options: { include_usage: true } })
    for (const text of [whole.text, streamed.text]) {
      expect(text).toMatch(/"(?:prompt|input)_tokens":40/)
      expect(text).toContain('"cached_tokens":8')
    }
    const silent = await sent(preset, { text: 'a', usage: null }, { stream: true })
    expect(silent.text).not.toMatch(/_tokens/)
  })

  test('what a vendor says of its own is put on the wire as it is', async () => {
    const raw: JsonObject = { type: 'response.web_search_call.searching', mine: 1 }
    expect((await sent(preset, { parts: [{ type: 'raw', value: raw }] }, { stream: true })).text).toContain('"mine":1')
  })
})

test('every stop reason stands where the vendor puts it', async () => {
  for (const finish of ['stop', 'length', 'content_filter', 'tool_calls'])
    expect((await sent('openai-chat', { text: 'a', finish })).text).toContain(`"finish_reason":"${finish}"`)
  const error = await sent('openrouter', { text: 'a', finish: 'error', finishDetails: { native_finish_reason: 'x' } })
  expect(error.text).toContain('"finish_reason":"error","native_finish_reason":"x"')
  for (const finish of ['max_output_tokens', 'content_filter']) {
    const events = eventsOf(await sent('openai', { text: 'a', finish }, { stream: true }))
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: finish } },
    })
  }
  const failed = eventsOf(await sent('openai', { finish: 'failed' }, { stream: true }))
  expect(failed.at(-1)).toMatchObject({ type: 'response.failed', response: { error: { code: 'server_error' } } })
})

test('a refusal is a field of chat completions and a part of a response', async () => {
  expect((await sent('openai-chat', { refusal: 'I will not.' })).text).toContain('"refusal":"I will not."')
  const part = '{"type":"refusal","refusal":"I will not."}'
  expect((await sent('openai', { refusal: 'I will not.' })).text).toContain(part)
})

test('when to come back stands in the header, in the body or in the text', async () => {
  const seconds = 62.5
  const wait = (preset: ProviderName, waitIn?: 'header' | 'body' | 'text') =>
    sent(preset, { failure: 'rate-limit', retryAfter: seconds, ...(waitIn !== undefined && { waitIn }) })
  expect((await wait('openai-chat')).text).toContain('Please try again in 1m2.5s.')
  expect((await wait('openai-chat')).headers.get('retry-after')).toBeNull()
  const groq = await wait('groq')
  expect(groq.headers.get('retry-after')).toBe('63')
  expect(groq.headers.get('x-ratelimit-reset-tokens')).toBe('1m2.5s')
  expect((await wait('openrouter', 'body')).text).toContain('"retry_after_seconds":62.5')
})

test('calls may lack an id, repeat one, have an index of their own and arguments that are cut', async () => {
  const { text } = await sent(
    'openai-chat',
    {
      calls: [
        { name: 'a', id: null, inputText: '{"x":' },
        { name: 'b', id: 'same', index: 0 },
        { name: 'c', id: 'same', index: 0 },
      ],
    },
    { stream: true },
  )
  const calls = text.match(/"tool_calls":\[\{[^\]]*\]/g) ?? []
  expect(calls[0]).not.toContain('"id"')
  expect(calls[0]).toContain(String.raw`"arguments":"{\"x\":"`)
  expect(calls.slice(1).every((call) => call.includes('"index":0,"id":"same"'))).toBe(true)
})

test('signs of life are those of the vendor, and no part of the answer', async () => {
  const openrouter = await sent('openrouter', { text: 'a', pings: 2 }, { stream: true })
  expect(openrouter.text.match(/^: OPENROUTER PROCESSING$/gm)?.length).toBeGreaterThan(4)
  const openai = eventsOf(await sent('openai', { text: 'a', pings: 1 }, { stream: true }))
  expect(openai.some(({ type }) => type === 'keepalive')).toBe(true)
  await using provider = await strictProvider({ preset: 'openai', answer: [{ text: 'a', pings: 3 }] })
  const { emit } = sink()
  expect((await resolveModel(provider.model, provider.options).call(asking('x', { emit }))).text).toBe('a')
})

test('usage may come in two chunks, the last being the whole', async () => {
  const options = { stream: true, stream_options: { include_usage: true } }
  const events = eventsOf(await sent('openai-chat', { text: 'a', usage: { output: 9, split: true } }, options))
  const told = events.flatMap(({ usage }) => (usage === undefined ? [] : [usage as JsonObject]))
  expect(told.map(({ completion_tokens: tokens }) => tokens)).toEqual([1, 9])
})

test('a function decides over every request that was not refused, and its error is a failure of the server', async () => {
  await using provider = await strictProvider({
    preset: 'ollama',
    answer: (request, number) => {
      if (number === 1) throw new Error('out of answers')
      return `${request.model} ${String(request.streamed)}`
    },
  })
  const model = resolveModel(provider.model, provider.options)
  expect((await model.call(asking('a'))).text).toMatch(/^llama3\.2 /)
  await expect(model.call(asking('b'))).rejects.toThrow('out of answers')
  expect(provider.requests).toHaveLength(2)
})

test('rules may be taken out and added, and what was refused is told with its rule', async () => {
  await using provider = await strictProvider({
    preset: 'openai-chat',
    answer: ['a', 'b'],
    without: ['openai-chat/well-formed'],
    rules: [
      {
        id: 'gateway/no-tools',
        providers: ['openai-chat'],
        what: 'No tools.',
        source: 'https://example.org/gateway',
        status: 422,
        check: ({ body }) => (body.tools === undefined ? undefined : 'tools are switched off'),
      },
    ],
  })
  const model = resolveModel(provider.model, provider.options)
  await expect(model.call(asking('a'))).rejects.toThrow('tools are switched off')
  expect(provider.refused.map(({ rule, why }) => [rule, why])).toEqual([['gateway/no-tools', 'tools are switched off']])
  expect((await model.call(asking('half \ud83d', { tools: [] }))).text).toBe('a')
})

test('what is no JSON, and what has no path of the vendor, is refused', async () => {
  await using provider = await strictProvider({ preset: 'vllm', answer: [] })
  const ask = (path: string, body: string) => fetch(provider.url + path, { method: 'POST', body })
  expect((await ask('/v1/chat/completions', '{')).status).toBe(400)
  expect((await ask('/v1/messages', '{}')).status).toBe(404)
  expect(provider.refused.map(({ rule }) => rule)).toEqual(['http/json-body'])
})
