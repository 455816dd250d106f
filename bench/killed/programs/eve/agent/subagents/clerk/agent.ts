import { createOpenAI } from '@ai-sdk/openai'
import { defineAgent } from 'eve'

export default defineAgent({
  description: 'Refunds orders.',
  model: createOpenAI().chat('fake'),
  modelContextWindowTokens: 64_000,
})
