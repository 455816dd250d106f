/**
 * A process that is killed: drives one run on a store, and says when its tool is under way. `go`: its tool ends at once.
 */
import { agent, createRuntime, supervisor, tool } from '@reeve/public'

const [store, how] = process.argv.slice(2) as [string, string]

const slow = tool({
  name: 'slow',
  description: 'Takes its time.',
  effect: 'read',
  execute: async (_input, io) => {
    process.stdout.write(`tool ${io.traceparent}\n`)
    if (how !== 'go') await new Promise(() => {})
    return 'done'
  },
})
const worker = agent({
  name: 'worker',
  description: 'Works.',
  tools: [slow],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'worked' : { calls: [{ name: 'slow', id: 'c1', input: {} }] },
})
const lead = supervisor({
  name: 'lead',
  description: 'Leads.',
  workers: [worker],
  model: ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'fine'
      : { calls: [{ name: 'delegate', id: 'c0', input: { worker: 'worker', instructions: 'go' } }] },
})
const runtime = await createRuntime({ store, agents: [lead], leaseMs: 500 })
// a process that waits for nothing ends
const stay = setInterval(() => {}, 1_000)
await runtime.run(lead, 'go', { runId: 'killed' })
clearInterval(stay)
process.stdout.write('ended\n')
await runtime.close()
