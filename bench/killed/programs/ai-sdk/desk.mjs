/**
 * AI SDK: ai-sdk.dev/docs/agents/subagents, a tool that runs another agent, and ai-sdk.dev/docs/agents/tool-approvals.
 * An agent is in memory: what a new process can have are the messages, which the program saves when a call returns.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createOpenAI } from '@ai-sdk/openai'
import { tool, ToolLoopAgent } from 'ai'
import { z } from 'zod'
import { refund } from '../refund.mjs'

const model = createOpenAI().chat('fake')
const pay = tool({
  description: 'Pays the money of an order back.',
  inputSchema: z.object({ order: z.number(), dollars: z.number() }),
  execute: refund,
})
const toolApproval = process.env.APPROVAL === 'yes' ? { refund: 'user-approval' } : undefined
const clerk = new ToolLoopAgent({ model, tools: { refund: pay }, toolApproval })
const delegate = tool({
  description: 'Refunds orders.',
  inputSchema: z.object({ task: z.string() }),
  execute: async ({ task }) => (await clerk.generate({ prompt: task })).text,
})
const support = new ToolLoopAgent({ model, tools: { clerk: delegate } })

const verb = process.argv[2]
if (verb === 'open') process.exit() // no document has a step for a new process
const asked = { role: 'user', content: 'Refund order 7.' }
const messages = existsSync('messages.json') ? JSON.parse(readFileSync('messages.json', 'utf8')) : [asked]
if (verb !== 'start' && !existsSync('messages.json')) console.log('anew', 'nothing was saved')
const waiting = messages
  .flatMap(({ content }) => (Array.isArray(content) ? content : []))
  .filter(({ type }) => type === 'tool-approval-request')
if (verb === 'approve')
  messages.push({
    role: 'tool',
    content: waiting.map(({ approvalId }) => ({ type: 'tool-approval-response', approvalId, approved: true })),
  })
const result = await support.generate({ messages })
writeFileSync('messages.json', JSON.stringify([...messages, ...result.response.messages]))
for (const part of result.content)
  if (part.type === 'tool-approval-request')
    console.log('asks', part.toolCall.toolName, JSON.stringify(part.toolCall.input))
console.log('ends', result.text)
