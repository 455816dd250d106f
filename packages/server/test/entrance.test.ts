/** The entrance over real sockets: half-sent bodies, slow and broken requests, what is answered where Node refuses. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { agent, createRuntime } from '@reeve/public'
import { createServer, listen, type Denial, type Role } from '../src/index.ts'
import { serving } from './serving.ts'

const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
})

/** A connection that has sent this, with all that comes back. */
async function sent(port: number, text: string): Promise<{ readonly socket: Socket; readonly said: () => string }> {
  const socket = connect(port, '127.0.0.1')
  sockets.add(socket)
  let said = ''
  socket.on('data', (data) => (said += data.toString('latin1')))
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
  return { socket, said: () => said }
}
/** What comes back until the server ends the connection. */
async function answered(port: number, text: string): Promise<{ readonly head: string; readonly body: string }> {
  const { socket, said } = await sent(port, text)
  if (!socket.closed) await once(socket, 'close')
  const [head = '', body = ''] = said().split('\r\n\r\n')
  // the body may come in chunks, with their lengths around it
  return { head, body: /\{.*\}/s.exec(body)?.[0] ?? '' }
}
const post = (path: string, length: number, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${headers}Content-Length: ${length}\r\n\r\n`

const echo = agent({ name: 'echo', model: () => 'hi' })

test('bodies of strangers that are half sent hold next to nothing, and nobody up', async () => {
  const { server, get } = await serving({ agents: [echo] }, { limits: { bodyIdleMs: 300 } })
  const before = process.memoryUsage()
  // more than a token needs is refused by its length
  const large = await Promise.all(
    Array.from({ length: 100 }, () => answered(server.port, post('/api/session', 1_048_576) + ' '.repeat(65_536))),
  )
  for (const { head } of large) expect(head).toMatch(/^HTTP\/1\.1 413 /)
  const small = Array.from({ length: 300 }, () =>
    answered(server.port, post('/api/session', 10_000) + ' '.repeat(5_000)),
  )
  expect((await get('/health')).status).toBe(200)
  for (const { head, body } of await Promise.all(small)) {
    expect(head).toMatch(/^HTTP\/1\.1 408 /)
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'request.timed-out', retryable: true } })
  }
  const after = process.memoryUsage()
  expect(after.external + after.arrayBuffers - before.external - before.arrayBuffers).toBeLessThan(50_000_000)
})

test('a route that asks for a credential reads no body of a stranger', async () => {
  const { server } = await serving({ agents: [echo] })
  const { head } = await answered(server.port, post('/api/runs', 1_000_000) + ' '.repeat(1_000))
  expect(head).toMatch(/^HTTP\/1\.1 401 /)
})

test('a caller who breaks off an upload is no error of the server', async () => {
  const { server, errors, token, get } = await serving({ agents: [echo] })
  for (const headers of ['', `Authorization: Bearer ${token}\r\n`]) {
    const path = headers === '' ? '/api/session' : '/api/runs'
    const { socket } = await sent(server.port, post(path, 1_000, headers) + '{"agent":')
    await get('/health')
    socket.destroy()
  }
  const cut = await sent(server.port, post('/api/runs', 1_000, `Authorization: Bearer ${token}\r\n`) + '{"agent":')
  cut.socket.resetAndDestroy()
  // later requests of the same process have been answered by then
  for (let i = 0; i < 5; i++) await get('/health')
  expect(errors).toEqual([])
})

test('a number that would become another one begins, edits and answers nothing, on any path', async () => {
  const { runtime, post } = await serving({ agents: [echo] })
  await runtime.run(echo, 'x', { runId: 'r1' })
  const number = '9007199254740993'
  for (const path of ['/runs', '/approvals/apr_x/decision', '/interrupts/int_x/answer', '/runs/r1/messages']) {
    const body = `{"agent":"echo","input":{"a":[{"amount":${number}}]},"decision":"approve","value":{"a":[${number}]}}`
    const answer = await post(path, body)
    expect(answer, path).toMatchObject({ status: 400, body: { error: { code: 'input.invalid' } } })
    expect((answer.body as { readonly error: { readonly message: string } }).error.message).toContain(
      `body.input.a[0].amount is ${number}, which a number cannot hold exactly`,
    )
  }
  expect(await runtime.runs()).toMatchObject([{ run: 'r1' }])
})

test('what Node refuses is answered as every other error is', async () => {
  const { server } = await serving({ agents: [echo] })
  const ask = (text: string) => answered(server.port, text)
  const cases: readonly (readonly [string, number, string])[] = [
    ['GARBAGE\r\n\r\n', 400, 'input.invalid'],
    ['GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'input.invalid'],
    ['GET /api/health HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400, 'input.invalid'],
    [
      'GET http://evil.example/api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
      400,
      'input.invalid',
    ],
    ['GET /api\\health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n', 400, 'input.invalid'],
    [
      `GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
      431,
      'request.headers-too-large',
    ],
    ['POST /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n', 400, 'input.invalid'],
    [
      'POST /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: magic\r\nContent-Length: 0\r\n\r\n',
      417,
      'input.invalid',
    ],
    ['GET /api/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n', 403, 'request.forbidden'],
  ]
  for (const [text, status, code] of cases) {
    const { head, body } = await ask(text)
    const what = text.slice(0, 80)
    expect(head, what).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(head.toLowerCase(), what).toContain("content-security-policy: default-src 'none'")
    expect(head.toLowerCase(), what).toContain('x-content-type-options: nosniff')
    expect(JSON.parse(body), what).toMatchObject({ error: { code } })
  }
})

test('connections are kept longer than a load balancer keeps them, and slow requests end', async () => {
  const runtime = await createRuntime({ agents: [echo] })
  const server = createServer({ runtime })
  await using standard = await listen(server, { port: 0 })
  const kept = await sent(standard.port, 'GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await vi.waitFor(() => expect(kept.said()).toMatch(/keep-alive: timeout=75/i))
  await using quick = await listen(server, { port: 0, keepAliveMs: 1_000, headersMs: 200, requestMs: 400 })
  const short = await sent(quick.port, 'GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await vi.waitFor(() => expect(short.said()).toMatch(/keep-alive: timeout=1/i))
  const { head, body } = await answered(quick.port, 'GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ')
  expect(head).toMatch(/^HTTP\/1\.1 408 /)
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'request.timed-out' } })
  for (const wrong of [{ keepAliveMs: 0 }, { requestMs: 'soon' }, { keepAliveTimeout: 5 }])
    await expect(listen(server, wrong as never)).rejects.toMatchObject({ code: 'config.invalid' })
  await runtime.close()
}, 30_000)

test('a connection that has sent nothing does not hold a server that closes', async () => {
  const runtime = await createRuntime({ agents: [agent({ name: 'a', run: () => 'done' })] })
  const listening = await listen(createServer({ runtime }), { port: 0 })
  const { socket } = await sent(listening.port, '')
  // it is accepted once a later one is answered
  await answered(listening.port, 'GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n')
  const started = performance.now()
  await Promise.all([listening.close(), once(socket, 'close')])
  // an answer in flight would have five seconds
  expect(performance.now() - started).toBeLessThan(4_000)
  await runtime.close()
}, 30_000)

test('a connection that takes nothing of its answer is closed', async () => {
  const large = agent({ name: 'large', run: () => 'x'.repeat(8_000_000) })
  const runtime = await createRuntime({ agents: [large] })
  await runtime.run(large, 'go', { runId: 'r1' })
  const server = createServer({ runtime })
  await using listening = await listen(server, { port: 0, stallMs: 300 })
  const { socket } = await sent(
    listening.port,
    `GET /api/runs/r1/outcome HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${server.token}\r\n\r\n`,
  )
  socket.pause()
  // a paused socket is not told that it was closed until it is read
  await vi.waitFor(() => expect(connectionsAt(listening.port)).toBe(0), 20_000)
  socket.resume()
  await once(socket, 'close')
  await runtime.close()
}, 30_000)

/** Connections of this process that the port has. */
function connectionsAt(port: number): number {
  const handles = (process as unknown as { _getActiveHandles(): readonly Partial<Socket>[] })._getActiveHandles()
  return handles.filter((each) => each.localPort === port && each.destroyed === false).length
}

test('signing out ends a session in every process of the store, also with another runtime', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-entrance-'))
  const secret = 'a secret of all servers of this store'
  const token = 'a-token-of-bob-that-is-long-enough'
  const opened = async (roles: readonly Role[] | undefined) => {
    const runtime = await createRuntime({ store: join(folder, 'reeve.db'), drive: false })
    const tokens = roles === undefined ? {} : { [token]: { name: 'bob', roles } }
    const server = createServer({ runtime, auth: { tokens }, session: { secret } })
    const ask = (path: string, init: RequestInit): Promise<Response> =>
      server.fetch(new Request(`http://127.0.0.1:7333/api${path}`, init), '127.0.0.1')
    return { runtime, ask, me: async (cookie: string) => await ask('/me', { headers: { cookie } }) }
  }
  const [one, two] = [await opened(['admin']), await opened(['admin'])]
  const signIn = async (): Promise<string> => {
    const signed = await one.ask('/session', { method: 'POST', headers: { authorization: `Bearer ${token}` } })
    return signed.headers.getSetCookie()[0]!.split(';')[0]!
  }
  const [first, second] = [await signIn(), await signIn()]
  expect((await two.me(first)).status).toBe(200)
  const headers = { cookie: first, 'x-reeve': '1' }
  expect((await two.ask('/session', { method: 'DELETE', headers })).status).toBe(204)
  for (const each of [one, two]) expect((await each.me(first)).status).toBe(401)
  // who is demoted, or has no token any more, is so by the cookie as well, after a restart, too
  await two.runtime.close()
  const demoted = await opened(['viewer'])
  expect(await (await demoted.me(second)).json()).toMatchObject({ name: 'bob', roles: ['viewer'], via: 'cookie' })
  await demoted.runtime.close()
  const gone = await opened(undefined)
  expect((await gone.me(second)).status).toBe(401)
  await gone.runtime.close()
  await one.runtime.close()
  await rm(folder, { recursive: true, force: true })
})

test('a store that takes nothing from this process can be looked at by a browser all the same', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-entrance-'))
  const store = join(folder, 'reeve.db')
  const redacting = await createRuntime({ store, agents: [echo], redact: { keys: ['password'] } })
  await redacting.run('echo', 'go')
  await redacting.close()
  const runtime = await createRuntime({ store, drive: false })
  const server = createServer({ runtime })
  const ask = (path: string, init: RequestInit): Promise<Response> =>
    server.fetch(new Request(`http://127.0.0.1:7333/api${path}`, init), '127.0.0.1')
  const authorization = `Bearer ${server.token}`
  const signed = await ask('/session', { method: 'POST', headers: { authorization } })
  const cookie = signed.headers.getSetCookie()[0]!.split(';')[0]!
  expect((await ask('/runs', { headers: { cookie } })).status).toBe(200)
  expect((await ask('/session', { method: 'DELETE', headers: { cookie, 'x-reeve': '1' } })).status).toBe(204)
  expect((await ask('/runs', { headers: { cookie } })).status).toBe(401)
  await runtime.close()
  await rm(folder, { recursive: true, force: true })
})

test('signing out, from here or from elsewhere, and what was denied is told, without a secret in it', async () => {
  const denied: Denial[] = []
  const { server, token, get } = await serving(
    { agents: [echo] },
    { session: { secret: 'a secret of all servers of this store' }, onDenied: (each) => void denied.push(each) },
  )
  const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Response> =>
    fetch(`${server.url}/api${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
  const signIn = async (agentName: string): Promise<string> => {
    const json = { 'content-type': 'application/json', 'user-agent': agentName }
    const answer = await ask('POST', '/session', json, JSON.stringify({ token }))
    return answer.headers.getSetCookie()[0]!.split(';')[0]!
  }
  const [first, second] = [await signIn('first'), await signIn('second\u00a0x')]
  const listed = (await (await ask('GET', '/browser-sessions', { cookie: first })).json()) as {
    readonly id: string
    readonly userAgent: string
    readonly isCurrent: boolean
  }[]
  expect(listed.filter(({ isCurrent }) => isCurrent)).toHaveLength(1)
  expect(listed).toHaveLength(2)
  const other = listed.find(({ isCurrent }) => !isCurrent)!
  const end = (query: string) => ask('DELETE', `/browser-sessions${query}`, { cookie: first, 'x-reeve': '1' })
  expect((await end('')).status).toBe(400)
  expect(await (await end(`?id=${other.id}`)).json()).toEqual({ ended: 1 })
  expect((await ask('GET', '/me', { cookie: second })).status).toBe(401)
  const out = await ask('DELETE', '/session', { cookie: first, 'x-reeve': '1' })
  expect(out.headers.get('clear-site-data')).toBe('"storage"')
  expect((await ask('GET', '/me', { cookie: first })).status).toBe(401)
  expect((await get('/browser-sessions')).body).toEqual([])
  const secret = 'LINK-TOKEN-LINK-TOKEN-LINK-TOKEN-LINK-TOKEN'
  await ask('GET', `/links/${secret}`, { origin: 'https://evil.example' })
  await ask('GET', '/runs?token=QUERY-SECRET', { authorization: 'Bearer WRONG-SECRET-WRONG-SECRET' })
  expect(denied.map(({ status, code, method, route }) => [status, code, method, route])).toEqual([
    [401, 'request.not-authenticated', 'GET', '/api/me'],
    [401, 'request.not-authenticated', 'GET', '/api/me'],
    [403, 'request.forbidden', 'GET', '/api/links/{token}'],
    [401, 'request.not-authenticated', 'GET', '/api/runs'],
  ])
  expect(denied.every(({ address }) => address === '127.0.0.1')).toBe(true)
  expect(JSON.stringify(denied)).not.toMatch(/SECRET|LINK-TOKEN/)
})
