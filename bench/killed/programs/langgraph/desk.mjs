/**
 * LangGraph: docs.langchain.com/oss/javascript/langchain/multi-agent/subagents, /human-in-the-loop and
 * /oss/javascript/langgraph/durable-execution: a worker is a tool, the outermost graph has the checkpointer, and a run
 * that was cut short goes on when its thread is invoked with null.
 */
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { Command } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, humanInTheLoopMiddleware, tool } from 'langchain'
import { z } from 'zod'
import { refund } from '../refund.mjs'

const model = new ChatOpenAI({ model: 'fake' })
const pay = tool(refund, {
  name: 'refund',
  description: 'Pays the money of an order back.',
  schema: z.object({ order: z.number(), dollars: z.number() }),
})
const review = process.env.APPROVAL === 'yes' ? [humanInTheLoopMiddleware({ interruptOn: { refund: true } })] : []
const clerk = createAgent({ model, tools: [pay], middleware: review })
const delegate = tool(
  async ({ task }) => (await clerk.invoke({ messages: [{ role: 'user', content: task }] })).messages.at(-1).content,
  { name: 'clerk', description: 'Refunds orders.', schema: z.object({ task: z.string() }) },
)
const checkpointer = SqliteSaver.fromConnString('desk.db')
const support = createAgent({ model, tools: [delegate], checkpointer })

const verb = process.argv[2]
if (verb === 'open') process.exit() // a graph goes on when somebody invokes its thread
const input = {
  start: { messages: [{ role: 'user', content: 'Refund order 7.' }] },
  continue: null,
  approve: new Command({ resume: { decisions: [{ type: 'approve' }] } }),
}[verb]
const state = await support.invoke(input, { configurable: { thread_id: 'order-7' }, durability: 'sync' })
for (const { value } of state.__interrupt__ ?? [])
  for (const { name, args } of value.actionRequests) console.log('asks', name, JSON.stringify(args))
if (state.__interrupt__ === undefined) console.log('ends', state.messages.at(-1).content)
