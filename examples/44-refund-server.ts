/**
 * Refunds behind HTTP: two servers on one store. A refund is asked for at one of them and decided at the other. The first
 * server is killed while somebody follows a run there; they go on at the second one: no event twice, none missing.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, tool } from 'reeve'
import { createClient } from 'reeve/client'
import { createServer, listen } from 'reeve/server'

const token = 'draw-your-own-secret-instead' // openssl rand -base64 32
const store = process.argv[2] ?? join(mkdtempSync(join(tmpdir(), 'reeve-refunds-')), 'reeve.db')

// #region serve
async function serve(): Promise<void> {
  const pay = tool({ name: 'pay', effect: 'once', approval: { risk: 'high' }, execute: () => 'paid' })
  const refunds = agent({
    name: 'refunds',
    tools: [pay],
    model: ({ messages }) => (messages.length > 1 ? 'Done.' : { calls: [{ name: 'pay', input: { usd: 40 } }] }),
  })
  const runtime = await createRuntime({ store, agents: [refunds] })
  const server = createServer({ runtime, auth: { tokens: { [token]: { name: 'ann', roles: ['admin'] } } } })
  const { url } = await listen(server, { port: 0 })
  process.once('disconnect', () => process.exit()).send!(url)
}
// #endregion

/** A server in a process of its own, and its client. */
async function begin() {
  const child = fork(import.meta.filename, [store])
  const [baseUrl] = (await once(child, 'message')) as [string]
  return { child, client: createClient({ baseUrl, token }) }
}

async function use(): Promise<void> {
  const [first, { client, child }] = [await begin(), await begin()]
  // #region use
  const run = await first.client.runs.start('refunds', 'Order 7 arrived broken.')
  const other = await first.client.runs.start('refunds', 'Order 8 is too blue.')
  const seen: number[] = []
  for await (const { position, event } of run.events()) {
    seen.push(position)
    if (event.type === 'approval.requested') break
  }
  first.child.kill('SIGKILL')
  for await (const _news of client.live()) if ((await client.questions.list()).items.length === 2) break
  for (const pending of (await client.questions.list()).items)
    await client.questions.decide({ approvalId: pending.id, decision: pending.run === run.id ? 'approve' : 'reject' })
  for await (const { position } of client.run(run.id).events({ from: seen.at(-1)! })) seen.push(position)
  for await (const text of client.run(other.id).text()) console.log(`the other customer reads: ${text}`)
  // #endregion
  const all = (await client.run(run.id).recorded({ limit: 1_000 })).items.map(({ position }) => position)
  assert.deepEqual(seen, all)
  console.log(`${seen.length} events, none twice and none missing`)
  child.kill()
}

await (process.argv[2] === undefined ? use() : serve())
