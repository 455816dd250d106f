/** Why a model stopped: the words of each provider on one list, and what is no answer at all. */
import { describe, expect, test } from 'vitest'
import type { FailureError, Failure, JsonObject } from '@reeve/core'
import { modelFailure } from '../src/faults.ts'
import { mustAnswer, readFinish, type AnswerContent } from '../src/finish.ts'
import type { FinishReason, ModelAnswer } from '../src/index.ts'

const some: AnswerContent = { calls: 0, isBlank: false }
const blank: AnswerContent = { calls: 0, isBlank: true }
const read = (unified: string, raw: string | undefined, content = some): FinishReason =>
  readFinish({ unified, raw }, { model: 'p/m', version: 'v4', streamed: true }, content).finish
const thrownBy = (run: () => unknown): Failure => {
  try {
    run()
  } catch (thrown) {
    return (thrown as FailureError).failure
  }
  throw new Error('it threw nothing')
}

describe('the reasons of providers', () => {
  test.each([
    ['anthropic', 'stop', 'end_turn', 'stop'],
    ['anthropic', 'stop', 'pause_turn', 'paused'],
    ['anthropic', 'other', 'compaction', 'paused'],
    ['anthropic', 'content-filter', 'refusal', 'refusal'],
    ['anthropic', 'length', 'max_tokens', 'length'],
    ['anthropic', 'length', 'model_context_window_exceeded', 'context-full'],
    ['openai chat', 'content-filter', 'content_filter', 'content-filter'],
    ['openai chat', 'content-filter', 'stop', 'refusal'],
    ['openai responses', 'content-filter', undefined, 'refusal'],
    ['openai responses', 'length', 'max_output_tokens', 'length'],
    ['google', 'length', 'MAX_TOKENS', 'length'],
    ['google', 'content-filter', 'RECITATION', 'content-filter'],
    ['google', 'other', 'LANGUAGE', 'content-filter'],
    ['google', 'other', 'OTHER', 'other'],
    ['mistral', 'other', 'model_length', 'context-full'],
    ['bedrock', 'other', 'guardrail_intervened', 'content-filter'],
    ['an unknown one', 'other', 'eos_token', 'other'],
    ['one whose word is a member of every object', 'stop', 'constructor', 'stop'],
  ] as const)('%s: %s (%s) is %s', (_provider, unified, raw, finish) => {
    expect(read(unified, raw)).toBe(finish)
  })

  test('a prompt that Google blocks has no candidate, only feedback', () => {
    const metadata = { google: { promptFeedback: { blockReason: 'OTHER' } } }
    expect(read('content-filter', 'SAFETY', { ...blank, metadata })).toBe('prompt-blocked')
    expect(read('content-filter', 'SAFETY', { ...some, metadata })).toBe('content-filter')
    expect(read('content-filter', 'SAFETY', blank)).toBe('content-filter')
  })

  test.each([
    ['error', 'error', 'model.cut-off'],
    ['other', 'abort', 'model.cut-off'],
    ['other', 'insufficient_system_resource', 'model.cut-off'],
    ['other', 'time_limit', 'model.cut-off'],
    ['other', 'TIMEOUT', 'model.cut-off'],
    ['interrupted', undefined, 'model.cut-off'],
    ['error', 'MALFORMED_FUNCTION_CALL', 'model.calls-missing'],
    ['other', 'UNEXPECTED_TOOL_CALL', 'model.calls-missing'],
  ])('%s (%s) is no answer: %s, and is tried again', (unified, raw, code) => {
    expect(thrownBy(() => read(unified, raw))).toMatchObject({ code, class: 'transport', retryable: true })
  })
})

describe('what is no answer', () => {
  const answer = (more: Partial<ModelAnswer>): ModelAnswer => ({
    text: '',
    calls: [],
    finish: 'stop',
    model: 'p/m',
    usage: { input: 3, output: 2 },
    ...more,
  })
  const thoughts = { model: 'p:m', parts: [{ type: 'reasoning', text: 'hm' }] } as const

  test('nothing at all, blanks, or thoughts alone: model.empty, with what it used', () => {
    for (const more of [{}, { text: ' \n' }, { reasoning: thoughts }, { finish: 'other' }] as const)
      expect(thrownBy(() => mustAnswer(answer(more), false))).toMatchObject({
        code: 'model.empty',
        retryable: true,
        details: { usage: { input: 3, output: 2 } },
      })
  })
  test('announced calls that are not there: model.calls-missing, also of a rule', () => {
    for (const isRule of [true, false])
      expect(thrownBy(() => mustAnswer(answer({ finish: 'tool-calls' }), isRule))).toMatchObject({
        code: 'model.calls-missing',
      })
    const before = { finish: 'tool-calls', text: 'Let me look that up.' } as const
    expect(thrownBy(() => mustAnswer(answer(before), false))).toMatchObject({
      code: 'model.calls-missing',
      details: { partial: 'Let me look that up.' },
    })
  })
  test('a rule means it if it says nothing; a file, a call or work of the provider is an answer', () => {
    const opaque = { model: 'p:m', parts: [{ type: 'opaque', part: { type: 'custom' } }] } as const
    expect(() => mustAnswer(answer({}), true)).not.toThrow()
    for (const more of [
      { files: [{ type: 'file', mediaType: 'image/png', data: 'AA==' }] },
      { calls: [{ id: 'a', name: 'b', input: {} }] },
      { reasoning: opaque },
      { finish: 'length' }, // an end of its own
    ] as const)
      expect(() => mustAnswer(answer(more), false)).not.toThrow()
  })
})

describe('errors about what was sent', () => {
  const codeOf = (status: number, message: string, more: JsonObject = {}): string =>
    modelFailure(Object.assign(new Error(message), { name: 'AI_APICallError', statusCode: status, ...more }), {
      model: 'p/m',
      secrets: [],
      begun: false,
    }).code

  test.each([
    ['openai', 400, "This model's maximum context length is 128000 tokens. However, you requested 130000."],
    ['openai responses', 400, 'Your input exceeds the context window of this model.'],
    ['openai, tokens of a minute', 429, 'Request too large for gpt-4o in organization x on tokens per min (TPM)'],
    ['groq', 413, 'Request too large for model `llama` on tokens per minute (TPM)'],
    ['anthropic', 400, 'prompt is too long: 213462 tokens > 200000 maximum'],
    ['anthropic', 400, 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000'],
    ['anthropic', 413, 'Request exceeds the maximum size'],
    ['google', 400, 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'],
    ['openrouter', 400, "This endpoint's maximum context length is 131072 tokens."],
    ['vllm', 400, 'The decoder prompt (length 5000) is longer than the maximum model length of 4096.'],
    ['llama.cpp', 400, 'the request exceeds the available context size, try increasing it'],
    ['ollama', 500, 'the input length exceeds the context length'],
    ['xai', 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ])('%s: %i "%s" is model.context-full', (_provider, status, message) => {
    expect(codeOf(status, message)).toBe('model.context-full')
  })
  test('the words may stand in a body that the provider package could not read', () => {
    const responseBody = JSON.stringify({ message: "This model's maximum context length is 4096 tokens." })
    expect(codeOf(400, 'Bad Request', { responseBody })).toBe('model.context-full')
  })
  test('a filter in front of the model is model.prompt-blocked; behind it, model.filtered', () => {
    expect(codeOf(400, 'The response was filtered', { data: { error: { code: 'content_filter' } } })).toBe(
      'model.prompt-blocked',
    )
    expect(codeOf(403, 'Your chosen model requires moderation and your input was flagged')).toBe('model.prompt-blocked')
    expect(codeOf(400, 'Output blocked by content filtering policy')).toBe('model.filtered')
  })
  test('other refusals stay what they were', () => {
    expect(codeOf(400, 'messages: roles must alternate')).toBe('model.bad-request')
    expect(codeOf(403, 'no access')).toBe('model.not-authorized')
    expect(codeOf(429, 'Rate limit reached, please try again in 3s')).toBe('model.rate-limited')
    expect(codeOf(500, 'internal error')).toBe('model.unavailable')
  })
})
