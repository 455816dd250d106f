/**
 * Research and write, with every hook there is: the leader's own code says what may be delegated and how, what crosses,
 * what becomes of each result, after each turn whether it goes on, and when an answer is the end. Each hook runs once,
 * also over a crash, and belongs to one level: a team below has its own.
 *
 * They think by rules: no model is needed.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, supervisor, tool, type ModelFunction } from 'reeve'
import { describeOutcome } from 'reeve/views'
import { z } from 'zod'

type Prompt = Parameters<ModelFunction>[0]
const shown = ({ messages }: Prompt, text: string): boolean =>
  messages.some(({ content }) => typeof content === 'string' && content.includes(text))
const delegate = (worker: string, instructions: string) => ({ name: 'delegate', input: { worker, instructions } })
const log: string[] = []

// #region workers
const search = tool({
  name: 'search',
  description: 'Searches the archive of a desk.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: ({ query }, { caller }) =>
    `${JSON.stringify(caller.metadata)}: "${query}" is told of by twelve people in Oslo. Call 555-0199.`,
})
const researcher = agent({
  name: 'researcher',
  description: 'Finds out what is known.',
  instructions: 'Search, then say what you have found.',
  tools: [search],
  model: ({ messages }) => {
    const last = messages.at(-1)!
    const text = typeof last.content === 'string' ? last.content : ''
    return last.role === 'tool' ? text : { calls: [{ name: 'search', input: { query: text } }] }
  },
})
const writer = agent({
  name: 'writer',
  description: 'Writes a text from what is known.',
  instructions: 'Write one sentence.',
  model: (prompt) =>
    shown(prompt, 'twelve people') && shown(prompt, 'Be brief.') ? 'Ravens remember faces.' : 'I know nothing.',
})
const publisher = agent({ name: 'publisher', description: 'Publishes at once.', model: () => 'Published.' })
// #endregion

const editor = supervisor({
  name: 'editor',
  instructions: 'Have it researched, then have it written.',
  workers: [researcher, writer, publisher],
  model: (prompt) =>
    !shown(prompt, 'twelve people')
      ? { calls: [delegate('researcher', 'ravens'), delegate('publisher', 'Publish it.')] } // one of them may not
      : !shown(prompt, 'Ravens remember')
        ? { calls: [delegate('writer', 'Write it.')] }
        : !shown(prompt, 'say who says so')
          ? 'Ravens remember faces.' // not complete: the source is missing
          : 'Ravens remember faces, say twelve people in Oslo.',
  // #region hooks
  delegation: {
    // Before a worker is started: refuse, or change what it is asked, its turns, what its tools know of the caller.
    onStart: ({ worker, prompt }) => {
      if (worker === 'publisher') return { proceed: false, reason: 'nothing is published before it is read' }
      return {
        ...(worker === 'writer' ? { prompt: `${prompt} Be brief.` } : {}),
        turns: 4,
        metadata: { desk: 'science' },
      }
    },
    // What of the conversation crosses. Without this option, only the brief does.
    filterMessages: ({ messages, worker }) =>
      worker === 'writer' ? messages.filter(({ agent: name }) => name === 'researcher') : [],
    // What the leader's model is told. The journal keeps what the worker said.
    onComplete: ({ worker, text, usage = [] }) => {
      log.push(`${worker}: ${usage.reduce((sum, { calls }) => sum + calls, 0)} model calls`)
      return worker === 'researcher'
        ? { result: text.replace(/ Call [\d-]+\./, ''), feedback: 'Print no telephone numbers.' }
        : undefined // `bail: true` would end everything here
    },
  },
  // After each turn: go on, stop, or tell the model something.
  onIterationComplete: ({ turn, maxTurns, isFinal }) => {
    log.push(`turn ${turn} of ${maxTurns}${isFinal ? ', the last' : ''}`)
  },
  // When an answer is the end. Who does not pass is told why, and has another turn.
  isComplete: {
    scorers: [
      {
        name: 'names-its-sources',
        score: ({ text }) => ({ score: text.includes('Oslo') ? 1 : 0, reason: 'say who says so' }),
      },
    ],
  },
  // #endregion
})

await using runtime = await createRuntime({ agents: [editor] })
const run = await runtime.start(editor, 'A sentence on ravens.')
const outcome = await run.outcome()
console.log(outcome.status === 'completed' ? outcome.output : describeOutcome(outcome))
console.log(log.join('\n'))
// #region rows
const rows = await run.delegations()
for (const { label, worker, status, output, tools, failure } of rows)
  console.log(
    `${label} ${worker} ${status}: ${failure?.message ?? JSON.stringify(output)}${tools.length === 0 ? '' : `, after ${tools.map((each) => each.tool).join()}`}`,
  )
// #endregion

assert.deepEqual(outcome.status === 'completed' && outcome.output, 'Ravens remember faces, say twelve people in Oslo.')
assert.deepEqual(log, [
  'researcher: 2 model calls',
  'turn 1 of 20',
  'writer: 1 model calls',
  'turn 2 of 20',
  'turn 3 of 20', // an answer, but not complete
  'turn 4 of 20, the last',
])
assert.deepEqual(rows.map(({ label, worker, status }) => `${label} ${worker} ${status}`).sort(), [
  'd1 researcher completed',
  'd2 publisher refused',
  'd3 writer completed',
])
assert.match(JSON.stringify(rows.find(({ worker }) => worker === 'researcher')), /555-0199/) // what it really said
