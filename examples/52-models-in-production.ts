/** A chain of models, prices, deadlines and a budget; and a drill of the day on which the first model is down. */
import assert from 'node:assert/strict'
import { agent, createRuntime, failure, FailureError, type RuntimeOptions } from 'reeve'
import { totalUsage } from 'reeve/views'

// #region chain
const writer = agent({
  name: 'writer',
  model: ['openai/gpt-5', 'anthropic/claude-sonnet-5', { model: 'ollama/qwen3', when: ['down', 'limited'] }],
  silenceMs: 60_000, // a stream that says nothing for a minute is given up, and the call tried again
  limits: { usd: 2 },
})
// #endregion

// #region cache
const editor = agent({
  name: 'editor',
  model: 'anthropic/claude-sonnet-5',
  settings: { cache: true }, // five minutes after it was last read; '1h' for an hour
})
// #endregion

// #region runtime
const options: RuntimeOptions = {
  agents: [writer],
  prices: {
    'openai/gpt-5': { usdPerMillionTokens: { input: 1.1, output: 9, cacheRead: 0.11 } }, // as your contract says
  },
  deadlines: { modelMs: 900_000, silenceMs: 120_000 },
}
// #endregion
await (await createRuntime({ ...options, agents: [writer, editor] })).close()

// #region drill
const down = (): never => {
  throw new FailureError(failure('model.unavailable', 'the first model is down', 'transport'))
}
const drilled = agent({ name: 'drilled', model: [down, () => 'Written by the second.'], retry: { attempts: 1 } })

await using runtime = await createRuntime({ agents: [drilled] })
const run = await runtime.start(drilled, 'Write.')
const outcome = await run.outcome()
for await (const { event } of run.events())
  if (event.type === 'model.requested') console.log(event.model, event.instead ?? '')
// #endregion
assert.equal(outcome.status === 'completed' && outcome.output, 'Written by the second.')
assert.equal(totalUsage(outcome.usage).unknown, 0)
