/** The system and the uses of versions over HTTP: what is there is told, and to a tenant only what is its own. */
import { expect, test } from 'vitest'
import { agent } from '@reeve/public'
import type { SystemDocument, VersionUses } from '../src/index.ts'
import type { Principal } from '../src/wire.ts'
import { serving } from './serving.ts'

const people: Readonly<Record<string, Principal>> = {
  'the-token-of-a-viewer-of-all': { name: 'vic', roles: ['viewer'] },
  'the-token-of-a-viewer-of-acme': { name: 'alice', roles: ['admin'], tenant: 'acme' },
}
const as = (name: 'all' | 'acme'): Record<string, string> => ({
  Authorization: `Bearer the-token-of-a-viewer-of-${name}`,
})

const greeter = agent({ name: 'greeter', description: 'Greets.', model: () => 'hello' })
const asks = agent({
  name: 'asks',
  description: 'Asks.',
  run: async (ctx) => ((await ctx.approve('pay', { input: {} })).approved ? 'paid' : 'no'),
})

test('a viewer is told of engine, store, workers, backlog, runs by status and the process of the server', async () => {
  const { runtime, get } = await serving({ agents: [greeter, asks] }, { auth: { tokens: people } })
  for (const name of ['one', 'two']) await runtime.run(greeter, 'hi', { session: name })
  await runtime.start(asks, 'pay')
  await expect.poll(() => runtime.approvals()).toHaveLength(1)
  await expect
    .poll(async () => (await get('/system', as('all'))).body)
    .toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      runs: { completed: { count: 2 }, waiting: { count: 1 } },
      installation: {
        engine: 'embedded',
        store: { kind: 'sqlite', name: expect.stringContaining('reeve.db'), bytes: expect.any(Number) },
        workers: [{ isThis: true, isAlive: true, pid: process.pid, drives: [] }],
        backlog: { ready: { count: 0 }, unheard: { count: 0 } },
      },
      server: { node: process.version, pid: process.pid, uptimeMs: expect.any(Number) },
    })
  const { body } = await get('/system', as('all'))
  expect((body as SystemDocument).runs).not.toHaveProperty('failed')
})

test('a tenant is told of its own runs, and of nothing that tenants share', async () => {
  const { runtime, get } = await serving({ agents: [greeter] }, { auth: { tokens: people } })
  await runtime.run(greeter, 'hi', { tenant: 'acme' })
  for (const tenant of ['other', 'other', undefined])
    await runtime.run(greeter, 'hi', tenant === undefined ? {} : { tenant })
  expect((await get('/system', as('acme'))).body).toEqual({
    version: expect.any(String),
    runs: { completed: { count: 1 } },
  })
  expect((await get('/system', as('all'))).body).toMatchObject({ runs: { completed: { count: 4 } } })
})

test('a process that only serves says what waits for one that drives', async () => {
  const { runtime, get } = await serving({ agents: [greeter], drive: false }, { auth: { tokens: people } })
  await runtime.start(greeter, 'hi', { runId: 'waits' })
  const { installation } = (await get('/system', as('all'))).body as SystemDocument
  expect(installation).toMatchObject({
    workers: [],
    backlog: { ready: { count: 1 }, first: { run: 'waits', since: expect.any(Number) }, unheard: { count: 0 } },
  })
})

test('a count that would not be cheap stops, and says so', async () => {
  const { runtime, get } = await serving({ agents: [greeter], drive: false }, { auth: { tokens: people } })
  await Promise.all(Array.from({ length: 1_001 }, () => runtime.start(greeter, 'hi')))
  const { runs, installation } = (await get('/system', as('all'))).body as SystemDocument
  expect([runs.running, installation?.backlog.ready]).toEqual([
    { count: 1_000, isMore: true },
    { count: 1_000, isMore: true },
  ])
})

test('the versions that runs began with are told, also of runs that were begun before', async () => {
  const { runtime, get } = await serving(
    { agents: [greeter], defaultStatus: 'published' },
    { auth: { tokens: people } },
  )
  await runtime.run(greeter, 'hi', { runId: 'first' })
  await runtime.versions.publish('greeter', { version: 'v1', instructions: 'Greet in verse.' })
  await runtime.run(greeter, 'hi', { runId: 'second' })
  await runtime.versions.publish('greeter', { version: 'v2', instructions: 'Greet in prose.' })
  await runtime.run(greeter, 'hi', { runId: 'third', versions: { greeter: 'v1' } })
  const { chosen, runs } = (await get('/versions/uses', as('all'))).body as VersionUses
  expect(chosen).toEqual({ defaultStatus: 'published' })
  expect(Object.fromEntries(runs.map(({ run, revisions }) => [run, revisions]))).toEqual({
    first: {},
    second: { greeter: 'v1' },
    third: { greeter: 'v1' },
  })
  expect(runs[0]).toMatchObject({ agent: 'greeter', version: greeter.version, status: 'completed' })
  expect((await get('/versions/uses?limit=1', as('all'))).body).toMatchObject({ runs: [{}] })
  expect(await get('/versions/uses?limit=0', as('all'))).toMatchObject({ status: 400 })
})
