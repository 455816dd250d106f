/**
 * A process dies in the middle of something that must not happen twice. Nobody knows whether it happened, so nobody
 * repeats it: the run asks. The child kills itself inside the tool; this process opens the store, and an operator who
 * has looked says what became of it.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, tool } from 'reeve'
import { z } from 'zod'

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'reeve-example-'))
const isChild = process.argv[2] !== undefined

// #region once
const pay = tool({
  name: 'pay',
  description: 'Pays an invoice.',
  input: z.object({ invoice: z.string() }),
  effect: 'once', // never repeated by itself
  execute: ({ invoice }, io) => {
    if (isChild) process.kill(process.pid, 'SIGKILL')
    return { invoice, reference: io.key } // a bank that is given the key can tell a repetition by itself
  },
})
// #endregion
const clerk = agent({
  name: 'clerk',
  tools: [pay],
  model: ({ messages }) => {
    const last = messages.at(-1)
    return last?.role === 'tool'
      ? `Paid: ${JSON.stringify(last.content)}`
      : { calls: [{ name: 'pay', input: { invoice: 'A-17' } }] }
  },
})

if (!isChild)
  await new Promise((resolve) => spawn(process.execPath, [import.meta.filename, folder]).once('exit', resolve))
await using runtime = await createRuntime({ store: join(folder, 'reeve.db'), agents: [clerk] })
// #region doubt
const run = await runtime.start(clerk, 'Pay invoice A-17.', { runId: 'invoice-A-17' }) // the same id is the same run
const state = await run.until('waiting')
if (!('questions' in state)) throw new Error('it was repeated')
const doubt = state.questions.find((question) => question.kind === 'in-doubt')
await run.control.settleDoubt({
  id: doubt!.id,
  happened: true,
  value: { invoice: 'A-17', reference: 'seen at the bank' },
  by: 'ann',
})
const outcome = await run.outcome()
// #endregion
console.log(outcome)
assert.equal(
  outcome.status === 'completed' && outcome.output,
  'Paid: {"invoice":"A-17","reference":"seen at the bank"}',
)
