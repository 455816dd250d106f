/**
 * What if the appraiser had said something else? A finished run is forked at its worker's end with another answer.
 * Nothing that had ended is done again; what the origin had done after that point (here: a letter) is not done again
 * without a word. `diffOf` shows where the two runs part. And a run that failed is retried from before what failed.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, step, supervisor, tool, type Run } from 'reeve'
import { contentKeys, diffOf, sameContent, type Recorded } from 'reeve/views'
import { z } from 'zod'

const letters: string[] = []
const write = tool({
  name: 'write_letter',
  input: z.object({ text: z.string() }),
  effect: 'once',
  execute: ({ text }) => ({ number: letters.push(text) }),
})
let deeds = 0
let appraisals = 0
const appraiser = agent({
  name: 'appraiser',
  description: 'Says what a house is worth.',
  run: () => `worth ${100 * ++appraisals}`,
})
const broker = supervisor({
  name: 'broker',
  workers: [appraiser],
  tools: [write],
  model: ({ messages }) => {
    const told = messages.flatMap((each) => (each.role === 'tool' ? [JSON.stringify(each.content)] : []))
    if (told.length === 0)
      return { calls: [{ name: 'delegate', input: { worker: 'appraiser', instructions: 'The house by the lake.' } }] }
    return told.length === 1 ? { calls: [{ name: 'write_letter', input: { text: told[0]! } }] } : `Offered: ${told[0]}.`
  },
})

await using runtime = await createRuntime({ agents: [broker] })
const run = await runtime.start(broker, 'Make an offer.')
const outcome = await run.outcome()
const events = await eventsOf(run)

// #region fork
const end = events.find(({ event }) => event.type === 'worker.settled')!
const fork = await runtime.fork({
  run: run.id,
  at: end.position,
  edit: { type: 'outcome', outcome: { status: 'completed', output: 'worth 900' } },
  reason: 'what if it were worth more',
})
const state = await fork.until('waiting')
if (!('questions' in state)) throw new Error('the letter was written twice')
const [doubt] = state.questions // in-doubt: already done in run …
await fork.control.settleDoubt({ id: doubt!.id, happened: true }) // it happened: the origin's result is taken. `happened: false` writes it again
const other = await fork.outcome()
// #endregion
// #region diff
const { first, same } = diffOf(events, await eventsOf(fork))
// #endregion
// #region keys
const begun = (all: readonly Recorded[]) => all.find(({ event }) => event.type === 'worker.started')!.position
const others = await eventsOf(fork)
const [one, another] = [contentKeys(events).get(begun(events)), contentKeys(others).get(begun(others))] // undefined: unknown
const isSame = sameContent(one, another) // true, false, or undefined if unknown
// #endregion

let isOpen = false
const notary = agent({
  name: 'notary',
  description: 'Signs.',
  run: async (ctx) => {
    const drawn = await step(ctx, 'draw up', () => `deed ${++deeds}`)
    const signed = await step(
      ctx,
      'sign',
      () => {
        if (!isOpen) throw new Error('the office is closed')
        return `${drawn}, signed`
      },
      { retry: { attempts: 1 } },
    )
    return signed
  },
})
await using office = await createRuntime({ agents: [notary] })
const failed = await office.run(notary, 'Sign the deed.')
isOpen = true
// #region retry
const retry = await office.retry(failed.run, { reason: 'the office is open', by: 'ann' })
const signed = await retry.outcome() // the deed is not drawn up again
// #endregion
// #region batch
const batch = await office.batch('retry', { status: ['failed'], agent: 'notary' }, { reason: 'open again', by: 'ann' })
for await (const result of batch.results()) console.log(result.run, result.status) // done, before or refused
const { total, done, before, refused, left, causes } = await batch.outcome()
// #endregion
assert.deepEqual(
  [failed.status, signed.status === 'completed' && signed.output, deeds],
  ['failed', 'deed 1, signed', 1],
)
assert.deepEqual([total, done, before, refused, left, causes], [1, 0, 1, 0, 0, []]) // it was retried before

console.log(outcome, other, `${same} entries are the same, then ${first?.agent}: ${first?.address}`)
assert.equal(outcome.status === 'completed' && outcome.output, 'Offered: "worth 100".')
assert.equal(other.status === 'completed' && other.output, 'Offered: "worth 900".')
assert.deepEqual([appraisals, letters.length, first?.one?.event.type], [1, 1, 'worker.settled'])
assert.equal(isSame, true)

async function eventsOf(of: Run): Promise<readonly Recorded[]> {
  const all: Recorded[] = []
  for await (const recorded of of.events()) all.push(recorded)
  return all
}
