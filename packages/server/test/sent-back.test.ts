/** Sending work back over HTTP and by the client: which effects are made once more, and who may say so. */
import { expect, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { agent, team } from '@reeve/public'
import type { Role } from '../src/wire.ts'
import { serving } from './serving.ts'

const refused = (status: number, code: string): object => ({ status, body: { error: { code } } })
const as = (name: string): Record<string, string> => ({ Authorization: `Bearer ${tokenOf(name)}` })
const tokenOf = (name: string): string => `${name}-${'t'.repeat(40)}`
const auth = {
  tokens: {
    [tokenOf('viewer')]: { name: 'viewer', roles: ['viewer'] as Role[] },
    [tokenOf('ann')]: { name: 'ann', roles: ['approver'] as Role[] },
  },
}

/** A server with a run whose task has paid and asks about its result. */
async function paidAndAsked() {
  const keys: string[] = []
  const payer = agent({
    name: 'payer',
    description: 'Pays.',
    run: async (ctx) => `receipt ${await ctx.step('pay', ({ key }) => keys.push(key), { effect: 'once' })}`,
  })
  const boss = team({
    name: 'boss',
    roles: { generalist: payer },
    oversight: { mode: 'in-the-loop' },
    planner: { subtasks: [{ id: 'pay', description: 'Pay.', review: true }] },
  })
  const all = await serving({ agents: [boss] }, { auth })
  const run = await all.runtime.start(boss, 'Go', { runId: 'r1' })
  /** The open request, once another one than `before` is open. */
  const asked = async (before?: string) => {
    await expect
      .poll(async () => (await all.runtime.approvals()).filter(({ id }) => id !== before), { timeout: 10_000 })
      .toHaveLength(1)
    return (await all.runtime.approvals())[0]!
  }
  return { ...all, keys, run, asked }
}

test('POST decision: `repeat` names effects of `done`; anything else decides nothing', async () => {
  const { get, post, keys, asked, run, runtime } = await paidAndAsked()
  const { id, done } = await asked()
  const effect = done![0]!.id
  expect(await get(`/questions/${id}`, as('viewer'))).toMatchObject({
    status: 200,
    body: { approval: { done: [{ id: effect, name: 'pay', state: 'done', task: 'pay' }] } },
  })
  const path = `/approvals/${id}/decision`
  const retry = { decision: 'retry', comment: 'Pay again.' }
  expect(await post(path, { ...retry, repeat: [effect] }, as('viewer'))).toMatchObject({ status: 403 })
  for (const repeat of [['eff_unknown'], [effect, 'eff_unknown']])
    expect(await post(path, { ...retry, repeat }, as('ann'))).toMatchObject(refused(400, 'approval.invalid'))
  expect(await post(path, { decision: 'approve', repeat: [effect] }, as('ann'))).toMatchObject(
    refused(400, 'approval.invalid'),
  )
  for (const repeat of [effect, [7], [[effect]], { 0: effect }, Array.from({ length: 51 }, () => effect), ['']])
    expect(await post(path, { ...retry, repeat }, as('ann'))).toMatchObject({ status: 400 })
  expect((await runtime.approvals()).map((each) => each.id)).toEqual([id])
  expect(await post(path, { ...retry, repeat: [effect] }, as('ann'))).toMatchObject({ status: 204 })
  const again = await asked(id)
  expect(again.done).toHaveLength(2)
  expect(await post(`/approvals/${again.id}/decision`, { decision: 'approve' }, as('ann'))).toMatchObject({
    status: 204,
  })
  await run.outcome()
  expect([keys.length, new Set(keys).size]).toEqual([2, 2])
})

test('the client sends back with and without `repeat`', async () => {
  const { server, keys, asked, run } = await paidAndAsked()
  const client = createClient({ baseUrl: server.url, token: tokenOf('ann') })
  const first = await asked()
  await client.run('r1').decide({ approvalId: first.id, decision: 'retry', comment: 'Say more.' })
  const second = await asked(first.id)
  expect(keys).toHaveLength(1)
  await client.questions.decide({
    approvalId: second.id,
    decision: 'retry',
    comment: 'Pay again.',
    repeat: [second.done![0]!.id],
  })
  const third = await asked(second.id)
  expect(keys).toHaveLength(2)
  await client.questions.decide({ approvalId: third.id, decision: 'approve' })
  expect(await run.outcome()).toMatchObject({ status: 'completed' })
})

test('a link names no repeat: it takes no decision that could', async () => {
  const { runtime, asked, keys } = await paidAndAsked()
  const { id, done } = await asked()
  await expect(
    runtime.links.create({ approvalId: id, approver: 'Ann', decisions: ['retry'] as never }),
  ).rejects.toMatchObject({ code: 'input.invalid' })
  const { token } = await runtime.links.create({ approvalId: id, approver: 'Ann' })
  for (const decision of ['retry', 'approve'])
    await expect(runtime.links.decide({ token, decision, repeat: [done![0]!.id] } as never)).rejects.toMatchObject({
      name: 'ReeveError',
    })
  expect((await runtime.approvals()).map((each) => each.id)).toEqual([id])
  expect(keys).toHaveLength(1)
})
