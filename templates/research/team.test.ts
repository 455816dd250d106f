import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRuntime, failure, FailureError, unwrap } from 'reeve'
import { scripted } from 'reeve/testing'
import { researchWith, rules } from './team.ts'

test('the lead asks all three, and its report has what each of them found', async () => {
  const researcher = scripted(({ messages }) => `a note on ${JSON.stringify(messages.at(-1)?.content)}`)
  const lead = researchWith({ lead: rules.lead, researcher })
  await using runtime = await createRuntime({ agents: [lead] })
  const report = unwrap(await runtime.run(lead, 'Ravens'))
  assert.match(report, /^# Ravens/)
  assert.equal(report.match(/a note on/g)?.length, 3)
  assert.equal(researcher.prompts.length, 3)
})

test('a researcher that fails does not stop the others', async () => {
  const researcher = scripted(({ messages }) => {
    if (JSON.stringify(messages).includes('what comes next'))
      throw new FailureError(failure('model.failed', 'the archive is closed', 'rejected'))
    return 'found'
  })
  const lead = researchWith({ lead: rules.lead, researcher })
  await using runtime = await createRuntime({ agents: [lead] })
  const report = unwrap(await runtime.run(lead, 'Ravens'))
  assert.equal(report.match(/found/g)?.length, 2)
  assert.match(report, /"outlook" failed/)
})
