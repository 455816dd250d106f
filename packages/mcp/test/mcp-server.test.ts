/** Reeve as an MCP server: its tools, who may call them, what a hostile request comes to. A real socket. */
import { setTimeout as delay } from 'node:timers/promises'
import * as fc from 'fast-check'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, expect, test } from 'vitest'
import { completed, ReeveError, type JsonObject } from '@reeve/core'
import { mcpServer } from '../src/index.ts'
import type { Role } from '@reeve/server'
import { serving, type Serving } from '../../server/test/serving.ts'
import { asker, echo, hand, payer, sleeper } from '../../runtime/test/hand.ts'

const tokenOf = (name: string): string => name.padEnd(24, '-')
const person = (name: string, roles: readonly Role[], tenant?: string) => ({
  [tokenOf(name)]: { name, roles, ...(tenant === undefined ? {} : { tenant }) },
})
const auth = {
  tokens: {
    ...person('ann', ['admin']),
    ...person('olga', ['operator']),
    ...person('vic', ['viewer']),
    ...person('blue', ['operator', 'approver'], 'blue'),
    ...person('red', ['operator', 'approver'], 'red'),
  },
}
const failing = hand('failing', () => Promise.reject(new Error('at /home/secret')))
const agents = [echo, payer, asker, failing, sleeper(), hand('long', async () => completed('x'.repeat(200_000)))]

const served = (options: Parameters<typeof mcpServer>[0] = {}): Promise<Serving> =>
  serving({ agents }, { auth, protocols: [mcpServer(options)] })

interface Told {
  readonly isError?: boolean
  readonly structuredContent: JsonObject
  readonly content: readonly { readonly text: string }[]
}
const open: Client[] = []
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
})

/** The official client, as a person. */
async function clientOf({ server }: Serving, name: string, mode: 'legacy' | 'auto' = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  open.push(client)
  const requestInit = { headers: { Authorization: `Bearer ${tokenOf(name)}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }))
  return client
}
const call = async (client: Client, name: string, given: JsonObject = {}): Promise<Told> =>
  (await client.callTool({ name, arguments: given })) as unknown as Told
const valueOf = async (client: Client, name: string, given: JsonObject = {}): Promise<JsonObject> =>
  (await call(client, name, given)).structuredContent
const questionsOf = (value: JsonObject): readonly JsonObject[] => value['questions'] as unknown as readonly JsonObject[]

test.each(['legacy', 'auto'] as const)('starts a run, waits for it and says how it ended (%s)', async (mode) => {
  const at = await served()
  const client = await clientOf(at, 'olga', mode)
  expect(client.getProtocolEra()).toBe(mode === 'legacy' ? 'legacy' : 'modern')
  const started = await valueOf(client, 'start_run', { agent: 'echo', input: 'hello', key: 'k1' })
  expect(started).toMatchObject({ created: true, status: 'completed', outcome: { output: 'hello' } })
  const run = started['run']!
  expect(await valueOf(client, 'run_status', { run })).toMatchObject({ run, agent: 'echo', status: 'completed' })
  expect(await valueOf(client, 'run_result', { key: 'k1' })).toMatchObject({ run, outcome: { output: 'hello' } })
  expect(await valueOf(client, 'run_status')).toMatchObject({ runs: [{ run }] })
  expect((await at.runtime.runs())[0]?.caller).toMatchObject({ user: 'olga' })
  expect(at.errors).toEqual([])
})

test('the same key is the same run, another input under it is refused, and the key of another caller is their own', async () => {
  const at = await served()
  const [olga, ann] = [await clientOf(at, 'olga'), await clientOf(at, 'ann')]
  const first = await valueOf(olga, 'start_run', { agent: 'echo', input: 'a', key: 'k' })
  expect(await valueOf(olga, 'start_run', { agent: 'echo', input: 'a', key: 'k' })).toMatchObject({
    run: first['run']!,
    created: false,
  })
  expect(await call(olga, 'start_run', { agent: 'echo', input: 'b', key: 'k' })).toMatchObject({
    isError: true,
    structuredContent: { error: { code: 'run.conflict' } },
  })
  const other = await valueOf(ann, 'start_run', { agent: 'echo', input: 'a', key: 'k' })
  expect(other['run']).not.toBe(first['run'])
})

test('an approval is listed with its exact input and decided in the name of the caller alone', async () => {
  const at = await served()
  const ann = await clientOf(at, 'ann')
  const started = await valueOf(ann, 'start_run', { agent: 'payer', input: { eur: 5 } })
  expect(started).toMatchObject({
    status: 'waiting',
    questions: [{ kind: 'approval', action: 'pay', input: { eur: 5 } }],
  })
  const { questions } = await valueOf(ann, 'list_questions', { run: started['run']! })
  const approval = (questions as unknown as JsonObject[])[0]!['id']!
  const decided = await call(ann, 'decide', { approval, decision: 'approve', approver: 'eve' })
  expect(decided).toMatchObject({ isError: true })
  expect(await valueOf(ann, 'decide', { approval, decision: 'approve', comment: 'fine' })).toMatchObject({ by: 'ann' })
  const ended = await valueOf(ann, 'run_result', { run: started['run']!, wait_seconds: 30 })
  expect(ended).toMatchObject({ outcome: { output: { paid: { eur: 5 }, approver: 'ann' } } })
  expect(await call(ann, 'decide', { approval, decision: 'reject' })).toMatchObject({ isError: true })
})

test('a question is answered, and a run is cancelled', async () => {
  const at = await served()
  const ann = await clientOf(at, 'ann')
  const asked = await valueOf(ann, 'start_run', { agent: 'asker', input: 'x' })
  const [question] = questionsOf(asked)
  expect(question).toMatchObject({ kind: 'interrupt', asks: 'what?', agent: 'asker', answerBy: 'answer' })
  await valueOf(ann, 'answer', { question: question!['id']!, value: { a: 1 } })
  const ended = await valueOf(ann, 'run_result', { run: asked['run']!, wait_seconds: 30 })
  expect(ended).toMatchObject({ status: 'completed', outcome: { output: { a: 1 } } })
  const asleep = await valueOf(ann, 'start_run', { agent: 'sleeper', input: 'x', wait_seconds: 0 })
  expect(asleep['next']).toContain('run_result')
  await valueOf(ann, 'cancel', { run: asleep['run']!, reason: 'enough' })
  const cancelled = await valueOf(ann, 'run_result', { run: asleep['run']!, wait_seconds: 30 })
  expect(cancelled).toMatchObject({ status: 'cancelled' })
})

test.each(['legacy', 'auto'] as const)(
  'tells progress, and a run outlives the call that was left (%s)',
  async (mode) => {
    const at = await served()
    const client = await clientOf(at, 'olga', mode)
    const lines: string[] = []
    const left = new AbortController()
    const waiting = client.callTool(
      { name: 'start_run', arguments: { agent: 'sleeper', input: 'x', key: 'nap', wait_seconds: 600 } },
      {
        signal: left.signal,
        onprogress: ({ message }) => {
          lines.push(message ?? '')
          left.abort()
        },
      },
    )
    await expect(waiting).rejects.toThrow(/abort/i)
    expect(lines).toEqual(['sleeper started'])
    const again = await clientOf(at, 'olga', mode)
    expect(await valueOf(again, 'run_status', { key: 'nap' })).toMatchObject({ agent: 'sleeper', status: 'running' })
    await valueOf(again, 'cancel', { key: 'nap' })
  },
)

test('tools are those that the roles of the caller allow, and say what they do', async () => {
  const at = await served()
  const namesOf = async (name: string): Promise<readonly string[]> =>
    (await (await clientOf(at, name)).listTools()).tools.map((tool) => tool.name)
  const viewed = ['run_status', 'run_result', 'list_questions']
  expect(await namesOf('vic')).toEqual(viewed)
  expect(await namesOf('olga')).toEqual(['start_run', ...viewed, 'cancel'])
  expect(await namesOf('ann')).toEqual(['start_run', ...viewed, 'decide', 'answer', 'cancel'])
  const { tools } = await (await clientOf(at, 'ann')).listTools()
  const hints = Object.fromEntries(
    tools.map(({ name, annotations: { readOnlyHint, destructiveHint } = {} }) => [
      name,
      [readOnlyHint, destructiveHint],
    ]),
  )
  expect(hints).toEqual({
    start_run: [false, false],
    run_status: [true, false],
    run_result: [true, false],
    list_questions: [true, false],
    decide: [false, true],
    answer: [false, false],
    cancel: [false, true],
  })
  const vic = await clientOf(at, 'vic')
  await expect(vic.callTool({ name: 'start_run', arguments: { agent: 'echo', input: 'x' } })).rejects.toThrow(
    'not found',
  )
  expect(await at.runtime.runs()).toEqual([])
})

test("a tenant sees and touches its own runs alone; what is another's is not there", async () => {
  const at = await served()
  const [blue, red] = [await clientOf(at, 'blue'), await clientOf(at, 'red')]
  const { run, questions } = await valueOf(blue, 'start_run', { agent: 'payer', input: 1, key: 'k' })
  const approval = questionsOf({ questions: questions! })[0]!['id']!
  for (const [name, given] of [
    ['run_status', { run }],
    ['run_result', { run }],
    ['cancel', { run }],
    ['list_questions', { run }],
    ['decide', { approval, decision: 'approve' }],
    ['run_status', { key: 'k' }],
  ] as const) {
    const refused = await call(red, name, given as JsonObject)
    expect([name, refused.isError, refused.structuredContent['error']]).toMatchObject([
      name,
      true,
      { code: name === 'decide' ? 'approval.unknown' : 'run.unknown' },
    ])
  }
  expect(await valueOf(red, 'list_questions')).toEqual({ questions: [] })
  expect(await valueOf(red, 'run_status')).toEqual({ runs: [] })
  expect(await valueOf(blue, 'run_status', { run: run! })).toMatchObject({ status: 'waiting' })
})

test('only agents that are named may be started', async () => {
  const at = await served({ agents: ['echo'] })
  const client = await clientOf(at, 'ann')
  expect(await valueOf(client, 'start_run', { input: 'hi' })).toMatchObject({
    agent: 'echo',
    outcome: { output: 'hi' },
  })
  expect(await call(client, 'start_run', { agent: 'payer', input: 1 })).toMatchObject({ isError: true })
})

test('a failed run says how it failed; a long result is cut as text and whole as data', async () => {
  const at = await served()
  const client = await clientOf(at, 'ann')
  expect(await valueOf(client, 'start_run', { agent: 'failing', input: 'x' })).toMatchObject({ status: 'failed' })
  const long = await call(client, 'start_run', { agent: 'long', input: 'x' })
  expect(long.content[0]!.text.length).toBeLessThanOrEqual(100_000)
  expect((long.structuredContent['outcome'] as { output: string }).output).toHaveLength(200_000)
})

test('invalid options are refused', () => {
  for (const options of [{ path: 'mcp' }, { agents: 'echo' }, { pth: '/mcp' }, null])
    expect(() => mcpServer(options as never)).toThrow(ReeveError)
})

const rpc = (at: Serving, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${at.server.url}/mcp`, {
    method: 'POST',
    body,
    headers: {
      Authorization: `Bearer ${tokenOf('ann')}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headers,
    },
  })
const startCall = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'start_run', arguments: { agent: 'echo', input: 'x' } },
}

test('what is malformed, too large, unauthenticated or not addressed here is refused, and nothing is started', async () => {
  const at = await serving({ agents }, { auth, protocols: [mcpServer()], limits: { bodyBytes: 10_000, bodyDepth: 20 } })
  const errorOf = async (response: Response) => {
    const { error } = (await response.json()) as { error: { code: unknown; data?: { code: string } } }
    return [response.status, error.code, error.data?.code]
  }
  expect(await errorOf(await rpc(at, '{'))).toEqual([400, -32700, 'input.invalid'])
  expect(await errorOf(await rpc(at, JSON.stringify([startCall, startCall])))).toEqual([400, -32700, 'input.invalid'])
  expect(await errorOf(await rpc(at, '['.repeat(50) + ']'.repeat(50)))).toEqual([400, -32700, 'input.invalid'])
  expect(await errorOf(await rpc(at, JSON.stringify({ ...startCall, x: 'y'.repeat(20_000) })))).toEqual([
    413,
    -32000,
    'input.too-large',
  ])
  expect(await errorOf(await rpc(at, JSON.stringify(startCall), { 'Content-Type': 'text/plain' }))).toEqual([
    415,
    -32000,
    'request.not-json',
  ])
  expect(await errorOf(await rpc(at, JSON.stringify(startCall), { Authorization: 'Bearer x' }))).toEqual([
    401,
    -32000,
    'request.not-authenticated',
  ])
  expect((await rpc(at, JSON.stringify(startCall), { Origin: 'https://evil.example' })).status).toBe(403)
  expect(
    (await fetch(`${at.server.url}/mcp/below`, { headers: { Authorization: `Bearer ${tokenOf('ann')}` } })).status,
  ).toBe(404)
  expect((await fetch(`${at.server.url}/mcp`, { headers: { Authorization: `Bearer ${tokenOf('ann')}` } })).status).toBe(
    405,
  )
  expect(await at.runtime.runs()).toEqual([])
  expect(at.errors).toEqual([])
})

test('fuzzed messages and arguments come to an error of the protocol, start nothing that was not asked for, and leave the server well', async () => {
  const at = await served()
  const name = fc.constantFrom(
    'start_run',
    'run_status',
    'run_result',
    'list_questions',
    'decide',
    'answer',
    'cancel',
    '__proto__',
    'toString',
    'none',
  )
  const members = fc.dictionary(
    fc.constantFrom(
      'agent',
      'input',
      'key',
      'run',
      'wait_seconds',
      'approval',
      'decision',
      'question',
      'value',
      'limit',
      'after',
      '__proto__',
      'by',
      'approver',
      'user',
    ),
    fc.oneof(fc.constantFrom('', 'none', '\u202e', -1, 1e9, 0.5, null, true, '\ud800'), fc.jsonValue({ maxDepth: 2 })),
  )
  const message = fc.oneof(
    fc.record({
      jsonrpc: fc.constant('2.0'),
      id: fc.constantFrom(1, 'a'),
      method: fc.constant('tools/call'),
      params: fc.record({ name, arguments: members }),
    }),
    fc.record({
      jsonrpc: fc.constantFrom('2.0', '1.0', 2),
      id: fc.jsonValue({ maxDepth: 1 }),
      method: fc.constantFrom('tools/call', 'tools/list', 'initialize', 'x', 1),
      params: fc.jsonValue({ maxDepth: 2 }),
    }),
    fc.jsonValue({ maxDepth: 3 }),
  )
  await fc.assert(
    fc.asyncProperty(message, async (given) => {
      const response = await rpc(at, JSON.stringify(given))
      const said = await response.text()
      expect(response.status, said).toBeLessThan(500)
      expect(said).not.toContain('/home/')
    }),
    { numRuns: 150 },
  )
  for (const { agent } of await at.runtime.runs()) expect(agents.map((each) => each.name)).toContain(agent)
  expect(at.errors).toEqual([])
  expect(await valueOf(await clientOf(at, 'ann'), 'start_run', { agent: 'echo', input: 'still here' })).toMatchObject({
    status: 'completed',
  })
}, 60_000)

test('what is open ends with the server, and its runs go on', async () => {
  const at = await served()
  const client = await clientOf(at, 'olga')
  const waiting = client
    .callTool({ name: 'start_run', arguments: { agent: 'sleeper', input: 'x', wait_seconds: 600 } })
    .catch((thrown: unknown) => thrown)
  await expect.poll(async () => (await at.runtime.runs()).length).toBe(1)
  await at.server.close()
  await Promise.race([waiting, delay(5_000, 'late')]).then((end) => expect(end).not.toBe('late'))
  expect((await at.runtime.runs())[0]?.status).toBe('running')
})
