/**
 * A fixed order: two agents look things up at once, then a writer and a critic take turns until the critic is content,
 * then one publishes. The order is fixed, so no model is paid for choosing the next agent. Any of them may be a model;
 * here a writer by rules works beside code.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, loop, parallel, sequential, sessionValue } from 'reeve'
import { breakLoop } from 'reeve/team'
import { z } from 'zod'

// #region members
const facts = agent({ name: 'facts', run: () => 'Ravens remember faces.' })
const figures = agent({ name: 'figures', run: () => ({ years: 40 }) }) // outputs are text or any JSON
const writer = agent({
  name: 'writer',
  outputKey: 'draft', // its output is kept among the session values
  model: ({ messages }) => `Draft ${messages.filter(({ role }) => role === 'assistant').length + 1}`, // its own drafts are in what it is shown
})
const drafts = sessionValue('drafts', { schema: z.number(), initial: 0 }) // seen by everybody in the run, and by later runs of its session
const critic = agent({
  name: 'critic',
  run: async (ctx) => {
    const count = await drafts.update(ctx, (value) => value + 1)
    return count < 3 ? 'Shorter, please.' : breakLoop(await ctx.values.get('draft')) // ends the loop with this output
  },
})
const publisher = agent({
  name: 'publisher',
  run: async (ctx, _brief, talk) => {
    const said = talk.history.flatMap(({ agent: who }) => (who === undefined ? [] : [who]))
    return {
      text: talk.history.at(-1)!.message.content as string,
      drafts: await drafts.get(ctx),
      heard: [...new Set(said)],
    }
  },
})
// #endregion

// #region order
const research = parallel({ name: 'research', agents: [facts, figures] }) // blind to each other; what they said is joined in this order
const drafting = loop({ name: 'drafting', agents: [writer, critic], maxIterations: 5 })
const report = sequential({
  name: 'report',
  agents: [research, drafting, publisher],
  edge: { agents: { drafting: { shares: 'answer' } } }, // the publisher is shown the last draft, not the quarrel about it
})
// #endregion

await using runtime = await createRuntime({ agents: [report] })
// #region run
const run = await runtime.start(report, 'A page about ravens.')
for await (const message of run.messages())
  if (message.type === 'assistant') console.log(`[${message.path.join(' > ')}] ${message.text}`)
  else if (message.type === 'action') console.log(`[${message.path.join(' > ')}] (${message.action.type})`)
const outcome = await run.outcome()
// #endregion
console.log(outcome.status === 'completed' ? outcome.output : outcome)
assert.deepEqual(outcome.status === 'completed' && outcome.output, {
  text: 'Draft 3',
  drafts: 3,
  heard: ['facts', 'figures', 'drafting'],
})
const { activations } = await run.view()
const paths = activations.map(({ path }) => path.join(' > '))
assert.equal(paths.filter((path) => path.endsWith('writer')).length, 3)
assert.ok(paths.includes('report > research > drafting > writer > critic > writer'))
assert.equal(paths.at(-1), 'report > research > drafting > publisher')
