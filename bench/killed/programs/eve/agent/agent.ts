import { createOpenAI } from '@ai-sdk/openai'
import { defineAgent } from 'eve'

export default defineAgent({ model: createOpenAI().chat('fake'), modelContextWindowTokens: 64_000, tool: false })
