/**
 * Which engine the suites of test/scenario and packages/runtime/test run on: `REEVE_TEST_ENGINE=embedded | postgres | restate`,
 * default `embedded`.
 *
 * Owns: one way to make a runtime, so that a scenario is written once and holds on every engine. A `store` is then a
 * name: two runtimes of one store are two processes of one system. Does not own: which files and titles cannot run on
 * another engine (postgres/suites.ts, restate/suites.ts).
 */
import { afterAll } from 'vitest'
import type { RestateOptions } from '../packages/restate/src/index.ts'
import { createRuntime, type Runtime, type RuntimeOptions } from '@reeve/runtime'

const engineNames = ['embedded', 'postgres', 'restate'] as const
export type EngineName = (typeof engineNames)[number]

/** The engine that is asked for. */
export function engineUnderTest(): EngineName {
  const name = process.env['REEVE_TEST_ENGINE'] ?? 'embedded'
  const known = engineNames.find((each) => each === name)
  if (known === undefined) throw new Error(`REEVE_TEST_ENGINE is ${name}, expected one of ${engineNames.join(', ')}`)
  return known
}

/** A runtime as `createRuntime` makes it, on the engine under test. One that is given an engine keeps it. */
export async function runtimeUnderTest(options: RuntimeOptions = {}): Promise<Runtime> {
  const engine = engineUnderTest()
  if (engine === 'embedded' || options.engine !== undefined) return createRuntime(options)
  return engine === 'postgres' ? onPostgres(options) : onRestate(options)
}

/** The same options; what is for files alone is left out. */
async function onPostgres(options: RuntimeOptions): Promise<Runtime> {
  const {
    store = ':memory:',
    durability: _durability,
    busyMs: _busyMs,
    archiveAfterMs: _archiveAfterMs,
    ...others
  } = options
  return createRuntime({
    onWarning: () => {},
    ...others,
    store: await (store === ':memory:' ? newSchema() : schemaOf(store)),
  })
}

/**
 * What another process names as its `store` to share one with `runtimeUnderTest`, where that is a file or an address.
 */
export const storeUnderTest = async (store: string): Promise<string> =>
  engineUnderTest() === 'embedded' ? store : schemaOf(store)

const schemas = new Map<string, Promise<string>>()

function schemaOf(store: string): Promise<string> {
  const schema = schemas.get(store) ?? newSchema()
  schemas.set(store, schema)
  return schema
}

/** The address of a schema of its own. */
async function newSchema(): Promise<string> {
  const { freshPostgres } = await import('./servers/postgres.ts')
  const { server, schema, dispose } = await freshPostgres()
  undo.push(dispose)
  return `${server}?schema=${schema}`
}

/** The same options, to the engine instead; what is for files alone is left out. */
async function onRestate(options: RuntimeOptions): Promise<Runtime> {
  const {
    store = ':memory:',
    durability: _durability,
    busyMs: _busyMs,
    archiveAfterMs: _archiveAfterMs,
    engine: _engine,
    ...others
  } = options
  const {
    agents,
    earlier,
    drive,
    onMissingVersion,
    channels,
    memory,
    trust,
    versions,
    defaultStatus,
    mayDecide,
    limits,
    hooks,
    ...engine
  } = others
  const { onUnknownVersion = engine.strict === true ? 'refuse' : undefined, ...host } = engine
  const { restate } = await import('../packages/restate/src/index.ts')
  const asked = {
    agents,
    earlier,
    drive,
    onMissingVersion,
    channels,
    memory,
    trust,
    versions,
    defaultStatus,
    mayDecide,
    limits,
    hooks,
  }
  return createRuntime({
    ...given({ ...asked, onUnknownVersion, clock: host.clock }),
    engine: restate({ onWarning: () => {}, ...host, ...(await placeOf(store)) }),
  })
}

/** Without what was not given. */
const given = <T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

type Place = Pick<RestateOptions, 'store' | 'ingress' | 'admin' | 'namespace' | 'listen'>

const places = new Map<string, Promise<Place>>()
const undo: (() => Promise<void>)[] = []
let count = 0

function placeOf(store: string): Promise<Place> {
  if (store === ':memory:') return newPlace(newSchema())
  const place = places.get(store) ?? newPlace(schemaOf(store))
  places.set(store, place)
  return place
}

/** A namespace, a port and a store of its own. */
async function newPlace(store: Promise<string>): Promise<Place> {
  const { freePort, restateServer } = await import('../packages/restate/test/harness.ts')
  const { ingress, admin } = await restateServer()
  return {
    store: await store,
    ingress,
    admin,
    namespace: `suite${process.pid}-${++count}`,
    listen: { port: await freePort() },
  }
}

if (engineUnderTest() !== 'embedded') {
  afterAll(async () => {
    if (engineUnderTest() === 'restate') {
      const { restateServer } = await import('../packages/restate/test/harness.ts')
      await (await restateServer()).dispose()
    }
    for (const one of undo.splice(0)) await one()
  }, 30_000)
}
