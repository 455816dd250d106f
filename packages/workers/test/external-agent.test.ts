/** Agents of other frameworks: what they report is counted, what they say is bounded and checked, whatever it is. */
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { a2aAgent } from '../../protocols/src/a2a/worker.ts'
import { aiSdkAgent } from '../../protocols/src/ai-sdk/agent.ts'
import { createRuntime, supervisor, type Agent, type RuntimeOptions } from '@reeve/public'

const played = async (
  worker: Agent,
  limits?: { readonly usd?: number; readonly turns?: number },
  prices?: RuntimeOptions['prices'],
) => {
  await using runtime = await createRuntime({
    agents: [worker],
    strict: true,
    onWarning: () => {},
    ...(prices && { prices }),
  })
  return await runtime.run(worker.name, 'Do it.', { ...(limits && { limits }) })
}

/** An agent of the AI SDK that streams these parts, and has these messages at its end. */
const streaming = (parts: readonly object[], responseMessages: readonly unknown[] = [], text = 'done') => ({
  stream: (_options: never) =>
    Promise.resolve({
      // eslint-disable-next-line @typescript-eslint/require-await
      stream: (async function* () {
        yield* parts
      })(),
      responseMessages: Promise.resolve(responseMessages),
      text: Promise.resolve(text),
      finishReason: Promise.resolve('stop'),
    }),
})
const finished = (modelId: string, inputTokens: number, outputTokens: number) => ({
  type: 'finish-step',
  usage: { inputTokens, outputTokens },
  response: { modelId },
})

describe('usage', () => {
  const parts = [finished('small', 10, 1), finished('large', 20, 2), finished('small', 30, 3)]
  test('has a row for each model, and a call for each', async () => {
    const { usage } = await played(aiSdkAgent({ name: 'sdk', agent: streaming(parts) }))
    expect(usage).toMatchObject([
      { agent: 'sdk', model: 'small', calls: 2, input: 40, output: 4, unpriced: 2 },
      { agent: 'sdk', model: 'large', calls: 1, input: 20, output: 2, unpriced: 1 },
    ])
  })
  test('has dollars where prices are given', async () => {
    const prices = { small: { usdPerMillionTokens: { input: 1_000_000, output: 0 } } }
    const { usage } = await played(aiSdkAgent({ name: 'sdk', agent: streaming(parts) }), undefined, prices)
    expect(usage).toMatchObject([
      { model: 'small', usd: 40, unpriced: 0 },
      { model: 'large', usd: 0, unpriced: 1 },
    ])
  })
  test('counts against the limit of the run: another segment is refused', async () => {
    const asks = [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'look', output: { type: 'text', value: '' } }],
      },
    ]
    const worker = aiSdkAgent({ name: 'sdk', agent: streaming(parts, asks), maxSteps: 20 })
    expect(await played(worker, { turns: 4 })).toMatchObject({ status: 'failed', failure: { code: 'budget.exceeded' } })
  })
  test('of a call that says nothing is unknown, and never 0', async () => {
    const { usage } = await played(aiSdkAgent({ name: 'sdk', agent: streaming([{ type: 'finish-step' }]) }))
    expect(usage).toMatchObject([{ model: 'unknown', calls: 1, unknown: 1 }])
  })
})

describe('an agent of the AI SDK', () => {
  test('that asks twice under one id has failed', async () => {
    const call = { type: 'tool-call', toolCallId: 'same', toolName: 'ask', input: {} }
    const worker = aiSdkAgent({ name: 'sdk', agent: streaming([], [{ role: 'assistant', content: [call, call] }]) })
    expect(await played(worker)).toMatchObject({
      status: 'failed',
      failure: { message: 'it asks twice under the id "same"' },
    })
  })
  test('whose stream has an error has failed with it', async () => {
    const worker = aiSdkAgent({ name: 'sdk', agent: streaming([{ type: 'error', error: new Error('out of order') }]) })
    expect(await played(worker)).toMatchObject({ status: 'failed', failure: { message: 'out of order' } })
  })
  test('is a worker like any other: unknown options are told', async () => {
    const worker = aiSdkAgent({ name: 'sdk', agent: streaming([]), timeoutMS: 1 } as never)
    await expect(createRuntime({ agents: [worker] })).rejects.toThrow(/timeoutMS/)
  })
  test('has an input and an output of a schema', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const told: unknown[] = []
    const inner = streaming([], [], '{"n":2}')
    const agent = {
      stream: (options: never) => (told.push((options as { messages: unknown }).messages), inner.stream(options)),
    }
    const worker = aiSdkAgent({ name: 'sdk', description: 'Adds.', agent, input: schema, output: schema })
    const lead = supervisor({
      name: 'lead',
      workers: [worker],
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? { calls: [{ name: 'forward_message', input: { worker: 'sdk' } }] }
          : { calls: [{ name: 'delegate_sdk', input: { n: 1 } }] },
    })
    expect(await played(lead)).toMatchObject({ status: 'completed' })
    expect(told).toEqual([[{ role: 'user', content: '{"n":1}' }]])
  })
})

test('whatever a remote A2A agent answers, the work ends', async () => {
  const names = fc.constantFrom(
    'id',
    'contextId',
    'status',
    'state',
    'message',
    'parts',
    'artifacts',
    'content',
    '$case',
    'value',
    '__proto__',
  )
  const leaf = fc.oneof(
    fc.constantFrom('text', 'data', 'task', 'statusUpdate', 3, 4, 6, 2),
    fc.jsonValue({ maxDepth: 1 }),
  )
  const value = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.dictionary(names, tie('node'), { maxKeys: 4 }),
      fc.array(tie('node'), { maxLength: 3 }),
    ),
  })).node
  const objects = fc.dictionary(names, value, { maxKeys: 5 })
  await fc.assert(
    fc.asyncProperty(objects, objects, fc.array(objects, { maxLength: 3 }), async (sent, task, events) => {
      let left = 3
      const client = {
        sendMessage: () => Promise.resolve(sent),
        // it is asked again and again while it says nothing that counts
        getTask: () => (left-- > 0 ? Promise.resolve(task) : Promise.resolve({ status: { state: 4 } })),
        cancelTask: () => Promise.resolve({}),
        async *resubscribeTask() {
          for (const event of events) yield await Promise.resolve({ payload: event })
        },
      }
      const worker = a2aAgent({ name: 'remote', client, pollMs: 1, retry: { attempts: 1 } })
      await using runtime = await createRuntime({ agents: [worker], onWarning: () => {} })
      const run = await runtime.start('remote', 'Do it.')
      for (;;) {
        const state = await run.until('waiting')
        if (!('waiting' in state)) break
        for (const { id } of state.questions) await run.answer({ interruptId: id, value: 'yes' })
      }
      expect(['completed', 'failed']).toContain((await run.outcome()).status)
    }),
    { numRuns: 40 },
  )
})

describe('a remote A2A agent', () => {
  const asking = { id: 't', contextId: 'c', status: { state: 6, message: { messageId: 'q', parts: [] } } }
  const working = { ...asking, status: { state: 2 } }
  const done = {
    ...asking,
    status: { state: 3 },
    artifacts: [{ parts: [{ content: { $case: 'text', value: 'ok' } }] }],
  }
  /** Says nothing more, as a server whose task has come to rest does. */
  const rest = (signal: AbortSignal | undefined): Promise<never> =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('given up'))))
  type Stream = { signal?: AbortSignal } | undefined

  test('that asks before its task is followed is heard, though its stream stays open', async () => {
    let task: object = working
    const client = {
      sendMessage: () => Promise.resolve((task = task === asking ? done : working)),
      getTask: () => Promise.resolve(task),
      cancelTask: () => Promise.resolve({}),
      async *resubscribeTask(_request: never, options: Stream) {
        task = asking
        yield { payload: { $case: 'task', value: asking } }
        await rest(options?.signal)
      },
    }
    await using runtime = await createRuntime({ agents: [a2aAgent({ name: 'remote', client })], onWarning: () => {} })
    const run = await runtime.start('remote', 'Do it.')
    const state = await run.until('waiting')
    const [question] = 'waiting' in state ? state.questions : []
    await run.answer({ interruptId: question!.id, value: 'yes' })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'ok' })
  })

  test('whose stream is quiet is asked for its task again', async () => {
    let task: object = working
    let streams = 0
    const client = {
      sendMessage: () => Promise.resolve(working),
      getTask: () => Promise.resolve(task),
      cancelTask: () => Promise.resolve({}),
      // eslint-disable-next-line require-yield
      async *resubscribeTask(_request: never, options: Stream) {
        streams++
        task = done
        await rest(options?.signal)
      },
    }
    expect(await played(a2aAgent({ name: 'remote', client, pollMs: 1 }))).toMatchObject({ output: 'ok' })
    expect(streams).toBe(1)
  })

  /** A task at work, whose stream says these events. */
  const at = (status: object, stream: (options: Stream) => AsyncGenerator<object, void, undefined>) => {
    const asked = { tasks: 0, streams: 0 }
    const client = {
      sendMessage: () => Promise.resolve(working),
      getTask: () => {
        asked.tasks++
        return Promise.resolve({ ...working, status })
      },
      cancelTask: () => Promise.resolve({}),
      resubscribeTask: (_request: never, options: Stream) => {
        asked.streams++
        return stream(options)
      },
    }
    return { asked, client }
  }
  const atWork = { payload: { $case: 'statusUpdate', value: { status: { state: 2 } } } }
  const artifact = (artifactId: string, part: object, append = false) => ({
    payload: { $case: 'artifactUpdate', value: { append, artifact: { artifactId, parts: [{ content: part }] } } },
  })

  test.each([
    ['data in many artifacts', (i: number) => artifact(`a${i}`, { $case: 'data', value: { x: 'y'.repeat(1e6) } })],
    ['one text without end', () => artifact('a', { $case: 'text', value: 'y'.repeat(1e6) }, true)],
    ['empty artifacts without end', (i: number) => artifact(`a${i}`, { $case: 'raw', value: 'AAAA' })],
    ['states without end', () => atWork],
    [
      'a huge status',
      () => ({ payload: { $case: 'statusUpdate', value: { status: { state: 2, x: 'y'.repeat(5e6) } } } }),
    ],
  ])('that sends %s has failed, and is heard no further', async (_what, event) => {
    let said = 0
    const { client } = at({ state: 2 }, async function* () {
      for (;;) {
        yield event(said++)
        await Promise.resolve()
      }
    })
    expect(await played(a2aAgent({ name: 'remote', client }))).toMatchObject({
      status: 'failed',
      failure: { code: 'agent.too-much', class: 'policy', retryable: false },
    })
    const until = said
    await new Promise(setImmediate)
    expect(said).toBe(until)
    expect(said).toBeLessThan(70_000)
  })

  test('whose text comes in many pieces is shown each once, and has all of it', async () => {
    const { client } = at({ state: 2 }, async function* () {
      for (let i = 0; i < 20_000; i++)
        yield await Promise.resolve(artifact('a', { $case: 'text', value: `${i},` }, i > 0))
      yield { payload: { $case: 'statusUpdate', value: { status: { state: 3 } } } }
    })
    const outcome = await played(a2aAgent({ name: 'remote', client }))
    expect(outcome).toMatchObject({
      status: 'completed',
      output: Array.from({ length: 20_000 }, (_, i) => `${i},`).join(''),
    })
  })

  test('whose stream ends at once is not asked without a pause', async () => {
    const { asked, client } = at({ state: 2 }, async function* () {
      yield await Promise.resolve(atWork)
    })
    await using runtime = await createRuntime({
      agents: [a2aAgent({ name: 'remote', client, pollMs: 5 })],
      onWarning: () => {},
    })
    const run = await runtime.start('remote', 'Do it.')
    await vi.waitUntil(() => asked.tasks >= 40, { timeout: 10_000, interval: 5 })
    // after 1, 2, 4, 8, 16 and 32 polls
    expect(asked.streams).toBeLessThanOrEqual(7)
    await run.control.cancel('enough', 'ann')
  })

  test('whose client ignores its signal is not heard any more once the work is cancelled', async () => {
    let said = 0
    const { client } = at({ state: 2 }, async function* () {
      for (;;) {
        said++
        await new Promise(setImmediate)
        yield atWork
      }
    })
    await using runtime = await createRuntime({ agents: [a2aAgent({ name: 'remote', client })], onWarning: () => {} })
    const run = await runtime.start('remote', 'Do it.')
    await vi.waitUntil(() => said > 10)
    await run.control.cancel('enough', 'ann')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    await new Promise(setImmediate)
    const until = said
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
    expect(said).toBe(until)
  })

  test('that asks for a credential has failed: nobody is asked', async () => {
    const parts = [{ content: { $case: 'text', value: 'Type your admin token to go on.' } }]
    const { client } = at({ state: 8, message: { messageId: 'q', parts } }, async function* () {})
    await using runtime = await createRuntime({ agents: [a2aAgent({ name: 'remote', client })], onWarning: () => {} })
    const run = await runtime.start('remote', 'Do it.')
    expect(await run.until('waiting')).toMatchObject({
      status: 'failed',
      failure: { code: 'agent.needs-credentials', retryable: false },
    })
    expect(await runtime.questions()).toEqual([])
  })
})

test('an agent of a framework that ignores its signal is not heard any more once its work is cancelled', async () => {
  let said = 0
  const agent = {
    stream: (_options: never) =>
      Promise.resolve({
        stream: (async function* () {
          for (;;) {
            said++
            await new Promise(setImmediate)
            yield { type: 'text-delta', text: 'a' }
          }
        })(),
        responseMessages: Promise.resolve([]),
        text: Promise.resolve('done'),
        finishReason: Promise.resolve('stop'),
      }),
  }
  await using runtime = await createRuntime({ agents: [aiSdkAgent({ name: 'sdk', agent })], onWarning: () => {} })
  const run = await runtime.start('sdk', 'Do it.')
  await vi.waitUntil(() => said > 10)
  await run.control.cancel('enough', 'ann')
  await run.outcome()
  await new Promise(setImmediate)
  const until = said
  for (let i = 0; i < 5; i++) await new Promise(setImmediate)
  expect(said).toBe(until)
})

test('an agent of a framework whose text has no end has failed', async () => {
  const parts = Array.from({ length: 5 }, () => ({ type: 'text-delta', text: 'a'.repeat(1024 * 1024) }))
  expect(await played(aiSdkAgent({ name: 'sdk', agent: streaming(parts) }))).toMatchObject({
    status: 'failed',
    failure: { code: 'agent.too-much' },
  })
})
