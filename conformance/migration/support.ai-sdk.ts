/** A support desk with the AI SDK: a tool around each subagent. An approval cannot be inside of one. */
import { openai } from '@ai-sdk/openai'
import { tool, ToolLoopAgent, type ModelMessage } from 'ai'
import { z } from 'zod'

const model = openai('gpt-5-mini')
const lookUp = tool({
  description: 'Looks up an order.',
  inputSchema: z.object({ order: z.number() }),
  execute: ({ order }) => ({ order, dollars: 40 }),
})
const refund = tool({
  description: 'Pays the money of an order back.',
  inputSchema: z.object({ order: z.number(), dollars: z.number() }),
  execute: ({ order, dollars }) => {
    console.log(`refunded order ${order}: $${dollars}`)
    return 'refunded'
  },
})
const orders = new ToolLoopAgent({ model, tools: { look_up: lookUp } })
const refunds = new ToolLoopAgent({ model, tools: { refund } })
const brief = z.object({ brief: z.string() })
const support = new ToolLoopAgent({
  model,
  instructions: 'You help customers. Look the order up before you refund it.',
  tools: {
    orders: tool({
      description: 'Knows every order.',
      inputSchema: brief,
      execute: async ({ brief }) => (await orders.generate({ prompt: brief })).text,
    }),
    refunds: tool({
      description: 'Refunds orders.',
      inputSchema: brief,
      execute: async ({ brief }) => (await refunds.generate({ prompt: brief })).text,
    }),
  },
  toolApproval: { refunds: 'user-approval' }, // of the brief: the amount is not known yet
})

const messages: ModelMessage[] = [{ role: 'user', content: 'Refund order 7.' }]
let result = await support.generate({ messages })
for (;;) {
  messages.push(...result.responseMessages)
  const asked = result.content.filter((part) => part.type === 'tool-approval-request')
  if (asked.length === 0) break
  for (const { approvalId, toolCall } of asked) {
    console.log('approve?', toolCall.toolName, JSON.stringify(toolCall.input))
    messages.push({ role: 'tool', content: [{ type: 'tool-approval-response', approvalId, approved: true }] })
  }
  result = await support.generate({ messages })
}
console.log(result.text)
