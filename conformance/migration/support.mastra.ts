/** A support desk with a Mastra supervisor: an agent that has agents, an approval inside of one. */
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'

const model = 'openai/gpt-5-mini'
const lookUp = createTool({
  id: 'look_up',
  description: 'Looks up an order.',
  inputSchema: z.object({ order: z.number() }),
  execute: async ({ order }) => ({ order, dollars: 40 }),
})
const refund = createTool({
  id: 'refund',
  description: 'Pays the money of an order back.',
  inputSchema: z.object({ order: z.number(), dollars: z.number() }),
  requireApproval: true,
  execute: async ({ order, dollars }) => {
    console.log(`refunded order ${order}: $${dollars}`)
    return 'refunded'
  },
})
const instructions = 'Do what you are asked.'
const orders = new Agent({
  id: 'orders',
  name: 'orders',
  description: 'Knows every order.',
  instructions,
  model,
  tools: { look_up: lookUp },
})
const refunds = new Agent({
  id: 'refunds',
  name: 'refunds',
  description: 'Refunds orders.',
  instructions,
  model,
  tools: { refund },
})
const support = new Agent({
  id: 'support',
  name: 'support',
  instructions: 'You help customers. Look the order up before you refund it.',
  model,
  agents: { orders, refunds },
})
new Mastra({ agents: { support, orders, refunds }, storage: new InMemoryStore() })

let result = await support.generate('Refund order 7.')
while (result.finishReason === 'suspended') {
  const { toolCallId, suspendPayload: inner } = result.suspendPayload // the call of the subagent, and what waits in it
  console.log('approve?', inner.toolName, JSON.stringify(inner.args))
  result = await support.approveToolCallGenerate({ runId: result.runId!, toolCallId })
}
console.log(result.text)
