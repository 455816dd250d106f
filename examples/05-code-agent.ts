/**
 * Code as an agent: it searches, has two workers price in parallel, asks a human, waits, books. Every line that touches
 * the world is a step, so a crash between any two of them loses nothing and repeats nothing.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, delegate, interrupt, sleep, step } from 'reeve'
import { z } from 'zod'

const pricer = agent({
  name: 'pricer',
  description: 'Prices a city.',
  run: (_ctx, city) => `${city}: ${city.length * 100}`,
})

// #region agent
const booking = agent({
  name: 'booking',
  description: 'Books a stay.',
  workers: [pricer], // whom it may delegate to: registered along with it
  run: async (ctx, brief) => {
    const cities = await step(ctx, 'search', () => ['Oslo', 'Riga']) // recorded once, whatever happens after
    const offers = await Promise.all(cities.map((city) => delegate(ctx, pricer, city)))
    const city = await interrupt(
      ctx,
      {
        question: 'Which city?',
        offers: offers.map((each) => (each.status === 'completed' ? each.output : each.status)),
      },
      { schema: z.enum(['Oslo', 'Riga']) },
    )
    await sleep(ctx, 20) // a timer on disk: it may be three days
    const number = await step(ctx, 'book', ({ key }) => `booking of ${city} (${key.length > 0})`, { effect: 'once' })
    return { brief, number }
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [booking] })
const run = await runtime.start(booking, 'Somewhere in the north.')
// #region answer
const state = await run.until('waiting')
if ('waiting' in state) {
  const [question] = state.questions
  console.log(question!.body)
  await run.answer({ interruptId: question!.id, value: 'Riga' })
}
const outcome = await run.outcome()
// #endregion
console.log(outcome)
assert.deepEqual(outcome.status === 'completed' && outcome.output, {
  brief: 'Somewhere in the north.',
  number: 'booking of Riga (true)',
})
