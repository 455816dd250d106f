/** Opening a store: by many at once, by those who may not, and where something else is; and what is said then. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { inspect, promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { openEventStore, type EventStoreOptions } from '../../src/adapters/eventstore/index.ts'
import { newId, rootActivation, type RunId } from '../../src/core/index.ts'
import { begin, begun, claim, errorOf, newSchema, onBothStores, postgresUrl, sql } from './hand.ts'

const folder = mkdtempSync(join(tmpdir(), 'reeve-events-'))
const schemas: string[] = []
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  for (const schema of schemas) await sql(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
})
const fresh = (): string => {
  const schema = newSchema()
  schemas.push(schema)
  return schema
}
const opening = (options: EventStoreOptions): Promise<Awaited<ReturnType<typeof errorOf>>> =>
  errorOf(async () => {
    const store = openEventStore(options)
    await store.open()
    await store.close()
  })
/** The address of the test database with something in it changed. */
const address = (change: (url: URL) => void): string => {
  const url = new URL(postgresUrl)
  change(url)
  return url.href
}

onBothStores((place) => {
  test('K2: many may open a store that is not there yet', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => place.store()))
    const root = await begin(stores[0]!)
    await root.written({}, [begun('x')])
    for (const store of stores) expect(await store.read(root.run, 0)).toHaveLength(2)
  })

  test('K2: processes that open a store that is not there yet write to the same run, and each key has one winner', async () => {
    const run = newId('run') as RunId
    const child = fileURLToPath(new URL('./writer-child.ts', import.meta.url))
    const options = JSON.stringify({ ...place.options(), ...('schema' in place.options() ? { schema: fresh() } : {}) })
    await Promise.all(['a', 'b', 'c'].map((name) => promisify(execFile)(process.execPath, [child, options, run, name, '40'])))
    const store = openEventStore(JSON.parse(options) as EventStoreOptions)
    await store.open()
    const root = await claim(store, rootActivation(run))
    const { rows } = await root.pulled()
    expect(rows.filter(({ key }) => key.startsWith('shared')).map(({ key }) => key)).toEqual(
      Array.from({ length: 40 }, (_, i) => `shared${i}`),
    )
    expect(rows.filter(({ key }) => key.startsWith('msg:'))).toHaveLength(120)
    await store.close()
  })

  test('K2: a store that is not open says so, whatever it is asked', async () => {
    const early = openEventStore(place.options())
    expect(await errorOf(() => early.summary('r' as RunId))).toMatchObject({ code: 'engine.closed' })
    await early.close()
    expect(await errorOf(() => early.open())).toMatchObject({ code: 'engine.closed' })
    const store = await place.store()
    const root = await begin(store)
    const stop = store.watch(() => undefined)
    const late = root.commit({}, [begun('x')])
    await store.close()
    await store.close()
    stop()
    expect(['written', 'engine.closed']).toContain(
      await late.then(
        ({ status }) => status as string,
        (thrown: { code: string }) => thrown.code,
      ),
    )
    expect(await errorOf(() => store.post({ target: 'run', to: root.id, key: 'k', body: '', now: 1 }))).toMatchObject({
      code: 'engine.closed',
    })
    expect(await errorOf(() => store.pull(root.id, 1, 1))).toMatchObject({ code: 'engine.closed' })
    store.watch(() => undefined)()
    store.overhear(root.run, () => undefined)()
    store.publish(root.run, [])
  })
})

test('K12: a file of another program, and one of a newer Reeve, are left as they are', async () => {
  const [other, newer, text] = [join(folder, 'other.db'), join(folder, 'newer.db'), join(folder, 'text.db')]
  const db = new DatabaseSync(other)
  db.exec('CREATE TABLE run(id TEXT)')
  db.close()
  const bytes = readFileSync(other)
  expect(await opening({ sqlite: other })).toMatchObject({ code: 'store.foreign', retryable: false })
  expect(readFileSync(other).equals(bytes)).toBe(true)
  writeFileSync(text, 'hello '.repeat(1_000))
  expect(await opening({ sqlite: text })).toMatchObject({ code: 'store.foreign' })
  const store = openEventStore({ sqlite: newer })
  await store.open()
  await store.close()
  const changed = new DatabaseSync(newer)
  changed.exec('PRAGMA user_version = 99')
  changed.close()
  expect(await opening({ sqlite: newer })).toMatchObject({ code: 'store.newer', hint: expect.stringContaining('Upgrade') as string })
})

test('K12: a schema of another program, and one of a newer Reeve, are left as they are', async () => {
  const [tables, meta, newer] = [fresh(), fresh(), fresh()]
  await sql(`CREATE SCHEMA "${tables}"; CREATE TABLE "${tables}".run(id TEXT)`)
  expect(await opening({ postgres: postgresUrl, schema: tables })).toMatchObject({ code: 'store.foreign', retryable: false })
  expect(await sql(`SELECT table_name FROM information_schema.tables WHERE table_schema = '${tables}'`)).toHaveLength(1)
  await sql(`CREATE SCHEMA "${meta}"; CREATE TABLE "${meta}".meta(x TEXT)`)
  expect(await opening({ postgres: postgresUrl, schema: meta })).toMatchObject({ code: 'store.foreign' })
  const store = openEventStore({ postgres: postgresUrl, schema: newer })
  await store.open()
  await store.close()
  await sql(`UPDATE "${newer}".meta SET version = 99`)
  expect(await opening({ postgres: postgresUrl, schema: newer })).toMatchObject({
    code: 'store.newer',
    hint: expect.stringContaining('Upgrade') as string,
  })
})

test('K2: what is wrong with an address is said, and its password is not', async () => {
  for (const postgres of ['somewhere', 'mysql://u:s3cret@h/d', 'postgres://u:s3cret@h:port/d'])
    expect(await opening({ postgres })).toMatchObject({ code: 'config.invalid', retryable: false })
  for (const schema of ['', 'Reeve', 'a-b', '1a', 'a'.repeat(64), 'a"; DROP TABLE run; --'])
    expect(await opening({ postgres: postgresUrl, schema })).toMatchObject({ code: 'config.invalid' })
  const wrong = [
    {
      postgres: address((url) => ((url.port = '1'), (url.password = 's3cret'))),
      code: 'store.unavailable',
      retryable: true,
      hint: 'host and port',
    },
    { postgres: 'postgres://u:s3cret@no-such-host.invalid/d', code: 'store.unavailable', retryable: true, hint: 'host and port' },
    {
      postgres: address((url) => ((url.pathname = '/no_such_database'), (url.password = 's3cret'))),
      code: 'store.unavailable',
      retryable: false,
      hint: 'createdb',
    },
    {
      postgres: address((url) => ((url.username = 'no_such_user'), (url.password = 's3cret'))),
      code: 'store.unavailable',
      retryable: false,
      hint: 'password',
    },
    { postgres: 'postgres://u:s3cret@h:port/d', code: 'config.invalid', retryable: false, hint: 'percent-encoded' },
  ]
  for (const { postgres, code, retryable, hint } of wrong) {
    const error = await opening({ postgres, schema: 'reeve_wrong' })
    expect(error).toMatchObject({ code, retryable, hint: expect.stringContaining(hint) as string })
    expect(inspect(error, { depth: 9 })).not.toContain('s3cret')
  }
})

test('K2: a server that does not answer is given up after five seconds', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const { port } = silent.address() as { port: number }
  expect(await opening({ postgres: `postgres://u@127.0.0.1:${port}/d` })).toMatchObject({ code: 'store.unavailable', retryable: true })
  silent.close()
})

test('K2: a user who may not create is told what to grant, and works where somebody else has created', async () => {
  const [schema, role] = [fresh(), newSchema()]
  await sql(`CREATE ROLE "${role}" LOGIN`)
  try {
    const postgres = address((url) => (url.username = role))
    expect(await opening({ postgres, schema })).toMatchObject({
      code: 'store.unavailable',
      retryable: false,
      hint: expect.stringContaining('Grant') as string,
    })
    const owner = openEventStore({ postgres: postgresUrl, schema })
    await owner.open()
    await owner.close()
    await sql(`GRANT USAGE ON SCHEMA "${schema}" TO "${role}"; GRANT ALL ON ALL TABLES IN SCHEMA "${schema}" TO "${role}"`)
    const store = openEventStore({ postgres, schema })
    await store.open()
    await (await begin(store)).written({}, [begun('x')])
    await store.close()
    await sql(`ALTER ROLE "${role}" SET default_transaction_read_only = on`)
    const reader = openEventStore({ postgres, schema })
    await reader.open()
    expect(await errorOf(() => begin(reader))).toMatchObject({ code: 'store.read-only' })
    await reader.close()
  } finally {
    await sql(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`)
  }
})

test('K2: a file that cannot be opened or written says why', async () => {
  expect(await opening({ sqlite: join(folder, 'nowhere', 'x.db') })).toMatchObject({ code: 'store.unavailable', retryable: false })
  const locked = join(folder, 'locked.db')
  const store = openEventStore({ sqlite: locked })
  await store.open()
  await store.close()
  chmodSync(locked, 0o444)
  // The superuser may write anything.
  expect(process.getuid?.() === 0 ? 'store.read-only' : (await opening({ sqlite: locked })).code).toBe('store.read-only')
  chmodSync(locked, 0o644)
  const broken = join(folder, 'broken.db')
  const one = openEventStore({ sqlite: broken })
  await one.open()
  const root = await begin(one)
  const behind = new DatabaseSync(broken)
  behind.exec("UPDATE entry SET body = '{'")
  behind.close()
  expect(await errorOf(() => one.read(root.run, 0))).toMatchObject({ code: 'store.corrupt' })
  await one.close()
})
