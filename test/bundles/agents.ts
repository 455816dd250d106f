/** The agents of the application that is bundled: refunds that a person approves, and one that blocks its process. */
import { agent, supervisor, tool } from 'reeve'

const pay = tool({ name: 'pay', effect: 'once', approval: { risk: 'high' }, execute: () => 'paid' })
const payer = agent({
  name: 'payer',
  description: 'Pays.',
  tools: [pay],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Paid.' : { calls: [{ name: 'pay', input: { usd: 40 } }] },
})
const desk = supervisor({
  name: 'desk',
  workers: [payer],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'The refund is paid.'
      : { calls: [{ name: 'delegate', input: { worker: 'payer', instructions: 'Pay 40 dollars.' } }] },
})
/** The event loop of this process stands still meanwhile, for twice as long as a lease lasts. */
const blocker = agent({
  name: 'blocker',
  run: () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000)
    return 'blocked'
  },
})

export const agents = [desk, blocker]
