/** What a provider would refuse of settings and files is said when the agent is defined, or before anything is sent. */
import { describe, expect, test } from 'vitest'
import type { FilePart, Message } from '@reeve/core'
import { agent, createRuntime } from '@reeve/public'
import { outputCapOf } from '../../agent/src/conversation/output-cap.ts'
import { resolveModel, type ModelSettings } from '../src/index.ts'
import { strictProvider, strictProviderNames, type ProviderName } from '../../testing/src/providers/index.ts'
import { asking, failureOf } from './requests.ts'

const tiff: FilePart = { type: 'file', mediaType: 'image/tiff', data: 'SUkqAA==' }
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const showing = (file: FilePart): Message => ({ role: 'user', content: [{ type: 'text', text: 'Look.' }, file] })

describe.each(strictProviderNames)('%s', (preset) => {
  test('a picture of a type that it does not read is refused before the call, and costs nothing', async () => {
    await using provider = await strictProvider({ preset, answer: ['seen'] })
    const model = resolveModel(provider.model, provider.options)
    const failure = await failureOf(model, { ...asking('x'), messages: [showing(tiff)] })
    expect(failure).toMatchObject({
      code: 'model.unsupported',
      class: 'validation',
      details: { mediaType: 'image/tiff' },
    })
    expect(failure.hint).toContain('Convert the file')
    expect(provider.requests).toHaveLength(0)
  })

  test('a picture is sent as what it is, whatever it is called', async () => {
    await using provider = await strictProvider({ preset, answer: ['seen'] })
    const model = resolveModel(provider.model, provider.options)
    const file: FilePart = { type: 'file', mediaType: 'image/jpeg', data: png }
    const answer = await model.call({ ...asking('x'), messages: [showing(file)] })
    expect(answer.text).toBe('seen')
    expect(provider.requests[0]?.text).toContain('image/png')
    expect(provider.requests[0]?.text).not.toContain('image/jpeg')
  })

  test('its own thoughts and long ids of calls go back in a form that it takes', async () => {
    await using provider = await strictProvider({ preset, answer: ['done'] })
    const model = resolveModel(provider.model, provider.options)
    const id = `functions.look:${'9'.repeat(50)}`
    await model.call({
      ...asking('x'),
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: '', calls: [{ id, name: 'look', input: {} }] },
        { role: 'tool', callId: id, name: 'look', content: 'seen' },
      ],
    })
    expect(provider.refused).toEqual([])
  })
})

test('a file by its URL, where bytes are wanted: the hint says so', async () => {
  await using provider = await strictProvider({ preset: 'ollama', answer: ['seen'] })
  const file: FilePart = { type: 'file', mediaType: 'image/png', url: 'https://example.org/a.png' }
  const failure = await failureOf(resolveModel(provider.model, provider.options), {
    ...asking('x'),
    messages: [showing(file)],
  })
  expect(failure).toMatchObject({ code: 'model.unsupported', hint: 'Give the bytes of the file instead of its URL.' })
})

const stops = (count: number): ModelSettings => ({ stop: Array.from({ length: count }, (_, n) => `END${n}`) })
const wrong: readonly (readonly [model: string, settings: ModelSettings, says: RegExp])[] = [
  ['openai/gpt-5', stops(1), /settings\.stop: "openai\/gpt-5" takes no stop sequences/],
  ['openai-chat/gpt-5-mini', stops(1), /takes no stop sequences/],
  ['openai-chat/gpt-4o', stops(5), /5 stop sequences, and "openai-chat\/gpt-4o" takes at most 4/],
  ['google/gemini-3-pro', stops(6), /at most 5/],
  ['anthropic/claude-sonnet-5', { stop: ['\n\n'] }, /white space alone/],
  ['vllm/qwen', { stop: [''] }, /a stop sequence is empty/],
  ['openai/gpt-5', { maxOutputTokens: 10 }, /settings\.maxOutputTokens: 10 is too few; .* at least 16/],
]

test.each(wrong)('%s with settings that it refuses is told when a runtime is made', async (model, settings, says) => {
  const made = agent({ name: 'writer', model, settings })
  await expect(createRuntime({ store: ':memory:', agents: [made] })).rejects.toThrow(says)
})

test('the settings of a chain are those of every model in it', async () => {
  const made = agent({ name: 'writer', model: ['anthropic/claude-sonnet-5', 'openai/gpt-5'], settings: stops(1) })
  await expect(createRuntime({ store: ':memory:', agents: [made] })).rejects.toThrow(/"openai\/gpt-5" takes no stop/)
})

test.each<[ProviderName, ModelSettings]>([
  ['openai', { maxOutputTokens: 15 }],
  ['openai-chat', stops(2)],
  ['groq', stops(5)],
  ['openrouter', stops(5)],
  ['google', stops(6)],
])('%s: a setting that comes with the request is refused before the call', async (preset, settings) => {
  await using provider = await strictProvider({ preset, answer: ['x'] })
  const failure = await failureOf(resolveModel(provider.model, provider.options), { ...asking('x'), settings })
  expect(failure).toMatchObject({ code: 'model.unsupported', class: 'validation' })
  expect(provider.requests).toHaveLength(0)
})

test('a cap that a budget sets is never smaller than the provider takes', () => {
  const given = {
    price: undefined,
    settings: undefined,
    limits: { tokens: 1_000 },
    input: 990,
    spent: { tokens: 0, usd: 0 },
  }
  expect(outputCapOf({ ...given, model: resolveModel('openai/gpt-5') })).toEqual({ tokens: 16, byBudget: true })
  expect(outputCapOf({ ...given, model: resolveModel('anthropic/claude-sonnet-5') })).toEqual({
    tokens: 10,
    byBudget: true,
  })
})
