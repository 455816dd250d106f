/**
 * Protocols on PostgreSQL, in three processes: a run is started through one server, streamed from another, and its
 * approval is decided through a third. What a client gets of a run that an operator pauses or takes over.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '@reeve/core'
import type { Run } from '@reeve/runtime'
import { threePlaces, token, type ThreePlaces } from './protocol-places.ts'

let three: ThreePlaces
beforeAll(async () => {
  three = await threePlaces()
}, 120_000)
afterAll(() => three.close())

const text = (events: readonly JsonObject[]): string =>
  events.map(({ delta }) => (typeof delta === 'string' ? delta : '')).join('')
const last = (events: readonly JsonObject[]): JsonObject => events.at(-1)!
const message = (id: string, said: string) => ({ id, role: 'user', parts: [{ type: 'text', text: said }] })
const post = (id: string, agent: string, said = 'Pay.') => ({ id, agent, messages: [message(`${id}-m`, said)] })

/** Who starts, who streams, who decides: places by number. The first one drives. */
const orders = [
  [0, 1, 2],
  [1, 2, 0],
  [2, 0, 1],
] as const

describe.each(orders)('started at %i, streamed from %i, decided at %i', (a, b, c) => {
  test('useChat', async () => {
    const chat = `chat-${a}`
    const { places, runtime } = three
    const [starts, streams, decides] = [places[a], places[b], places[c]]
    const first = await starts.all('/chat', post(chat, 'bank'))
    expect(text(first)).toBe('I ask the clerk.')
    expect(last(first)).toMatchObject({ type: 'finish', finishReason: 'tool-calls' })
    const shown = await streams.all(`/chat/${chat}/stream`)
    expect(text(shown)).toBe('I ask the clerk.')
    const request = shown.find(({ type }) => type === 'tool-approval-request')!
    const { messageId, messageMetadata } = shown[0]!
    const answer = {
      id: chat,
      messages: [
        {
          id: messageId,
          role: 'assistant',
          metadata: last(shown)['messageMetadata'] ?? messageMetadata,
          parts: [
            {
              type: 'dynamic-tool',
              state: 'approval-responded',
              approval: { id: request['approvalId'], approved: true },
            },
          ],
        },
      ],
    }
    const rest = await decides.all('/chat', answer)
    expect(text(rest)).toBe('All is paid.')
    expect(last(rest)).toMatchObject({ type: 'finish', finishReason: 'stop' })
    const { messages } = await streams.json(`/chat/${chat}`)
    expect(JSON.stringify(messages)).toContain('All is paid.')
    const [run] = await runtime.runs({ session: chat })
    expect(run).toMatchObject({ run: messageId, status: 'completed', caller: { user: 'ann' } })
  })

  test('OpenAI', async () => {
    const { places } = three
    const [starts, streams, decides] = [places[a], places[b], places[c]]
    const { id } = await starts.json('/v1/responses', { model: 'bank', input: 'Pay.', background: true })
    const shown = await streams.all(`/v1/responses/${id as string}?stream=true`)
    expect(text(shown)).toBe('I ask the clerk.')
    const { response } = last(shown) as { readonly response: { readonly output: readonly JsonObject[] } }
    const request = response.output.find(({ type }) => type === 'mcp_approval_request')!
    expect(request).toMatchObject({ name: 'pay', arguments: '{"to":"ann"}' })
    const decided = await decides.json('/v1/responses', {
      model: 'bank',
      previous_response_id: id,
      input: [{ type: 'mcp_approval_response', approval_request_id: request['id'], approve: true }],
    })
    expect(decided).toMatchObject({ id, status: 'completed' })
    expect(JSON.stringify(decided['output'])).toContain('All is paid.')
    expect(await streams.json(`/v1/responses/${id as string}`)).toMatchObject({ id, status: 'completed' })
    const chat = await starts.json('/v1/chat/completions', {
      model: 'bank',
      messages: [{ role: 'user', content: 'Pay.' }],
    })
    expect(chat).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      reeve: { status: 'waiting', waiting: [{ tool: 'pay' }] },
    })
  })

  test('AG-UI', async () => {
    const { places } = three
    const [starts, streams, decides] = [places[a], places[b], places[c]]
    const none = { tools: [], context: [], state: {} }
    const threadId = `thread-${a}`
    const input = { ...none, threadId, runId: 'r1', messages: [{ id: 'm', role: 'user', content: 'Pay.' }] }
    const started = starts.all('/ag-ui/bank', input)
    const shown = await streams.all('/ag-ui/bank', input)
    for (const events of [await started, shown]) {
      expect(text(events)).toContain('I ask the clerk.')
      expect(last(events)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'interrupt' } })
    }
    const { interrupts } = last(shown)['outcome'] as unknown as { readonly interrupts: readonly JsonObject[] }
    expect(interrupts).toMatchObject([{ reason: 'tool_approval', metadata: { reeve: { tool: 'pay' } } }])
    const resume = [{ interruptId: interrupts[0]!['id'], status: 'resolved', payload: { approved: true } }]
    const resumed = { ...none, threadId, runId: 'r2', messages: [], resume }
    const rest = await decides.all('/ag-ui/bank', resumed)
    expect(last(rest)).toMatchObject({ type: 'RUN_FINISHED', result: 'All is paid.', outcome: { type: 'success' } })
    expect(last(await streams.all('/ag-ui/bank', resumed))).toEqual(last(rest))
  })

  test('A2A', async () => {
    const { places } = three
    const [starts, streams, decides] = [places[a], places[b], places[c]]
    const version = { 'A2A-Version': '1.0' }
    const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
    const say = (messageId: string, parts: readonly object[], more: object = {}) => ({
      message: { messageId, role: 'ROLE_USER', parts, ...more },
    })
    const sent = call('SendMessage', {
      ...say(`m1-${a}`, [{ text: 'Pay.' }]),
      configuration: { returnImmediately: true },
    })
    const { result } = (await starts.json('/a2a/bank', sent, version)) as {
      readonly result: { readonly task: JsonObject }
    }
    const taskId = result.task['id'] as string
    const following = streams.all('/a2a/bank', call('SubscribeToTask', { id: taskId }), version)
    const stateAt = async (place: typeof starts): Promise<unknown> => {
      const { result: task } = await place.json('/a2a/bank', call('GetTask', { id: taskId }), version)
      return (task as { readonly status: JsonObject }).status['state']
    }
    await expect.poll(() => stateAt(decides), { timeout: 20_000 }).toBe('TASK_STATE_INPUT_REQUIRED')
    const approved = call('SendMessage', say(`m2-${a}`, [{ text: 'approve' }], { taskId }))
    expect(JSON.stringify(await decides.json('/a2a/bank', approved, version))).toContain('TASK_STATE_COMPLETED')
    await expect.poll(() => stateAt(streams), { timeout: 20_000 }).toBe('TASK_STATE_COMPLETED')
    // it may have begun before the run asked, and ends there, or after, and ends with the run
    expect(JSON.stringify(last(await following))).toMatch(/TASK_STATE_(INPUT_REQUIRED|COMPLETED)/)
  })

  test('MCP', async () => {
    const { places } = three
    const clients = await Promise.all(
      [a, b, c].map(async (at) => {
        const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
        const requestInit = { headers: { Authorization: `Bearer ${token}` } }
        await client.connect(new StreamableHTTPClientTransport(new URL(`${places[at].url}/mcp`), { requestInit }))
        return async (name: string, given: JsonObject): Promise<JsonObject> =>
          (await client.callTool({ name, arguments: given })).structuredContent as JsonObject
      }),
    )
    const [starts, looks, decides] = clients as [(typeof clients)[0], (typeof clients)[0], (typeof clients)[0]]
    const started = await starts('start_run', { agent: 'bank', input: 'Pay.', wait_seconds: 0 })
    const run = started['run']!
    await expect.poll(() => looks('run_status', { run }), { timeout: 20_000 }).toMatchObject({ status: 'waiting' })
    const { questions } = (await decides('list_questions', { run })) as { readonly questions?: readonly JsonObject[] }
    expect(await decides('decide', { approval: questions![0]!['id']!, decision: 'approve' })).toMatchObject({
      by: 'ann',
    })
    expect(await looks('run_result', { run, wait_seconds: 30 })).toMatchObject({
      status: 'completed',
      outcome: { output: 'All is paid.' },
    })
  })
})

describe.each(['pause', 'take over'] as const)('%s', (what) => {
  const status = what === 'pause' ? 'paused' : 'human_control'

  test('ends the stream of a chat, and a waiting answer, in the words of their protocol; then they go on', async () => {
    const { places, runtime, letGo } = three
    const [starts, streams, decides] = places
    const named = (of: string): string => `${status}-${of}`
    const chat = starts.all('/chat', post(named('chat'), 'slow', named('chat')))
    const beside = starts.all('/v1/responses', { model: 'slow', input: named('response'), stream: true })
    const whole = streams.json('/v1/chat/completions', {
      model: 'slow',
      messages: [{ role: 'user', content: named('whole') }],
    })
    const begun = async (): Promise<readonly Run[]> => {
      const runs = (await runtime.runs({ status: ['running'], agent: 'slow' })).map(({ run }) => runtime.handle(run))
      const journals = await Promise.all(runs.map((run) => run.journal()))
      return runs.filter((_run, i) => journals[i]!.some(({ event }) => event.type === 'model.requested'))
    }
    await expect.poll(async () => (await begun()).length, { timeout: 20_000 }).toBe(3)
    const runs = await begun()
    for (const { control } of runs)
      await (what === 'pause' ? control.pause({ by: 'olga' }) : control.takeOver({ by: 'olga', reason: 'I look.' }))
    // a command is durable when it resolves; the process that drives the run has yet to read it
    const isRead = async (run: Run): Promise<boolean> =>
      (await run.journal()).some(({ event }) => event.type === 'run.pausing')
    for (const run of runs) await expect.poll(() => isRead(run)).toBe(true)
    for (const of of ['chat', 'response', 'whole']) letGo(named(of))
    // useChat: the message is finished, and its metadata says why
    const shown = await chat
    expect(text(shown)).toBe('I begin. ')
    expect(last(shown)).toMatchObject({ type: 'finish', finishReason: 'other', messageMetadata: { status } })
    // a response is incomplete
    expect(last(await beside)).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: status } },
    })
    // a completion is not finished as `stop`
    expect(await whole).toMatchObject({
      choices: [{ finish_reason: 'length', message: { content: expect.stringContaining('Not finished') as string } }],
      reeve: { status },
    })
    // a stream that begins while it rests says the same
    const stream = `/chat/${named('chat')}/stream`
    expect(last(await streams.all(stream))).toMatchObject({ messageMetadata: { status } })
    for (const { control } of runs) await (what === 'pause' ? control.resume('olga') : control.handBack({ by: 'olga' }))
    // until the process that drives the run has read that it goes on, a stream ends as before
    const said = async (): Promise<string> =>
      text(await decides.all(stream)) + JSON.stringify(await decides.json(`/chat/${named('chat')}`))
    await expect.poll(said, { timeout: 20_000 }).toContain('It is done.')
    for (const run of runs) expect(await run.outcome()).toMatchObject({ status: 'completed', output: 'It is done.' })
  })
})
