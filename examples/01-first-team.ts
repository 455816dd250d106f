/**
 * The smallest team: a supervisor, one worker, no key. Both brains are plain functions here; put a model id such as
 * 'openai/gpt-5-mini' in their place and nothing else changes.
 */
import { agent, createRuntime, supervisor } from 'reeve'

// #region team
const writer = agent({ name: 'writer', description: 'Writes one sentence.', model: () => 'Ravens remember faces.' })
const editor = supervisor({
  name: 'editor',
  workers: [writer],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { calls: [{ name: 'forward_message', input: { worker: 'writer' } }] }
      : { calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'A fact about ravens.' } }] },
})
// #endregion

await using runtime = await createRuntime({ store: ':memory:', agents: [editor] })
const outcome = await runtime.run(editor, 'Tell me something about ravens.')
console.log(outcome.status, outcome.status === 'completed' ? outcome.output : outcome)
if (outcome.status !== 'completed' || outcome.output !== 'Ravens remember faces.') process.exitCode = 1
