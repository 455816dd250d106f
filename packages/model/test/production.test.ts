/** Models in production: attempts that die are counted, silence ends a call, the next model of a chain is asked. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { agent, createRuntime, supervisor, type Model, type RuntimeOptions } from '@reeve/public'
import type { Recorded } from '@reeve/journal'
import { failure, FailureError, totalUsage, type Failure } from '@reeve/core'

const opened: (() => void)[] = []
afterEach(() => {
  for (const close of opened.splice(0)) close()
})

type Answer = (response: ServerResponse, body: { readonly stream?: boolean; readonly model: string }) => void

/** A server of chat completions under the name of a provider of one's own. */
async function serving(name: string, answer: Answer) {
  const seen: { readonly stream?: boolean; readonly model: string }[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk)
    const body = JSON.parse(text) as { readonly stream?: boolean; readonly model: string }
    seen.push(body)
    answer(response, body)
  }
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  const variable = `${name.toUpperCase()}_BASE_URL`
  process.env[variable] = `http://127.0.0.1:${port}`
  opened.push(() => {
    delete process.env[variable]
    server.closeAllConnections()
    server.close()
  })
  return seen
}

const chunk = (delta: object, finish: string | null = null, more = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`
const usage = { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }
const begins = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
}
const says = (response: ServerResponse, text: string): void => {
  begins(response)
  response.end(chunk({ content: text }) + chunk({}, 'stop', usage) + 'data: [DONE]\n\n')
}
const refuses = (response: ServerResponse, status: number, message = 'no', headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: { message } }))
}

const retry = { attempts: 3, backoffMs: 1 }
async function played(run: ReturnType<typeof agent>, options: RuntimeOptions = {}) {
  await using runtime = await createRuntime({ ...options, agents: [run], onWarning: () => undefined })
  const started = await runtime.start(run, 'go')
  const outcome = await started.outcome()
  const events: Recorded[] = []
  for await (const recorded of started.events()) events.push(recorded)
  return { outcome, events, view: await started.view() }
}
const of = <T extends Recorded['event']['type']>(events: readonly Recorded[], type: T) =>
  events.flatMap(({ event }) => (event.type === type ? [event as Extract<Recorded['event'], { type: T }>] : []))

describe('attempts', () => {
  test('each that dies counts as unknown for its agent, and on the budget: it stops before it is exceeded', async () => {
    const seen = await serving('mine', (response) => {
      begins(response)
      response.end(chunk({ content: 'word '.repeat(100) }))
    })
    const worker = agent({
      name: 'worker',
      description: 'd',
      model: 'mine/m-1',
      retry,
      settings: { maxOutputTokens: 1_000 },
    })
    const lead = supervisor({
      name: 'lead',
      workers: [worker],
      limits: { tokens: 5_000 },
      model: ({ messages }) =>
        messages.length < 40
          ? { calls: [{ name: 'delegate', input: { worker: 'worker', instructions: 'x' } }] }
          : 'end',
    })
    const { outcome, view } = await played(lead)
    expect(outcome).toMatchObject({ status: 'limited', limit: 'tokens' })
    const row = outcome.usage.find((each) => each.agent === 'worker')!
    expect(row.unknown).toBe(seen.length)
    expect(row.calls).toBe(seen.length)
    // each attempt may have used the 1,000 that were set aside for its answer
    expect(seen.length * 1_000).toBeLessThanOrEqual(5_000)
    expect(view.usage).toEqual(outcome.usage)
  })

  test('one that was refused has used nothing; one that reports its usage before it fails counts with that', async () => {
    const reported: Failure = failure('model.cut-off', 'half', 'transport', {
      details: { usage: { input: 7, output: 3 } },
    })
    let asked = 0
    const model: Model = {
      id: 'own/m',
      call() {
        asked++
        if (asked === 1) return Promise.reject(new FailureError(reported))
        if (asked === 2)
          return Promise.reject(new FailureError(failure('model.unavailable', 'no', 'transport'), undefined, 'nothing'))
        return Promise.resolve({
          text: 'ok',
          calls: [],
          finish: 'stop',
          model: 'own/m',
          usage: { input: 1, output: 1 },
        })
      },
    }
    const { outcome, events } = await played(agent({ name: 'a', model, retry }))
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 2, input: 8, output: 4, unknown: 0 })
    expect(of(events, 'step.attempt-failed').map((each) => each.usage?.[0]?.input)).toEqual([7, undefined])
  })

  test('a rate limit without a time is asked more often than three times', async () => {
    let left = 5
    await serving('mine', (response) => (left-- > 0 ? refuses(response, 429) : says(response, 'ok')))
    const { outcome } = await played(agent({ name: 'a', model: 'mine/m-2', retry: { backoffMs: 1, maxBackoffMs: 2 } }))
    expect(outcome).toMatchObject({ status: 'completed', output: 'ok' })
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 1, unknown: 0 })
  })

  test('while it waits for its provider, the view says until when and why', async () => {
    let isFirst = true
    await serving('mine', (response) => {
      if (isFirst) refuses(response, 429, 'Please try again in 10m.')
      isFirst = false
    })
    const one = agent({ name: 'a', model: 'mine/m-3' })
    await using runtime = await createRuntime({ agents: [one] })
    const run = await runtime.start(one, 'go')
    for await (const { event, at } of run.events()) {
      if (event.type !== 'step.attempt-failed') continue
      const view = await run.view()
      expect(view.activations[0]!.open[0]!.nextAttempt).toEqual({ at: at + 600_000, after: 'model.rate-limited' })
      break
    }
    await run.control.cancel('enough')
  })
})

describe('what servers do', () => {
  const one = (silenceMs = 2_000) => agent({ name: 'a', model: 'mine/m', silenceMs, retry: { attempts: 1 } })

  test('one that answers as a whole, though it is asked for a stream, is asked and paid once', async () => {
    const message = { role: 'assistant', content: 'whole' }
    const seen = await serving('mine', (response) => {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, ...usage }))
    })
    const { outcome } = await played(one())
    expect(outcome).toMatchObject({ status: 'completed', output: 'whole' })
    expect(seen).toHaveLength(1)
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 1, input: 10, output: 5, unknown: 0 })
  })

  test('one that keeps the connection open after [DONE] has answered', async () => {
    const seen = await serving('mine', (response) => {
      begins(response)
      response.write(chunk({ content: 'done' }) + chunk({}, 'stop', usage) + 'data: [DONE]\n\n')
    })
    expect((await played(one())).outcome).toMatchObject({ status: 'completed', output: 'done' })
    expect(seen).toHaveLength(1)
  })

  test('what was reported before an error inside the stream counts as known', async () => {
    await serving('mine', (response) => {
      begins(response)
      response.end(chunk({ content: 'h' }, null, usage) + 'data: {"error":{"message":"overloaded","code":503}}\n\n')
    })
    const { outcome } = await played(one())
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'model.unavailable' } })
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 1, input: 10, output: 5, unknown: 0 })
  })

  test('one that pings and never answers ends at the deadline, and each attempt counts as unknown', async () => {
    await serving('mine', (response) => {
      begins(response)
      const timer = setInterval(() => response.write(': ping\n\n'), 10)
      response.on('close', () => clearInterval(timer))
    })
    const given = agent({ name: 'a', model: 'mine/m', retry: { attempts: 2, backoffMs: 1 } })
    const { outcome } = await played(given, { deadlines: { modelMs: 100, silenceMs: 60 } })
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'effect.timed-out' } })
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 2, unknown: 2 })
  })

  test.each([
    ['null', { prompt_tokens: null, completion_tokens: null }],
    ['below zero', { prompt_tokens: -4, completion_tokens: 5 }],
    ['only half there', { completion_tokens: 5 }],
  ])('usage that is %s is not known', async (_, reported) => {
    await serving('mine', (response) => {
      begins(response)
      response.end(chunk({ content: 'x' }) + chunk({}, 'stop', { usage: reported }) + 'data: [DONE]\n\n')
    })
    const { outcome } = await played(one())
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 1, input: 0, unknown: 1, unpriced: 1 })
  })
})

describe('silence', () => {
  test('a stream that says nothing more is given up, tried again, and counted', async () => {
    let asked = 0
    await serving('mine', (response) => {
      if (++asked === 2) return says(response, 'whole')
      begins(response)
      response.write(chunk({ content: 'half' }))
    })
    const { outcome, events } = await played(agent({ name: 'a', model: 'mine/m-4', silenceMs: 50, retry }))
    expect(outcome).toMatchObject({ status: 'completed', output: 'whole' })
    expect(of(events, 'step.attempt-failed')).toMatchObject([{ failure: { code: 'model.silent', class: 'timeout' } }])
    expect(totalUsage(outcome.usage)).toMatchObject({ calls: 2, unknown: 1 })
  })

  test('pings and comments of the wire are life; the limit of the runtime holds where the agent says nothing', async () => {
    let isOver = false
    await serving('mine', (response) => {
      begins(response)
      response.write(chunk({ content: 'a' }))
      let pings = 0
      const ping = setInterval(() => {
        response.write(': ping\n\n')
        if (++pings < 30) return
        clearInterval(ping)
        isOver = true
        response.end(chunk({ content: 'b' }) + chunk({}, 'stop', usage) + 'data: [DONE]\n\n')
      }, 20)
    })
    const { outcome } = await played(agent({ name: 'a', model: 'mine/m-5', retry: { attempts: 1 } }), {
      deadlines: { silenceMs: 400 },
    })
    expect(isOver).toBe(true)
    expect(outcome).toMatchObject({ status: 'completed', output: 'ab' })
  })

  test('before the first part it may be silent five times as long', async () => {
    await serving('mine', (response) => begins(response))
    const begun = performance.now()
    const { outcome } = await played(agent({ name: 'a', model: 'mine/m-6', silenceMs: 30, retry: { attempts: 1 } }))
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'model.silent' } })
    expect(performance.now() - begun).toBeGreaterThanOrEqual(149)
  })
})

test('calls that nobody is shown are streamed, too', async () => {
  const seen = await serving('mine', (response) => says(response, 'ok'))
  const shy = agent({ name: 'a', model: 'mine/m-7', middleware: [{ name: 'm', afterModel: () => undefined }] })
  expect((await played(shy)).outcome.status).toBe('completed')
  expect(seen.map(({ stream }) => stream)).toEqual([true])
})

describe('prices', () => {
  const used: Model = {
    id: 'own/m',
    call: () =>
      Promise.resolve({ text: 'ok', calls: [], finish: 'stop', model: 'own/m', usage: { input: 100, output: 10 } }),
  }
  const thrifty = agent({ name: 'a', model: used, limits: { usd: 1 } })

  test('of the runtime hold for its models, in limits and in usage', async () => {
    await expect(createRuntime({ agents: [thrifty] })).rejects.toMatchObject({
      code: 'budget.no-price',
      message: expect.stringContaining('createRuntime({ prices })') as string,
    })
    const prices = { 'own/m': { usdPerMillionTokens: { input: 10, output: 100 } } }
    const { outcome } = await played(thrifty, { prices })
    expect(outcome.status).toBe('completed')
    expect(totalUsage(outcome.usage).usd).toBeCloseTo(0.002, 9)
    await expect(createRuntime({ prices: { 'own/m': { input: 1 } } as never })).rejects.toMatchObject({
      code: 'config.invalid',
    })
  })
})

describe('a chain of models', () => {
  const failing = (id: string, what: Failure): Model => ({
    id,
    price: { usdPerMillionTokens: { input: 1, output: 1 } },
    call: () => Promise.reject(new FailureError(what, undefined, 'nothing')),
  })
  const answering = (id: string): Model => ({
    id,
    price: { usdPerMillionTokens: { input: 1, output: 1 } },
    call: () => Promise.resolve({ text: id, calls: [], finish: 'stop', model: id, usage: { input: 1, output: 1 } }),
  })
  const down = failure('model.unavailable', 'down', 'transport')

  test.each([
    ['down', down],
    ['limited', failure('model.rate-limited', 'no credit', 'policy')],
    ['denied', failure('model.not-authorized', 'no key', 'policy')],
    ['too-large', failure('model.bad-request', 'too large', 'validation', { details: { status: 413 } })],
    ['slow', failure('model.silent', 'silent', 'timeout')],
  ] as const)('the next one is asked where one is %s, as its own recorded step', async (why, what) => {
    const chain = agent({ name: 'a', model: [failing('first/m', what), answering('second/m')], retry: { attempts: 1 } })
    const { outcome, events } = await played(chain)
    expect(outcome).toMatchObject({ status: 'completed', output: 'second/m' })
    expect(of(events, 'model.requested')).toMatchObject([
      { model: 'first/m' },
      { model: 'second/m', instead: { of: 'first/m', why } },
    ])
    expect(of(events, 'step.settled')[0]).toMatchObject({ outcome: { status: 'failed', failure: { code: what.code } } })
    expect(outcome.usage.find(({ model }) => model === 'second/m')).toMatchObject({ calls: 1, input: 1 })
  })

  test('conditions choose; a failure that no other model could do better ends it', async () => {
    const chain = agent({
      name: 'a',
      model: [failing('first/m', down), { model: answering('slow/m'), when: ['slow'] }, answering('last/m')],
      retry: { attempts: 1 },
    })
    expect((await played(chain)).outcome).toMatchObject({ status: 'completed', output: 'last/m' })
    const bad = failure('model.bad-request', 'a schema it does not take', 'validation', { details: { status: 400 } })
    const wrong = agent({ name: 'a', model: [failing('first/m', bad), answering('last/m')] })
    expect((await played(wrong)).outcome).toMatchObject({ status: 'failed', failure: { code: 'model.bad-request' } })
  })

  test('a turn that several models were asked for is one turn; the one that answered is asked first the next time', async () => {
    let turn = 0
    const working: Model = {
      ...answering('second/m'),
      call: () =>
        Promise.resolve({
          text: '',
          calls: turn++ === 0 ? [{ id: 'c', name: 'unknown', input: {} }] : [],
          ...(turn > 1 && { text: 'done' }),
          finish: 'stop',
          model: 'second/m',
          usage: { input: 1, output: 1 },
        }),
    }
    const chain = agent({
      name: 'a',
      model: [failing('first/m', down), working],
      retry: { attempts: 1 },
      limits: { turns: 2 },
    })
    const { outcome, events } = await played(chain)
    expect(outcome).toMatchObject({ status: 'completed', output: 'done' })
    expect(of(events, 'model.requested').map(({ model }) => model)).toEqual(['first/m', 'second/m', 'second/m'])
  })

  test('one that asks for a long wait is not waited for where another one stands behind it', async () => {
    await serving('mine', (response, { model }) =>
      model === 'm1' ? refuses(response, 429, 'no', { 'retry-after': '3600' }) : says(response, 'from the next'),
    )
    const { outcome } = await played(agent({ name: 'a', model: ['mine/m1', 'mine/m2'] }))
    expect(outcome).toMatchObject({ status: 'completed', output: 'from the next' })
  })

  test('a limit in dollars needs the price of each; what is wrong with a chain is said at definition', async () => {
    const unpriced: Model = { id: 'free/m', call: (request) => answering('x/y').call(request) }
    const one = agent({ name: 'a', model: [answering('first/m'), unpriced], limits: { usd: 1 } })
    await expect(createRuntime({ agents: [one] })).rejects.toThrow(/"free\/m"/)
    for (const model of [
      [],
      [['mine/m-8']],
      ['ollama/m', { model: 'ollama/n', when: ['often'] }],
      [{ model: 'ollama/m', when: ['slow'] }, 'ollama/n'],
      ['nobody/m'],
    ])
      expect(() => agent({ name: 'a', model: model as never })).toThrow(/chain|list|model|when|provider/)
  })
})
