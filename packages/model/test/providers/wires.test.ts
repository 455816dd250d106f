/**
 * Strict providers speak the wires they stand for: what they are told to answer arrives, streamed and whole.
 */
import { describe, expect, test } from 'vitest'
import type { ModelPart } from '@reeve/core'
import { resolveModel, type ModelAnswer } from '../../src/index.ts'
import {
  strictProvider,
  strictProviderNames,
  type ProviderName,
  type ProviderReply,
} from '../../../testing/src/providers/index.ts'
import { asking, failureOf, sink, until } from '../requests.ts'

async function asked(
  preset: ProviderName,
  reply: ProviderReply,
  streamed: boolean,
): Promise<{ readonly answer: ModelAnswer; readonly parts: readonly ModelPart[] }> {
  await using provider = await strictProvider({ preset, answer: [reply] })
  const { parts, emit } = sink()
  const answer = await resolveModel(provider.model, provider.options).call(asking('report', streamed ? { emit } : {}))
  expect(provider.refused).toEqual([])
  return { answer, parts }
}

describe.each(strictProviderNames)('%s', (preset) => {
  test.each([true, false])('text, reasoning, two calls and usage arrive, streamed %s', async (streamed) => {
    const { answer, parts } = await asked(
      preset,
      {
        reasoning: ['let me ', 'think'],
        text: ['Asking ', 'both.'],
        calls: [
          { name: 'delegate', input: { worker: 'a', instructions: 'x' }, pieces: 3 },
          { name: 'delegate', input: { worker: 'b', instructions: 'y' }, id: 'call_mine' },
        ],
        usage: { input: 120, output: 30, cached: 20 },
      },
      streamed,
    )
    expect(answer.text).toBe('Asking both.')
    expect(answer.finish).toBe('tool-calls')
    expect(answer.calls.map(({ name, input }) => [name, input])).toEqual([
      ['delegate', { worker: 'a', instructions: 'x' }],
      ['delegate', { worker: 'b', instructions: 'y' }],
    ])
    expect(answer.usage).toMatchObject({ input: 120, output: 30 })
    const thought = answer.reasoning?.parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])).join('')
    expect(thought).toBe(preset === 'openai-chat' ? undefined : 'let me think')
    expect(parts.filter(({ type }) => type === 'text.delta').length > 1).toBe(streamed)
  })

  test.each(['error', 'reset', 'end'] as const)('a stream that breaks with %s is no answer', async (how) => {
    await using provider = await strictProvider({
      preset,
      answer: [{ text: ['one ', 'two ', 'three'], breaks: { with: how, after: 1 } }],
    })
    const { parts, emit } = sink()
    const failure = await failureOf(resolveModel(provider.model, provider.options), asking('report', { emit }))
    expect(['model.cut-off', 'model.unavailable']).toContain(failure.code)
    const seen = parts.flatMap((part) => (part.type === 'text.delta' ? [part.text] : [])).join('')
    expect(seen).toBe('one ')
  })

  test('a stream that stalls goes on when it is released', async () => {
    await using provider = await strictProvider({
      preset,
      answer: [{ text: ['one ', 'two'], breaks: { with: 'stall', after: 1 }, pings: 2 }],
    })
    const { parts, emit } = sink()
    const answer = resolveModel(provider.model, provider.options).call(asking('report', { emit }))
    await provider.stalled()
    await until(() => parts.some(({ type }) => type === 'text.delta'))
    provider.release()
    expect((await answer).text).toBe('one two')
    expect(provider.departures).toBe(0)
  })

  test('a rate limit says when to come back', async () => {
    await using provider = await strictProvider({
      preset,
      answer: [{ failure: 'rate-limit', retryAfter: 7, waitIn: 'header' }],
    })
    const failure = await failureOf(resolveModel(provider.model, provider.options), asking('report'))
    expect(failure).toMatchObject({ code: 'model.rate-limited', retryAfterMs: 7000 })
  })

  test('an answer that is none: no more of the list, a page of a proxy, an empty body', async () => {
    await using provider = await strictProvider({ preset, answer: [{ failure: 'html' }, { failure: 'empty' }] })
    const model = resolveModel(provider.model, provider.options)
    expect((await failureOf(model, asking('a'))).code).toBe('model.unavailable')
    expect((await failureOf(model, asking('b'))).class).not.toBe('policy')
    expect((await failureOf(model, asking('c'))).code).toBe('model.unavailable')
    expect(provider.requests).toHaveLength(3)
  })
})

test('a wrong key is refused where the vendor wants one', async () => {
  await using provider = await strictProvider({ preset: 'groq', answer: ['hello'] })
  const model = resolveModel(provider.model, { ...provider.options, apiKeys: { groq: 'another' } })
  expect((await failureOf(model, asking('a'))).code).toBe('model.not-authorized')
})
