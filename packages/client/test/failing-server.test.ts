/** The client beside servers and networks that fail: a bare HTTP server that answers as each test says. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ReeveError } from 'reeve'
import { ClientError, createClient, type ReeveClientOptions, type ReeveClient, type StreamState } from 'reeve/client'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const open: Server[] = []
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

/** Answers each request in turn, the last answer for all that follow. */
async function against(
  answers: readonly Answer[],
  options: ReeveClientOptions = {},
): Promise<{
  readonly client: ReeveClient
  readonly asked: readonly IncomingMessage[]
  readonly bodies: readonly string[]
}> {
  const asked: IncomingMessage[] = []
  const bodies: string[] = []
  const server = createServer((request, response) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)]!
    const at = asked.push(request) - 1
    bodies[at] = ''
    request.on('data', (piece: Buffer) => (bodies[at] += piece.toString()))
    request.on('end', () => answer(request, response))
  })
  open.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { client: createClient({ baseUrl: `http://127.0.0.1:${port}/`, ...options }), asked, bodies }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

const refused = (status: number, code: string, headers?: Record<string, string>): Answer =>
  json(status, { error: { code, message: 'no', hint: 'Do this.', retryable: status === 503 } }, headers)

const broken: Answer = (_request, response) => response.destroy()

const stream =
  (text: string, after: 'ends' | 'breaks' | 'stays' = 'ends'): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text, () => {
      if (after === 'ends') response.end()
      if (after === 'breaks') response.destroy()
    })
  }

const event = (position: number): string =>
  `id: ${position}\ndata: ${JSON.stringify({ type: 'event', event: { position } })}\n\n`
const end = 'data: {"type":"end"}\n\n'
const soon = { 'retry-after': '0' }

const rejection = (promise: Promise<unknown>): Promise<ClientError> =>
  promise.then(
    () => expect.fail('it did not reject'),
    (thrown: unknown) => thrown as ClientError,
  )

test('an error of the server is an error with its code, which ReeveError.is knows, too', async () => {
  const { client } = await against([refused(404, 'run.unknown')])
  const error = await rejection(client.run('x').view())
  expect(error).toBeInstanceOf(ClientError)
  expect(error).toMatchObject({ code: 'run.unknown', message: 'no', hint: 'Do this.', retryable: false, status: 404 })
  expect(ReeveError.is(error, 'run.unknown')).toBe(true)
})

test('what a proxy answers is said to be no answer of a Reeve server', async () => {
  const page: Answer = (_request, response) => response.writeHead(502).end('<html>')
  const { client, asked } = await against([page, page, (_request, response) => response.end('<html>')], { retries: 1 })
  expect(await rejection(client.me())).toMatchObject({ code: 'server.answer-invalid', status: 502, retryable: true })
  expect(asked).toHaveLength(2)
  expect(await rejection(client.me())).toMatchObject({ code: 'server.answer-invalid', status: 200, retryable: false })
})

test('a read is made again after a 503, as soon as the server says, and after a broken connection', async () => {
  const { client, asked } = await against([refused(503, 'store.busy', soon), broken, json(200, { name: 'ann' })])
  expect(await client.me()).toMatchObject({ name: 'ann' })
  expect(asked).toHaveLength(3)
})

test('it is made again so often and no more', async () => {
  const { client, asked } = await against([refused(503, 'store.busy', soon)], { retries: 2 })
  expect(await rejection(client.me())).toMatchObject({ code: 'store.busy', status: 503, retryable: true })
  expect(asked).toHaveLength(3)
})

test('a start whose answer was lost is made again, with the same id', async () => {
  const { client, bodies } = await against([broken, json(200, { run: 'r' })])
  expect((await client.runs.start('author', 'x')).id).toBe('r')
  const [first, second] = bodies.map((body) => JSON.parse(body) as { readonly runId: string })
  expect(first!.runId).toMatch(/^run_[0-9a-f]{32}$/)
  expect(second).toEqual(first)
})

test('a decision whose answer was lost is not made again: that is the caller to say', async () => {
  const { client, asked } = await against([broken])
  const error = await rejection(client.questions.decide({ approvalId: 'a', decision: 'approve' }))
  expect(error).toMatchObject({ code: 'server.unreachable', status: 0, retryable: true })
  expect(asked).toHaveLength(1)
})

test('every request carries the token of now, the header that a form cannot send, and those of the application', async () => {
  let count = 0
  const { client, asked } = await against([json(200, {})], {
    token: () => Promise.resolve(`t${++count}`),
    headers: { 'x-own': 'a' },
  })
  await client.me()
  await client.questions.answer({ interruptId: 'i/1', value: 1 })
  expect(asked.map(({ headers }) => headers)).toMatchObject([
    { authorization: 'Bearer t1', 'x-own': 'a' },
    { authorization: 'Bearer t2', 'x-reeve': '1', 'content-type': 'application/json' },
  ])
  expect(asked[1]!.url).toBe('/api/interrupts/i%2F1/answer')
})

test('the outcome is waited for while the run goes on, and while the server is away', async () => {
  const { client } = await against(
    [
      json(202, { run: 'r', status: 'running' }),
      refused(503, 'engine.closed', soon),
      refused(503, 'engine.closed', soon),
      json(200, { run: 'r', status: 'completed', outcome: { status: 'completed', output: 7 }, usage: {} }),
    ],
    { retries: 0 },
  )
  expect(await client.run('r').outcome()).toEqual({ status: 'completed', output: 7, run: 'r', usage: {} })
})

test('a page after the other, to the last one', async () => {
  const { client, asked } = await against([json(200, { items: [1, 2], next: 'b' }), json(200, { items: [3] })])
  const pages = []
  for await (const page of client.runs.pages({ status: ['failed', 'stuck'], metadata: { team: 'a b' }, limit: 2 }))
    pages.push(page)
  expect(pages).toEqual([[1, 2], [3]])
  expect(asked[1]!.url).toBe('/api/runs?status=failed&status=stuck&limit=2&metadata.team=a+b&after=b')
})

test('a stream goes on after the last event, whichever way the connection ended, and drops what comes again', async () => {
  const states: StreamState[] = []
  const { client, asked } = await against([
    stream(`retry: 1\n\n${event(1)}${event(2)}id: 3\ndata: {"type":`, 'breaks'),
    stream(`${event(2)}${event(3)}`),
    broken,
    refused(503, 'engine.closed', soon),
    stream(`${event(4)}${end}`, 'stays'),
  ])
  const positions = []
  for await (const { position } of client.run('r').events({ onState: (state) => states.push(state) }))
    positions.push(position)
  expect(positions).toEqual([1, 2, 3, 4])
  expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '2', '3', '3', '3'])
  expect(states.join()).toBe(
    'connecting,open,waiting,connecting,open,waiting,connecting,waiting,connecting,waiting,connecting,open',
  )
})

test('a server that says nothing for too long is taken for dead; comments are a sign of life', async () => {
  let beats = 0
  const { client, asked } = await against(
    [
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`retry: 1\n\n${event(1)}`)
        const timer = setInterval(() => (++beats > 6 ? clearInterval(timer) : response.write(': \n\n')), 100)
      },
      () => {},
      stream(`${event(2)}${end}`),
    ],
    { heartbeatTimeoutMs: 400 },
  )
  const positions = []
  for await (const { position } of client.run('r').events()) positions.push(position)
  expect(positions).toEqual([1, 2])
  expect(asked).toHaveLength(3)
  // without them the first connection would have been given up before the last one
  expect(beats).toBeGreaterThan(6)
})

test('a stream that is refused says why; one that is not a stream, too', async () => {
  const { client } = await against([refused(403, 'permission.denied'), json(200, {})])
  const read = async (): Promise<void> => {
    for await (const each of client.run('r').feed()) void each
  }
  expect(await rejection(read())).toMatchObject({ code: 'permission.denied', status: 403 })
  expect(await rejection(read())).toMatchObject({ code: 'server.answer-invalid' })
})

test('who leaves a stream, by break or by a signal, closes its connection and is not told of an error', async () => {
  const { client, asked } = await against([stream(event(1), 'stays')])
  const gone = (at: number): Promise<unknown> => once(asked[at]!.socket, 'close')
  for await (const each of client.run('r').feed()) {
    void each
    break
  }
  const controller = new AbortController()
  const seen = []
  for await (const each of client.run('r').feed({ signal: controller.signal })) {
    seen.push(each)
    setImmediate(() => controller.abort())
  }
  expect(seen).toHaveLength(1)
  await Promise.all([0, 1].map((at) => (asked[at]!.socket.destroyed ? Promise.resolve() : gone(at))))
  const reason = new Error('enough')
  await expect(client.me({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})
