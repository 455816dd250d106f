import { agent, createRuntime, supervisor } from 'reeve'

const writer = agent({ name: 'writer', description: 'Writes one sentence.', model: () => 'Ravens remember faces.' })
const editor = supervisor({
  name: 'editor',
  workers: [writer],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { calls: [{ name: 'forward_message', input: { worker: 'writer' } }] }
      : { calls: [{ name: 'delegate', input: { worker: 'writer', instructions: 'A fact about ravens.' } }] },
})

await using runtime = await createRuntime({ agents: [editor] })
const outcome = await runtime.run(editor, 'Tell me something about ravens.')
console.log(outcome.status === 'completed' ? outcome.output : outcome)
