/**
 * Model objects of the three specification versions, as `ai/test` makes them: what they are asked, what is made of
 * their answers.
 */
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import { UnsupportedFunctionalityError } from '@ai-sdk/provider'
import { MockLanguageModelV3, MockLanguageModelV4 } from 'ai/test'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { answerMessage, resolveModel, type LanguageModelLike, type Message, type ModelRef } from '../src/index.ts'
import { asking, delegate, failureOf, saying, sink } from './requests.ts'

type Version = 'v2' | 'v3' | 'v4'
const versions: readonly Version[] = ['v2', 'v3', 'v4']

const nested = (input: number | undefined, output: number | undefined) => ({
  inputTokens: { total: input, noCache: undefined, cacheRead: 4, cacheWrite: undefined },
  outputTokens: { total: output, text: undefined, reasoning: undefined },
})
const flat = (input: number | undefined, output: number | undefined) => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: undefined,
  cachedInputTokens: 4,
})

const finishOf = (version: Version, unified: string, raw: string | undefined = unified) =>
  version === 'v2' ? unified : { unified, raw }
const usageOf = (version: Version, input: number | undefined, output: number | undefined) =>
  version === 'v2' ? flat(input, output) : nested(input, output)

type Parts = readonly { readonly type: string; readonly [member: string]: unknown }[]

interface Asked {
  readonly model: LanguageModelLike
  readonly streams: () => readonly unknown[]
  readonly generations: () => readonly unknown[]
}

/** A mock whose stream has these parts; `cannot`: it cannot stream, and its result has this content. */
function mock(
  version: Version,
  stream: Parts | 'cannot',
  content: Parts = [],
  finish = finishOf(version, 'stop'),
  usage = usageOf(version, 10, 5),
): Asked {
  const parts = new ReadableStream({
    start(controller) {
      for (const part of stream === 'cannot' ? [] : stream) controller.enqueue(part)
      controller.close()
    },
  })
  const doStream = () =>
    stream === 'cannot'
      ? Promise.reject(new UnsupportedFunctionalityError({ functionality: 'streaming' }))
      : Promise.resolve({ stream: parts })
  const doGenerate = () => Promise.resolve({ content, finishReason: finish, usage, warnings: [] })
  const behaviour = { provider: 'fake.chat', modelId: 'm1', doStream, doGenerate } as never
  const model =
    version === 'v2'
      ? new FakeV2(doStream, doGenerate)
      : version === 'v3'
        ? new MockLanguageModelV3(behaviour)
        : new MockLanguageModelV4(behaviour)
  return { model, streams: () => model.doStreamCalls, generations: () => model.doGenerateCalls }
}

/** `ai/test` of ai 7 has no mock of v2 any more. */
class FakeV2 implements LanguageModelLike {
  readonly specificationVersion = 'v2'
  readonly provider = 'fake.chat'
  readonly modelId = 'm1'
  readonly doStreamCalls: unknown[] = []
  readonly doGenerateCalls: unknown[] = []
  readonly #stream: () => Promise<unknown>
  readonly #generate: () => Promise<unknown>

  constructor(stream: () => Promise<unknown>, generate: () => Promise<unknown>) {
    this.#stream = stream
    this.#generate = generate
  }

  doStream(options: unknown): Promise<unknown> {
    this.doStreamCalls.push(options)
    return this.#stream()
  }

  doGenerate(options: unknown): Promise<unknown> {
    this.doGenerateCalls.push(options)
    return this.#generate()
  }
}

const text = (id: string, ...deltas: string[]): Parts => [
  { type: 'text-start', id },
  ...deltas.map((delta) => ({ type: 'text-delta', id, delta })),
  { type: 'text-end', id },
]
const call = (toolCallId: string, input: string, more = {}) => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'delegate',
  input,
  ...more,
})
const finish = (version: Version, unified = 'stop', raw: string | undefined = unified) => ({
  type: 'finish',
  finishReason: finishOf(version, unified, raw),
  usage: usageOf(version, 10, 5),
})

test('model objects of all three versions are references, without a cast', () => {
  expectTypeOf<LanguageModelV2>().toExtend<ModelRef>()
  expectTypeOf<LanguageModelV3>().toExtend<ModelRef>()
  expectTypeOf<LanguageModelV4>().toExtend<ModelRef>()
})

describe.each(versions)('%s', (version) => {
  test('a stream and a finished result give the same answer', async () => {
    const input = '{"worker":"writer"}'
    const streamed = mock(version, [
      { type: 'stream-start', warnings: [] },
      ...text('0', 'Hel', 'lo'),
      call('a', input),
      finish(version, 'tool-calls'),
    ])
    const whole = mock(
      version,
      'cannot',
      [{ type: 'text', text: 'Hello' }, call('a', input)],
      finishOf(version, 'tool-calls'),
    )
    const one = await resolveModel(streamed.model).call(asking('x', { emit: sink().emit }))
    const two = await resolveModel(whole.model).call(asking('x'))
    expect(one).toEqual(two)
    expect(one).toEqual({
      text: 'Hello',
      calls: [{ id: 'a', name: 'delegate', input: { worker: 'writer' } }],
      finish: 'tool-calls',
      usage: { input: 10, output: 5, cached: 4 },
      model: 'fake/m1',
    })
    expect([streamed.streams().length, streamed.generations().length]).toEqual([1, 0])
    expect([whole.streams().length, whole.generations().length]).toEqual([1, 1])
  })

  test('what is asked: prompt, tools, choice, settings, key, signal', async () => {
    const fake = mock(version, 'cannot', [{ type: 'text', text: 'ok' }])
    const messages: Message[] = [
      { role: 'system', content: 'Lead.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'file', mediaType: 'image/png', data: 'AAAA' },
          { type: 'file', mediaType: 'image/png', url: 'https://example.test/a.png', filename: 'a.png' },
        ],
      },
      {
        role: 'assistant',
        content: 'both',
        calls: [
          { id: 'a', name: 'delegate', input: { worker: 'w' } },
          { id: 'b', name: 'delegate', input: null, invalid: '{oops' },
        ],
      },
      { role: 'tool', callId: 'a', name: 'delegate', content: { done: true } },
      { role: 'tool', callId: 'b', name: 'delegate', content: 'not JSON', isError: true },
    ]
    const request = saying(messages, {
      toolChoice: 'required',
      settings: { temperature: 0, stop: ['END'], maxOutputTokens: 9, providerOptions: { fake: { x: 1 } } },
    })
    await resolveModel(fake.model).call(request)
    const url = new URL('https://example.test/a.png')
    expect(fake.generations()[0]).toEqual({
      prompt: [
        { role: 'system', content: 'Lead.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'file', mediaType: 'image/png', data: version === 'v4' ? { type: 'data', data: 'AAAA' } : 'AAAA' },
            {
              type: 'file',
              mediaType: 'image/png',
              filename: 'a.png',
              data: version === 'v4' ? { type: 'url', url } : url,
            },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'both' },
            { type: 'tool-call', toolCallId: 'a', toolName: 'delegate', input: { worker: 'w' } },
            { type: 'tool-call', toolCallId: 'b', toolName: 'delegate', input: {} },
          ],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'a',
              toolName: 'delegate',
              output: { type: 'json', value: { done: true } },
            },
            {
              type: 'tool-result',
              toolCallId: 'b',
              toolName: 'delegate',
              output: { type: 'error-text', value: 'not JSON' },
            },
          ],
        },
      ],
      tools: [
        { type: 'function', name: 'delegate', description: delegate.description, inputSchema: delegate.parameters },
      ],
      toolChoice: { type: 'required' },
      temperature: 0,
      maxOutputTokens: 9,
      stopSequences: ['END'],
      providerOptions: { fake: { x: 1 } },
      abortSignal: expect.any(AbortSignal),
      headers: { 'idempotency-key': 'step-1' },
    })
  })

  test.each([
    ['no finish part', () => [...text('0', 'half'), call('a', '{"worker":"w')]],
    ['finish "error"', () => [...text('0', 'half'), finish(version, 'error')]],
    ['finish "interrupted"', () => [...text('0', 'half'), finish(version, 'interrupted')]],
    [
      'an error part, even before a good finish',
      () => [...text('0', 'half'), { type: 'error', error: new Error('Response stream ended early') }, finish(version)],
    ],
    ['nothing at all', () => []],
  ])('%s: no answer', async (_, parts) => {
    expect(
      await failureOf(resolveModel(mock(version, parts()).model), asking('x', { emit: sink().emit })),
    ).toMatchObject({
      code: 'model.cut-off',
      class: 'transport',
      retryable: true,
    })
  })

  test('tool calls do not depend on the finish reason', async () => {
    for (const reason of ['stop', 'other', 'length', 'content-filter']) {
      const answer = await resolveModel(mock(version, [call('a', '{}'), finish(version, reason)]).model).call(
        asking('x', { emit: sink().emit }),
      )
      expect([answer.finish, answer.calls.length]).toEqual([reason, 1])
    }
  })

  test('arguments: none, not JSON, not an object; ids: none, twice', async () => {
    const calls = [call('a', ''), call('a', '{oops'), call('', '[1]')]
    const one = await resolveModel(mock(version, [...calls, finish(version)]).model).call(
      asking('x', { emit: sink().emit }),
    )
    const two = await resolveModel(mock(version, 'cannot', calls).model).call(asking('x'))
    expect(one.calls.map(({ id: _, ...rest }) => rest)).toEqual([
      { name: 'delegate', input: {} },
      { name: 'delegate', input: null, invalid: '{oops' },
      { name: 'delegate', input: [1] },
    ])
    expect(new Set(one.calls.map((each) => each.id)).size).toBe(3)
    expect(one.calls).toEqual(two.calls) // the ids we make are the same in every attempt
  })

  test.each([
    [undefined, undefined, undefined],
    [Number.NaN, Number.NaN, undefined],
    [0, 0, { input: 0, output: 0, cached: 4 }],
    [7, undefined, { input: 7, cached: 4 }],
  ])('usage %s/%s is %o', async (input, output, expected) => {
    const answer = await resolveModel(
      mock(version, 'cannot', [], finishOf(version, 'stop'), usageOf(version, input, output)).model,
    ).call(asking('x'))
    expect(answer.usage).toEqual(expected)
  })

  test('reasoning keeps its order, its signature, and what belongs to a call', async () => {
    const metadata = { fake: { signature: 'S' } }
    const parts = [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hm' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: metadata },
      { type: 'reasoning-end', id: '0' },
      ...text('0', 'First. '),
      call('s', '{"q":1}', { toolName: 'search', providerExecuted: true }),
      { type: 'tool-result', toolCallId: 's', toolName: 'search', result: { hits: 2 } },
      ...text('1', 'Then.'),
      call('a', '{}', { providerMetadata: { fake: { thought: 'T' } } }),
      finish(version),
    ]
    const { parts: sent, emit } = sink()
    const answer = await resolveModel(mock(version, parts).model).call(asking('x', { emit }))
    expect(answer.text).toBe('First. Then.')
    expect(answer.calls.map((each) => each.id)).toEqual(['a'])
    expect(sent.map((part) => part.type).slice(0, 4)).toEqual([
      'reasoning.start',
      'reasoning.delta',
      'reasoning.end',
      'text.start',
    ])
    const again = mock(version, 'cannot', [])
    const history = JSON.parse(
      JSON.stringify([
        { role: 'user', content: 'x' },
        answerMessage(answer),
        { role: 'tool', callId: 'a', name: 'delegate', content: 'ok' },
      ]),
    ) as Message[]
    await resolveModel(again.model).call(saying(history))
    expect(again.generations()[0]).toMatchObject({
      prompt: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'hm', providerOptions: metadata },
            { type: 'text', text: 'First. ' },
            { type: 'tool-call', toolCallId: 's', toolName: 'search', input: { q: 1 }, providerExecuted: true },
            { type: 'tool-result', toolCallId: 's', toolName: 'search', output: { type: 'json', value: { hits: 2 } } },
            { type: 'text', text: 'Then.' },
            { type: 'tool-call', toolCallId: 'a', input: {}, providerOptions: { fake: { thought: 'T' } } },
          ],
        },
        { role: 'tool' },
      ],
    })
  })

  test('a message that was edited since is sent without its reasoning', async () => {
    const [message] = [
      answerMessage({
        text: 'secret',
        calls: [],
        reasoning: {
          model: 'fake.chat:m1',
          parts: [
            { type: 'reasoning', text: 'hm' },
            { type: 'text', length: 6 },
          ],
        },
      }),
    ]
    const fake = mock(version, 'cannot', [])
    await resolveModel(fake.model).call(
      saying([
        { role: 'user', content: 'x' },
        { ...message, content: '[gone]x' },
      ]),
    )
    expect(fake.generations()[0]).toMatchObject({
      prompt: [{ role: 'user' }, { role: 'assistant', content: [{ type: 'text', text: '[gone]x' }] }],
    })
  })

  test('a sink that throws is dropped; the answer is whole', async () => {
    let sent = 0
    const emit = (): void => {
      sent++
      throw new Error('the reader has a bug')
    }
    const answer = await resolveModel(mock(version, [...text('0', 'Hel', 'lo'), finish(version)]).model).call(
      asking('x', { emit }),
    )
    expect([answer.text, sent]).toEqual(['Hello', 1])
  })

  test('a provider that ignores the signal is left', async () => {
    const reason = new Error('stop')
    const control = new AbortController()
    let cancelled: unknown
    const stream = new ReadableStream({
      start: (controller) => {
        controller.enqueue({ type: 'text-start', id: '0' })
        controller.enqueue({ type: 'text-delta', id: '0', delta: 'a' })
      },
      cancel: (why) => {
        cancelled = why
      },
    })
    const { model } = mock(version, [])
    const deaf: LanguageModelLike = {
      specificationVersion: version,
      provider: 'fake',
      modelId: 'm',
      doGenerate: () => new Promise(() => undefined),
      doStream: () => Promise.resolve({ stream }),
    }
    const emit = (): void => control.abort(reason)
    await expect(resolveModel(deaf).call(asking('x', { emit, signal: control.signal }))).rejects.toBe(reason)
    expect(cancelled).toBe(reason)
    const second = new AbortController()
    const asked = resolveModel(deaf).call(asking('x', { signal: second.signal }))
    second.abort(reason)
    await expect(asked).rejects.toBe(reason)
    expect(model.provider).toBe('fake.chat')
  })

  test('warnings are kept', async () => {
    const warnings =
      version === 'v2' ? [{ type: 'unsupported-setting', setting: 'seed' }] : [{ type: 'unsupported', feature: 'seed' }]
    const answer = await resolveModel(mock(version, [{ type: 'stream-start', warnings }, finish(version)]).model).call(
      asking('x', { emit: sink().emit }),
    )
    expect(answer.warnings?.[0]).toContain('seed')
  })
})

test('before v4, a stream that keeps its initial finish reason was interrupted; a finished result was not', async () => {
  const streams = [
    mock('v2', [...text('0', 'half'), finish('v2', 'unknown')]),
    mock('v3', [
      ...text('0', 'half'),
      { type: 'finish', finishReason: { unified: 'other', raw: undefined }, usage: nested(1, 1) },
    ]),
  ]
  for (const { model } of streams)
    expect(await failureOf(resolveModel(model), asking('x', { emit: sink().emit }))).toMatchObject({
      code: 'model.cut-off',
    })
  const results = [
    mock('v2', 'cannot', [], 'unknown'),
    mock('v3', 'cannot', [], { unified: 'other', raw: undefined } as never),
  ]
  for (const { model } of results)
    expect(await resolveModel(model).call(asking('x'))).toMatchObject({ finish: 'other' })
})
