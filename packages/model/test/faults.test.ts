/**
 * Wires × faults over real HTTP: what each fault is called, that nothing is returned for an answer that was cut off,
 * that nobody retries.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorCodes, type Failure } from '@reeve/core'
import { resolveModel } from '../src/index.ts'
import { fakeKey, inPieces, startFakeLlm, wires, type FakeLlm, type FakeProxy, type Wire } from './fake-llm.ts'
import { asking, failureOf, sink } from './requests.ts'

let llm: FakeLlm
let cleanCut: FakeProxy
let resetCut: FakeProxy
let dead: FakeProxy
let garbled: FakeProxy
beforeAll(async () => {
  llm = await startFakeLlm()
  cleanCut = await llm.cutProxy()
  resetCut = await llm.cutProxy({ end: 'reset' })
  dead = await llm.proxy(() => ({ end: 'nothing' }))
  garbled = await llm.proxy(({ body }) => ({ body: garble(body) }))
})
beforeEach(() => llm.reset())
afterAll(() => llm.close())

const long = 'The quick brown fox jumps over the lazy dog. '.repeat(10)
const text = inPieces(long, 20)
const calls = [{ name: 'delegate', input: { worker: 'researcher', instructions: long }, pieces: 20 }]

/** All but the first event of a stream, and all of an answer that is none, is not JSON any more. */
const garble = (body: string): string => {
  const first = body.indexOf('\n\n') + 1
  return body.slice(0, first) + body.slice(first, body.length / 2).replaceAll('{', '<')
}

type Expected = Pick<Failure, 'code' | 'class' | 'retryable'> & Partial<Failure>

interface Fault {
  readonly name: string
  readonly arrange: () => void
  readonly expected: Expected
  /** Through which server; default the fake server itself. */
  readonly through?: () => FakeProxy
  /** Only when streaming: the fake server's fault exists only there. */
  readonly streamOnly?: boolean
}

const unavailable: Expected = { code: 'model.unavailable', class: 'transport', retryable: true }
const cut: Expected = { code: 'model.cut-off', class: 'transport', retryable: true }
const refused: Expected = { code: 'model.not-authorized', class: 'policy', retryable: false }

const faults: readonly Fault[] = [
  {
    name: '429 with Retry-After',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'rate-limit', retryAfter: 7, waitIn: 'header' }),
    expected: { code: 'model.rate-limited', class: 'rate-limit', retryable: true, retryAfterMs: 7_000 },
  },
  {
    name: 'no credit, as the vendor says it',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'no-credit' }),
    expected: { code: 'model.rate-limited', class: 'policy', retryable: false },
  },
  { name: '500', arrange: () => llm.on({ userMessage: 'go' }, { failure: 'unavailable' }), expected: unavailable },
  {
    name: '503',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'overloaded', status: 503 }),
    expected: unavailable,
  },
  {
    name: '529',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'overloaded', status: 529 }),
    expected: unavailable,
  },
  {
    name: '408',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'unavailable', status: 408 }),
    expected: unavailable,
  },
  {
    name: '409',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'unavailable', status: 409 }),
    expected: unavailable,
  },
  {
    name: 'a wrong key, as the vendor says it',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'unauthorized' }),
    expected: refused,
  },
  {
    name: '401',
    arrange: () =>
      llm.on({ userMessage: 'go' }, { failure: 'unauthorized', status: 401, message: `wrong key ${fakeKey}` }),
    expected: refused,
  },
  {
    name: '403',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'unauthorized', status: 403 }),
    expected: refused,
  },
  {
    name: '400',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'bad-request' }),
    expected: { code: 'model.bad-request', class: 'validation', retryable: false },
  },
  {
    name: '400 because the context is full',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'context-full' }),
    expected: { code: 'model.context-full', class: 'validation', retryable: false },
  },
  {
    name: '422',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'bad-request', status: 422 }),
    expected: { code: 'model.bad-request', class: 'validation', retryable: false },
  },
  {
    name: '404',
    arrange: () => llm.on({ userMessage: 'go' }, { failure: 'unknown-model' }),
    expected: { code: 'model.unknown', class: 'validation', retryable: false },
  },
  {
    name: 'reset before the answer',
    arrange: () => llm.on({ userMessage: 'go' }, { text }),
    through: () => dead,
    expected: unavailable,
  },
  {
    name: 'reset in the middle of a text',
    arrange: () => llm.on({ userMessage: 'go' }, { text }),
    through: () => resetCut,
    expected: cut,
  },
  {
    name: 'reset in the middle of a call',
    arrange: () => llm.on({ userMessage: 'go' }, { calls }),
    through: () => resetCut,
    expected: cut,
  },
  {
    name: 'reset by the server itself',
    arrange: () => llm.on({ userMessage: 'go' }, { text, breaks: { with: 'reset', after: 6 } }),
    streamOnly: true,
    expected: cut,
  },
  {
    name: 'clean end in the middle of a text',
    arrange: () => llm.on({ userMessage: 'go' }, { text }),
    through: () => cleanCut,
    expected: cut,
  },
  {
    name: 'clean end in the middle of a call',
    arrange: () => llm.on({ userMessage: 'go' }, { calls }),
    through: () => cleanCut,
    expected: cut,
  },
  {
    name: 'malformed events',
    arrange: () => llm.on({ userMessage: 'go' }, { text }),
    through: () => garbled,
    expected: cut,
  },
]

const cases = wires.flatMap((wire) =>
  faults.flatMap((fault) =>
    [true, false].filter((s) => s || fault.streamOnly !== true).map((streaming) => ({ wire, fault, streaming })),
  ),
)

describe.each(cases)('$wire.name, streaming $streaming: $fault.name', ({ wire, fault, streaming }) => {
  test(`is ${fault.expected.code} (${fault.expected.class}), after one request, with nothing returned`, async () => {
    fault.arrange()
    const { parts, emit } = sink()
    const options = fault.through?.().options ?? llm.options
    const failed = await failureOf(resolveModel(wire.model, options), asking('go', streaming ? { emit } : {}))
    expect(failed).toMatchObject(fault.expected)
    expect(errorCodes).toContain(failed.code)
    expect(failed.message).toContain(wire.model)
    expect(llm.requests()).toHaveLength(1)
    expect(JSON.stringify(failed)).not.toContain(fakeKey)
    expect(JSON.parse(JSON.stringify(failed))).toEqual(failed)
    // half of the answer may have been shown by then, and that is all that becomes of it
    const mayShow = streaming && fault.expected.code === 'model.cut-off'
    expect(parts.length === 0 || mayShow).toBe(true)
  })
})

describe.each(wires)('$name', (wire) => {
  test('a stream that ends after any event never gives half an answer', async () => {
    llm.on({ userMessage: 'go' }, { text: inPieces('Asking the researcher, who knows best.', 10), calls })
    const whole = await bodyOf(wire)
    const ends = [...whole.matchAll(/\n\n/g)].map((match) => match.index + 2)
    const outcomes: unknown[] = []
    for (const end of ends) {
      const proxy = await llm.proxy(() => ({ body: whole.slice(0, end) }))
      const asked = resolveModel(wire.model, proxy.options).call(asking('go', { emit: sink().emit }))
      outcomes.push(await asked.catch((error: { failure: Failure }) => error.failure))
      await proxy.close()
    }
    const complete = {
      text: 'Asking the researcher, who knows best.',
      calls: [{ name: 'delegate', input: { worker: 'researcher', instructions: long } }],
    }
    const firstComplete = outcomes.findIndex(
      (outcome) => typeof outcome === 'object' && outcome !== null && 'finish' in outcome,
    )
    for (const outcome of outcomes.slice(0, firstComplete)) expect(outcome).toMatchObject(cut)
    for (const outcome of outcomes.slice(firstComplete)) expect(outcome).toMatchObject(complete)
    expect(firstComplete).toBeGreaterThanOrEqual(outcomes.length - 3) // the event that finishes, and what is sent after it
    expect(firstComplete).toBeGreaterThan(2)
  })

  test('an error inside a stream is classed by its type', async () => {
    llm.on({ userMessage: 'go' }, { text, breaks: { with: 'error', after: 5 } })
    const failed = await failureOf(resolveModel(wire.model, llm.options), asking('go', { emit: sink().emit }))
    expect(failed).toMatchObject({ class: 'transport', retryable: true })
    expect(failed.message).toMatch(/overloaded|engine/i)
  })

  test('a Retry-After that is a date, and one in milliseconds', async () => {
    llm.on({ userMessage: 'go' }, { failure: 'rate-limit' })
    const now = Date.now()
    const dated = await llm.proxy(() => ({
      headers: { 'retry-after': new Date(now + 90_000).toUTCString(), date: new Date(now).toUTCString() },
    }))
    const exact = await llm.proxy(() => ({ headers: { 'retry-after-ms': '1250', 'retry-after': '2' } }))
    expect((await failureOf(resolveModel(wire.model, dated.options), asking('go'))).retryAfterMs).toBe(90_000)
    expect((await failureOf(resolveModel(wire.model, exact.options), asking('go'))).retryAfterMs).toBe(1_250)
  })

  test('no listener at the address', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await new Promise((resolve) => server.close(resolve))
    const provider = wire.model.slice(0, wire.model.indexOf('/'))
    const failed = await failureOf(
      resolveModel(wire.model, { ...llm.options, baseURLs: { [provider]: url } }),
      asking('go'),
    )
    expect(failed).toMatchObject(unavailable)
  })
})

/** The whole stream that a wire is answered with. */
async function bodyOf(wire: Wire): Promise<string> {
  let whole = ''
  const proxy = await llm.proxy((answer) => {
    whole = answer.body
    return {}
  })
  await resolveModel(wire.model, proxy.options).call(asking('go', { emit: sink().emit }))
  return whole.replaceAll('\r\n', '\n')
}
