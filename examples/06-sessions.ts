/** A conversation over several runs, and values that they share. */
import assert from 'node:assert/strict'
import { agent, createRuntime, step } from 'reeve'

const assistant = agent({
  name: 'assistant',
  model: ({ messages }) => {
    const said = messages.flatMap(({ role, content }) =>
      role === 'user' && typeof content === 'string' ? [content] : [],
    )
    return said.at(-1) === 'What is my name?' ? `You said: ${said[0]}` : 'Hello.'
  },
})

// #region values
const counter = agent({
  name: 'counter',
  run: async (ctx) => {
    const visits = Number(await ctx.values.update('visits', (value) => Number(value ?? 0) + 1)) // compare-and-set: nothing is lost
    return step(ctx, 'greet', () => `visit ${visits} of ${ctx.place.caller.user}`)
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [assistant, counter] })
// #region session
await runtime.run(assistant, 'My name is Ann.', { session: 'ann-1' })
const outcome = await runtime.run(assistant, 'What is my name?', { session: 'ann-1' })
const stranger = await runtime.run(assistant, 'What is my name?', { session: 'bob-1' })
// #endregion
console.log(outcome, stranger)
assert.equal(outcome.status === 'completed' && outcome.output, 'You said: My name is Ann.')
assert.equal(stranger.status === 'completed' && stranger.output, 'You said: What is my name?')

for (const expected of ['visit 1 of ann', 'visit 2 of ann']) {
  const counted = await runtime.run(counter, 'Hello.', { session: 'ann-2', user: 'ann' })
  assert.equal(counted.status === 'completed' && counted.output, expected)
}
