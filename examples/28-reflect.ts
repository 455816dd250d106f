/**
 * Reflection: an editor delegates a report, a critic scores what comes of it, and what did not pass is done again with
 * the critic's reason. What was learned outlives the run: the next time the editor is told which writer did well with
 * requests like this one, and needs one attempt only.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, supervisor, type ModelFunction } from 'reeve'
import { judge, reflect } from 'reeve/team'

type Prompt = Parameters<ModelFunction>[0]
const shown = ({ messages }: Prompt, text: string): boolean =>
  messages.some(({ content }) => JSON.stringify(content).includes(text))

// #region team
const fast = agent({ name: 'fast', description: 'Writes quickly.', model: () => 'Ravens are black.' })
const thorough = agent({
  name: 'thorough',
  description: 'Writes slowly.',
  model: () => 'Ravens are black, plan ahead and remember faces.',
})
const instructionsOf = ({ messages }: Prompt): string => (messages[0]?.role === 'system' ? messages[0].content : '')
const editor = supervisor({
  name: 'editor',
  description: 'Has reports written.',
  workers: [fast, thorough],
  // takes the fast one, unless it is told better: by the advice in its instructions, or by the critic
  model: (prompt) => {
    const last = prompt.messages.at(-1)
    if (last?.role === 'tool') return typeof last.content === 'string' ? last.content : ''
    const worker = shown(prompt, 'too thin') || /thorough did well/.test(instructionsOf(prompt)) ? 'thorough' : 'fast'
    return { calls: [{ name: 'delegate', input: { worker, instructions: 'Write the report.' } }] }
  },
})
const critic = judge({
  name: 'critic',
  criteria: 'It says at least two things.',
  model: (prompt) =>
    shown(prompt, 'remember faces') ? '{"score": 1, "reason": "good"}' : '{"score": 0.3, "reason": "It is too thin."}',
})
// #endregion

// #region reflect
const careful = reflect(editor, { name: 'careful', judge: critic, attempts: 2 })
// #endregion

await using runtime = await createRuntime({ agents: [careful] })
const attempts: number[] = []
for (const topic of ['Write a report on ravens.', 'Write a report on crows.']) {
  const run = await runtime.start(careful, topic)
  const outcome = await run.outcome()
  const { activations } = await run.view()
  attempts.push(activations.filter(({ agent: who }) => who === 'editor').length)
  console.log(
    `${topic} ${activations.map(({ agent: who }) => who).join(' > ')}: ${outcome.status === 'completed' ? outcome.output : outcome.status}`,
  )
  assert.equal(outcome.status === 'completed' && outcome.output, 'Ravens are black, plan ahead and remember faces.')
}
assert.deepEqual(attempts, [2, 1]) // the second time it knew
