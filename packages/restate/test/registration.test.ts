/**
 * Registration at a server that is slow, or that speaks TLS otherwise than its address says: a wait that was too short
 * says nothing of a worker, and a certificate is no outage. The admin API here is a stand-in, because a real server
 * cannot be made slow on demand.
 */
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, test, vi } from 'vitest'
import { restate } from '../src/index.ts'
import { serviceOf, storeLabel } from '../src/call.ts'
import { agent } from '@reeve/agent'
import { createRuntime, type Runtime } from '@reeve/runtime'
import { selfSigned } from '../../../test/servers/certificate.ts'
import { removeFolder, temporaryFolder } from '../../../test/servers/place.ts'
import { until } from './fleet.ts'

vi.setConfig({ testTimeout: 60_000 })

const rule = agent({ name: 'rule', model: () => 'done' })
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** An admin API that registers a worker only after this time, in milliseconds, counted for each request. */
async function slowAdmin(store: () => string, ms: number): Promise<{ readonly url: string; registered: string[] }> {
  const registered: string[] = []
  const services = (): readonly unknown[] => [
    { name: serviceOf('slow'), deployment_id: registered.at(-1), metadata: { [storeLabel]: store() } },
  ]
  const answer: RequestListener = (request, response) => {
    const say = (body: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (request.url === '/services') return say({ services: registered.length === 0 ? [] : services() })
    if (request.url !== '/deployments') return say({}, 404)
    if (request.method === 'GET')
      return say({ deployments: registered.map((uri) => ({ id: uri, uri, services: [{ name: serviceOf('slow') }] })) })
    let body = ''
    request.on('data', (bytes: Buffer) => (body += bytes.toString()))
    request.on('end', () => {
      const timer = setTimeout(() => {
        registered.push((JSON.parse(body) as { uri: string }).uri)
        say({ id: registered.at(-1), services: services() })
      }, ms)
      // a server under load forgets what nobody waits for any more
      response.on('close', () => clearTimeout(timer))
    })
  }
  const server = createServer(answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, registered }
}

test('workers that begin together at a slow server all live, are told of no address, and register in the end', async () => {
  const dir = temporaryFolder('reeve-registration-')
  ends.push(() => removeFolder(dir))
  let store = ''
  const admin = await slowAdmin(() => store, 4_000)
  const said: string[] = []
  const worker = async (): Promise<Runtime> => {
    const engine = restate({
      store: join(dir, 'runs.db'),
      admin: admin.url,
      ingress: admin.url,
      namespace: 'slow',
      listen: { port: 0 },
      onWarning: (code, message) => void said.push(`${code} ${message}`),
    })
    const runtime = await createRuntime({ engine, agents: [rule] })
    ends.push(() => runtime.close())
    return runtime
  }
  const first = await worker()
  using db = new DatabaseSync(join(dir, 'runs.db'), { readOnly: true })
  store = db.prepare("SELECT value FROM meta WHERE key = 'id'").get()!['value'] as string
  const others = await Promise.all([worker(), worker()])
  expect([first, ...others]).toHaveLength(3)
  await until('a worker is registered', () => admin.registered.length > 0, 30_000)
  expect(said.filter((each) => each.includes('no answer to POST /deployments within 3 s')).length).toBeGreaterThan(0)
  expect(said.join('\n')).not.toMatch(/worker-unreachable|cannot reach the worker/)
})

test('a certificate that is not trusted, and a server without TLS, are mistakes of the set-up and no outage', async () => {
  const dir = temporaryFolder('reeve-registration-')
  ends.push(() => removeFolder(dir))
  const secure = createTlsServer(selfSigned(), (_request, response) => response.end('{}')).listen(0, '127.0.0.1')
  const plain = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1')
  for (const server of [secure, plain]) {
    await new Promise((resolve) => (server.listening ? resolve(undefined) : server.once('listening', resolve)))
    ends.push(() => server.close())
  }
  const at = (server: typeof plain): string => `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const opened = (url: string): Promise<unknown> =>
    createRuntime({
      engine: restate({ store: join(dir, 'runs.db'), admin: url, ingress: url, listen: { port: 0 } }),
      agents: [rule],
    })
  await expect(opened(at(secure))).rejects.toMatchObject({
    code: 'engine.not-trusted',
    retryable: false,
    message: expect.stringMatching(/certificate of the Restate server is not trusted.*self-signed/) as string,
  })
  await expect(opened(at(plain))).rejects.toMatchObject({
    code: 'engine.wrong-address',
    retryable: false,
    message: expect.stringMatching(/answers without TLS: [a-z ]+$/) as string,
  })
})
