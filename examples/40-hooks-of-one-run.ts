/**
 * Hooks of one run: what stands around the delegations and the answer of this run alone, by the names of functions that
 * the runtime has; and a tool that its agent does not wait for.
 *
 * `node examples/40-hooks-of-one-run.ts`
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, supervisor, tool, type ModelFunction } from 'reeve'
import type { DelegationStart, ScorerInput } from 'reeve/team'

type Prompt = Parameters<ModelFunction>[0]
const told = ({ messages }: Prompt): readonly string[] =>
  messages.flatMap(({ role, content }) =>
    role === 'tool' ? [typeof content === 'string' ? content : JSON.stringify(content)] : [],
  )

// #region background
const archive = tool({
  name: 'archive',
  description: 'Searches the whole archive. Takes its time.',
  background: true, // its agent goes on at once, and is told when the result is there
  effect: 'read',
  execute: () => 'Three letters on ravens.',
})
// #endregion
const researcher = agent({ name: 'researcher', description: 'Finds facts.', model: () => 'Ravens plan ahead.' })
const publisher = agent({ name: 'publisher', description: 'Publishes a text.', model: () => 'Published.' })
const editor = supervisor({
  name: 'editor',
  workers: [researcher, publisher],
  tools: [archive],
  model: (prompt) => {
    const results = told(prompt)
    if (results.length === 0)
      return {
        calls: [
          { name: 'archive', input: {} },
          { name: 'delegate', input: { worker: 'researcher', instructions: 'Do ravens plan?' } },
          { name: 'delegate', input: { worker: 'publisher', instructions: 'Publish it.' } },
        ],
      }
    return results.some((text) => text.includes('in the background'))
      ? 'Still looking.'
      : `${results[1]} (${results[0]})`
  },
})

// #region hooks
await using runtime = await createRuntime({
  agents: [editor],
  hooks: {
    careful: ({ worker }: DelegationStart) =>
      worker === 'publisher' ? { proceed: false, reason: 'not in this run' } : undefined,
    short: ({ text }: ScorerInput) => text.length < 500,
  },
})
const run = await runtime.start(editor, 'Report on ravens.', {
  delegation: { onStart: 'careful' }, // also filterMessages, onComplete, hookErrors
  isComplete: { scorers: ['short'] }, // names of functions, or of registered agents
  // onIterationComplete: 'name'
})
// #endregion
const outcome = await run.outcome()
assert.ok(outcome.status === 'completed')
console.log(outcome.output)
assert.equal(outcome.output, 'Ravens plan ahead. (Three letters on ravens.)')
assert.deepEqual(
  (await run.delegations()).map(({ worker, status }) => [worker, status]),
  [
    ['researcher', 'completed'],
    ['publisher', 'refused'],
  ],
)
