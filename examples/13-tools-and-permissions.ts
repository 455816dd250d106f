/** Tools of every kind, and what a leader allows a worker. */
import assert from 'node:assert/strict'
import { tool as aiSdkTool } from 'ai'
import { agent, createRuntime, delegate, supervisor, tool } from 'reeve'
import { z } from 'zod'

const done: string[] = []

// #region effect
const search = tool({
  name: 'search',
  description: 'Searches the archive.',
  input: z.object({ query: z.string() }),
  effect: 'read', // changes nothing; 'idempotent' may be repeated with the same io.key; 'once' (default) may not
  timeoutMs: 5_000,
  retry: { attempts: 2, backoffMs: 10 },
  execute: ({ query }, io) => {
    io.emit({ type: 'searching', query }) // shown to readers of the run, never recorded
    return [`a text about ${query}`]
  },
})
// #endregion

// #region approval
const remove = tool({
  name: 'remove',
  input: z.object({ files: z.number() }),
  effect: 'once',
  approval: { when: ({ files }) => files > 10, risk: 'high', reason: 'many files' }, // also: true, a function, or `sensitive: true`
  execute: ({ files }) => done.push(`removed ${files}`),
})
// #endregion

// #region aisdk
const weather = aiSdkTool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `sun in ${city}`,
})
const adopted = { weather: { ...weather, effect: 'read' } } // the AI SDK has no effect: without one it is 'once'
// #endregion

// #region orchestration
const reader = agent({ name: 'reader', description: 'Reads a text.', model: () => 'It is about ravens.' })
const readAll = tool({
  name: 'read_all',
  description: 'Has all texts read.',
  input: z.object({ texts: z.array(z.string()) }),
  run: async (ctx, { texts }) => {
    const read = await Promise.all(texts.map((text) => delegate(ctx, reader, text))) // it may ask, delegate and wait
    return read.map((outcome) => outcome.status)
  },
})
// #endregion

const librarian = agent({
  name: 'librarian',
  description: 'Knows the archive.',
  tools: { search, remove, ...adopted, read_all: readAll }, // a list of Reeve's tools, or a record of those and the AI SDK's
  model: ({ messages, tools }) => {
    if (messages.at(-1)?.role === 'tool') return `Tools: ${tools.map(({ name }) => name).join(', ')}`
    return {
      calls: [
        { name: 'search', input: { query: 'ravens' } },
        { name: 'weather', input: { city: 'Riga' } },
        { name: 'read_all', input: { texts: ['one', 'two'] } },
        { name: 'remove', input: { files: 3 } }, // not permitted below: the model is told so
      ],
    }
  },
})

// #region permissions
const head = supervisor({
  name: 'head',
  workers: [librarian, reader],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? { calls: [{ name: 'forward_message', input: { worker: 'librarian' } }] }
      : { calls: [{ name: 'delegate', input: { worker: 'librarian', instructions: 'Look around.' } }] },
  delegation: {
    context: 'brief', // what else the worker sees: 'brief', 'answers', 'conversation', or a function
    permissions: { deny: ['remove'], approval: ['send_*'] }, // never more than the leader has
    workers: { librarian: { limits: { turns: 4 } } },
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [head] })
const outcome = await runtime.run(head, 'Go.')
console.log(outcome)
assert.equal(outcome.status === 'completed' && outcome.output, 'Tools: search, weather, read_all')
assert.deepEqual(done, [])
