/** What runs do while their database is away, and where it holds what cannot be read: the same as with a file. */
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { runId } from '@reeve/core'
import { HostEngine } from '@reeve/engine/host'
import { PostgresStore } from '../src/index.ts'
import { agent, createRuntime, tool } from '@reeve/public'
import { freshPostgres, stoppablePostgres } from '../../../test/servers/postgres.ts'
import { calls, scripted, waiting } from '../../../test/scenario/team.ts'
import { registry, step, type Agent } from '../../../test/crash/agents.ts'
import { Wire } from '../../engine/test/store/proxy.ts'

const pay = tool({ name: 'pay', approval: true, execute: () => 'paid' })

test('while the store is away nothing is asked and callers are told; afterwards the run goes on by itself', async () => {
  await using server = await stoppablePostgres()
  const model = scripted(async () => {
    await server.stop('immediate')
    return calls(['pay', { n: 1 }])
  }, 'paid')
  const root = agent({ name: 'root', description: 'Pays.', model, tools: [pay] })
  const heard = new Set<string>()
  await using runtime = await createRuntime({
    store: server.url,
    agents: [root],
    onWarning: (code) => void heard.add(code),
  })
  const run = await runtime.start(root, 'go')
  const outcome = run.outcome()
  await expect.poll(() => [...heard]).toEqual(['store.unavailable'])
  await expect(runtime.approvals()).rejects.toMatchObject({ code: 'store.unavailable', retryable: true })
  await server.start()
  const [open] = (await waiting(run)).waiting
  await run.decide({ approvalId: open!.id, decision: 'approve' })
  expect(await outcome).toMatchObject({ output: 'paid' })
  expect(model.prompts).toHaveLength(2)
})

test('an outage is reported once at its start and once at its end; the next one again', async () => {
  await using server = await stoppablePostgres()
  const heard: [who: string, code: string, message: string][] = []
  const root = agent({ name: 'root', description: 'Pays.', model: scripted(calls(['pay', { n: 1 }])), tools: [pay] })
  const opened = (who: string, drive: boolean) =>
    createRuntime({
      store: server.url,
      agents: [root],
      drive,
      onWarning: (code, message) => void heard.push([who, code, message]),
    })
  await using worker = await opened('worker', true)
  await using client = await opened('client', false)
  const codes = (of: string): string[] => heard.flatMap(([who, code]) => (who === of ? [code] : []))
  for (const many of [1, 2]) {
    await waiting(await worker.start(root, 'go', { runId: `r${many}` }))
    await server.stop('immediate')
    for (let i = 0; i < 3; i++)
      await expect(client.start(root, 'go', { runId: 'away' })).rejects.toMatchObject({ code: 'store.unavailable' })
    for (let i = 0; i < 3; i++)
      await expect(worker.start(root, 'go', { runId: 'away' })).rejects.toMatchObject({ code: 'store.unavailable' })
    // the sweep of every second, and what is tried again
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    const before = Array.from({ length: many - 1 }, () => ['store.unavailable', 'store.available']).flat()
    expect([codes('worker'), codes('client')]).toEqual([
      [...before, 'store.unavailable'],
      [...before, 'store.unavailable'],
    ])
    await server.start()
    await expect.poll(() => [codes('worker').length, codes('client').length]).toEqual([2 * many, 2 * many])
  }
  expect(
    heard
      .filter(([, code]) => code === 'store.available')
      .every(([, , message]) => /answers again, after \d/.test(message)),
  ).toBe(true)
  expect(heard).toHaveLength(8)
}, 40_000)

test('a process closing with an unknown commit ends soon and names it; the next goes on from the store', async () => {
  await using place = await freshPostgres()
  await using wire = await Wire.to(place.server)
  const heard: string[] = []
  const ran: string[] = []
  const walker: Agent = async (ctx) => {
    for (const name of ['one', 'two']) await step(ctx, name, () => (ran.push(name), name))
    return 'done'
  }
  const { schema } = place
  const onWarning = (code: string, message: string): void => void heard.push(`${code} ${message}`)
  const engine = new HostEngine(new PostgresStore({ postgres: wire.url, schema, onWarning }), { onWarning })
  await engine.drive(registry({ walker }))
  // the answer to its first commit is lost
  wire.mute('reeve_gate')
  const run = runId('r1')
  const begun = engine.start({ run, agent: 'walker', version: '1', input: null }).then(
    () => 'begun',
    (thrown: unknown) => (thrown as { code: string }).code,
  )
  const client = new Client({ connectionString: place.server })
  await client.connect()
  await expect.poll(async () => (await client.query(`select 1 from ${schema}.run`)).rows.length).toBe(1)
  await client.end()
  wire.isDown = true
  wire.cut()
  const since = performance.now()
  await engine.close()
  const took = performance.now() - since
  expect(took).toBeGreaterThan(3_000)
  expect(took).toBeLessThan(12_000)
  expect(await begun).toBe('store.unavailable')
  expect(
    heard.filter((line) => /whether commit 1 of process \S+ was written is not known.* runs: r1$/.test(line)),
  ).toHaveLength(1)
  expect(ran).toEqual([])
  const next = new HostEngine(new PostgresStore({ postgres: place.server, schema, onWarning: () => {} }), {})
  await next.drive(registry({ walker }))
  expect((await next.outcome(run)).outcome).toMatchObject({ status: 'completed', output: 'done' })
  expect(ran).toEqual(['one', 'two'])
  expect((await next.read(run)).map(({ position }) => position)).toEqual((await next.read(run)).map((_, i) => i + 1))
  await next.close()
}, 40_000)

test('a journal that cannot be read is an error that says so; another run goes on', async () => {
  await using place = await freshPostgres()
  const store = `${place.server}?schema=${place.schema}`
  const root = agent({ name: 'root', description: 'Pays.', model: scripted(calls(['pay', { n: 1 }])), tools: [pay] })
  const before = await createRuntime({ store, agents: [root] })
  for (const runId of ['bad', 'good']) await waiting(await before.start(root, 'please', { runId }))
  await before.close()
  const client = new Client({ connectionString: place.server })
  await client.connect()
  const changed = await client.query(
    `UPDATE ${place.schema}.entry SET body = '{"type":"broken' WHERE run = 'bad' AND seq = 1`,
  )
  await client.end()
  expect(changed.rowCount).toBe(1)
  await using after = await createRuntime({ store, agents: [root], onWarning: () => {} })
  await expect(after.handle('bad').view()).rejects.toMatchObject({ code: 'store.corrupt' })
  expect((await waiting(after.handle('good'))).waiting).toMatchObject([{ tool: 'pay' }])
})
