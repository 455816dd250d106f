/**
 * Ways to watch a run: its text while it is written, that of one agent, the journal, a picture of now; and a run that
 * belongs to its reader.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, supervisor } from 'reeve'

const poet = agent({
  name: 'poet',
  description: 'Writes verse.',
  model: ({ emit }) => {
    for (const word of ['Black ', 'wings, ', 'old ', 'eyes.']) emit?.({ type: 'text.delta', id: '0', text: word })
    return 'Black wings, old eyes.'
  },
})
const editor = supervisor({
  name: 'editor',
  workers: [poet],
  model: ({ messages }) => {
    const last = messages.at(-1)
    return last?.role === 'tool'
      ? `Here it is: ${last.content as string}`
      : { calls: [{ name: 'delegate', input: { worker: 'poet', instructions: 'Ravens.' } }] }
  },
})
await using runtime = await createRuntime({ agents: [editor] })

// #region watch
const run = await runtime.start(editor, 'A verse about ravens.')
const seen = { text: '', poet: '', events: [] as string[] }
await Promise.all([
  (async () => {
    for await (const piece of run.text()) seen.text += piece // the text of the agents in control of the run: here the editor
  })(),
  (async () => {
    for await (const piece of run.text({ agent: 'poet' })) seen.poet += piece // what one agent says, wherever it works
  })(),
  (async () => {
    for await (const { event } of run.events({ from: 0 })) seen.events.push(event.type) // the journal: complete, in order, resumable
  })(),
])
const view = await run.view() // a picture: tree, approvals, usage, …
// #endregion
console.log(
  seen,
  view.activations.map(({ path, state }) => `${path.join(' > ')}: ${state}`),
)
assert.equal(seen.text, 'Here it is: Black wings, old eyes.')
assert.equal(seen.poet, 'Black wings, old eyes.')
assert.equal(seen.events.at(-1), 'activation.settled')

// #region owned
const stream = runtime.stream(editor, 'Another one.')
for await (const item of stream) {
  if (item.type === 'event' && item.event.event.type === 'model.requested') break // leaving an owned run cancels it
}
// #endregion
const left = await stream.outcome()
console.log(left.status)
assert.equal(left.status, 'cancelled')
