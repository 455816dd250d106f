/**
 * Typed briefs and typed answers. A worker with an `input` schema is called through a tool of its own with that schema;
 * an `output` schema is checked before the answer is used, and an invalid answer is sent back to the model to be
 * corrected.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, supervisor } from 'reeve'
import { z } from 'zod'

// #region schemas
const Quote = z.object({ city: z.string(), nights: z.number(), total: z.number() })

const pricer = agent({
  name: 'pricer',
  description: 'Prices a stay.',
  input: z.object({ city: z.string(), nights: z.number().int().positive() }),
  output: Quote,
  model: ({ messages }) => {
    const asked = messages.find((message) => message.role === 'user')!
    const { city, nights } = JSON.parse(asked.content as string) as { city: string; nights: number }
    if (messages.length === 1) return `About ${nights * 100}, I would say.` // does not fit the schema: it is asked to correct that
    return JSON.stringify({ city, nights, total: nights * 100 })
  },
})
// #endregion

// #region leader
const desk = supervisor({
  name: 'desk',
  output: Quote,
  workers: [pricer],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { calls: [{ name: 'forward_message', input: { worker: 'pricer' } }] }
      : { calls: [{ name: 'delegate_pricer', input: { city: 'Riga', nights: 3 } }] },
})
// #endregion

await using runtime = await createRuntime({ agents: [desk] })
// #region run
const outcome = await runtime.run(desk, 'What do three nights in Riga cost?')
if (outcome.status === 'completed')
  console.log(outcome.output.total.toFixed(2)) // `output` is there only here, and has its type
else console.log(outcome.status)
// #endregion
assert.deepEqual(outcome.status === 'completed' && outcome.output, { city: 'Riga', nights: 3, total: 300 })
