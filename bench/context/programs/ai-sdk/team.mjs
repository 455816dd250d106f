/** AI SDK: ai-sdk.dev/docs/agents/subagents, a tool for each worker that runs another agent. */
import { createOpenAI } from '@ai-sdk/openai'
import { isStepCount, tool, ToolLoopAgent } from 'ai'
import { z } from 'zod'
import { leader, lookUp, task, workers } from '../texts.ts'

const model = createOpenAI().chat('fake')
const stopWhen = isStepCount(100)
const tools = {
  [lookUp.name]: tool({
    description: lookUp.description,
    inputSchema: z.object({ what: z.string() }),
    execute: lookUp.find,
  }),
}
const delegates = workers.map(({ name, description, instructions }) => {
  const worker = new ToolLoopAgent({ model, instructions, tools, stopWhen })
  const delegate = tool({
    description,
    inputSchema: z.object({ task: z.string() }),
    execute: async ({ task }) => (await worker.generate({ prompt: task })).text,
  })
  return [name, delegate]
})
const lead = new ToolLoopAgent({
  model,
  instructions: leader.instructions,
  tools: Object.fromEntries(delegates),
  stopWhen,
})
console.log('ends', (await lead.generate({ prompt: task })).text)
