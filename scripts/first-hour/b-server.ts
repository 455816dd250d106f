/** Refunds over HTTP: a worker pays, a person approves. Any number of these processes share one PostgreSQL. */
import { setTimeout as sleep } from 'node:timers/promises'
import { agent, createRuntime, tool } from 'reeve'
import { createServer, listen } from 'reeve/server'
import { z } from 'zod'

const pay = tool({
  name: 'pay',
  description: 'Pays a customer.',
  input: z.object({ order: z.string(), usd: z.number() }),
  effect: 'once',
  approval: { risk: 'high' },
  execute: async ({ order }) => {
    process.send!({ order })
    await sleep(150) // the bank needs some time
    return `paid for order ${order}`
  },
})
const instructions = 'Refund the order.'
const refunds = agent({ name: 'refunds', instructions, tools: [pay], model: 'openai/gpt-5-mini' })
const runtime = await createRuntime({ store: process.env['DATABASE_URL']!, agents: [refunds] })
const auth = { tokens: { [process.env['REEVE_TOKEN']!]: { name: 'ann', roles: ['admin' as const] } } }
process.send!({ url: (await listen(createServer({ runtime, auth }), { port: 0 })).url })
