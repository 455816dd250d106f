/**
 * A runtime whose store is an address: what is checked before anything is opened, what is said when the database cannot
 * be used, and that its password is never repeated.
 */
import { inspect } from 'node:util'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { postgres } from 'reeve/postgres'
import { agent, createRuntime, ReeveError, type Runtime, type RuntimeOptions } from '@reeve/public'
import { freshPostgres, type FreshPostgres } from '../../../test/servers/postgres.ts'

const echo = agent({ name: 'echo', description: 'Says it again.', run: async (_ctx, input) => input })
const nowhere = 'postgres://me:s3cret@127.0.0.1:9/test'

let place: FreshPostgres
beforeAll(async () => {
  place = await freshPostgres()
})
afterAll(() => place.dispose())

/** Everything that is shown of an error, with its cause. */
const shown = (thrown: unknown): string =>
  inspect(thrown, { depth: 10, showHidden: true }) + String((thrown as Error).stack)
/** The error of ours that is thrown; one that shows the password is none. */
async function refused(work: () => unknown): Promise<ReeveError> {
  try {
    await work()
  } catch (thrown) {
    if (ReeveError.is(thrown) && !shown(thrown).includes('s3cret')) return thrown
    throw thrown
  }
  throw new Error('it was not refused')
}

test('an address is a store: what one process has begun another one ends, and a third reads', async () => {
  const store = `${place.server}?schema=${place.schema}`
  {
    await using client = await createRuntime({ store, agents: [echo], drive: false })
    await client.start(echo, 'hello', { runId: 'r1' })
  }
  await using worker = await createRuntime({
    engine: postgres({ url: place.server, schema: place.schema }),
    agents: [echo],
  })
  expect(await worker.handle('r1').outcome()).toMatchObject({ status: 'completed', output: 'hello' })
  await using reader = await createRuntime({ store: store.replace('postgres:', 'postgresql:'), drive: false })
  expect((await reader.runs()).map(({ run, status }) => [run, status])).toEqual([['r1', 'completed']])
})

test.each<[string, RuntimeOptions, RegExp]>([
  [
    'an option for files',
    { store: nowhere, durability: 'relaxed', busyMs: 1 },
    /durability, busyMs is for a store in a file/,
  ],
  ['another address', { store: 'https://me:s3cret@db.example' }, /store is an address \(https:/],
  [
    'an address that cannot be read',
    { store: 'postgres://me:s3cret@:x/y' },
    /not the address of a PostgreSQL database/,
  ],
  ['a schema that is no name', { store: `${nowhere}?schema=Not%20One` }, /is not a schema name/],
])('%s is refused before anything is opened', async (_what, options, message) => {
  const { code, message: said } = await refused(() => createRuntime(options))
  expect(code).toBe('config.invalid')
  expect(said).toMatch(message)
})

test.each<[string, unknown, RegExp]>([
  ['no options', nowhere, /was given a text/],
  ['an unknown name', { url: nowhere, shcema: 'x' }, /no option "shcema": did you mean "schema"/],
  ['no address', { schema: 'x' }, /url is missing/],
  ['a file', { url: './reeve.db' }, /not the address of a PostgreSQL database/],
  ['two schemas', { url: `${nowhere}?schema=a`, schema: 'b' }, /schema is "b", and "a" in the address/],
  ['an empty pool', { url: nowhere, poolSize: 0 }, /poolSize is 0/],
  ['rules that are none', { url: nowhere, redact: { keys: 'password' } }, /redact.keys is the text "password"/],
])('postgres() refuses %s', async (_what, options, message) => {
  const { code, message: said } = await refused(() => postgres(options as never))
  expect(code).toBe('config.invalid')
  expect(said).toMatch(message)
})

test('options of the store beside a given engine are refused', async () => {
  const engine = postgres({ url: place.server, schema: place.schema })
  const { code, message } = await refused(() => createRuntime({ engine, leaseMs: 1_000 }))
  expect([code, message]).toEqual([
    'config.invalid',
    expect.stringContaining('leaseMs is for the engine of `store`') as string,
  ])
})

test('an unreachable database: drive and every first call say so, and closing is quick', async () => {
  expect(await refused(() => createRuntime({ store: nowhere, agents: [echo] }))).toMatchObject({
    code: 'store.unavailable',
    retryable: true,
  })
  const runtime = await createRuntime({ store: nowhere, agents: [echo], drive: false, onWarning: () => {} })
  const calls: ((runtime: Runtime) => Promise<unknown>)[] = [
    (each) => each.runs(),
    (each) => each.start(echo, 'x'),
    (each) => each.handle('r1').view(),
    (each) => each.handle('r1').outcome(),
    (each) => each.handle('r1').control.cancel(),
    (each) => each.questions(),
    (each) => each.remove('r1'),
  ]
  for (const call of calls)
    expect(await refused(() => call(runtime)), String(call)).toMatchObject({ code: 'store.unavailable' })
  await runtime.close()
})

test('a reader sees an empty store and creates no tables; a writer without rights is told what to grant', async () => {
  const schema = `${place.schema}_empty`
  const role = `${schema}_role`
  const admin = new Client({ connectionString: place.server })
  await admin.connect()
  const isMade = async (): Promise<boolean> =>
    (await admin.query('select 1 from pg_namespace where nspname = $1', [schema])).rows.length > 0
  const address = new URL(place.server)
  address.username = role
  await admin.query(`create role ${role} login`)
  try {
    for (const server of [place.server, address.href]) {
      await using looker = await createRuntime({ store: `${server}?schema=${schema}`, agents: [echo], drive: false })
      expect([await looker.runs(), await looker.questions()]).toEqual([[], []])
      for (const call of [
        () => looker.handle('r1').view(),
        () => looker.handle('r1').outcome(),
        () => looker.remove('r1'),
      ])
        expect((await refused(call)).code).toBe('run.unknown')
    }
    await using plain = await createRuntime({
      store: `${address.href}?schema=${schema}`,
      agents: [echo],
      drive: false,
      onWarning: () => {},
    })
    const { code, retryable, hint } = await refused(() => plain.start(echo, 'x'))
    expect([code, retryable, hint]).toEqual([
      'store.unavailable',
      false,
      expect.stringContaining('Grant this user CREATE'),
    ])
    expect(await isMade()).toBe(false)
    await using looker = await createRuntime({
      store: `${place.server}?schema=${schema}`,
      agents: [echo],
      drive: false,
    })
    const run = await looker.start(echo, 'x')
    expect(await isMade()).toBe(true)
    expect((await looker.runs()).map(({ run: id }) => id)).toEqual([run.id])
  } finally {
    await admin.query(`drop schema if exists ${schema} cascade; drop role ${role}`)
    await admin.end()
  }
})

test('a process that has no runs has no thread for its heartbeat; with its first run it has one', async () => {
  const store = `${place.server}?schema=${place.schema}`
  const threads: unknown[] = []
  const hear = (thread: unknown): void => void threads.push(thread)
  process.on('worker', hear)
  try {
    await using client = await createRuntime({ store, agents: [echo], drive: false })
    await client.runs()
    {
      await using worker = await createRuntime({ store, agents: [echo] })
      await worker.runs()
    }
    expect(threads).toHaveLength(0)
    await using worker = await createRuntime({ store, agents: [echo] })
    await (await worker.start(echo, 'hello')).outcome()
    expect(threads).toHaveLength(1)
    // begun by another process: it is claimed
    await worker.close()
    await using other = await createRuntime({ store, agents: [echo] })
    await (await client.start(echo, 'hello')).outcome()
    expect(threads).toHaveLength(2)
    await other.close()
  } finally {
    process.off('worker', hear)
  }
})

test('a wrong password or a database that is not there is said without the password', async () => {
  const url = new URL(place.server)
  url.password = 's3cret'
  url.pathname = '/there_is_none'
  const { code, message } = await refused(() => createRuntime({ store: url.href, agents: [echo] }))
  expect(code).toMatch(/^store\./)
  expect(message).toContain('there_is_none')
})

test('without the package pg the first call says what to install', async () => {
  vi.doMock('pg', () => {
    throw new Error('Cannot find package')
  })
  try {
    const runtime = await createRuntime({ store: nowhere, drive: false })
    expect(await refused(() => runtime.runs())).toMatchObject({ code: 'config.invalid', hint: 'npm install pg' })
    await runtime.close()
  } finally {
    vi.doUnmock('pg')
  }
})

test('a process without rules writes nothing into a store that another redacts, not even its first entry (K10)', async () => {
  await using own = await freshPostgres()
  const store = `${own.server}?schema=${own.schema}`
  {
    await using first = await createRuntime({ store, agents: [echo], redact: { values: ['s3cret'] } })
    await first.run(echo, 'hello')
  }
  const refusal = { code: 'store.redacted' }
  await expect(createRuntime({ store, agents: [echo] })).rejects.toMatchObject(refusal)
  await using client = await createRuntime({ store, agents: [echo], drive: false, onWarning: () => {} })
  await expect(client.start(echo, 's3cret', { runId: 'never' })).rejects.toMatchObject(refusal)
  const rows = new Client({ connectionString: own.server })
  await rows.connect()
  expect((await rows.query(`SELECT body FROM ${own.schema}.entry WHERE body LIKE '%s3cret%'`)).rows).toEqual([])
  await rows.end()
})
