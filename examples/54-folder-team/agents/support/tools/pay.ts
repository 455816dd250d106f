import { defineTool } from 'reeve/folder'
import { z } from 'zod'

export default defineTool({
  description: 'Pays money back.',
  input: z.object({ order: z.number(), usd: z.number().max(500) }),
  effect: 'once',
  approval: { risk: 'high' }, // nothing is paid before a person has approved exactly these arguments
  execute: ({ order, usd }) => `paid ${usd} dollars for order ${order}`,
})
