/**
 * Tools that a provider runs, over the wires of the three providers that have them: how they are sent, what is recorded
 * of what they did, what is sent again, and what they cost.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { asText } from '@reeve/core'
import {
  answerMessage,
  joinedAnswer,
  modelCallContent,
  providerToolProblems,
  resolveModel,
  type Message,
  type ModelAnswer,
  type ToolSpec,
} from '../src/index.ts'
import { feesOf, keptInputOf, sourceOf, summaryOf } from '../src/provider-tools.ts'
import { startFakeLlm, wires, type FakeLlm } from './fake-llm.ts'
import { asking, delegate, failureOf, saying, sink } from './requests.ts'

let llm: FakeLlm
beforeAll(async () => {
  llm = await startFakeLlm()
})
beforeEach(() => llm.reset())
afterAll(() => llm.close())

const search: ToolSpec = {
  name: 'web_search',
  description: 'Runs at the provider of the model.',
  parameters: { type: 'object', properties: {} },
  provider: [
    { id: 'anthropic.web_search_20250305', args: { maxUses: 5 } },
    { id: 'openai.web_search', args: {} },
    { id: 'google.google_search', args: {} },
  ],
}

const pages = [
  { url: 'https://example.com/rain', title: 'Rain' },
  { url: 'https://example.org/sun', title: 'Sun' },
]
const found = {
  parts: [
    { type: 'ran', query: 'weather', found: pages },
    { type: 'text', text: 'It rains.' },
  ],
  usage: { input: 1_000_000, output: 0 },
} as const

/** As it stands in a journal. */
const journaled = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

const sentForms: Readonly<Record<string, string>> = {
  anthropic: '{"type":"web_search_20250305","name":"web_search","max_uses":5}',
  'openai responses': '{"type":"web_search"}',
  google: '{"googleSearch":{}}',
}
/** By what it is known again; Google wants nothing of its searches back. */
const sentAgain: Readonly<Record<string, string>> = {
  anthropic: 'encrypted:https://example.com/rain',
  'openai responses': 'web_search_call',
  google: 'It rains.',
}
const running = wires.filter(({ name }) => name in sentForms)

describe.each(running)('$name', (wire) => {
  test.each([true, false])('a search is sent in its form, told and priced, streaming %s', async (streaming) => {
    llm.on({ userMessage: 'weather' }, found)
    const { parts, emit } = sink()
    const price = { usdPerMillionTokens: { input: 1, output: 1 } }
    const more = { tools: [search], price, ...(streaming && { emit }) }
    const answer = await resolveModel(wire.model, llm.options).call(asking('weather', more))
    expect(llm.requests()[0]?.body).toContain(sentForms[wire.name])
    expect(answer).toMatchObject({ text: 'It rains.', calls: [], finish: 'stop' })
    expect(answer.ran).toMatchObject([{ tool: wire.name === 'google' ? 'google_search' : 'web_search' }])
    expect(JSON.stringify(answer.ran)).toContain('weather')
    expect(answer.sources?.map(({ url }) => url)).toEqual(pages.map(({ url }) => url))
    // Google's search has no price by the call
    expect(answer.usage?.usd).toBe(wire.name === 'google' ? undefined : 1.01)
    // nobody waits for the result of a call that the provider runs
    expect(parts.filter(({ type }) => type.startsWith('tool-input'))).toEqual([])
    expect(journaled(answer)).toEqual(answer)
  })

  test('what was found goes back to the model that found it, and as words and sources to another', async () => {
    llm.on({ userMessage: 'weather' }, found)
    llm.on({}, 'And later?')
    const first = journaled(await resolveModel(wire.model, llm.options).call(asking('weather', { tools: [search] })))
    const history: Message[] = [
      { role: 'user', content: 'weather' },
      answerMessage(first),
      { role: 'user', content: 'tomorrow' },
    ]
    await resolveModel(wire.model, llm.options).call(saying(history, { tools: [search] }))
    const again = llm.requests().at(-1)?.body
    expect(again).toContain(sentAgain[wire.name])
    expect(again).not.toContain('[Sources:')
    await resolveModel('openai-chat/gpt-4.1', llm.options).call(saying(history, { tools: [delegate] }))
    const other = llm.requests().at(-1)?.body
    expect(other).toContain('It rains.')
    expect(other).toContain('[Sources: ')
    expect(other).toContain('https://example.com/rain')
    expect(other).not.toContain('encrypted:')
  })

  test('a tool that its provider does not run is refused before anything is sent', async () => {
    const other: ToolSpec = { ...search, provider: [{ id: 'xai.live_search', args: {} }] }
    const failed = await failureOf(resolveModel(wire.model, llm.options), asking('weather', { tools: [other] }))
    expect(failed).toMatchObject({ code: 'model.unsupported', class: 'validation' })
    expect(failed.message).toContain('xai.live_search')
    expect(llm.requests()).toEqual([])
  })

  test('a tool that its provider does not know is refused: the model is not left to answer without it', async () => {
    const [prefix] = search.provider!.find(({ id }) => wire.model.startsWith(id.split('.')[0]!))!.id.split('.')
    const unknown: ToolSpec = { ...search, provider: [{ id: `${prefix}.crystal_ball`, args: {} }] }
    const failed = await failureOf(resolveModel(wire.model, llm.options), asking('weather', { tools: [unknown] }))
    expect(failed.code).toBe('model.unsupported')
    expect(failed.message).toContain('crystal_ball')
    expect(llm.requests()).toEqual([])
  })
})

test.each(wires.filter(({ name }) => !(name in sentForms)))('$name has no tools of its provider', async (wire) => {
  const failed = await failureOf(resolveModel(wire.model, llm.options), asking('weather', { tools: [search] }))
  expect(failed.code).toBe('model.unsupported')
})

test('a search that fails is told as such, and the answer stands', async () => {
  llm.on(
    { userMessage: 'weather' },
    {
      parts: [
        { type: 'ran', query: 'weather', error: 'max_uses_exceeded' },
        { type: 'text', text: 'I cannot say.' },
      ],
    },
  )
  const answer = await resolveModel('anthropic/claude-sonnet-5', llm.options).call(
    asking('weather', { tools: [search], emit: sink().emit }),
  )
  expect(answer).toMatchObject({
    text: 'I cannot say.',
    finish: 'stop',
    ran: [{ tool: 'web_search', input: { query: 'weather' }, isError: true, summary: 'max_uses_exceeded' }],
  })
  expect(answer.sources).toBeUndefined()
})

test('a search that pauses goes on, and the parts are one answer', async () => {
  llm.on({ userMessage: 'weather' }, { parts: [{ type: 'ran', query: 'weather', open: true }], finish: 'pause_turn' })
  const model = resolveModel('anthropic/claude-sonnet-5', llm.options)
  const paused = await model.call(asking('weather', { tools: [search] }))
  expect(paused).toMatchObject({ finish: 'paused', ran: [{ tool: 'web_search' }] })
  const rest: ModelAnswer = {
    text: 'It rains.',
    calls: [],
    finish: 'stop',
    model: paused.model,
    ran: [{ tool: 'web_search', input: { query: 'more' } }],
    sources: [{ url: 'https://example.com/rain' }],
  }
  const whole = joinedAnswer([{ ...paused, sources: [{ url: 'https://example.com/rain' }] }], rest)
  expect(whole.ran).toMatchObject([{ input: { query: 'weather' } }, { input: { query: 'more' } }])
  expect(whole.sources).toEqual([{ url: 'https://example.com/rain' }])
})

test('a tool that the package of the provider leaves out ends the call', async () => {
  llm.on({}, 'From memory.')
  const file: ToolSpec = { ...search, provider: [{ id: 'google.file_search', args: { fileSearchStoreNames: ['a'] } }] }
  const model = resolveModel('google/gemini-2.0-flash', llm.options)
  const failed = await failureOf(model, asking('weather', { tools: [file] }))
  expect(failed.code).toBe('model.unsupported')
  expect(failed.message).toContain('google.file_search')
})

test('before Gemini 3 a tool of Google’s stands alone', () => {
  const old = resolveModel('google/gemini-2.5-flash')
  expect(providerToolProblems([search], [old])).toEqual([])
  expect(providerToolProblems([search, delegate], [old])[0]).toContain('only without other tools')
  expect(providerToolProblems([search, delegate], [resolveModel('google/gemini-3.5-flash')])).toEqual([])
})

test('another tool of a provider is another request, another price is not', () => {
  const sha256 = (text: string): string => text
  const keyOf = (tool: ToolSpec): string => modelCallContent({ model: 'm', tools: [tool] }, '', sha256)
  const [first, ...rest] = search.provider!
  const priced = { ...search, provider: [{ ...first!, costUsd: 1 }, ...rest] }
  const other = { ...search, provider: [{ ...first!, args: { maxUses: 6 } }, ...rest] }
  expect(keyOf(priced)).toBe(keyOf(search))
  expect(keyOf(other)).not.toBe(keyOf(search))
})

test('the price of a call is its own, else the listed one, else unknown', () => {
  const at = (runs: string) => ({ providerTools: { runs: [runs] } })
  const ran = [{ tool: 'web_search' }, { tool: 'web_search' }]
  expect(feesOf(ran, [search], at('anthropic'))).toBe(0.02)
  expect(feesOf(ran, [search], at('google'))).toBeUndefined()
  expect(feesOf([], [search], at('google'))).toBe(0)
  const own = { ...search, provider: [{ id: 'google.google_search', args: {}, costUsd: 0.5 }] }
  expect(feesOf([{ tool: 'google_search' }], [own], at('google'))).toBe(0.5)
})

test('what a provider says is bounded and made visible, and only addresses of the web are sources', () => {
  expect(sourceOf({ url: 'javascript:alert(1)', title: 'x' })).toBeUndefined()
  expect(sourceOf({ url: 'https://me:secret@example.com/', title: 'a\u001bb' })).toEqual({
    url: 'https://example.com/',
    title: expect.not.stringContaining('\u001b') as string,
  })
  expect(sourceOf({ url: `https://example.com/${'x'.repeat(3_000)}` })).toBeUndefined()
  expect(sourceOf({ title: 'Report', filename: 'r.pdf' })).toEqual({ title: 'Report', filename: 'r.pdf' })
  expect(sourceOf({})).toBeUndefined()
  expect(asText(keptInputOf({ code: 'x'.repeat(5_000) })).length).toBeLessThanOrEqual(1_000)
  expect(summaryOf({ stdout: `${'x'.repeat(1_000)}\n` })!.length).toBeLessThanOrEqual(300)
  expect(summaryOf([1, 2])).toBe('2 results')
})
