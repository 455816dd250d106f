import { agent, createRuntime, interrupt, unwrap } from 'reeve'
import { z } from 'zod'

const booking = agent({
  name: 'booking',
  input: z.object({ city: z.string() }),
  output: z.string(),
  run: async (ctx, { city }) => {
    const nights = await interrupt(ctx, `How many nights in ${city}?`, { schema: z.number() })
    return `${nights} nights in ${city}`
  },
})

await using runtime = await createRuntime({ agents: [booking] })
const run = await runtime.start(booking, { city: 'Bern' })
await run.until('waiting')
const [question] = await runtime.questions()
console.log(question!.kind, question!.run === run.id)
await run.answer({ interruptId: question!.id, value: 3 })
console.log(unwrap(await run.outcome()))
