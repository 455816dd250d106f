import { test } from 'vitest'
import { agent, createRuntime } from '../../src/index.ts'
const asker = agent({ name: 'asker', description: 'Asks.', run: async (ctx) => ctx.interrupt('x') })
const lead = agent({ name: 'lead', workers: [asker], run: async (ctx) => ctx.delegate('asker' as never, 'go') as never })
test('x', async () => {
  const runtime = await createRuntime({ agents: [lead], strict: true })
  const run = await runtime.start(lead, 'go')
  await new Promise((r) => setTimeout(r, 500))
  console.log(JSON.stringify(await run.view()))
  console.log('until', await Promise.race([run.until('waiting'), new Promise((r) => setTimeout(r, 1500, 'HANG'))]))
  console.log('close', await Promise.race([runtime.close(), new Promise((r) => setTimeout(r, 1500, 'HANG'))]))
})
