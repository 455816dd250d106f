/** `traceparent`: read as the W3C says, recorded, and sent on: to tools, to code, to models, from HTTP. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { agent, createRuntime, tool, type Json, type ModelRef } from 'reeve'
import { formatTraceparent, parseTraceparent, spanIdOf, traceIdOf, traceparentOf } from '@reeve/core'
import type { ActivationId, RunId } from '@reeve/core'
import { decode, encode } from '@reeve/journal'
import { echo } from '../../runtime/test/hand.ts'
import { serving } from '../../server/test/serving.ts'

const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const traceId = '0af7651916cd43dd8448eb211c80319c'

test('a header is read as the W3C says', () => {
  const parent = { traceId, spanId: 'b7ad6b7169203331', flags: 1 }
  expect(parseTraceparent(caller)).toEqual(parent)
  expect(parseTraceparent(` ${caller}\t`)).toEqual(parent)
  expect(parseTraceparent(caller.replace(/01$/, '00'))).toEqual({ ...parent, flags: 0 })
  // flags that are not known are not passed on
  expect(parseTraceparent(caller.replace(/01$/, 'ff'))).toEqual(parent)
  // of a later version what version 00 knows is read
  expect(parseTraceparent(caller.replace(/^00/, 'cc'))).toEqual(parent)
  expect(parseTraceparent(`${caller.replace(/^00/, 'cc')}-what-comes-later`)).toEqual(parent)
  for (const bad of [
    '',
    'x',
    caller.toUpperCase(),
    `${caller}-more`,
    caller.replace(/^00/, 'ff'),
    caller.replace(/^00/, '0'),
    caller.replace(traceId, '0'.repeat(32)),
    caller.replace('b7ad6b7169203331', '0'.repeat(16)),
    caller.replace('b7ad6b7169203331', 'b7ad6b716920333'),
    caller.replaceAll('-', '_'),
    `${caller}, ${caller}`,
    `${caller.replace(/^00/, 'cc')}.later`,
    `${caller.replace(/^00/, 'cc')}-${'x'.repeat(1_000)}`,
    `\n${caller.slice(0, 30)}\n${caller.slice(30)}`,
  ])
    expect(parseTraceparent(bad), bad).toBeUndefined()
})

test('whatever comes in, what is read can be written and read again', () => {
  const digits = (length: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcdefABF-')), minLength: length, maxLength: length })
  const near = fc
    .tuple(digits(2), digits(32), digits(16), digits(2), fc.constantFrom('', '-', '-x', ',', ' '))
    .map(([version, trace, span, flags, rest]) => `${version}-${trace}-${span}-${flags}${rest}`)
  fc.assert(
    fc.property(fc.oneof(fc.string(), near), (text) => {
      const read = parseTraceparent(text)
      expect(read === undefined ? undefined : parseTraceparent(formatTraceparent(read))).toEqual(read)
    }),
    { numRuns: 500 },
  )
})

test('ids are made of ids, and never of zeros; another place has another one', () => {
  const id = fc.string({ minLength: 1 }).map((text) => `act_${text}`)
  fc.assert(
    fc.property(id, fc.string(), fc.string(), (activation, one, other) => {
      const at = (address?: string): string => spanIdOf(activation as ActivationId, address)
      expect(at(one)).toMatch(/^[0-9a-f]{16}$/)
      expect(at(one) === at(other)).toBe(one === other)
      expect(at(one)).not.toBe(at())
      expect(parseTraceparent(traceparentOf(activation as ActivationId, one))).toBeDefined()
    }),
  )
  // a persistent format: traces that were exported must be found again
  expect(traceIdOf('r1' as RunId)).toBe('0e9c3d8e22270a114a31519da838b421')
  expect(spanIdOf('act_r1' as ActivationId, 'turn/model')).toBe('d4b7cee38facd5a0')
  expect(traceIdOf('r1>a/b' as RunId)).toBe(traceIdOf('r1' as RunId))
})

test('K12: the field is in the first event, is read back as it was, and is absent where the caller gave none', () => {
  const event = {
    type: 'activation.started',
    agent: 'a',
    version: '1',
    input: null,
    caller: { traceparent: caller },
  } as const
  expect(decode(encode(event))).toEqual(event)
  expect(decode('{"type":"activation.started","agent":"a","version":"1","input":null}')).not.toHaveProperty('caller')
})

/** A model object of the AI SDK that keeps the headers it is called with. */
function modelObject(headers: unknown[]): ModelRef {
  const text = (id: string): object[] => [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: 'hello' },
    { type: 'text-end', id },
    {
      type: 'finish',
      finishReason: { unified: 'stop' },
      usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } },
    },
  ]
  return {
    specificationVersion: 'v4',
    provider: 'openai.chat',
    modelId: 'gpt-x',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('it streams')),
    doStream: (options: { readonly headers?: unknown }) => {
      headers.push(options.headers)
      return Promise.resolve({ stream: ReadableStream.from(text('t')) })
    },
  } as unknown as ModelRef
}

test('a run that is started with it: it is recorded, and tools, code and models are given their place in that trace', async () => {
  const [headers, seen]: [{ traceparent?: string }[], string[]] = [[], []]
  const model = agent({ name: 'model', description: 'Asks.', model: modelObject(headers) })
  const code = agent({
    name: 'code',
    description: 'Steps.',
    run: async (ctx) => ctx.step('call', (io) => (seen.push(io.traceparent), null)),
  })
  const noted = tool({
    name: 'noted',
    description: 'Notes.',
    execute: (_input, io) => (seen.push(io.traceparent), null),
  })
  const tooled = agent({
    name: 'tooled',
    description: 'Calls.',
    tools: [noted],
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'x' : { calls: [{ name: 'noted', input: {} }] },
  })
  await using runtime = await createRuntime({ agents: [model, code, tooled] })
  for (const [name, runId] of [
    ['model', 'm'],
    ['code', 'c'],
    ['tooled', 't'],
  ] as const)
    await runtime.run(name, 'go', { runId, traceparent: caller })
  expect((await runtime.handle('m').summary()).caller).toEqual({ traceparent: caller })
  const place = (activation: string, address: string): string =>
    `00-${traceId}-${spanIdOf(activation as ActivationId, address)}-01`
  expect(headers.map((each) => each.traceparent)).toEqual([place('act_m', 'turn/model')])
  expect(seen).toEqual([place('act_c', 'call'), place('act_t', 'turn/call/noted')])
  // the same start again is the same run, whichever request asks for it
  const again = await runtime.start('code', 'go', { runId: 'c', traceparent: caller.replace('b7ad', 'b7ae') })
  expect(again.created).toBe(false)
  expect((await again.summary()).caller).toEqual({ traceparent: caller })
})

test('a run of its own: tools are given its trace, and a provider is told of none', async () => {
  const [headers, seen]: [{ traceparent?: string }[], string[]] = [[], []]
  const model = agent({ name: 'model', description: 'Asks.', model: modelObject(headers) })
  const code = agent({
    name: 'code',
    description: 'Steps.',
    run: async (ctx) => ctx.step('call', (io) => (seen.push(io.traceparent), null)),
  })
  await using runtime = await createRuntime({ agents: [model, code] })
  await runtime.run(model, 'go', { runId: 'm' })
  for (const [runId, traceparent] of [
    ['c1', undefined],
    ['c2', 'malformed'],
  ] as const)
    await runtime.run(code, 'go', { runId, ...(traceparent === undefined ? {} : { traceparent }) })
  expect(headers[0]).not.toHaveProperty('traceparent')
  expect(seen.map((each) => each.slice(3, 35))).toEqual([traceIdOf('c1' as RunId), traceIdOf('c2' as RunId)])
  expect((await runtime.handle('c2').summary()).caller).toEqual({})
  await expect(runtime.start(code, 'go', { traceparent: 7 as unknown as string })).rejects.toMatchObject({
    code: 'input.invalid',
  })
})

test('POST /runs reads the header; a malformed one is ignored, and nothing of it is recorded', async () => {
  const { post, runtime } = await serving({ agents: [echo] })
  const startedWith = async (runId: string, header: string): Promise<Json> => {
    expect(await post('/runs', { agent: 'echo', input: 'x', runId }, { traceparent: header })).toMatchObject({
      status: 201,
    })
    return (await runtime.handle(runId).summary()).caller as Json
  }
  expect(await startedWith('r1', caller)).toMatchObject({ traceparent: caller })
  expect(await startedWith('r2', `cc${caller.slice(2)}-later`)).toMatchObject({ traceparent: caller })
  for (const [i, header] of ['x', caller.toUpperCase(), `${caller},${caller}`, 'é', '00-'.repeat(3_000)].entries())
    expect(await startedWith(`bad${i}`, header)).not.toHaveProperty('traceparent')
  // a second request under one key is the same run, though its trace is another
  const key = { 'Idempotency-Key': 'k1' }
  const first = await post('/runs', { agent: 'echo', input: 'x' }, { ...key, traceparent: caller })
  const second = await post(
    '/runs',
    { agent: 'echo', input: 'x' },
    { ...key, traceparent: caller.replace('b7ad', 'b7ae') },
  )
  expect([first.status, second.status]).toEqual([201, 200])
  expect(second.body).toEqual(first.body)
})
