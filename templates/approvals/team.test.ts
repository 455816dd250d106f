import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRuntime, unwrap } from 'reeve'
import { scripted, simulate, teamScenario } from 'reeve/testing'
import { refundsWith } from './team.ts'

const answers = () => scripted({ calls: [{ name: 'pay', input: { order: '7', usd: 40 } }] }, 'Done.')

for (const [decision, expected] of [
  ['approve', [{ order: '7', usd: 40 }]],
  ['reject', []],
] as const)
  test(`${decision}: ${expected.length} payments, and none before`, async () => {
    const paid: unknown[] = []
    const refunds = refundsWith(answers(), async (payment) => `${paid.push(payment)}`)
    await using runtime = await createRuntime({ agents: [refunds] })
    const run = await runtime.start(refunds, 'Order 7 arrived broken.')
    await run.until('waiting')
    const [approval] = await runtime.approvals()
    assert.deepEqual([paid, approval?.input], [[], { order: '7', usd: 40 }])
    await run.decide({ approvalId: approval!.id, decision, approver: 'ann' })
    assert.equal(unwrap(await run.outcome()), 'Done.')
    assert.deepEqual(paid, expected)
  })

test('whenever its process dies, another one comes to the same end, and pays at most once', async () => {
  const report = await simulate(
    teamScenario({
      agents: [refundsWith(answers(), async () => 'paid')],
      input: 'Order 7 arrived broken.',
      outside: async (runtime) => {
        for (const question of await runtime.questions())
          if (question.kind === 'approval')
            await runtime.decide({ approvalId: question.id, decision: 'approve' }).catch(() => undefined)
          else if (question.kind === 'in-doubt')
            await runtime.settleDoubt({ id: question.id, happened: true, value: 'paid' }).catch(() => undefined)
      },
    }),
  )
  assert.deepEqual([report.differences, report.repeated], [[], []])
  assert.ok(report.points > 5)
})
