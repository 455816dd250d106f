/** Twenty refunds at two servers on one PostgreSQL; the one that pays is killed in the middle of payments. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createClient } from 'reeve/client'

const paid: { order: string; by: number }[] = []
const paying = Promise.withResolvers<void>()
const begin = async () => {
  const child = fork(`${import.meta.dirname}/b-server.ts`)
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  child.on('message', ({ order }: { order: string }) => {
    paid.push({ order, by: child.pid! })
    if (paid.length === 12) paying.resolve()
  })
  return { child, client: createClient({ baseUrl: url, token: process.env['REEVE_TOKEN']! }) }
}
const servers = [await begin(), await begin()]
const orders = new Map<string, string>()
for (let order = 1; order <= 20; order++)
  orders.set((await servers[order % 2]!.client.runs.start('refunds', `Refund order ${order}.`)).id, `${order}`)

const client = () => servers[0]!.client
const open = async (kind: 'approval' | 'in-doubt') =>
  (await client().questions.list({ kind: [kind], limit: 100 })).items
for await (const _ of client().live()) if ((await open('approval')).length === 20) break
for (const [nth, { id }] of (await open('approval')).entries()) {
  if (nth === 12) {
    await paying.promise
    const [victim] = servers.splice(servers[0]!.child.pid === paid.at(-1)!.by ? 0 : 1, 1)
    victim!.child.kill('SIGKILL')
  }
  await client().questions.decide({ approvalId: id, decision: 'approve' })
}

const completed = async () => (await client().runs.list({ status: ['completed'], limit: 100 })).items.length
for await (const _ of client().live()) if ((await completed()) + (await open('in-doubt')).length === 20) break
const doubts = await open('in-doubt')
console.log(`${await completed()} completed by themselves, ${doubts.length} ask whether they were paid`)
for (const { id, run } of doubts) {
  const happened = paid.some(({ order }) => order === orders.get(run)) // what the bank says
  await client().questions.settle(id, happened ? { happened, value: 'paid' } : { happened })
}
for (const run of orders.keys()) assert.equal((await client().run(run).outcome()).status, 'completed')
console.log(`${paid.length} payments for ${new Set(paid.map(({ order }) => order)).size} orders`)
assert.deepEqual([paid.length, new Set(paid.map(({ order }) => order)).size], [20, 20])
for (const { child } of servers) child.kill()
