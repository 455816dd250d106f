/**
 * Another prompt is tried before it is published: with a new run, and from a model call of a run that is there. Both are
 * trials: what they would do outside is held back until a person lets it out, or says what came of it.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, tool } from 'reeve'
import { z } from 'zod'

const sent: string[] = []
const send = tool({
  name: 'send_mail',
  input: z.object({ text: z.string() }),
  effect: 'idempotent',
  execute: ({ text }) => ({ number: sent.push(text) }),
})
const clerk = agent({
  name: 'clerk',
  instructions: 'Answer briefly.',
  tools: [send],
  // a rule in place of a model: it writes as its instructions say
  model: ({ messages }) => {
    const prompt = messages.find(({ role }) => role === 'system')!.content as string
    const isSent = messages.some(({ role }) => role === 'tool')
    return isSent ? `Sent (${prompt})` : { calls: [{ name: 'send_mail', input: { text: prompt } }] }
  },
})

await using runtime = await createRuntime({ agents: [clerk] })

// #region start
const trial = await runtime.start(clerk, 'The parcel is late.', {
  trial: { clerk: { instructions: 'Answer kindly, and say when it comes.' } },
})
const state = await trial.until('waiting')
if (!('questions' in state)) throw new Error('a mail was sent')
const [held] = state.questions // in-doubt, with trial: true, the name of the tool and its exact arguments
await trial.control.settleDoubt({ id: held!.id, happened: true, value: 'sent, as far as you know' }) // nothing is sent
const answer = await trial.outcome() // 'Sent (Answer kindly, and say when it comes.)'
// #endregion
assert.deepEqual([answer.status, sent], ['completed', []])

const run = await runtime.start(clerk, 'The parcel is late.')
await run.outcome()

// #region call
const events = await run.journal({ limit: 100 })
const calls = events.filter(({ event }) => event.type === 'model.requested')
const again = await runtime.fork({
  run: run.id,
  edit: { type: 'trial', call: calls.at(-1)!.position, instructions: 'Answer in one word.' },
  reason: 'shorter',
})
const shorter = await again.outcome() // the mail of the origin was before this call: it is kept, and not sent again
// #endregion
assert.deepEqual([shorter.status, sent], ['completed', ['Answer briefly.']])
console.log(shorter)
