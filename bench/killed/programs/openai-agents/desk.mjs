/**
 * OpenAI Agents SDK: openai.github.io/openai-agents-js/guides/human-in-the-loop: the state of a run that waits is
 * saved as text, and read in another process. There is a state only where a run waits or has ended.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, run, RunState, setOpenAIAPI, tool } from '@openai/agents'
import { z } from 'zod'
import { refund } from '../refund.mjs'

setOpenAIAPI('chat_completions')
const model = 'fake'
const pay = tool({
  name: 'refund',
  description: 'Pays the money of an order back.',
  parameters: z.object({ order: z.number(), dollars: z.number() }),
  needsApproval: process.env.APPROVAL === 'yes',
  execute: refund,
})
const clerk = new Agent({ name: 'clerk', model, tools: [pay] })
const asTool = clerk.asTool({ toolName: 'clerk', toolDescription: 'Refunds orders.' })
const support = new Agent({ name: 'support', model, tools: [asTool] })

const verb = process.argv[2]
if (verb === 'open') process.exit() // no document has a step for a new process
const saved = existsSync('state.json')
  ? await RunState.fromString(support, readFileSync('state.json', 'utf8'))
  : undefined
if (verb !== 'start' && !existsSync('state.json')) console.log('anew', 'nothing was saved')
if (verb === 'approve') for (const waiting of saved.getInterruptions()) saved.approve(waiting)
const result = await run(support, saved ?? 'Refund order 7.')
writeFileSync('state.json', result.state.toString())
for (const { name, arguments: input } of result.interruptions) console.log('asks', name, input)
if (result.interruptions.length === 0) console.log('ends', result.finalOutput)
