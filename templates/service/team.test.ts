/** On a store in memory; on PostgreSQL, in a schema of its own, if DATABASE_URL names a server. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { createRuntime, unwrap } from 'reeve'
import { rules, supportWith } from './team.ts'

const { DATABASE_URL } = process.env
const schema = `support_test_${process.pid}`
/** The store of the tests, if it is not one in memory. */
const store = DATABASE_URL && `${DATABASE_URL.replace(/\?.*$/, '')}?schema=${schema}`

after(async () => {
  if (!store) return
  const database = new pg.Client(store.replace(/\?.*$/, ''))
  await database.connect()
  await database.query(`drop schema if exists ${schema} cascade`)
  await database.end()
})

const shopOf = (paid: unknown[]) => ({
  order: async (id: string) => (id === '7' ? { id, item: 'a lamp', usd: 40 } : undefined),
  pay: async (payment: object) => {
    paid.push(payment)
    return 'paid'
  },
})

for (const [decision, expected] of [
  ['approve', [{ order: '7', usd: 40 }]],
  ['reject', []],
] as const)
  test(`${decision}: ${expected.length} payments, and none before`, async () => {
    const paid: unknown[] = []
    const support = supportWith(rules, shopOf(paid))
    await using runtime = await createRuntime({ agents: [support], ...(store ? { store } : {}) })
    const run = await runtime.start(support, 'Order 7 arrived broken.')
    await run.until('waiting')
    const [approval] = await runtime.approvals()
    assert.deepEqual([paid, approval?.input], [[], { order: '7', usd: 40 }])
    await run.decide({ approvalId: approval!.id, decision, approver: 'ann' })
    unwrap(await run.outcome())
    assert.deepEqual(paid, expected)
  })

test('an order that is not there is no reason to pay', async () => {
  const paid: unknown[] = []
  const support = supportWith(rules, shopOf(paid))
  await using runtime = await createRuntime({ agents: [support], ...(store ? { store } : {}) })
  assert.match(unwrap(await runtime.run(support, 'Order 8 arrived broken.')), /no order 8/)
  assert.deepEqual(paid, [])
})
