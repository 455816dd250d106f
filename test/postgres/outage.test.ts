/** What runs do while their database is away, and where it holds what cannot be read: the same as with a file. */
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { agent, createRuntime, tool } from '../../src/index.ts'
import { freshPostgres, stoppablePostgres } from '../servers/postgres.ts'
import { calls, scripted, waiting } from '../scenario/team.ts'

const pay = tool({ name: 'pay', approval: true, execute: () => 'paid' })

test('while the store is away nothing is asked, and whoever calls is told; when it is back, the run goes on by itself', async () => {
  await using server = await stoppablePostgres()
  const model = scripted(async () => {
    await server.stop('immediate')
    return calls(['pay', { n: 1 }])
  }, 'paid')
  const root = agent({ name: 'root', description: 'Pays.', model, tools: [pay] })
  const heard = new Set<string>()
  await using runtime = await createRuntime({ store: server.url, agents: [root], onWarning: (code) => void heard.add(code) })
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

test('a journal that cannot be read is an error that says so; another run goes on', async () => {
  await using place = await freshPostgres()
  const store = `${place.server}?schema=${place.schema}`
  const root = agent({ name: 'root', description: 'Pays.', model: scripted(calls(['pay', { n: 1 }])), tools: [pay] })
  const before = await createRuntime({ store, agents: [root] })
  for (const runId of ['bad', 'good']) await waiting(await before.start(root, 'please', { runId }))
  await before.close()
  const client = new Client({ connectionString: place.server })
  await client.connect()
  const changed = await client.query(`UPDATE ${place.schema}.entry SET body = '{"type":"broken' WHERE run = 'bad' AND seq = 1`)
  await client.end()
  expect(changed.rowCount).toBe(1)
  await using after = await createRuntime({ store, agents: [root], onWarning: () => {} })
  await expect(after.handle('bad').view()).rejects.toMatchObject({ code: 'store.corrupt' })
  expect((await waiting(after.handle('good'))).waiting).toMatchObject([{ tool: 'pay' }])
})
