/**
 * People on the team. Ann checks facts for whoever asks her, a model or a person; Eve leads: she sees her team and what
 * came of it, and says what is next. To everybody else they are agents like all others; while they think, the run costs
 * no memory and holds up nobody.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, human, supervisor, type Json, type Run } from 'reeve'
import { z } from 'zod'

// #region worker
const ann = human({
  name: 'ann',
  description: 'Checks facts. Give her one claim.',
  output: z.object({ true: z.boolean(), note: z.string() }), // an invalid answer is asked for again
  timeoutMs: 2 * 24 * 3_600_000,
  onTimeout: { answer: { true: false, note: 'Nobody looked.' } },
})
const desk = supervisor({
  name: 'desk',
  workers: [ann],
  model: ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? `Ann says: ${JSON.stringify(messages.at(-1)?.content)}`
      : { calls: [{ name: 'delegate', input: { worker: 'ann', instructions: 'Ravens remember faces.' } }] },
})
// #endregion

// #region leader
const writer = agent({
  name: 'writer',
  description: 'Writes a line on a subject.',
  model: () => 'Ravens remember faces.',
})
const eve = human({ name: 'eve', workers: [writer, ann] })
// #endregion

await using runtime = await createRuntime({ agents: [desk, eve] })

// #region answers
/** Answers one question after the other, as a person at a screen would. */
async function people(
  run: Run<unknown> | Run,
  ...answers: readonly (readonly [who: string, value: Json])[]
): Promise<void> {
  for (const [who, value] of answers) {
    const state = await run.until('waiting')
    if (!('waiting' in state)) throw new Error('no question was asked')
    const [question] = state.questions
    console.log(`  asked: ${JSON.stringify((question!.body as { question: Json }).question)}`)
    console.log(`  ${who}: ${JSON.stringify(value)}`)
    await run.answer({ interruptId: question!.id, value, by: who })
  }
}

console.log('A model leads, Ann works:')
const checked = await runtime.start(desk, 'Is it true?')
await people(checked, ['ann', 'yes'], ['ann', { true: true, note: 'Marzluff 2010.' }]) // the first does not fit
const first = await checked.outcome()
console.log(first.status === 'completed' ? first.output : first)

console.log('Eve leads, a model and Ann work:')
const led = await runtime.start(eve, 'A line on ravens, please.')
await people(
  led,
  ['eve', { delegate: { worker: 'writer', instructions: 'Ravens.' } }],
  ['eve', { delegate: { worker: 'ann', instructions: 'Ravens remember faces.' } }],
  ['ann', { true: true, note: 'Still so.' }],
  ['eve', { forward: 'd1' }], // the writer's words, as they are
)
const second = await led.outcome()
console.log(second.status === 'completed' ? second.output : second)
// #endregion
assert.equal(first.status === 'completed' && first.output, 'Ann says: {"true":true,"note":"Marzluff 2010."}')
assert.equal(second.status === 'completed' && second.output, 'Ravens remember faces.')
assert.deepEqual(
  (await led.view()).interrupts.map(({ agent: who, outcome }) => [who, outcome?.status === 'completed' && outcome.by]),
  [
    ['eve', 'eve'],
    ['eve', 'eve'],
    ['ann', 'ann'],
    ['eve', 'eve'],
  ],
)
