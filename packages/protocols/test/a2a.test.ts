/** A2A: who may, what is refused over both bindings, how questions are answered. Its client: conformance/a2a.test.ts. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agent, supervisor, tool } from '@reeve/public'
import { a2a } from '../src/a2a/index.ts'
import type { JsonObject } from '@reeve/core'
import { asker, echo, payer, typed } from '../../runtime/test/hand.ts'
import { servingProtocols, streamed, type Ask } from './protocol-serving.ts'

const version = { 'A2A-Version': '1.0' }
const message = (id: string, parts: unknown, more: object = {}): object => ({
  message: { messageId: id, role: 'ROLE_USER', parts, ...more },
})
const say = (text: string): readonly object[] => [{ text }]
const rpc = (method: string, params: unknown, id: unknown = 7): object => ({ jsonrpc: '2.0', id, method, params })

/** Calls by JSON-RPC: the status, and the result or the error. */
const call =
  (ask: Ask, agentName: string) =>
  async (method: string, params: unknown, as?: string): Promise<readonly [number, JsonObject]> => {
    const response = await ask(`/a2a/${agentName}`, rpc(method, params), as, version)
    const { id, result, error } = (await response.json()) as JsonObject
    expect(id).toBe(7)
    return [response.status, (result ?? error) as JsonObject]
  }
const stateOf = (task: unknown): unknown => (task as { readonly status: { readonly state: unknown } }).status.state
const reasonOf = ({ data }: JsonObject): unknown => (data as readonly JsonObject[])[0]!['reason']

const publish = tool({
  name: 'publish',
  description: 'Publishes.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  sensitive: true,
  execute: ({ text }) => ({ published: text as string }),
})
const publisher = (name: string) =>
  agent({
    name,
    description: name,
    tools: [publish],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool' ? `${name} is done.` : { calls: [{ name: 'publish', input: { text: name } }] },
  })
const pair = supervisor({
  name: 'pair',
  description: 'Leads two.',
  workers: [publisher('one'), publisher('two')],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Both.'
      : { calls: ['one', 'two'].map((worker) => ({ name: 'delegate', input: { worker, instructions: 'Go.' } })) },
})

test('anyone may read the cards; they say where the agent answers, and nothing of its workers', async () => {
  const { ask, server } = await servingProtocols([pair, echo], [a2a({ agents: ['pair', echo], path: '/agents' })])
  const card = (await (await ask('/.well-known/agent-card.json', undefined, '')).json()) as JsonObject
  expect(card).toMatchObject({
    name: 'pair',
    supportedInterfaces: [
      { url: `${server.url}/agents/pair`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `${server.url}/agents/pair`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, pushNotifications: false },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  })
  expect(JSON.stringify(card)).not.toContain('one')
  const other = (await (await ask('/agents/echo/.well-known/agent-card.json', undefined, '')).json()) as JsonObject
  expect(other['name']).toBe('echo')
  expect(() => a2a({ agents: [], url: 'example.com' })).toThrow(/agents is empty[^]*url/)
})

test('each binding refuses in its own words, with the id of the request; nothing is started', async () => {
  const { ask, runtime } = await servingProtocols([echo], [a2a({ agents: [echo] })])
  const refused = async (...given: Parameters<Ask>): Promise<unknown[]> => {
    const [path, body, as, headers = version] = given
    const response = await ask(path, body, as, headers)
    const said = (await response.json()) as { id?: unknown; error: { code: unknown; status?: unknown } & JsonObject }
    const info = (said.error['data'] ?? said.error['details']) as readonly JsonObject[]
    return [response.status, said.id, said.error.code, said.error.status, info[0]!['reason']].filter(
      (each) => each !== undefined,
    )
  }
  const fine = rpc('SendMessage', message('m', say('x')))
  expect(await refused('/a2a/echo', fine, '')).toEqual([401, null, -32000, 'REQUEST_NOT_AUTHENTICATED'])
  expect(await refused('/a2a/echo', fine, 'vic')).toEqual([403, 7, -32000, 'REQUEST_FORBIDDEN'])
  expect(await refused('/a2a/echo', fine, 'ann', {})).toEqual([200, null, -32009, 'VERSION_NOT_SUPPORTED'])
  expect(await refused('/a2a/echo', '{')).toEqual([200, null, -32700, 'PARSE_ERROR'])
  expect(await refused('/a2a/echo', [fine])).toEqual([200, null, -32600, 'INVALID_REQUEST'])
  expect(await refused('/a2a/echo', rpc('message/send', {}))).toEqual([200, 7, -32601, 'METHOD_NOT_FOUND'])
  expect(await refused('/a2a/echo', rpc('constructor', {}))).toEqual([200, 7, -32601, 'METHOD_NOT_FOUND'])
  expect(await refused('/a2a/echo', rpc('SendMessage', message('m', [])))).toEqual([200, 7, -32602, 'INVALID_PARAMS'])
  expect(await refused('/a2a/echo', rpc('GetTask', { id: 'none' }))).toEqual([200, 7, -32001, 'TASK_NOT_FOUND'])
  expect(await refused('/a2a/echo', rpc('GetExtendedAgentCard', undefined))).toEqual([
    200,
    7,
    -32004,
    'UNSUPPORTED_OPERATION',
  ])
  const pushed = { ...message('m', say('x')), configuration: { taskPushNotificationConfig: { url: 'https://x' } } }
  expect(await refused('/a2a/echo', rpc('SendMessage', pushed))).toEqual([
    200,
    7,
    -32003,
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
  ])
  expect(await refused('/a2a/echo/message:send', message('m', say('x')), '')).toEqual([
    401,
    401,
    'UNAUTHENTICATED',
    'REQUEST_NOT_AUTHENTICATED',
  ])
  expect(await refused('/a2a/echo/message:send', '{')).toEqual([400, 400, 'INVALID_ARGUMENT', 'PARSE_ERROR'])
  expect(await refused('/a2a/echo/message:send', message('m', say('')))).toEqual([
    400,
    400,
    'INVALID_ARGUMENT',
    'INVALID_PARAMS',
  ])
  expect(await refused('/a2a/echo/tasks/none', undefined)).toEqual([404, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'])
  expect(await refused('/a2a/echo/tasks/%ff', undefined)).toEqual([400, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS'])
  expect(await refused('/a2a/echo/tenant/message:send', {})).toEqual([404, 404, 'UNIMPLEMENTED', 'METHOD_NOT_FOUND'])
  expect(await refused('/a2a/nobody', fine)).toEqual([404, 404, 'UNIMPLEMENTED', 'METHOD_NOT_FOUND'])
  expect(await runtime.runs()).toEqual([])
})

test('a data part is the input of an agent with a schema; another one under a message that was sent is refused', async () => {
  const { ask } = await servingProtocols([typed], [a2a({ agents: [typed] })])
  const ask2 = call(ask, 'typed')
  const [, first] = await ask2('SendMessage', message('m1', [{ data: { n: 1 } }], { contextId: 'talk' }))
  expect(first).toMatchObject({
    task: { contextId: 'talk', artifacts: [{ artifactId: 'output', parts: [{ data: { n: 1 } }] }] },
  })
  expect((await ask2('SendMessage', message('m1', [{ data: { n: 1 } }], { contextId: 'talk' })))[1]).toEqual(first)
  expect((await ask2('SendMessage', message('m2', say('{"n":2}'))))[1]).toMatchObject({
    task: { artifacts: [{ parts: [{ data: { n: 2 } }] }] },
  })
  const [, conflict] = await ask2('SendMessage', message('m1', [{ data: { n: 3 } }], { contextId: 'talk' }))
  expect(conflict).toMatchObject({ code: -32602, data: [{ metadata: { code: 'run.conflict' } }] })
  const [, invalid] = await ask2('SendMessage', message('m3', say('no number')))
  expect(invalid).toMatchObject({ code: -32602, data: [{ metadata: { code: 'input.invalid' } }] })
})

test('two open questions are named by their ids; a word decides only where it is exactly one of those offered', async () => {
  const { ask, errors } = await servingProtocols([pair, payer], [a2a({ agents: [pair, payer] })])
  const toPair = call(ask, 'pair')
  const [, { task }] = await toPair('SendMessage', message('m1', say('Go.')))
  expect(stateOf(task)).toBe('TASK_STATE_INPUT_REQUIRED')
  const { id: taskId, status } = task as { readonly id: string; readonly status: { readonly message: JsonObject } }
  const questions = (status.message['parts'] as readonly JsonObject[]).flatMap(({ data }) =>
    data === undefined ? [] : [data as JsonObject],
  )
  expect(questions.map(({ input }) => input)).toEqual([{ text: 'one' }, { text: 'two' }])
  const reply = (id: string, parts: unknown, as?: string) => toPair('SendMessage', message(id, parts, { taskId }), as)
  expect(reasonOf((await reply('m2', say('approve')))[1])).toBe('INVALID_PARAMS')
  expect(reasonOf((await reply('m3', [{ data: { id: questions[0]!['id'], decision: 'aprove' } }]))[1])).toBe(
    'INVALID_PARAMS',
  )
  expect((await reply('m4', [{ data: { id: questions[0]!['id'], decision: 'approve' } }], 'bob'))[0]).toBe(403)
  expect(reasonOf((await reply('m5', [{ data: { id: questions[0]!['id'], decision: 'approve' } }], 'eve'))[1])).toBe(
    'TASK_NOT_FOUND',
  )
  const replies = questions.map(({ id }, i) => ({ data: { id, decision: i === 0 ? 'approve' : 'reject' } }))
  const [, done] = await reply('m6', replies)
  expect(done).toMatchObject({
    task: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ text: 'Both.' }] }] },
  })
  expect((await reply('m6', replies))[1]).toEqual(done)
  const otherwise = [{ data: { id: questions[0]!['id'], decision: 'reject' } }]
  expect((await reply('m7', otherwise))[1]).toMatchObject({
    data: [{ metadata: { code: 'approval.already-decided' } }],
  })
  const toPayer = call(ask, 'payer')
  const [, { task: paying }] = await toPayer('SendMessage', message('p1', say('5')))
  const { id } = paying as { readonly id: string }
  expect(reasonOf((await toPayer('SendMessage', message('p2', say('yes, approve'), { taskId: id })))[1])).toBe(
    'INVALID_PARAMS',
  )
  const [, paid] = await toPayer('SendMessage', message('p3', say('Approve'), { taskId: id }))
  expect(paid).toMatchObject({ task: { artifacts: [{ parts: [{ data: { paid: '5', approver: 'ann' } }] }] } })
  expect((await toPayer('SendMessage', message('p3', say('Approve'), { taskId: id })))[1]).toEqual(paid)
  expect(reasonOf((await toPayer('SendMessage', message('p4', say('reject'), { taskId: id })))[1])).toBe(
    'UNSUPPORTED_OPERATION',
  )
  expect(errors).toEqual([])
})

test('a stream begins with the task over both bindings; who may only see lists and follows, and starts nothing', async () => {
  const { ask } = await servingProtocols([asker], [a2a({ agents: [asker] })])
  const body = rpc('SendStreamingMessage', message('m1', say('Go.')), 'text-id')
  const overRpc = await streamed(await ask('/a2a/asker', body, 'ann', version))
  expect(overRpc.map(({ id }) => id)).toEqual(overRpc.map(() => 'text-id'))
  const kinds = overRpc.map(({ result }) => Object.keys(result as JsonObject)[0])
  expect(kinds).toEqual(['task', 'statusUpdate', 'statusUpdate'])
  const overRest = await streamed(await ask('/a2a/asker/message:stream', message('m1', say('Go.')), 'ann', version))
  expect(Object.keys(overRest[0]!)).toEqual(['task'])
  const listed = (await (await ask('/a2a/asker/tasks?pageSize=1', undefined, 'vic', version)).json()) as JsonObject
  expect(listed).toMatchObject({
    tasks: [{ status: { state: 'TASK_STATE_INPUT_REQUIRED' } }],
    totalSize: 1,
    nextPageToken: '',
  })
  expect((await ask('/a2a/asker/tasks?pageSize=0', undefined, 'vic', version)).status).toBe(400)
  const [{ id }] = listed['tasks'] as readonly [{ readonly id: string }]
  expect((await ask(`/a2a/asker/tasks/${id}:cancel`, {}, 'vic', version)).status).toBe(403)
  expect((await ask(`/a2a/asker/tasks/${id}:cancel`, {}, 'bob', version)).status).toBe(200)
})

describe('whatever is sent', () => {
  const json = fc.jsonValue({ maxDepth: 3 })
  const odd = fc.oneof(json, fc.constantFrom('\u0000', '\ud800', 'x'.repeat(3_000), '__proto__', 'm1', 'ROLE_USER'))
  const part = fc.oneof(odd, fc.record({ text: odd, data: odd, raw: odd, url: odd }, { requiredKeys: [] }))
  const sent = fc.record(
    {
      message: fc.oneof(
        odd,
        fc.record(
          {
            messageId: odd,
            role: fc.oneof(odd, fc.constant('ROLE_USER')),
            parts: fc.oneof(odd, fc.array(part, { maxLength: 3 })),
            taskId: odd,
            contextId: odd,
          },
          { requiredKeys: [] },
        ),
      ),
      configuration: odd,
      id: odd,
      pageSize: odd,
      pageToken: odd,
      status: odd,
      tenant: fc.oneof(odd, fc.constant('')),
    },
    { requiredKeys: [] },
  )
  const method = fc.oneof(
    fc.constantFrom('SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask'),
    fc.string(),
  )
  const request = fc.oneof(json, fc.record({ jsonrpc: fc.constant('2.0'), id: odd, method, params: sent }))
  const problemIn = (status: number, said: string, started: number): string | undefined => {
    const { error } = JSON.parse(said) as { readonly error?: JsonObject }
    if (error === undefined && status === 200) return undefined
    if (status >= 500 || typeof error?.['code'] !== 'number' || typeof error['message'] !== 'string')
      return `${status}: ${said}`
    return started === 0 ? undefined : `refused, and ${started} runs were started: ${said}`
  }
  test('the answer is an error of the binding or a task, and nothing of the server breaks', async () => {
    const { ask, runtime, errors } = await servingProtocols([echo, typed], [a2a({ agents: [echo, typed] })])
    const paths = fc.constantFrom('', '/message:send', '/message:stream', '/tasks/x', '/tasks/x:cancel', '/..%2f')
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('echo', 'typed'), paths, fc.oneof(request, sent), async (name, path, body) => {
        const before = (await runtime.runs()).length
        const response = await ask(`/a2a/${name}${path}`, body, 'ann', version)
        const said = await response.text()
        const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true
        const runs = (await runtime.runs()).length
        expect(isStream ? undefined : problemIn(response.status, said, runs - before)).toBeUndefined()
      }),
      { seed: Number(process.env['REEVE_SEED'] ?? 47), numRuns: Number(process.env['REEVE_FUZZ'] ?? 200) },
    )
    expect(errors).toEqual([])
  })
})
