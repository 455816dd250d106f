/** Mastra: mastra.ai/docs/agents/supervisor-agents, an agent with `agents`. */
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { leader, lookUp, task, workers } from '../texts.ts'

const model = { id: 'fake/fake', url: process.env.OPENAI_BASE_URL, apiKey: 'no-key' }
const look = createTool({
  id: lookUp.name,
  description: lookUp.description,
  inputSchema: z.object({ what: z.string() }),
  execute: lookUp.find,
})
const agents = workers.map(({ name, description, instructions }) => [
  name,
  new Agent({ id: name, name, description, instructions, model, tools: { [lookUp.name]: look } }),
])
const lead = new Agent({ id: leader.name, ...leader, model, agents: Object.fromEntries(agents) })
console.log('ends', (await lead.generate(task, { maxSteps: 100 })).text)
