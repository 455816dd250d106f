/**
 * Plan, execute, look again: a planner makes a plan, then an executor does a step and a replanner looks at what came of
 * it, until the replanner has an answer. Nothing of it is a way of its own: it is a fixed order with a loop in it, and
 * a tool that ends both the loop and the one who calls it.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, loop, sequential, tool, type ModelFunction } from 'reeve'
import { z } from 'zod'

/** What others have done so far, as a model is told it: in the third person, as a message of the user. */
const stepsDone = ({ messages }: Parameters<ModelFunction>[0]): number =>
  messages.filter(
    ({ role, content }) =>
      role === 'user' && typeof content === 'string' && content.startsWith('For context: [executor] said:'),
  ).length

// #region members
const planner = agent({
  name: 'planner',
  instructions: 'Make a short plan.',
  model: () => '1. Look it up. 2. Write it down.',
})
const executor = agent({
  name: 'executor',
  instructions: 'Do the next step of the plan that you are shown. Only that step.',
  model: ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? 'Written down.' : 'Looked up.'), // its own words are in what it is shown
})
const finish = tool({
  name: 'finish',
  description: 'Gives the final answer, when every step of the plan is done.',
  input: z.object({ answer: z.string() }),
  effect: 'read',
  execute: ({ answer }) => answer,
  action: ['break', 'return'], // ends the loop, and the one who calls it with this answer
})
const replanner = agent({
  name: 'replanner',
  instructions: 'Say what is still to be done, or finish.',
  tools: [finish],
  model: (prompt) =>
    stepsDone(prompt) < 2
      ? 'Step 2 is left.'
      : { calls: [{ name: 'finish', input: { answer: 'Ravens remember faces.' } }] },
})
// #endregion

// #region order
const planExecute = sequential({
  name: 'plan_execute',
  agents: [planner, loop({ name: 'execution', agents: [executor, replanner], maxIterations: 10 })],
})
// #endregion

await using runtime = await createRuntime({ agents: [planExecute] })
const run = await runtime.start(planExecute, 'What do ravens remember?')
for await (const message of run.messages())
  if (message.type === 'assistant') console.log(`${message.agent}: ${message.text}`)
const outcome = await run.outcome()
console.log(outcome.status === 'completed' ? outcome.output : outcome)
assert.equal(outcome.status === 'completed' && outcome.output, 'Ravens remember faces.')
const worked = (await run.view()).activations.map(({ agent: who }) => who)
assert.deepEqual(worked, ['plan_execute', 'planner', 'execution', 'executor', 'replanner', 'executor', 'replanner'])
