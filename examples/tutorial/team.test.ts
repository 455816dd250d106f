import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRuntime } from 'reeve'
import { office } from './team.ts'

for (const decision of ['approve', 'reject'] as const)
  await test(`a mail is asked about, with its exact text: ${decision}`, async () => {
    await using runtime = await createRuntime({ agents: [office] }) // a store in memory
    const run = await runtime.start(office, 'Write Ann about ravens.')
    await run.until('waiting')
    const [approval] = await runtime.approvals()
    assert.deepEqual(approval?.input, { to: 'ann', text: 'Dear Ann, ravens remember faces.' })
    await run.decide({ approvalId: approval.id, decision, approver: 'bob' })
    assert.equal((await run.outcome()).status, 'completed')
    const tools = (await run.delegations()).flatMap(({ tools }) => tools)
    assert.equal(tools.find(({ tool }) => tool === 'send_mail')?.isError, decision === 'reject')
  })
