import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRuntime, unwrap } from 'reeve'
import { scripted } from 'reeve/testing'
import { plannedWith, rules } from './team.ts'

test('the writer begins when both analysts are done, and its text is the answer', async () => {
  const [analyst, writer] = [scripted('Large.'), scripted('# The report')]
  const analysts = plannedWith({ planner: rules.planner, analyst, writer })
  await using runtime = await createRuntime({ agents: [analysts] })
  const run = await runtime.start(analysts, 'Worth it?')
  assert.equal(unwrap(await run.outcome()), '# The report')
  assert.equal(analyst.prompts.length, 2)
  assert.match(JSON.stringify(writer.prompts[0]), /Large\./)
  const [{ plan } = assert.fail('no plan')] = (await run.view()).teams
  assert.deepEqual(
    plan.tasks.map(({ task, status }) => [task, status]),
    [
      ['market', 'succeeded'],
      ['rivals', 'succeeded'],
      ['report', 'succeeded'],
    ],
  )
})

test('a plan that cannot be carried out is sent back to the planner', async () => {
  const planner = scripted('No plan.', rules.planner())
  const analysts = plannedWith({ planner, analyst: rules.analyst, writer: rules.writer })
  await using runtime = await createRuntime({ agents: [analysts] })
  assert.match(unwrap(await runtime.run(analysts, 'Worth it?')), /^# Report/)
  assert.equal(planner.prompts.length, 2)
})
