/** Two desks whose runs are looked after from the command line. One in seven answers does not fit. */
import { agent, tool } from 'reeve'
import { z } from 'zod'

const pay = tool({
  name: 'pay',
  description: 'Pays a customer.',
  input: z.object({ order: z.number(), usd: z.number() }),
  effect: 'once',
  approval: ({ usd }) => usd > 100,
  execute: ({ order }) => `paid ${order}`,
})
const instructions = 'Refund the order, and say what you did.'
const output = z.object({ order: z.number(), done: z.boolean() })
const desk = (name: string) => agent({ name, instructions, tools: [pay], output, model: 'openai/gpt-5-mini' })

export const store = 'runs.db'
export const agents = [desk('refunds'), desk('claims')]
