/**
 * Actor and critic: one writes, the other scores, until the critic is content or four drafts are written. The one who
 * leads them is code: a supervisor with `run` has its team in its hand, and each delegation goes through the same
 * hooks, limits and journal as one that a model asks for.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, supervisor } from 'reeve'
import { judge } from 'reeve/team'

// #region pair
const actor = agent({
  name: 'actor',
  description: 'Writes a line of verse.',
  model: ({ messages }) => {
    const brief = JSON.stringify(messages.at(-1))
    if (brief.includes('no colour')) return 'A black raven, a white field, a grey and silent sky.'
    return brief.includes('too short') ? 'A raven sits upon the field beneath a silent sky.' : 'A raven.'
  },
})
const critic = judge({
  name: 'critic',
  criteria: ['It is a whole line.', 'It names a colour.'],
  model: ({ messages }) => {
    const asked = JSON.stringify(messages.at(-1))
    if (!asked.includes('field')) return '{"score": 0.2, "reason": "It is too short."}'
    return asked.includes('black')
      ? '{"score": 1, "reason": ""}'
      : '{"score": 0.6, "reason": "There is no colour in it."}'
  },
})
// #endregion

// #region lead
const verses = supervisor({
  name: 'verses',
  workers: [actor, critic],
  limits: { turns: 20 },
  run: async (_ctx, brief, team) => {
    let note = ''
    for (let draft = 1; ; draft++) {
      const line = await team.delegate('actor', `${brief}${note}`)
      const verdict = await team.delegate('critic', `The task:\n${brief}\n\nThe answer to be judged:\n${line.text}`)
      const { score, reason } =
        verdict.outcome.status === 'completed' ? verdict.outcome.output : { score: 0, reason: '' }
      if (score >= 1 || draft === 4) return team.forward('actor') // word for word
      note = `\n\nYour last draft: ${line.text}\nThe critic: ${reason}`
    }
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [verses] })
const run = await runtime.start(verses, 'A line about a raven.')
for await (const message of run.messages())
  if (message.type === 'assistant') console.log(`${message.agent}: ${message.text}`)
const outcome = await run.outcome()
console.log(outcome.status === 'completed' ? outcome.output : outcome)
assert.equal(outcome.status === 'completed' && outcome.output, 'A black raven, a white field, a grey and silent sky.')
const worked = (await run.view()).activations.map(({ agent: who }) => who)
assert.deepEqual(worked, ['verses', 'actor', 'critic', 'actor', 'critic', 'actor', 'critic'])
