/** A worker of one file: it is called `orders`, as the file is. */
import { defineAgent } from 'reeve/folder'

export default defineAgent({
  description: 'Looks an order up.',
  model: ({ messages }) =>
    messages.at(-1)!.role === 'tool'
      ? 'Order 7 has cost 40 dollars.'
      : { calls: [{ name: 'look_up', input: { order: 7 } }] },
  tools: ['look_up'],
})
