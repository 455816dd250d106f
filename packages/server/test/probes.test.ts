/** Probes: what orchestrators and load balancers ask, as they ask it. */
import { expect, test, vi } from 'vitest'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as later } from 'node:timers/promises'
import { promisify } from 'node:util'
import { agent } from '@reeve/public'
import { Readiness, type ListeningServer } from '../src/index.ts'
import { serving } from './serving.ts'

/** What a socket is answered to these lines. */
async function raw({ port }: ListeningServer, ...lines: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write([...lines, '', ''].join('\r\n'))
  let said = ''
  socket.on('data', (piece: Buffer) => (said += piece.toString()))
  await once(socket, 'close')
  return said
}
const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])

const close = 'Connection: close'
test.each([
  [
    'a kubelet: the address of the pod',
    ['GET /api/ready HTTP/1.1', 'Host: 10.1.2.3:4040', 'User-Agent: kube-probe/1.33', close],
  ],
  [
    'an AWS load balancer',
    ['GET /api/ready HTTP/1.1', 'Host: 10.0.3.7:4040', 'User-Agent: ELB-HealthChecker/2.0', close],
  ],
  ['a Google load balancer', ['GET /api/ready HTTP/1.1', 'Host: 35.191.0.1', 'User-Agent: GoogleHC/1.0', close]],
  ['HAProxy: HTTP/1.0 without a host', ['GET /api/ready HTTP/1.0']],
  ['HEAD', ['HEAD /api/ready HTTP/1.1', 'Host: anything.example', close]],
  ['a slash at the end, a query', ['GET /api/ready/?from=probe HTTP/1.1', 'Host: reeve.example.com', close]],
  [
    'of another site',
    ['GET /api/live HTTP/1.1', 'Host: x', 'Origin: https://evil.example', 'Sec-Fetch-Site: cross-site', close],
  ],
])('answers %s', async (_who, lines) => {
  const { server } = await serving()
  const answer = await raw(server, ...lines)
  expect(statusOf(answer)).toBe(200)
  expect(answer.includes('{"ok":true}')).toBe(!lines[0]!.startsWith('HEAD'))
  // anything else is answered by its names alone
  const other = await raw(server, ...lines.map((line) => line.replace(/\/api\/(ready|live)\/?/, '/api/health')))
  expect(statusOf(other)).toBe(403)
})

test('is asked by many callers: no limit counts them, and the store is looked at once', async () => {
  const { server, runtime } = await serving({}, { limits: { requestsPerSecond: 1, burst: 1 } })
  const runs = vi.spyOn(runtime, 'runs')
  const answers = await Promise.all(Array.from({ length: 50 }, () => fetch(`${server.url}/api/ready`)))
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200))
  expect(runs.mock.calls.length).toBeLessThanOrEqual(2)
})

test('a method that asks for more than an answer is refused', async () => {
  const { server } = await serving()
  const answer = await fetch(`${server.url}/api/ready`, { method: 'POST' })
  expect([answer.status, answer.headers.get('Allow')]).toEqual([405, 'GET'])
})

test('the answers are those of the document', async () => {
  const { get } = await serving()
  expect((await get('/live', { Authorization: '' })).body).toEqual({ ok: true })
  expect((await get('/ready')).body).toEqual({ ok: true })
})

test('a credential makes no difference: it is a probe, and no stream', async () => {
  const { server, token } = await serving()
  for (const headers of [{ Authorization: `Bearer ${token}` }, { Accept: 'text/event-stream' }]) {
    const answer = await fetch(`${server.url}/api/live`, { headers })
    expect([answer.status, await answer.json()]).toEqual([200, { ok: true }])
  }
})

test('a store that fails, or does not answer: alive, and not ready', async () => {
  const { get, runtime } = await serving()
  vi.spyOn(runtime, 'runs').mockRejectedValue(new Error('away'))
  expect(await get('/ready')).toMatchObject({ status: 503, body: { ok: false, reason: 'store' } })
  expect((await get('/live', { Authorization: '' })).status).toBe(200)
  const silent = new Readiness({ runs: () => new Promise(() => {}) })
  expect(await (await silent.ready()).json()).toEqual({ ok: false, reason: 'store' })
})

test('an event loop that does what is due too late: not ready, and ready again', async () => {
  const readiness = new Readiness({ runs: async () => [] })
  expect((await readiness.ready()).status).toBe(200)
  const answer = readiness.ready()
  await Promise.resolve()
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700))
  expect(await (await answer).json()).toEqual({ ok: false, reason: 'event-loop' })
  expect((await readiness.ready()).status).toBe(200)
})

test('without a port, in a process that holds nothing else, the answer still comes', async () => {
  const child = new URL('probe-child.ts', import.meta.url).pathname
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', child])
  expect(stdout).toBe('{"ok":true}')
})

test('a runtime that closes is alive, and not ready, while its calls have their time to end', async () => {
  const answered = Promise.withResolvers<string>()
  const begun = Promise.withResolvers<void>()
  const slow = agent({ name: 'slow', model: () => (begun.resolve(), answered.promise) })
  const { get, runtime } = await serving({ agents: [slow] })
  await runtime.start('slow', 'go')
  await begun.promise
  const closed = runtime.close()
  expect(await get('/ready')).toMatchObject({ status: 503, body: { ok: false, reason: 'closing' } })
  expect((await get('/live', { Authorization: '' })).status).toBe(200)
  answered.resolve('done')
  await closed
})

test('closing says first that it is not ready, answers what is in flight, and keeps no connection', async () => {
  const { server, runtime } = await serving()
  const asked = Promise.withResolvers<void>()
  const held = Promise.withResolvers<never[]>()
  vi.spyOn(runtime, 'runs').mockImplementation(() => (asked.resolve(), held.promise))
  const inFlight = raw(server, 'GET /api/health HTTP/1.1', 'Host: 127.0.0.1', 'Connection: keep-alive')
  await asked.promise
  const begun = performance.now()
  const closed = server.close()
  await later(20)
  held.resolve([])
  const answer = await inFlight
  await closed
  expect(statusOf(answer)).toBe(200)
  expect(answer.toLowerCase()).toContain('connection: close')
  // not the five seconds that a connection would be waited for
  expect(performance.now() - begun).toBeLessThan(3_000)
})
