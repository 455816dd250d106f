/** A support desk with the OpenAI Agents SDK: workers as tools of a leader, an approval inside of one. */
import { Agent, run, tool } from '@openai/agents'
import { z } from 'zod'

const model = 'gpt-5-mini'
const lookUp = tool({
  name: 'look_up',
  description: 'Looks up an order.',
  parameters: z.object({ order: z.number() }),
  execute: async ({ order }) => ({ order, dollars: 40 }),
})
const refund = tool({
  name: 'refund',
  description: 'Pays the money of an order back.',
  parameters: z.object({ order: z.number(), dollars: z.number() }),
  needsApproval: true,
  execute: async ({ order, dollars }) => console.log(`refunded order ${order}: $${dollars}`),
})
const orders = new Agent({ name: 'orders', model, tools: [lookUp] })
const refunds = new Agent({ name: 'refunds', model, tools: [refund] })
const support = new Agent({
  name: 'support',
  instructions: 'You help customers. Look the order up before you refund it.',
  model,
  tools: [
    orders.asTool({ toolName: 'orders', toolDescription: 'Knows every order.' }),
    refunds.asTool({ toolName: 'refunds', toolDescription: 'Refunds orders.' }),
  ],
})

let result = await run(support, 'Refund order 7.')
while (result.interruptions.length > 0) {
  for (const interruption of result.interruptions) {
    console.log('approve?', interruption.name, interruption.arguments)
    result.state.approve(interruption)
  }
  result = await run(support, result.state)
}
console.log(result.finalOutput)
