/**
 * A tool returns far more than a model should read: the model is shown the beginning, finds what it needs, and a tool of
 * code reads the whole.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, readWhole, tool } from 'reeve'
import { z } from 'zod'

const lines = Array.from({ length: 200_000 }, (_, i) => `${i} ${i % 50_000 === 49_999 ? 'timeout' : 'ok'}`)

// #region tool
const log = tool({
  name: 'log',
  effect: 'read',
  resultTokens: 2_000, // what the model is shown of it; 25,000 if nothing is said
  execute: () => lines.join('\n'),
})
// #endregion

// #region code
const count = tool({
  name: 'count_timeouts',
  description: 'Counts the timeouts in a log.',
  input: z.object({ log: z.string().describe('The name of the result: result-…') }),
  effect: 'read',
  execute: async ({ log: name }, io) => {
    const whole = await readWhole(io, name) // or, a piece at a time: for await (const piece of io.contents.pieces(name))
    return typeof whole === 'string' ? whole.split('\n').filter((line) => line.endsWith('timeout')).length : 0
  },
})
// #endregion

const shown: string[] = []
const operator = agent({
  name: 'operator',
  tools: [log, count],
  // a rule in place of a model: it reads the log, looks for timeouts, and has them counted
  model: ({ messages }) => {
    const said = messages.flatMap((each) => (each.role === 'tool' ? [JSON.stringify(each.content)] : []))
    shown.push(...said.slice(shown.length))
    const name = /result-[0-9a-f]{32}/.exec(said[0] ?? '')?.[0] ?? ''
    if (said.length === 0) return { calls: [{ name: 'log', input: {} }] }
    if (said.length === 1) return { calls: [{ name: 'read_large_result', input: { result: name, find: 'timeout' } }] }
    if (said.length === 2) return { calls: [{ name: 'count_timeouts', input: { log: name } }] }
    return `There are ${said[2]} timeouts.`
  },
})

await using runtime = await createRuntime({ agents: [operator] })
// #region limits
const run = await runtime.start(operator, 'Is the service well?', {
  limits: { resultTokens: 10_000 }, // of every result in this run; a tool may say less
})
// #endregion
const outcome = await run.outcome()
assert.deepEqual(outcome.status === 'completed' && outcome.output, 'There are 4 timeouts.')
assert.match(shown[0]!, /^"\[result-\w+: \\"log\\" returned \d+ characters, too many to show/)
assert.match(shown[1]!, /^"\[\\"timeout\\" occurs 4 times in result-\w+/)
assert.ok(shown.every((each) => each.length < 20_000))
console.log(outcome)
