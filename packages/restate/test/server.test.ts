/**
 * The server that Reeve starts, and what is said to it: readiness, kill -9, a cluster that loses a node, and an error
 * for everything that is wrong.
 */
import { createServer, type RequestListener } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { RestateClient } from '../src/client.ts'
import { startServer } from '../src/server.ts'
import {
  freePort,
  freshPostgres,
  freshRestateServer,
  restateCluster,
  restateServer,
  stoppablePostgres,
  type TestServer,
} from './harness.ts'
import { listening, probeWorker } from './probe.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const clientOf = ({ ingress, admin }: { ingress: string; admin: string }): RestateClient =>
  new RestateClient({ ingress, admin })
const statusOf = async (client: RestateClient, id: string): Promise<string | undefined> =>
  (await client.query<{ status: string }>(`select status from sys_invocation where id = '${id}'`))[0]?.status
/** Asks until it is so; a server that was just killed may take a while. */
async function eventually<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries > 200) throw error
      await sleep(50)
    }
  }
}

describe('one server', () => {
  let server: TestServer
  let client: RestateClient
  let first: Awaited<ReturnType<typeof probeWorker>>
  beforeAll(async () => {
    server = await restateServer()
    client = clientOf(server)
    first = await probeWorker('first')
    await client.register(first.uri)
  })
  afterAll(async () => {
    first.close()
    await server.dispose()
  })

  test('all callers get the same one', async () => {
    expect(await restateServer()).toBe(server)
    expect((await client.check()).version).toMatch(/^\d+\.\d+\.\d+$/)
  })

  test('sends calls, and knows deployments, services and invocations', async () => {
    expect(await client.register(first.uri)).toMatchObject([{ name: 'probe.Calls' }, { name: 'probe.Steps' }])
    expect(await client.deployments()).toMatchObject([
      { uri: `${first.uri}/`, services: ['probe.Calls', 'probe.Steps'] },
    ])
    const [deployment] = await client.deployments()
    expect(await client.services()).toMatchObject([
      { name: 'probe.Calls', deployment: deployment!.id, metadata: { 'reeve.store': 'sto_probe' } },
      { name: 'probe.Steps', deployment: deployment!.id, metadata: {} },
    ])
    const id = await client.send('probe.Calls', 'wait', null)
    await vi.waitFor(async () => expect(await statusOf(client, id)).toMatch(/running|suspended/), 25_000)
    expect(await client.reaches(first.uri)).toBe(true)
  })

  test('goes on after kill -9 with everything it had', async () => {
    const id = await client.send('probe.Calls', 'wait', null)
    server.kill()
    await server.exited
    await expect(client.send('probe.Calls', 'echo', 1)).rejects.toMatchObject({
      code: 'engine.unreachable',
      retryable: true,
    })
    await server.start()
    expect(await eventually(() => statusOf(client, id))).toMatch(/running|suspended|ready/)
  })

  test('a taken port, a taken folder', async () => {
    const taken = Number(new URL(server.ingress).port)
    const ports = { adminPort: await freePort(), nodePort: await freePort() }
    await expect(startServer({ dir: join(server.dir, 'other'), ingressPort: taken, ...ports })).rejects.toMatchObject({
      code: 'engine.server-not-started',
      message: `the port ${taken} is taken on 127.0.0.1`,
    })
    await expect(startServer({ dir: server.dir, ingressPort: await freePort(), ...ports })).rejects.toMatchObject({
      code: 'engine.server-not-started',
      message: expect.stringContaining('lock') as string,
    })
  })

  describe('an error that says what is wrong', () => {
    const plain = async (answer: RequestListener): Promise<{ url: string; close: () => void }> => {
      const http = createServer(answer)
      return { url: await listening(http), close: () => http.closeAllConnections() }
    }

    test('no server, no answer', async () => {
      const nobody = `http://127.0.0.1:${await freePort()}`
      const lost = new RestateClient({ ingress: nobody, admin: nobody })
      await expect(lost.send('probe.Calls', 'echo', 1)).rejects.toMatchObject({
        code: 'engine.unreachable',
        retryable: true,
      })
      await expect(lost.deployments()).rejects.toMatchObject({
        code: 'engine.unreachable',
        message: expect.stringContaining('ECONNREFUSED') as string,
      })
      const mute = await plain(() => {})
      const waiting = new RestateClient({ ingress: mute.url, admin: mute.url, timeoutMs: 100 })
      await expect(waiting.send('probe.Calls', 'echo', 1)).rejects.toMatchObject({
        code: 'engine.unreachable',
        message: expect.stringContaining('0.1 s') as string,
      })
      await expect(waiting.register('http://127.0.0.1:1')).rejects.toMatchObject({ code: 'engine.unreachable' })
      mute.close()
    })

    test('another server, the two sides swapped, no URL', async () => {
      const swapped = new RestateClient({ ingress: server.admin, admin: server.ingress })
      const wrong = { code: 'engine.wrong-address', retryable: false }
      await expect(swapped.send('probe.Calls', 'echo', 1)).rejects.toMatchObject({
        ...wrong,
        message: expect.stringContaining('looks like the admin') as string,
      })
      for (const ask of [
        () => swapped.deployments(),
        () => swapped.register(first.uri),
        () => swapped.query('select 1'),
        () => swapped.check(),
      ])
        await expect(ask()).rejects.toMatchObject(wrong)
      for (const [status, text] of [
        [200, 'hello'],
        [200, '{}'],
        [404, 'not found'],
        [400, '{}'],
        [500, '<html>'],
      ] as const) {
        const other = await plain((_request, response) => response.writeHead(status).end(text))
        const lost = new RestateClient({ ingress: other.url, admin: other.url })
        for (const ask of [
          () => lost.send('probe.Calls', 'echo', 1),
          () => lost.deployments(),
          () => lost.query('select 1'),
        ])
          await expect(ask(), `${status} ${text}`).rejects.toMatchObject(wrong)
        other.close()
      }
      expect(() => new RestateClient({ ingress: 'localhost:8080', admin: server.admin })).toThrow('is not a URL')
    })

    test('a gate before it', async () => {
      const gate = await plain((request, response) =>
        response.writeHead(request.headers.authorization === 'Bearer yes' ? 503 : 401).end(),
      )
      await expect(
        new RestateClient({ ingress: gate.url, admin: gate.url }).send('probe.Calls', 'echo', 1),
      ).rejects.toMatchObject({
        code: 'engine.not-authorized',
      })
      const token = new RestateClient({ ingress: gate.url, admin: gate.url, ingressToken: 'yes', adminToken: 'yes' })
      await expect(token.send('probe.Calls', 'echo', 1)).rejects.toMatchObject({ code: 'engine.unreachable' })
      await expect(token.services()).rejects.toMatchObject({ code: 'engine.unreachable' })
      gate.close()
    })

    test('no worker, no such handler', async () => {
      await expect(client.send('nowhere', 'run', 1)).rejects.toMatchObject({
        code: 'engine.no-worker',
        message: expect.stringContaining('nowhere') as string,
      })
      await expect(client.send('probe.Calls', 'later', 1)).rejects.toMatchObject({ code: 'engine.no-worker' })
    })

    test('a worker that is not there, speaks HTTP/1.1, never answers, or keeps the server out', async () => {
      const unreachable = { code: 'engine.worker-unreachable' }
      await expect(client.register(`http://127.0.0.1:${await freePort()}`)).rejects.toMatchObject(unreachable)
      const old = await plain((_request, response) => response.end('hello'))
      await expect(client.register(old.url)).rejects.toMatchObject(unreachable)
      const mute = createHttp2(() => {})
      await expect(
        new RestateClient({ ...server, timeoutMs: 300 }).register(await listening(mute)),
      ).rejects.toMatchObject({ code: 'engine.unreachable', retryable: true })
      mute.close()
      old.close()
      const strict = await probeWorker('strict', 'probe', ['publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f'])
      await expect(client.register(strict.uri)).rejects.toMatchObject({ code: 'engine.worker-refused' })
      strict.close()
    })
  })
})

test('starts fast and small', async () => {
  const began = performance.now()
  await using server = await freshRestateServer()
  expect(performance.now() - began).toBeLessThan(5_000)
  expect(server.pid).toBeGreaterThan(0)
  await server.stop()
  await server.stop()
})

test('a cluster of three goes on without one of them', async () => {
  await using cluster = await restateCluster(3)
  const [first, second, third] = cluster.nodes as [TestServer, TestServer, TestServer]
  const only = await probeWorker('only')
  await clientOf(first).register(only.uri)
  const echo = (node: TestServer): Promise<unknown> =>
    eventually(async () => {
      const answer = await fetch(`${node.ingress}/probe.Calls/echo`, {
        method: 'POST',
        body: JSON.stringify(node.node),
        headers: { 'content-type': 'application/json' },
        signal: AbortSignal.timeout(2_000),
      })
      if (!answer.ok) throw new Error(await answer.text())
      return answer.json()
    })
  expect(await echo(third)).toEqual({ by: 'only', value: third.node })
  const id = await clientOf(second).send('probe.Calls', 'wait', null)
  first.kill()
  await first.exited
  for (const node of [second, third]) expect(await echo(node)).toEqual({ by: 'only', value: node.node })
  expect(await eventually(() => statusOf(clientOf(third), id))).toMatch(/running|suspended|ready/)
  await first.start()
  expect(await echo(first)).toEqual({ by: 'only', value: first.node })
  only.close()
})

describe('PostgreSQL for tests', () => {
  const ask = async (url: string, sql: string): Promise<unknown> => {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 1_000, query_timeout: 1_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      return ((await client.query(sql)).rows as Record<string, unknown>[])[0]?.['x']
    } finally {
      void client.end().catch(() => {})
    }
  }

  test('schemas do not see each other', async () => {
    await using one = await freshPostgres()
    await using other = await freshPostgres()
    await ask(one.url, 'create table t (x int)')
    await ask(one.url, 'insert into t values (1)')
    expect(await ask(one.url, 'select x from t')).toBe(1)
    await expect(ask(other.url, 'select x from t')).rejects.toThrow('does not exist')
  })

  test('stops, freezes and comes back', async () => {
    await using postgres = await stoppablePostgres()
    expect(await ask(postgres.url, 'select 1 as x')).toBe(1)
    postgres.freeze()
    await expect(ask(postgres.url, 'select 1 as x')).rejects.toThrow(/timeout/)
    postgres.thaw()
    expect(await ask(postgres.url, 'select 2 as x')).toBe(2)
    await postgres.kill()
    await expect(ask(postgres.url, 'select 1 as x')).rejects.toThrow(/ECONNREFUSED|terminated/)
    await postgres.start()
    expect(await ask(postgres.url, 'select 3 as x')).toBe(3)
  })
})
