/** What `reeve serve` and `reeve dev` run: the store, the agents, and the chat for the AI SDK's `useChat`. */
import { uiMessages } from 'reeve/ai-sdk'
import { modelOr, modelUsed } from './model.ts'
import { assistantWith, rules } from './team.ts'

console.error(`model: ${modelUsed}`)

export const store = './reeve.db'
export const agents = [assistantWith(modelOr(rules))]
export const server = { protocols: [uiMessages({ agent: 'assistant', path: '/chat' })] }
