/**
 * Wrong addresses, wrong options, bad surroundings: each is one error with a code, a hint and a word on trying again,
 * in bounded time, and nothing is left behind: nobody listens, no promise is forgotten (vitest fails on unhandled
 * rejections).
 */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcp, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { RestateOptions } from '../src/index.ts'
import { restate } from '../src/index.ts'
import type { ReeveError } from '@reeve/core'
import { createRuntime } from '@reeve/runtime'
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
/**
 * A client with options that are wrong somewhere: the run begins in the store all the same, and what is wrong is said
 * once.
 */
async function starts(fleet: Fleet, options: Partial<RestateOptions>, run: string): Promise<readonly string[]> {
  const heard: string[] = []
  const desk = await fleet.desk({ ...options, onWarning: (code) => void heard.push(code) })
  await desk.start('publisher', 'x', { runId: run })
  await until('it has said so', () => heard.length > 0)
  await desk.start('publisher', 'x', { runId: `${run}-again` })
  return heard
}
async function plainHttp(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((_request, response) => response.end('hello'))
  return { url: await listening(server), server }
}

describe('Restate is missing, or another server answers', () => {
  test('not reachable: said once; the run is in the store, and begins when a worker comes', async () => {
    await using fleet = await Fleet.create({ shared })
    const nowhere = `http://127.0.0.1:${await freePort()}`
    expect(await starts(fleet, { ingress: nowhere }, 'kept')).toEqual(['engine.unreachable'])
    const desk = await fleet.desk()
    expect((await desk.runs()).map(({ run, status }) => [run, status])).toContainEqual(['kept', 'running'])
    await fleet.worker()
    expect(await desk.handle('kept').until('waiting')).toMatchObject({ status: 'waiting' })
    expect(fleet.world.count('draft')).toBeGreaterThan(0)
  })

  test('ingress and admin are swapped, or a plain HTTP server is there', async () => {
    await using fleet = await Fleet.create({ shared })
    const swapped = { ingress: shared.admin, admin: shared.ingress }
    expect(await starts(fleet, swapped, 'a')).toEqual(['engine.wrong-address'])
    await expectFailure(drives(fleet, swapped), 'engine.wrong-address', { withinMs: 2_000 })
    const { url, server } = await plainHttp()
    expect(await starts(fleet, { ingress: url, admin: url }, 'b')).toEqual(['engine.wrong-address'])
    await expectFailure(drives(fleet, { ingress: url, admin: url }), 'engine.wrong-address', { withinMs: 2_000 })
    server.close()
  })

  test('no worker is registered: said once; the run begins when one comes', async () => {
    await using fleet = await Fleet.create({ shared })
    expect(await starts(fleet, {}, 'kept')).toEqual(['engine.no-worker'])
    await fleet.worker()
    const desk = await fleet.desk()
    expect(await desk.handle('kept').until('waiting')).toMatchObject({ status: 'waiting' })
  })
})

describe('options', () => {
  const refusal = (options: unknown): ReeveError => {
    try {
      restate(options as RestateOptions)
    } catch (thrown) {
      return thrown as ReeveError
    }
    throw new Error(`taken: ${JSON.stringify(options)}`)
  }
  test.each([
    [{ store: { postgres: 'postgres://ann:secret@db/x', schema: 's' } }, /write store: 'postgres:/],
    [{ store: { sqlite: 'x.db' } }, /store: 'runs.db' for \{ sqlite \}/],
    [{}, /store is missing/],
    [{ store: ':memory:' }, /store is in memory and lost with its process/],
    [{ store: 'mysql://ann:secret@db/x' }, /store is an address \(mysql:/],
    [{ store: 'x.db', ingres: 'http://x' }, /no option "ingres": did you mean "ingress"/],
    [{ store: 'x.db', poolSize: 3 }, /poolSize is for PostgreSQL/],
    [{ store: 'postgres://db/x', durability: 'strict' }, /durability is for a store in a file/],
    [{ store: 'x.db', ingress: 'localhost:8080' }, /ingress is the text "localhost:8080"/],
    [{ store: 'x.db', ingress: 'http://ann:secret@r:8080' }, /give tokens instead/],
    [{ store: 'x.db', admin: 'ann:secret@r:9070' }, /admin is a text/],
    [{ store: 'x.db', tokens: { ingress: 'secret two' } }, /tokens.ingress is not a bearer token/],
    [{ store: 'x.db', namespace: '' }, /namespace is/],
    [{ store: 'x.db', namespace: 'a b' }, /namespace is/],
    [{ store: 'x.db', namespace: '1a' }, /namespace is/],
    [{ store: 'x.db', namespace: 'x'.repeat(65) }, /namespace is/],
    [{ store: 'x.db', listen: { port: 70_000 } }, /listen.port is 70000/],
    [{ store: 'x.db', listen: 9080 }, /listen is 9080/],
    [{ store: 'x.db', identityKeys: ['secret'] }, /identityKeys holds/],
    [{ store: 'x.db', register: 'no' }, /register is the text/],
    ...['0.0.0.0', '::', '192.0.2.1', 'example.org'].map(
      (host) => [{ store: 'x.db', listen: { host } }, /accepts calls from every client that can reach it/] as const,
    ),
    ['x.db', /restate\(\) was given the text/],
  ] as const)('%j: refused before anything is opened', (options, message) => {
    const thrown = refusal(options)
    expect(thrown).toMatchObject({ code: 'config.invalid', retryable: false, hint: anything })
    expect(thrown.message).toMatch(message)
    expect(`${thrown.message} ${thrown.hint}`).not.toContain('secret')
    expect(existsSync('x.db')).toBe(false)
  })
})

describe('the worker', () => {
  test('cannot be reached by Restate under the address that it advertises', async () => {
    await using fleet = await Fleet.create({ shared })
    await expectFailure(
      drives(fleet, { advertise: `http://127.0.0.1:${await freePort()}` }),
      'engine.worker-unreachable',
    )
    const { url, server } = await plainHttp()
    await expectFailure(drives(fleet, { advertise: url }), 'engine.worker-unreachable')
    server.close()
  })

  test('finds its port taken, or has no such address', async () => {
    await using fleet = await Fleet.create({ shared })
    const other = createTcp()
    await new Promise<void>((resolve) => other.listen({ host: '127.0.0.1', port: 0 }, resolve))
    await expectFailure(drives(fleet, { listen: { port: (other.address() as AddressInfo).port } }), 'config.invalid', {
      withinMs: 2_000,
    })
    other.close()
    const key = 'publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f'
    await expectFailure(
      drives(fleet, { listen: { host: '192.0.2.1', port: 9_999 }, identityKeys: [key] }),
      'config.invalid',
      {
        withinMs: 2_000,
      },
    )
  })
})

describe('one namespace, one store', () => {
  test('a worker with another store is refused at its own and at a shared address; one of the same store is not', async () => {
    await using fleet = await Fleet.create({ shared, store: 'postgres' })
    await fleet.worker()
    const other = join(fleet.world.dir, 'other.db')
    const elsewhere = await expectFailure(
      drives(fleet, { store: other, listen: { port: await freePort() } }),
      'config.invalid',
    )
    expect(elsewhere.message).toMatch(/a worker with another store serves/)
    await fleet.worker()
    await fleet.worker({ options: { listen: { port: await freePort() } } })
    await fleet.worker({
      options: { store: other, namespace: `${fleet.options.namespace}-2`, listen: { port: await freePort() } },
    })
  })

  test('hostile calls: none moves a run, ends the worker or is kept', async () => {
    await using fleet = await Fleet.create({ shared, store: 'postgres' })
    const worker = await fleet.worker()
    const service = `${fleet.options.namespace}.Runs`
    const call = async (
      body: string | Uint8Array<ArrayBuffer>,
      type = 'application/json',
    ): Promise<readonly [number, string]> => {
      const answer = await fetch(`${shared.ingress}/${service}/move`, {
        method: 'POST',
        body,
        headers: { 'content-type': type },
      })
      return [answer.status, await answer.text()]
    }
    const { metadata } = (await fleet.client.services()).find(({ name }) => name === service)!
    const store = metadata['reeve.store'] as string
    const said = (runs: unknown, of: unknown = store): string => JSON.stringify({ store: of, runs })
    for (const body of [
      '',
      '{',
      'null',
      '[]',
      '"move"',
      said(undefined),
      said([]),
      said('a'),
      said({ length: 1, 0: 'a' }),
      said([1]),
      said([['a']]),
      said([{}]),
      said(['../../etc']),
      said(["a'; drop table run; --"]),
      said(['__proto__']),
      said(['x'.repeat(129)]),
      said(Array.from({ length: 17 }, (_, k) => `r${k}`)),
      said(['a'], 1),
      said(['a'], null),
      `{"__proto__":{"store":"${store}","runs":["a"]}}`,
      said(['x'.repeat(100_000)]),
    ])
      expect(await call(body), body.slice(0, 80)).toMatchObject([400, expect.stringContaining('refused')])
    expect((await call(new Uint8Array([0xff, 0xfe, 0x00]), 'application/octet-stream'))[0]).toBe(400)
    expect(await call(said(['a'], 'sto_another'))).toMatchObject([409, expect.stringContaining('another store')])
    // Runs that are not there, and one that is: nobody is disturbed.
    const desk = await fleet.desk()
    const run = await desk.start('publisher', 'x')
    const state = await run.until('waiting')
    const before = (await run.view()).position
    expect((await call(said(['nowhere', run.id, 'constructor'])))[0]).toBe(200)
    expect((await run.view()).position).toBe(before)
    if ('waiting' in state) await run.decide({ approvalId: state.waiting[0]!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: { published: true } })
    expect((await call(said([run.id])))[0]).toBe(200)
    expect(fleet.world.count('publish')).toBe(1)
    expect(await fleet.calls()).toEqual([])
    expect(worker.lines.filter((line) => !line.startsWith('up') && !line.startsWith('engine.worker-refused'))).toEqual(
      [],
    )
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
    options: {
      ...signed,
      identityKeys: [key],
      listen: { host: '0.0.0.0', port: fleet.port },
      advertise: `http://127.0.0.1:${fleet.port}`,
    },
  })
  const desk = await fleet.desk(signed)
  expect(await (await desk.start('publisher', 'x')).until('waiting')).toMatchObject({ status: 'waiting' })
  // Nobody else gets in, not even to ask what is served.
  const asked = await new Promise<number>((resolve, reject) => {
    import('node:http2').then(({ connect }) => {
      const session = connect(`http://127.0.0.1:${fleet.port}`)
      session.once('error', reject)
      const request = session.request({
        ':path': '/discover',
        accept: 'application/vnd.restate.endpointmanifest.v3+json',
      })
      request.once('response', (headers) => (resolve(Number(headers[':status'])), session.destroy()))
      request.end()
    }, reject)
  })
  expect(asked).toBe(401)
})

describe('the store', () => {
  test('is not there, or is foreign: before anything listens', async () => {
    await using fleet = await Fleet.create({ shared })
    const foreign = join(fleet.world.dir, 'foreign.db')
    writeFileSync(foreign, 'this is a letter to my aunt, and not an SQLite database at all')
    const nowhere = `postgres://nobody:secret@127.0.0.1:${await freePort()}/none`
    await expectFailure(
      drives(fleet, { store: join(fleet.world.dir, 'no', 'such', 'folder', 'x.db') }),
      'store.unavailable',
    )
    await expectFailure(drives(fleet, { store: foreign }), 'store.foreign')
    const away = await expectFailure(drives(fleet, { store: nowhere }), 'store.unavailable', { retryable: true })
    expect(away.message).not.toContain('secret')
    expect(readFileSync(foreign, 'utf8')).toContain('aunt')
    expect(
      (await fleet.client.deployments()).filter(({ services }) => services.includes(`${fleet.options.namespace}.Runs`)),
    ).toEqual([])
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
    expect(await without(fleet, 'pg', { store: postgres })).toEqual([`desk ${missing}`, `drive ${missing}`])
    expect(await without(fleet, 'pg')).toEqual(['desk {"runs":0}', 'drive {"runs":0}'])
  })
})
