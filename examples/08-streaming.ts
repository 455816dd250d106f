/**
 * Ways to watch a run: its text while it is written, that of one agent, all that is shown of its work, the journal, a
 * picture of now; and a run that belongs to its reader.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, sleep, supervisor, tool } from 'reeve'

const poet = agent({
  name: 'poet',
  description: 'Writes verse.',
  model: ({ emit }) => {
    for (const word of ['Black ', 'wings, ', 'old ', 'eyes.']) emit?.({ type: 'text.delta', id: '0', text: word })
    return 'Black wings, old eyes.'
  },
})
const shelf = tool({
  name: 'shelf',
  description: 'Looks for ravens in older verse.',
  effect: 'read',
  execute: (_input, io) => {
    io.emit({ type: 'tool.progress', value: { percent: 50 } })
    io.emit({ looksIn: 'the attic' }) // a form of its own
    return 'None there.'
  },
})
const editor = supervisor({
  name: 'editor',
  workers: [poet],
  tools: [shelf],
  model: ({ messages }) => {
    const last = messages.at(-1)
    if (last?.role !== 'tool') return { calls: [{ name: 'shelf', input: {} }] }
    return last.name === 'shelf'
      ? { calls: [{ name: 'delegate', input: { worker: 'poet', instructions: 'Ravens.' } }] }
      : `Here it is: ${last.content as string}`
  },
})
const novelist = agent({ name: 'novelist', description: 'Takes an hour.', run: (ctx) => sleep(ctx, 3_600_000) })
await using runtime = await createRuntime({ agents: [editor, novelist] })

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

// #region terminal
const printed: string[] = []
const print = (line: string): number => printed.push(line)
for await (const said of (await runtime.start(editor, 'A second one.')).messages()) {
  const who = said.path.join(' > ')
  if (said.type === 'tool') print(`${who} has from ${said.tool}: ${JSON.stringify(said.content)}`)
  if (said.type !== 'assistant') continue
  if (said.text !== '') print(`${who}: ${said.text}`)
  for (const { name, input } of said.calls ?? []) print(`${who} calls ${name} ${JSON.stringify(input)}`)
}
// #endregion
console.log(printed.join('\n'))
assert.deepEqual(printed, [
  'editor calls shelf {}',
  'editor has from shelf: "None there."',
  'editor calls delegate {"worker":"poet","instructions":"Ravens."}',
  'editor > poet: Black wings, old eyes.',
  'editor has from delegate: "Black wings, old eyes."',
  'editor: Here it is: Black wings, old eyes.',
])

// #region parts
const work: unknown[] = []
// a stream listens before its run begins: no part is missed
for await (const item of runtime.stream(editor, 'A third one.')) {
  if (item.type === 'event') continue
  const { agent: worker, part } = item.part
  switch (part.type) {
    case 'tool.progress': // of the AI SDK, of an MCP server, or `io.emit({ type: 'tool.progress', value })` of a tool of yours
      work.push([worker, 'progress', part.value])
      break
    case 'custom': // what code emitted in a form of its own, as it was emitted
      work.push([worker, 'custom', part.value])
      break
    case 'parts.dropped': // this reader is too slow: the journal has every result
      console.log(`${part.count} parts missed`)
      break
    default: // pieces of texts, thoughts and calls: 'text.delta', 'reasoning.delta', 'tool-input.delta', …
  }
}
// #endregion
assert.deepEqual(work, [
  ['editor', 'progress', { percent: 50 }],
  ['editor', 'custom', { looksIn: 'the attic' }],
])

// #region owned
const stream = runtime.stream(novelist, 'A long one.')
for await (const item of stream) {
  if (item.type === 'event') break // leaving an owned run before its end cancels it
}
// #endregion
const left = await stream.outcome()
console.log(left.status)
assert.equal(left.status, 'cancelled')
