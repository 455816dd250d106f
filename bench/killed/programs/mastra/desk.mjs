/**
 * Mastra: mastra.ai/docs/harness/durable-agents ("Crash recovery", automatic) and
 * mastra.ai/docs/agents/human-in-the-loop ("Resuming after a restart").
 */
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { LibSQLStore } from '@mastra/libsql'
import { z } from 'zod'
import { refund } from '../refund.mjs'

const model = { id: 'fake/fake', url: process.env.OPENAI_BASE_URL, apiKey: 'no-key' }
const pay = createTool({
  id: 'refund',
  description: 'Pays the money of an order back.',
  inputSchema: z.object({ order: z.number(), dollars: z.number() }),
  requireApproval: process.env.APPROVAL === 'yes',
  execute: refund,
})
const common = { instructions: 'Do what you are asked.', model, durable: true }
const clerk = new Agent({
  ...common,
  id: 'clerk',
  name: 'clerk',
  description: 'Refunds orders.',
  tools: { refund: pay },
})
const support = new Agent({ ...common, id: 'support', name: 'support', agents: { clerk } })
const storage = new LibSQLStore({ id: 'desk', url: 'file:desk.db' })
const mastra = new Mastra({ agents: { support, clerk }, storage, recovery: { durableAgents: 'auto' } })
const leader = mastra.getAgent('support')

const verb = process.argv[2]
if (verb === 'open' || verb === 'continue')
  console.log('recovers', JSON.stringify(await mastra.recoverAllDurableAgents()))
const { runs } = verb === 'start' ? { runs: [] } : await leader.listSuspendedRuns()
for (const { runId, toolCalls } of runs) console.log('finds', runId, JSON.stringify(toolCalls))
const call = runs[0]?.toolCalls[0]
const stream =
  verb === 'start'
    ? await leader.stream('Refund order 7.')
    : verb === 'approve' && call !== undefined
      ? await leader.approveToolCall({ runId: runs[0].runId, toolCallId: call.toolCallId })
      : undefined
const output = stream?.output ?? stream
for await (const chunk of output?.fullStream ?? []) {
  if (process.env.DEBUG) console.log('chunk', JSON.stringify(chunk).slice(0, 300))
  if (chunk.type === 'tool-call-approval')
    console.log('asks', chunk.payload.toolName, JSON.stringify(chunk.payload.args))
  if (chunk.type === 'finish') console.log('ends', await output.text)
}
