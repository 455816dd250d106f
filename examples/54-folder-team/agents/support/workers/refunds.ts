/** It has the tool `pay`, which no other agent of the team names. */
import { defineAgent } from 'reeve/folder'

export default defineAgent({
  description: 'Pays money back.',
  instructions: 'Pay back exactly what the order has cost.',
  model: ({ messages }) =>
    messages.at(-1)!.role === 'tool'
      ? 'Paid back 40 dollars.'
      : { calls: [{ name: 'pay', input: { order: 7, usd: 40 } }] },
  tools: ['pay'],
})
