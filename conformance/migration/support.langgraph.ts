/** A support desk with LangGraph's supervisor: handoffs to prebuilt agents, an interrupt inside of a tool. */
import { tool } from '@langchain/core/tools'
import { Command, interrupt, isInterrupted, MemorySaver } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { createSupervisor } from '@langchain/langgraph-supervisor'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'

const llm = new ChatOpenAI({ model: 'gpt-5-mini' })
const lookUp = tool(async ({ order }) => JSON.stringify({ order, dollars: 40 }), {
  name: 'look_up',
  description: 'Looks up an order.',
  schema: z.object({ order: z.number() }),
})
const refund = tool(
  async ({ order, dollars }) => {
    const decision = interrupt({ tool: 'refund', input: { order, dollars } })
    if (decision !== 'approve') return 'rejected'
    console.log(`refunded order ${order}: $${dollars}`)
    return 'refunded'
  },
  {
    name: 'refund',
    description: 'Pays the money of an order back.',
    schema: z.object({ order: z.number(), dollars: z.number() }),
  },
)
const orders = createReactAgent({ name: 'orders', llm, tools: [lookUp] })
const refunds = createReactAgent({ name: 'refunds', llm, tools: [refund] })
const support = createSupervisor({
  agents: [orders, refunds],
  llm,
  prompt: 'You help customers. Look the order up before you refund it.',
}).compile({ checkpointer: new MemorySaver() })

const config = { configurable: { thread_id: 'order-7' } }
let state = await support.invoke({ messages: [{ role: 'user', content: 'Refund order 7.' }] }, config)
while (isInterrupted<{ tool: string; input: object }>(state)) {
  const { tool, input } = state.__interrupt__[0]!.value!
  console.log('approve?', tool, JSON.stringify(input))
  state = await support.invoke(new Command({ resume: 'approve' }), config)
}
console.log(state.messages.at(-1)!.content)
