/** Who leads the team. Its name is that of the folder, its workers are the files in `workers/`. */
import { defineLeader } from 'reeve/folder'

export default defineLeader({
  // a model id stands here in your team; rules need no key
  model: ({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool')
    const calls = (worker: string) => ({
      calls: [{ name: 'delegate', input: { worker, instructions: 'Order 7 arrived broken.' } }],
    })
    if (results.length === 0) return calls('orders')
    return results.length === 1 ? calls('refunds') : `Done: ${JSON.stringify(results.at(-1)!.content)}`
  },
  limits: { minutes: 10 },
})
