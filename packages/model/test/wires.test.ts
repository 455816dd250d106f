/**
 * The five wires over real HTTP, streaming and not: the same question gives the same answer, one request per call.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ModelPart } from '@reeve/core'
import { answerMessage, resolveModel, type Message, type ModelAnswer } from '../src/index.ts'
import { inPieces, startFakeLlm, wires, type FakeLlm, type Wire } from './fake-llm.ts'
import { asking, saying, sink, until } from './requests.ts'

let llm: FakeLlm
beforeAll(async () => {
  llm = await startFakeLlm()
})
beforeEach(() => llm.reset())
afterAll(() => llm.close())

const twoCalls = {
  text: inPieces('Asking both.', 5),
  calls: [
    { name: 'delegate', input: { worker: 'researcher', instructions: 'find facts' }, pieces: 3 },
    { name: 'delegate', input: { worker: 'writer', instructions: 'draft' }, pieces: 3 },
  ],
  usage: { input: 120, output: 30 },
}

/** The ids of providers differ from call to call; everything else must not. */
function plain(answer: ModelAnswer): Partial<ModelAnswer> {
  return {
    text: answer.text,
    calls: answer.calls.map((call, i) => ({ ...call, id: String(i) })),
    finish: answer.finish,
    model: answer.model,
    ...(answer.usage && { usage: answer.usage }),
  }
}

describe.each(wires)('$name', (wire) => {
  const model = () => resolveModel(wire.model, llm.options)

  test.each([true, false])('two parallel calls beside a text, streaming %s', async (streaming) => {
    llm.on({ userMessage: 'report' }, twoCalls)
    const { parts, emit } = sink()
    const answer = await model().call(asking('report', streaming ? { emit } : {}))
    expect(answer.text).toBe('Asking both.')
    expect(answer.calls.map((call) => [call.name, call.input])).toEqual([
      ['delegate', { worker: 'researcher', instructions: 'find facts' }],
      ['delegate', { worker: 'writer', instructions: 'draft' }],
    ])
    expect(new Set(answer.calls.map((call) => call.id)).size).toBe(2)
    expect(answer.finish).toBe('tool-calls')
    expect(answer.usage).toMatchObject({ input: 120, output: 30 })
    expect(answer.model).toBe(wire.model)
    expect(JSON.parse(JSON.stringify(answer))).toEqual(answer)
    expect(llm.requests()).toHaveLength(1)
    expect(llm.requests()[0]?.path).toContain(wire.path)
    expect(llm.requests()[0]?.headers['idempotency-key']).toBe('step-1')
    const text = parts.flatMap((part) => (part.type === 'text.delta' ? [part.text] : [])).join('')
    expect(text).toBe(streaming ? 'Asking both.' : '')
    expect(parts.filter((part) => part.type === 'tool-input.start')).toHaveLength(streaming ? 2 : 0)
  })

  test('the answer is the same with and without a sink', async () => {
    llm.on({ userMessage: 'report' }, twoCalls)
    const streamed = await model().call(asking('report', { emit: sink().emit }))
    const whole = await model().call(asking('report'))
    expect(plain(streamed)).toEqual(plain(whole))
    expect(streamed.reasoning?.parts.map((part) => part.type)).toEqual(whole.reasoning?.parts.map((part) => part.type))
    expect(llm.requests()).toHaveLength(2)
  })

  test('every part of a block is between its start and its end', async () => {
    llm.on({ userMessage: 'report' }, twoCalls)
    const { parts, emit } = sink()
    await model().call(asking('report', { emit }))
    const open = new Set<string>()
    for (const part of parts) {
      const [noun = '', stage] = part.type.split('.')
      const name = `${noun} ${part.id}`
      expect(open.has(name)).toBe(stage !== 'start')
      if (stage === 'start') open.add(name)
      if (stage === 'end') open.delete(name)
    }
    expect(open.size).toBe(0)
  })

  test('a conversation goes on with the results of both calls, also one that failed', async () => {
    llm.on({ hasToolResult: false }, twoCalls)
    llm.on({ hasToolResult: true }, 'Final report.')
    const asked: Message[] = [
      { role: 'system', content: 'You lead.' },
      { role: 'user', content: 'report' },
    ]
    const first = await model().call(saying(asked))
    const [one, two] = first.calls
    const results: Message[] = [
      { role: 'tool', callId: one?.id ?? '', name: 'delegate', content: { facts: ['a'] } },
      { role: 'tool', callId: two?.id ?? '', name: 'delegate', content: 'the writer is ill', isError: true },
    ]
    const second = await model().call(
      saying([...asked, answerMessage(JSON.parse(JSON.stringify(first)) as ModelAnswer), ...results]),
    )
    expect(second).toMatchObject({ text: 'Final report.', calls: [], finish: 'stop' })
    const body = llm.requests()[1]?.body
    expect(body).toContain('facts')
    expect(body).toContain('the writer is ill')
    expect(body).toContain('find facts')
    expect(llm.requests()).toHaveLength(2)
  })

  test('reasoning survives as JSON and is shown again to the model that made it, to no other', async () => {
    llm.on(
      { userMessage: 'think' },
      {
        parts: [
          { type: 'reasoning', text: 'let me think', signature: 'c2ln' },
          { type: 'text', text: 'done' },
        ],
      },
    )
    const witness = await llm.proxy()
    const same = resolveModel(wire.model, witness.options)
    const other = resolveModel(wire.model.replace(/\/.*/, '/another-model'), witness.options)
    const first = await same.call(asking('think', { emit: sink().emit }))
    const journaled = JSON.parse(JSON.stringify(answerMessage(first))) as Message
    const history: Message[] = [{ role: 'user', content: 'think' }, journaled, { role: 'user', content: 'think more' }]
    await same.call(saying(history))
    await other.call(saying(history))
    const [, toSame, toOther] = witness.requests().map((request) => request.body)
    expect(toSame).toContain('done')
    expect(toOther).toContain('done')
    expect(toOther).not.toContain('let me think')
    const tells = wire.name !== 'openai chat' // that protocol does not tell its reasoning
    expect(first.reasoning?.parts[0]?.type).toBe(tells ? 'reasoning' : undefined)
    expect(toSame?.includes('let me think')).toBe(tells)
    expect(toSame?.includes('"signature":"c2ln"')).toBe(wire.name === 'anthropic')
    expect(toSame?.includes('"encrypted_content":"')).toBe(wire.name === 'openai responses')
  })

  test('an empty answer is an answer', async () => {
    llm.on({ userMessage: 'nothing' }, { text: '' })
    for (const more of [{}, { emit: sink().emit }]) {
      expect(await model().call(asking('nothing', more))).toMatchObject({ text: '', calls: [], finish: 'stop' })
    }
  })

  test.each([true, false])(
    'an answer that ends at its length, or is filtered, says so, streaming %s',
    async (streaming) => {
      const [cut, filtered] = endings[wire.name]
      llm.on({ userMessage: 'long' }, { text: 'so much', finish: cut })
      llm.on({ userMessage: 'rude' }, { text: 'well', finish: filtered })
      const asked = model()
      const more = streaming ? { emit: sink().emit } : {}
      expect(await asked.call(asking('long', more))).toMatchObject({ text: 'so much', finish: 'length' })
      const finish = wire.name === 'anthropic' ? 'refusal' : 'content-filter'
      expect(await asked.call(asking('rude', more))).toMatchObject({ text: 'well', finish })
    },
  )

  test('arguments that are not JSON are content for the model, and the answer stands', async () => {
    // Gemini sends arguments as JSON proper: they cannot be bad
    const inputText = wire.name === 'google' ? '{"worker":"SPOIL"}' : '{"worker": oops'
    llm.on({ userMessage: 'bad' }, { calls: [{ name: 'delegate', inputText }] })
    const answer = await model().call(asking('bad', { emit: sink().emit }))
    const bad = { name: 'delegate', input: null, invalid: '{"worker": oops' }
    const good = { name: 'delegate', input: { worker: 'SPOIL' } }
    expect(answer.calls).toMatchObject([wire.name === 'google' ? good : bad])
    llm.on({ hasToolResult: true }, 'I see.')
    const [made] = answer.calls
    const told: Message = { role: 'tool', callId: made?.id ?? '', name: 'delegate', content: 'not JSON', isError: true }
    const next = await model().call(saying([{ role: 'user', content: 'I was told' }, answerMessage(answer), told]))
    expect(next.text).toBe('I see.')
    expect(llm.requests()[1]?.body).toContain('not JSON')
  })

  test.each(['headers', 1] as const)('a stream that stands still after %s is waited for', async (after) => {
    const text = inPieces('The quick brown fox jumps over the lazy dog.', 8)
    llm.on({ userMessage: 'slow' }, { text, breaks: { with: 'stall', after } })
    const { parts, emit } = sink()
    const asked = model().call(asking('slow', { emit }))
    const shown = (): number => parts.filter((part) => part.type === 'text.delta').length
    await until(() => llm.requests().length === 1 && (after === 'headers' || shown() === 1))
    await llm.stalled()
    expect(shown()).toBe(after === 'headers' ? 0 : 1)
    llm.release()
    expect((await asked).text).toBe('The quick brown fox jumps over the lazy dog.')
    expect(shown()).toBeGreaterThan(1)
    expect(llm.requests()).toHaveLength(1)
  })

  test('abort in the middle of a stream rejects with the reason, and the server sees us leave', async () => {
    llm.on({ userMessage: 'endless' }, { text: inPieces('word '.repeat(40), 5) })
    const proxy = await llm.proxy((answer) => ({ body: half(answer.body), end: 'open' }))
    const reason = new Error('the user has left')
    const control = new AbortController()
    let after = 0
    const emit = (part: ModelPart): void => {
      if (control.signal.aborted) after++
      if (part.type === 'text.delta') control.abort(reason)
    }
    await expect(
      resolveModel(wire.model, proxy.options).call(asking('endless', { emit, signal: control.signal })),
    ).rejects.toBe(reason)
    await until(() => proxy.departures() === 1)
    expect(after).toBe(0)
    expect(proxy.requests()).toHaveLength(1)
  })

  test.each([true, false])(
    'abort before the first byte of the answer rejects with the reason, streaming %s',
    async (streaming) => {
      llm.on({ userMessage: 'late' }, 'late')
      const proxy = await llm.proxy(() => ({ body: '', end: 'open' }))
      const reason = new DOMException('too late', 'TimeoutError')
      const control = new AbortController()
      const asked = resolveModel(wire.model, proxy.options).call(
        asking('late', { signal: control.signal, ...(streaming && { emit: sink().emit }) }),
      )
      const settled = asked.catch((why: unknown) => why)
      await until(() => proxy.requests().length === 1)
      control.abort(reason)
      expect(await settled).toBe(reason)
      await until(() => proxy.departures() === 1)
    },
  )

  test('a request that was aborted before is not sent', async () => {
    const reason = new Error('never mind')
    await expect(model().call(asking('report', { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason)
    expect(llm.requests()).toHaveLength(0)
  })

  test('an output schema, a choice of tools and settings reach the wire', async () => {
    llm.on({ userMessage: 'json' }, '{"ok":true}')
    const outputSchema = {
      type: 'object',
      properties: { ok: { type: 'boolean' } },
      required: ['ok'],
      additionalProperties: false,
    }
    const witness = await llm.proxy()
    const asked = resolveModel(wire.model, witness.options)
    await asked.call(asking('json', { tools: [], outputSchema, settings: { maxOutputTokens: 77 } }))
    await asked.call(asking('json', { toolChoice: 'required' }))
    const [json, forced] = witness.requests().map((request) => request.body)
    expect(json?.includes('"ok"')).toBe(wire.name !== 'openai-compatible') // the generic server is not known to take schemas
    expect(json).toContain('77')
    expect(forced).toMatch(/"tool_choice":("required"|\{"type":"any")|"mode":"ANY"/)
  })
})

describe('usage that is not told', () => {
  const asked = async (wire: Wire, streaming: boolean): Promise<ModelAnswer> => {
    llm.on({ userMessage: 'count' }, { text: 'one two', usage: null })
    return resolveModel(wire.model, llm.options).call(asking('count', streaming ? { emit: sink().emit } : {}))
  }
  const [tolerant, strict] = [
    wires.filter((wire) => wire.name !== 'anthropic'),
    wires.filter((wire) => wire.name === 'anthropic'),
  ]

  test.each(tolerant.flatMap((wire) => [true, false].map((streaming) => ({ wire, streaming }))))(
    'is unknown, not 0: $wire.name, streaming $streaming',
    async ({ wire, streaming }) => {
      const answer = await asked(wire, streaming)
      expect(answer.text).toBe('one two')
      expect('usage' in answer).toBe(false)
    },
  )

  // Anthropic's package refuses an answer without usage: no answer is better than an invented one
  test.each(strict.flatMap((wire) => [true, false].map((streaming) => ({ wire, streaming }))))(
    'is no answer: $wire.name, streaming $streaming',
    async ({ wire, streaming }) => {
      await expect(asked(wire, streaming)).rejects.toMatchObject({ failure: { class: 'unknown', retryable: true } })
    },
  )
})

test('OpenAI is told not to store answers, and reasoning comes back encrypted', async () => {
  llm.on({ userMessage: 'hello' }, 'hi')
  const witness = await llm.proxy()
  await resolveModel('openai/gpt-5', witness.options).call(asking('hello'))
  expect(JSON.parse(witness.requests()[0]?.body ?? '')).toMatchObject({
    store: false,
    include: ['reasoning.encrypted_content'],
  })
})

/** The first half of a stream, up to the end of an event. */
const half = (body: string): string => body.slice(0, body.lastIndexOf('\n\n', body.length / 2) + 2)

/** How each says that its answer was cut at its length, and that it was filtered. */
const endings: { readonly [name in Wire['name']]: readonly [cut: string, filtered: string] } = {
  'openai-compatible': ['length', 'content_filter'],
  'openai chat': ['length', 'content_filter'],
  'openai responses': ['max_output_tokens', 'content_filter'],
  anthropic: ['max_tokens', 'refusal'],
  google: ['MAX_TOKENS', 'SAFETY'],
}
