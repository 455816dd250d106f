/**
 * Wrong addresses, wrong options, bad surroundings: each is one error with a code, a hint and a word on trying again, in bounded time, and nothing is left
 * behind: nobody listens, no promise is forgotten (vitest fails on unhandled rejections).
 */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcp, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { RestateOptions } from '../../src/adapters/restate/index.ts'
import { restate } from '../../src/adapters/restate/index.ts'
import type { ReeveError, RunId } from '../../src/core/index.ts'
import { createRuntime } from '../../src/runtime/index.ts'
import { crew } from './crew.ts'
import { Fleet, until } from './fleet.ts'
import { freePort, freshRestateServer, type TestServer } from './harness.ts'
import { listening } from './probe.ts'

vi.setConfig({ testTimeout: 40_000, hookTimeout: 60_000 })

let shared: TestServer
beforeAll(async () => {
  shared = await freshRestateServer()
})
afterAll(() => shared.dispose())

const anything = expect.any(String) as string
const servers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'TCPServerWrap').length

/** Expects that this fails as said, within the time, with a hint, and that nobody listens who did not before. */
async function expectFailure(
  what: () => Promise<unknown>,
  code: string,
  more: { readonly retryable?: boolean; readonly withinMs?: number } = {},
): Promise<ReeveError> {
  const { retryable = false, withinMs = 9_000 } = more
  const [before, began] = [servers(), Date.now()]
  const thrown = await what().then(
    () => undefined,
    (error: unknown) => error as ReeveError,
  )
  expect(thrown).toMatchObject({ code, retryable, hint: anything })
  expect(Date.now() - began).toBeLessThan(withinMs)
  await until('nobody listens any more', () => servers() <= before, 2_000)
  return thrown!
}

/** A worker in this process, with options that are wrong somewhere. */
const drives = (fleet: Fleet, options: Partial<RestateOptions>) => async () => {
  const engine = restate({ ...fleet.options, listen: { port: fleet.port }, onWarning: () => {}, ...options })
  const runtime = await createRuntime({ engine, agents: crew(fleet.world) })
  await runtime.close()
}
const starts = (fleet: Fleet, options: Partial<RestateOptions>, run: string) => async () => {
  const desk = await fleet.desk(options)
  await desk.start('publisher', 'x', { runId: run })
}
async function plainHttp(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((_request, response) => response.end('hello'))
  return { url: await listening(server), server }
}

describe('Restate is not there, or is somebody else', () => {
  test('not reachable: start and drive say so; the run is kept, and begins when a worker comes', async () => {
    await using fleet = await Fleet.create({ shared })
    const nowhere = `http://127.0.0.1:${await freePort()}`
    await expectFailure(starts(fleet, { ingress: nowhere }, 'kept'), 'engine.unreachable', { retryable: true, withinMs: 2_000 })
    await expectFailure(drives(fleet, { admin: nowhere }), 'engine.unreachable', { retryable: true })
    const desk = await fleet.desk()
    expect(await desk.runs()).toMatchObject([{ run: 'kept', status: 'running' }])
    await fleet.worker()
    expect(await desk.handle('kept').until('waiting')).toMatchObject({ status: 'waiting' })
  })

  test('ingress and admin are swapped, or a plain HTTP server is there', async () => {
    await using fleet = await Fleet.create({ shared })
    const swapped = { ingress: shared.admin, admin: shared.ingress }
    await expectFailure(starts(fleet, swapped, 'a'), 'engine.wrong-address', { withinMs: 2_000 })
    await expectFailure(drives(fleet, swapped), 'engine.wrong-address', { withinMs: 2_000 })
    const { url, server } = await plainHttp()
    await expectFailure(starts(fleet, { ingress: url, admin: url }, 'b'), 'engine.wrong-address', { withinMs: 2_000 })
    await expectFailure(drives(fleet, { ingress: url, admin: url }), 'engine.wrong-address', { withinMs: 2_000 })
    server.close()
    await expectFailure(async () => restate({ ...fleet.options, ingress: 'localhost:8080' }), 'engine.wrong-address')
  })

  test('no worker is registered: start rejects, the run is kept and begins when one comes', async () => {
    await using fleet = await Fleet.create({ shared })
    await expectFailure(starts(fleet, {}, 'kept'), 'engine.no-worker', { withinMs: 2_000 })
    // Again: the same run, the same word.
    await expectFailure(starts(fleet, {}, 'kept'), 'engine.no-worker', { withinMs: 2_000 })
    await fleet.worker()
    const desk = await fleet.desk()
    expect(await desk.handle('kept').until('waiting')).toMatchObject({ status: 'waiting' })
    expect(fleet.world.count('draft')).toBe(1)
  })

  test('an agent, or a version of it, that no worker has: stuck, with the reason, until one comes that has it', async () => {
    await using fleet = await Fleet.create({ shared })
    const worker = await fleet.worker({ onMissingVersion: 'park' })
    const engine = fleet.engine()
    const input = { brief: { instructions: 'x' }, depth: 0, maxDepth: 4 }
    await engine.start({ run: 'ghost' as RunId, agent: 'ghost', version: '1', input })
    const desk = await fleet.desk({}, '2')
    await desk.start('publisher', 'x', { runId: 'later' })
    for (const [run, reason] of [
      ['ghost', /the agent "ghost" is not registered/],
      ['later', /version 2\+\w+ of "publisher" is not registered/],
    ] as const) {
      const state = await desk.handle(run).until('waiting')
      expect(state).toMatchObject({ status: 'stuck', reason: expect.stringMatching(reason) as string })
    }
    await worker.end('SIGTERM')
    await fleet.worker({ crew: '2' })
    const [approval] = await until('it goes on and asks', async () => {
      const open = await desk.approvals({ run: 'later' })
      return open.length > 0 && open
    })
    expect(approval).toMatchObject({ tool: 'publish' })
    await desk.handle('ghost').cancel()
    expect(await desk.handle('ghost').outcome()).toMatchObject({ status: 'cancelled' })
    await engine.close()
  })
})

describe('the worker', () => {
  test('cannot be reached by Restate under the address that it advertises', async () => {
    await using fleet = await Fleet.create({ shared })
    await expectFailure(drives(fleet, { advertise: `http://127.0.0.1:${await freePort()}` }), 'engine.worker-unreachable')
    const { url, server } = await plainHttp()
    await expectFailure(drives(fleet, { advertise: url }), 'engine.worker-unreachable')
    server.close()
  })

  test('would listen for everybody without a key: refused before anything is opened', async () => {
    await using fleet = await Fleet.create({ shared })
    const file = join(fleet.world.dir, 'never.db')
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.org'])
      await expectFailure(async () => restate({ store: { sqlite: file }, listen: { host } }), 'config.invalid', { withinMs: 500 })
    await expectFailure(async () => restate({ store: { sqlite: file }, identityKeys: ['secret'] }), 'config.invalid', { withinMs: 500 })
    expect(() => readFileSync(file)).toThrow('ENOENT')
  })

  test('finds its port taken, or has no such address', async () => {
    await using fleet = await Fleet.create({ shared })
    const other = createTcp()
    await new Promise<void>((resolve) => other.listen({ host: '127.0.0.1', port: 0 }, resolve))
    await expectFailure(drives(fleet, { listen: { port: (other.address() as AddressInfo).port } }), 'config.invalid', { withinMs: 2_000 })
    other.close()
    const key = 'publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f'
    await expectFailure(drives(fleet, { listen: { host: '192.0.2.1', port: 9_999 }, identityKeys: [key] }), 'config.invalid', {
      withinMs: 2_000,
    })
  })

  test('has a name that is none', async () => {
    for (const wrong of [
      { namespace: '' },
      { namespace: 'a b' },
      { namespace: '1a' },
      { build: 'v1.2' },
      { build: '' },
      { namespace: 'x'.repeat(65) },
    ])
      await expectFailure(async () => restate({ store: { sqlite: '/nowhere' }, ...wrong }), 'config.invalid', { withinMs: 500 })
  })
})

test('identity keys: a worker obeys the server that it was told of, and refuses every other', async () => {
  await using fleet = await Fleet.create({ shared })
  const file = join(fleet.world.dir, 'key.pem')
  writeFileSync(file, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
  await using signing = await freshRestateServer({ identityKeyFile: file })
  const key = /kid="(publickeyv1_\w+)"/.exec(readFileSync(signing.log, 'utf8'))![1]!
  const signed = { ingress: signing.ingress, admin: signing.admin }
  // The other server signs nothing; a key of somebody else is not this one's.
  await expectFailure(drives(fleet, { identityKeys: [key] }), 'engine.worker-refused')
  await expectFailure(
    drives(fleet, { ...signed, identityKeys: ['publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f'] }),
    'engine.worker-refused',
  )
  await fleet.worker({
    options: { ...signed, identityKeys: [key], listen: { host: '0.0.0.0', port: fleet.port }, advertise: `http://127.0.0.1:${fleet.port}` },
  })
  const desk = await fleet.desk(signed)
  expect(await (await desk.start('publisher', 'x')).until('waiting')).toMatchObject({ status: 'waiting' })
  // Nobody else gets in, not even to ask what is served.
  const asked = await new Promise<number>((resolve, reject) => {
    import('node:http2').then(({ connect }) => {
      const session = connect(`http://127.0.0.1:${fleet.port}`)
      session.once('error', reject)
      const request = session.request({ ':path': '/discover', accept: 'application/vnd.restate.endpointmanifest.v3+json' })
      request.once('response', (headers) => (resolve(Number(headers[':status'])), session.destroy()))
      request.end()
    }, reject)
  })
  expect(asked).toBe(401)
})

describe('the store', () => {
  test('is not there, is foreign, or is no address: before anybody listens', async () => {
    await using fleet = await Fleet.create({ shared })
    const foreign = join(fleet.world.dir, 'foreign.db')
    writeFileSync(foreign, 'this is a letter to my aunt, and not an SQLite database at all')
    const nowhere = `postgres://nobody:secret@127.0.0.1:${await freePort()}/none`
    await expectFailure(drives(fleet, { store: { sqlite: join(fleet.world.dir, 'no', 'such', 'folder', 'x.db') } }), 'store.unavailable')
    await expectFailure(drives(fleet, { store: { sqlite: foreign } }), 'store.foreign')
    const away = await expectFailure(drives(fleet, { store: { postgres: nowhere } }), 'store.unavailable', { retryable: true })
    expect(away.message).not.toContain('secret')
    await expectFailure(drives(fleet, { store: { postgres: 'localhost/none' } }), 'config.invalid')
    await expectFailure(starts(fleet, { store: { postgres: nowhere } }, 'a'), 'store.unavailable', { retryable: true })
    expect(readFileSync(foreign, 'utf8')).toContain('aunt')
    expect(await fleet.client.deployments()).toEqual([])
  })
})

describe('an optional package is not installed', () => {
  const without = async (fleet: Fleet, missing: string, options: Partial<RestateOptions> = {}): Promise<string[]> => {
    const args = [
      join(import.meta.dirname, 'missing-child.ts'),
      missing,
      JSON.stringify({ ...fleet.options, listen: { port: fleet.port }, ...options }),
    ]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 })
    return stdout.trim().split('\n')
  }

  test('the Restate SDK: only a worker needs it, and says so', async () => {
    await using fleet = await Fleet.create({ shared })
    expect(await without(fleet, '@restatedev/restate-sdk')).toEqual([
      'desk {"runs":0}',
      'drive {"code":"config.invalid","hint":"npm install @restatedev/restate-sdk"}',
    ])
  })

  test('pg: only PostgreSQL needs it', async () => {
    await using fleet = await Fleet.create({ shared })
    const missing = '{"code":"config.invalid","hint":"npm install pg"}'
    const postgres = 'postgres://nobody@127.0.0.1:1/none'
    expect(await without(fleet, 'pg', { store: { postgres } })).toEqual([`desk ${missing}`, `drive ${missing}`])
    expect(await without(fleet, 'pg')).toEqual(['desk {"runs":0}', 'drive {"runs":0}'])
  })
})
