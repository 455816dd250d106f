import { agent, createRuntime, step, unwrap } from 'reeve'

let down = true
let charged = 0
const shop = agent({
  name: 'shop',
  run: async (ctx) => {
    await step(ctx, 'charge', async () => ++charged, { effect: 'once' })
    return step(ctx, 'ship', async () => {
      if (down) throw new Error('the warehouse is closed')
      return 'shipped'
    })
  },
})

await using runtime = await createRuntime({ agents: [shop] })
await runtime.run(shop, 'order A-1')
const [failed] = await runtime.runs({ status: ['failed'] })
down = false
const again = await runtime.retry(failed!.run)
console.log(unwrap(await again.outcome()), 'charged', charged)
