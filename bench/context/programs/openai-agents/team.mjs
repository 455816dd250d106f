/** OpenAI Agents SDK: openai.github.io/openai-agents-js/guides/tools, "Agents as tools". */
import { Agent, run, setOpenAIAPI, tool } from '@openai/agents'
import { z } from 'zod'
import { leader, lookUp, task, workers } from '../texts.ts'

setOpenAIAPI('chat_completions')
const model = 'fake'
const look = tool({
  name: lookUp.name,
  description: lookUp.description,
  parameters: z.object({ what: z.string() }),
  execute: lookUp.find,
})
const tools = workers.map(({ name, description, instructions }) =>
  new Agent({ name, instructions, model, tools: [look] }).asTool({ toolName: name, toolDescription: description }),
)
const lead = new Agent({ ...leader, model, tools })
console.log('ends', (await run(lead, task, { maxTurns: 100 })).finalOutput)
