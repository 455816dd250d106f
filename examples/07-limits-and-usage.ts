/** A cap on the whole tree, and what the tree used: by agent, by model, in all. */
import assert from 'node:assert/strict'
import { agent, createRuntime, supervisor } from 'reeve'
import { totalUsage } from 'reeve/views'

// A function costs nothing unless it says so; a language model says so itself.
const used = { input: 900, output: 100, usd: 0.01 }
const talker = agent({ name: 'talker', description: 'Talks.', model: () => ({ text: 'Bla.', usage: used }) })

// #region limits
const tireless = supervisor({
  name: 'tireless',
  workers: [talker],
  model: () => ({
    text: 'Once more.',
    calls: [{ name: 'delegate', input: { worker: 'talker', instructions: 'Talk.' } }],
    usage: used,
  }),
  limits: { turns: 5, depth: 2, tokens: 200_000, usd: 1, minutes: 30 }, // of the agent and everything below it
  delegation: { workers: { talker: { limits: { turns: 2 } } } }, // of each delegation to this worker
})
// #endregion

await using runtime = await createRuntime({ agents: [tireless] })
// #region usage
const outcome = await runtime.run(tireless, 'Never stop.')
if (outcome.status === 'limited') console.log(outcome.limit, outcome.partial)
for (const { agent: who, model, calls, input, output, usd } of outcome.usage)
  console.log(who, model, calls, input, output, usd)
const total = totalUsage(outcome.usage)
if (total.unknown > 0) console.log('at least', total.input) // calls without reported usage count as unknown, not as 0
// #endregion
assert.equal(outcome.status === 'limited' && outcome.limit, 'turns')
assert.deepEqual([total.calls, total.input, total.unknown], [5, 4_500, 0])
