import { agent, createRuntime, step, unwrap } from 'reeve'
import { z } from 'zod'

const payout = agent({
  name: 'payout',
  input: z.object({ invoices: z.array(z.object({ id: z.string(), eur: z.number() })) }),
  output: z.object({ paid: z.array(z.string()), at: z.string(), total: z.number() }),
  run: async (ctx, { invoices }) => {
    const paid: string[] = []
    let total = 0
    for (const { id, eur } of invoices) {
      const rate = await step(ctx, `rate:${id}`, async () => 1.1, { effect: 'read' })
      const receipt = await step(ctx, `pay:${id}`, async ({ key }) => `receipt ${id} ${key.length > 0}`, {
        effect: 'once',
      })
      paid.push(receipt)
      total += eur * rate
    }
    return { paid, at: new Date(ctx.now()).toISOString(), total }
  },
})

await using runtime = await createRuntime({ agents: [payout] })
const result = unwrap(
  await runtime.run(payout, {
    invoices: [
      { id: 'R-1', eur: 10 },
      { id: 'R-2', eur: 20 },
    ],
  }),
)
console.log(result.paid.length, result.total.toFixed(2), result.at.length)
