/** A support desk in Reeve: what takes the place of each program beside it. */
import { agent, createRuntime, supervisor, tool } from 'reeve'
import { z } from 'zod'

const model = 'openai/gpt-5-mini'
const lookUp = tool({
  name: 'look_up',
  description: 'Looks up an order.',
  input: z.object({ order: z.number() }),
  effect: 'read',
  execute: ({ order }) => ({ order, dollars: 40 }),
})
const refund = tool({
  name: 'refund',
  description: 'Pays the money of an order back.',
  input: z.object({ order: z.number(), dollars: z.number() }),
  sensitive: true,
  execute: ({ order, dollars }) => console.log(`refunded order ${order}: $${dollars}`),
})
const orders = agent({ name: 'orders', description: 'Knows every order.', model, tools: [lookUp] })
const refunds = agent({ name: 'refunds', description: 'Refunds orders.', model, tools: [refund] })
const support = supervisor({
  name: 'support',
  instructions: 'You help customers. Look the order up before you refund it.',
  model,
  workers: [orders, refunds],
})

await using runtime = await createRuntime({ store: 'support.db', agents: [support] })
const run = await runtime.start(support, 'Refund order 7.')
while ('waiting' in (await run.until('waiting'))) {
  for (const { id, tool, input } of await runtime.approvals()) {
    console.log('approve?', tool, JSON.stringify(input))
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
  }
}
const outcome = await run.outcome()
console.log(outcome.status === 'completed' ? outcome.output : outcome)
