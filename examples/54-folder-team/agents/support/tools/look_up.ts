import { defineTool } from 'reeve/folder'
import { z } from 'zod'

export default defineTool({
  description: 'Finds an order.',
  input: z.object({ order: z.number() }),
  effect: 'read',
  execute: ({ order }) => ({ order, usd: 40 }),
})
