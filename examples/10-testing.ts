/**
 * Testing a team: models by script, and every crash there can be. `simulate` plays the team once as it is, and then
 * once for every point at which its process can die; each time another process goes on, and must come to the same end
 * without doing anything twice.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, interrupt, sleep, supervisor, tool } from 'reeve'
import { manualClock, manualStart, scripted, simulate, teamScenario, virtualRuntime } from 'reeve/testing'

// #region team
const approval = { timeoutMs: 30 * 60_000 } // without this, it waits for as long as it takes
const send = tool({ name: 'send', sensitive: true, approval, execute: () => 'sent' })
const postman = scripted({ calls: [{ name: 'send', input: {} }] }, 'It is sent.') // its first answer, its second
const office = supervisor({
  name: 'office',
  model: scripted({ calls: [{ name: 'delegate', input: { worker: 'postman', instructions: 'Send it.' } }] }, 'Done.'),
  workers: [agent({ name: 'postman', description: 'Sends.', model: postman, tools: [send] })],
})
// #endregion

// #region clock
const clock = manualClock() // time stands until the test moves it
{
  await using runtime = await createRuntime({ agents: [office], clock, strict: true })
  const run = await runtime.start(office, 'Send the letter.')
  await run.until('waiting')
  clock.advance(31 * 60_000) // no answer for half an hour
  const outcome = await run.outcome()
  assert.equal(outcome.status === 'completed' && outcome.output, 'Done.')
  assert.match(JSON.stringify(postman.prompts.at(-1)), /nobody approved/)
}
// #endregion

// #region virtual
{
  const reminder = agent({
    name: 'reminder',
    run: async (ctx, letter) => {
      await sleep(ctx, 3 * 24 * 3_600_000)
      return `${letter}: ${(await interrupt(ctx, 'Any answer yet?')) as string}`
    },
  })
  await using virtual = await virtualRuntime({ agents: [reminder] })
  const run = await virtual.runtime.start(reminder, 'The letter')
  const { waiting, now } = await virtual.runUntilIdle() // three days, in no time
  assert.equal(now - manualStart, 3 * 24 * 3_600_000)
  await run.answer({ interruptId: waiting[0]!.questions[0]!.id, value: 'yes' })
  assert.deepEqual((await virtual.runUntilIdle()).waiting, [])
  assert.equal((await run.outcome()).status, 'completed')
}
// #endregion

// #region simulate
const report = await simulate(
  teamScenario({
    agents: [office],
    input: 'Send the letter.',
    outside: async (runtime) => {
      for (const question of await runtime.questions()) {
        if (question.kind === 'approval')
          await runtime.decide({ approvalId: question.id, decision: 'approve' }).catch(() => undefined)
        else await runtime.settleDoubt({ id: question.id, happened: true, value: 'sent' }).catch(() => undefined) // it died while it was sending
      }
    },
  }),
)
assert.deepEqual(report.differences, [])
assert.deepEqual(report.repeated, [])
console.log(`the same end after a death at each of ${report.points} points`)
// #endregion
assert.ok(report.points > 20)
