import { agent, createRuntime, tool, unwrap } from 'reeve'
import { z } from 'zod'

const refund = tool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ order: z.string(), eur: z.number() }),
  effect: 'once',
  sensitive: true,
  execute: ({ order, eur }) => `refunded ${eur} for ${order}`,
})
const support = agent({
  name: 'support',
  tools: [refund],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'You have your money back.'
      : { calls: [{ name: 'refund', input: { order: 'A-7', eur: 40 } }] },
})

await using runtime = await createRuntime({ agents: [support] })
const run = await runtime.start(support, 'I want my money back for A-7.')
await run.until('waiting')
for (const open of await runtime.approvals()) {
  console.log('asked:', open.tool, open.input)
  await runtime.decide({ approvalId: open.id, decision: 'approve', approver: 'policy' })
}
console.log(unwrap(await run.outcome()))
