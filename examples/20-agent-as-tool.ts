/**
 * An agent among the tools of another. It is called with a request and answers; control never leaves the caller. The
 * one here asks a human; its process ends, and another one, over the same file, gives the answer and finishes: nothing
 * that was done before is done again.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, asTool, createRuntime, interrupt, tool } from 'reeve'
import { z } from 'zod'

const done: string[] = []

// #region agent
const askBudget = tool({
  name: 'ask_budget',
  description: 'Asks the customer for the budget.',
  run: (ctx) => interrupt(ctx, 'How much may it cost?', { schema: z.number() }), // a tool with `run` may wait, however long
})
const booker = agent({
  name: 'booker',
  description: 'Finds a stay that the customer can pay.',
  tools: [askBudget],
  model: ({ messages }) => {
    done.push('booker thinks')
    const last = messages.at(-1)
    return last?.role === 'tool'
      ? `A room for ${last.content as number}.`
      : { calls: [{ name: 'ask_budget', input: {} }] }
  },
})
// #endregion
const lookUp = tool({
  name: 'look_up',
  effect: 'once',
  execute: () => (done.push('looked up'), 'Riga is nice in May.'),
})

// #region caller
const travel = agent({
  name: 'travel',
  tools: [lookUp, asTool(booker, { onFailure: 'tell' })], // the tool is called `booker`, with `{ request }`; a failure of it is told to the caller
  model: ({ messages }) => {
    done.push('travel thinks')
    const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => content as string)
    return told.length > 0
      ? told.join(' ')
      : {
          calls: [
            { name: 'look_up', input: {} },
            { name: 'booker', input: { request: 'Two nights in Riga.' } },
          ],
        }
  },
})
// #endregion

const folder = mkdtempSync(join(tmpdir(), 'reeve-example-'))
const store = join(folder, 'reeve.db')
// #region before
{
  await using runtime = await createRuntime({ store, agents: [travel] })
  const run = await runtime.start(travel, 'A weekend in Riga.', { runId: 'riga' })
  await run.until('waiting')
  const { interrupts } = await run.view()
  console.log(`${interrupts[0]!.path.join(' > ')} asks: ${interrupts[0]!.question as string}`)
} // the runtime is closed here, as if the process had ended
// #endregion
const before = done.splice(0)
console.log('before:', before.join(', '))

// #region after
{
  await using runtime = await createRuntime({ store, agents: [travel] })
  const [question] = await runtime.questions()
  await runtime.answer({ interruptId: question!.id, value: 120 })
  const outcome = await runtime.handle('riga').outcome()
  assert.equal(outcome.status === 'completed' && outcome.output, 'Riga is nice in May. A room for 120.')
}
// #endregion
console.log('after:', done.join(', '))
assert.deepEqual(before.sort(), ['booker thinks', 'looked up', 'travel thinks'])
assert.deepEqual(done, ['booker thinks', 'travel thinks']) // only what was still to be thought about
rmSync(folder, { recursive: true, force: true })
