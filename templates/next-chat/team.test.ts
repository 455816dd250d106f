import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRuntime, unwrap } from 'reeve'
import { deskRules, deskWith, payerRules } from './team.ts'

for (const [decision, expected] of [
  ['approve', [{ order: '7', usd: 40 }]],
  ['reject', []],
] as const)
  test(`${decision}: ${expected.length} payments, and none before`, async () => {
    const paid: unknown[] = []
    const desk = deskWith({ desk: deskRules, payer: payerRules }, async (payment) => `paid ${paid.push(payment)}`)
    await using runtime = await createRuntime({ agents: [desk] })
    const run = await runtime.start(desk, 'Order 7 arrived broken.')
    await run.until('waiting')
    const [approval] = await runtime.approvals()
    assert.deepEqual([paid, approval?.path, approval?.input], [[], ['desk', 'payer'], { order: '7', usd: 40 }])
    await run.decide({ approvalId: approval!.id, decision, approver: 'ann' })
    assert.match(unwrap(await run.outcome()), /The payer says/)
    assert.deepEqual(paid, expected)
  })
