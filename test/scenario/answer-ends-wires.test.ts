/** Stop reason × wire × what Reeve does, over real HTTP with the provider packages. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { resolveModel } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { delegates, runtimeOf, scripted, told } from './team.ts'

interface Answer {
  readonly text?: string
  /** The provider's word. Default: that of an answer that ended. */
  readonly stop?: string
  readonly refusal?: string
  readonly blocked?: string
}

let script: Answer[] = []
let asked: { [member: string]: unknown }[] = []
let write: (answer: Answer) => string = () => ''
let server: Server
let url = ''
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      asked.push(JSON.parse(body) as { [member: string]: unknown })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(write(script[Math.min(asked.length, script.length) - 1]!))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

const sse = (list: readonly object[]): string =>
  list
    .map((each) => `${'type' in each ? `event: ${String(each.type)}\n` : ''}data: ${JSON.stringify(each)}\n\n`)
    .join('')

function chat({ text, stop = 'stop', refusal }: Answer): string {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const said = [...(text === undefined ? [] : [{ content: text }]), ...(refusal === undefined ? [] : [{ refusal }])]
  const usage = { ...chunk({}), choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } }
  return `${sse([chunk({ role: 'assistant', content: '' }), ...said.map((each) => chunk(each)), chunk({}, stop), usage])}data: [DONE]\n\n`
}

const claude = ({ text, stop = 'end_turn' }: Answer): string =>
  sse([
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'c',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 1 },
      },
    },
    ...(text === undefined
      ? []
      : [
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
          { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
          { type: 'content_block_stop', index: 0 },
        ]),
    { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ])

const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }
const gemini = ({ text, stop = 'STOP', blocked }: Answer): string =>
  `data: ${JSON.stringify(
    blocked === undefined
      ? {
          candidates: [
            { content: { role: 'model', parts: text === undefined ? [] : [{ text }] }, finishReason: stop, index: 0 },
          ],
          usageMetadata,
        }
      : { promptFeedback: { blockReason: blocked }, usageMetadata },
  )}\n\n`

function responses({ text, stop }: Answer): string {
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
  const item = { type: 'message', id: 'msg' }
  return sse([
    { type: 'response.created', response: { id: 'r', created_at: 1, model: 'gpt', service_tier: null } },
    ...(text === undefined
      ? []
      : [
          { type: 'response.output_item.added', output_index: 0, item },
          { type: 'response.output_text.delta', item_id: 'msg', output_index: 0, content_index: 0, delta: text },
          {
            type: 'response.output_item.done',
            output_index: 0,
            item: { ...item, role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] },
          },
        ]),
    stop === undefined
      ? { type: 'response.completed', response: { incomplete_details: null, usage } }
      : { type: 'response.incomplete', response: { incomplete_details: { reason: stop }, usage } },
  ])
}

const wires = {
  'openai chat': { model: 'openai-chat/gpt-5', write: chat },
  'openai responses': { model: 'openai/gpt-5', write: responses },
  anthropic: { model: 'anthropic/claude-sonnet-5', write: claude },
  google: { model: 'google/gemini-3.5-flash', write: gemini },
  openrouter: { model: 'openrouter/some/model', write: chat },
  'a server of one’s own': { model: 'vllm/m', write: chat },
} as const
type WireName = keyof typeof wires

async function play(wire: WireName, ...answers: Answer[]) {
  script = answers
  asked = []
  write = wires[wire].write
  const provider = wires[wire].model.split('/')[0]!
  const names = [provider, ...(provider === 'openai-chat' ? ['openai'] : [])]
  const all = (value: string) => Object.fromEntries(names.map((name) => [name, value]))
  const model = resolveModel(wires[wire].model, { baseURLs: all(url), apiKeys: all('a key of this test') })
  const worker = agent({ name: 'w', description: 'Works.', model, retry: { attempts: 2, backoffMs: 1 } })
  const lead = scripted(delegates(['w', 'x']), 'ok')
  const boss = supervisor({ name: 'boss', model: lead, workers: [worker] })
  const { usage } = await (await runtimeOf([boss])).run(boss, 'go')
  return {
    told: told(lead.prompts[1])[0],
    requests: asked.length,
    calls: usage.find((row) => row.agent === 'w')?.calls,
  }
}

const every = Object.keys(wires) as WireName[]
const lengthOf = (wire: WireName): string =>
  (
    ({ anthropic: 'max_tokens', google: 'MAX_TOKENS', 'openai responses': 'max_output_tokens' }) as {
      [w: string]: string
    }
  )[wire] ?? 'length'

describe.each(every)('%s', (wire) => {
  test('a text that was cut off is continued, and is one answer', async () => {
    const end = await play(wire, { text: 'Half of ', stop: lengthOf(wire) }, { text: 'it.' })
    expect(end).toEqual({ told: 'Half of it.', requests: 2, calls: 2 })
  })
  test('a cut answer without a word is told as cut off', async () => {
    const end = await play(wire, { stop: lengthOf(wire) })
    expect(end).toMatchObject({ told: expect.stringMatching(/cut off at its output limit\]$/), requests: 1, calls: 1 })
  })
  test('an answer without a word is asked for again', async () => {
    expect(await play(wire, {}, { text: 'Now.' })).toMatchObject({ told: 'Now.', requests: 2 })
  })
})

describe('ends that only some have', () => {
  test.each<[WireName, Answer, RegExp]>([
    ['anthropic', { text: 'No.', stop: 'refusal' }, /it declined to answer\]\nIts answer so far:\nNo\.$/],
    ['anthropic', { text: 'A', stop: 'model_context_window_exceeded' }, /too long for it\]/],
    ['openai chat', { refusal: 'No.' }, /it declined to answer\]\nIts answer so far:\nNo\.$/],
    ['openai chat', { text: 'A', stop: 'content_filter' }, /a content filter stopped the answer\]/],
    ['openai responses', { text: 'A', stop: 'content_filter' }, /a content filter stopped the answer\]/],
    ['google', { text: 'A', stop: 'SAFETY' }, /a content filter stopped the answer\]/],
    ['google', { text: 'A', stop: 'RECITATION' }, /a content filter stopped the answer\]/],
    ['google', { blocked: 'PROHIBITED_CONTENT' }, /a content filter blocked what it was to read\]/],
    ['openrouter', { text: 'A', stop: 'content_filter' }, /a content filter stopped the answer\]/],
  ])('%s: %j', async (wire, answer, expected) => {
    const end = await play(wire, answer)
    expect(end).toMatchObject({ told: expect.stringMatching(expected), requests: 1, calls: 1 })
  })
  test.each<[WireName, Answer]>([
    ['openrouter', { text: 'A', stop: 'error' }],
    ['a server of one’s own', { stop: 'tool_calls' }],
    ['google', { stop: 'MALFORMED_FUNCTION_CALL' }],
  ])('%s: %j is asked for again by the step', async (wire, answer) => {
    expect(await play(wire, answer, { text: 'Now.' })).toMatchObject({ told: 'Now.', requests: 2 })
  })
  test('anthropic: a pause is sent back as it is, behind which a user speaks where a model takes no prefill', async () => {
    const end = await play('anthropic', { text: 'Looking.', stop: 'pause_turn' }, { text: ' Found.' })
    expect(end).toEqual({ told: 'Looking. Found.', requests: 2, calls: 2 })
    expect((asked[1]!['messages'] as unknown[]).slice(-2)).toMatchObject([
      { role: 'assistant', content: [{ text: 'Looking.' }] },
      { role: 'user', content: [{ text: '[Go on where you stopped.]' }] },
    ])
  })
})
