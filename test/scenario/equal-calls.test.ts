/**
 * A call that an answer holds twice: under one id it is one call; under two ids it is made once, unless its tool may be
 * repeated. Ids are unique in a conversation. Cites K4, K6.
 */
import { describe, expect, test } from 'vitest'
import { agent, supervisor, tool, type Middleware } from '@reeve/public'
import { asText, type Json } from '@reeve/core'
import type { Run } from '@reeve/runtime'
import { calls, delegates, eventsOf, runtimeOf, scripted, told, waiting } from './team.ts'
import { replayProblems } from './verified.ts'

/** A till that counts what was paid. */
function till(more: object = {}) {
  const paid: Json[] = []
  const input = {
    type: 'object',
    properties: { usd: { type: 'number' }, to: { type: 'string' } },
    required: ['usd'],
  } as const
  const pay = tool({
    name: 'pay',
    input,
    execute: (given) => `receipt ${paid.push(given)}`,
    ...more,
  })
  return { paid, pay }
}
const resultsIn = async (run: Run): Promise<Json[]> => {
  const results: Json[] = []
  for await (const each of run.messages()) if (each.type === 'tool') results.push(each.content)
  return results
}
const twice =
  /^\[this answer calls "pay" more than once with the same arguments, and it is made at most once\. The result of that call:\]\n/

describe('equal calls of one answer', () => {
  const same = calls(['pay', { usd: 5 }, 'a'], ['pay', { usd: 5 }, 'b'])

  test('under one id they are one call: one result, one message', async () => {
    const { paid, pay } = till({ repeatable: true })
    const model = scripted(calls(['pay', { usd: 5 }, 'a'], ['pay', { usd: 5 }, 'a']), 'Done.')
    const A = agent({ name: 'A', model, tools: [pay] })
    const run = await (await runtimeOf([A])).start(A, 'Pay.')
    await run.outcome()
    expect([paid.length, told(model.prompts[1])]).toEqual([1, ['receipt 1']])
    expect(model.prompts[1]!.at(-2)).toMatchObject({ calls: [{ id: 'a' }] })
    expect(await replayProblems(run, A)).toEqual([])
  })

  test('under one id with other arguments they are two', async () => {
    const { paid, pay } = till()
    const A = agent({
      name: 'A',
      model: scripted(calls(['pay', { usd: 5 }, 'a'], ['pay', { usd: 6 }, 'a'], ['pay', { usd: 6 }, 'a']), 'Done.'),
      tools: [pay],
    })
    await (await runtimeOf([A])).run(A, 'Pay.')
    expect(paid).toEqual([{ usd: 5 }, { usd: 6 }])
  })

  test('under two ids an undeclared tool is called once; the other one is told its result, at every door', async () => {
    const { paid, pay } = till()
    const model = scripted(same, 'Done.')
    const A = agent({ name: 'A', model, tools: [pay] })
    const run = await (await runtimeOf([A])).start(A, 'Pay.')
    await run.outcome()
    const results = told(model.prompts[1])
    expect(paid).toHaveLength(1)
    expect(results).toEqual(['receipt 1', expect.stringMatching(twice)])
    expect(asText(results[1]!)).toMatch(/\nreceipt 1$/)
    expect((await eventsOf(run)).filter(({ type }) => type === 'tool.called')).toHaveLength(1)
    expect(await resultsIn(run as unknown as Run)).toEqual(results)
    expect(await replayProblems(run, A)).toEqual([])
  })

  test.each([
    ['a tool that only reads', till({ effect: 'read' })],
    ['an `idempotent` tool', till({ effect: 'idempotent' })],
    ['a `once` tool that says it is repeatable', till({ effect: 'once', repeatable: true })],
  ])('%s is called each time', async (_what, { paid, pay }) => {
    const A = agent({ name: 'A', model: scripted(same, 'Done.'), tools: [pay] })
    await (await runtimeOf([A])).run(A, 'Pay.')
    expect(paid).toHaveLength(2)
  })

  test('a tool of the AI SDK says it as a member', async () => {
    for (const [more, times] of [
      [{}, 1],
      [{ repeatable: true }, 2],
    ] as const) {
      let paid = 0
      const pay = { description: 'Pays.', inputSchema: { type: 'object' }, execute: () => `receipt ${++paid}`, ...more }
      const A = agent({ name: 'A', model: scripted(same, 'Done.'), tools: { pay } })
      await (await runtimeOf([A])).run(A, 'Pay.')
      expect(paid).toBe(times)
    }
  })

  test('delegations run each: votes are legitimate', async () => {
    let asked = 0
    const voter = agent({ name: 'voter', description: 'Votes.', model: () => `vote ${++asked}` })
    const lead = supervisor({
      name: 'lead',
      workers: [voter],
      model: scripted(delegates(['voter', 'Vote.'], ['voter', 'Vote.']), 'Done.'),
    })
    await (await runtimeOf([lead])).run(lead, 'Go.')
    expect(asked).toBe(2)
  })

  test('they are compared as they run: with the defaults of the schema, in any order of members', async () => {
    const { paid, pay } = till()
    const A = agent({
      name: 'A',
      model: scripted(calls(['pay', { usd: 5, to: 'bob' }, 'a'], ['pay', { to: 'bob', usd: 5 }, 'b']), 'Done.'),
      tools: [pay],
    })
    await (await runtimeOf([A])).run(A, 'Pay.')
    expect(paid).toHaveLength(1)
  })

  test('one approval is asked for; what the approver makes of it counts for both', async () => {
    const { paid, pay } = till({ sensitive: true })
    const model = scripted(same, 'Done.')
    const A = agent({ name: 'A', model, tools: [pay] })
    const runtime = await runtimeOf([A])
    const run = await runtime.start(A, 'Pay.')
    const asked = (await waiting(run)).waiting
    expect(asked).toHaveLength(1)
    await run.decide({ approvalId: asked[0]!.id, decision: 'edit', input: { usd: 1 }, comment: 'less' })
    await run.outcome()
    expect(paid).toEqual([{ usd: 1 }])
    const results = told(model.prompts[1])
    expect(results[1]).toMatch(/"less"\. It ran with this instead: \{"usd":1\}\]\nreceipt 1$/)
    expect(await resultsIn(run as unknown as Run)).toEqual(results)
    expect(await replayProblems(run, A)).toEqual([])
  })

  test('a call that failed is not made again for the other one', async () => {
    let tries = 0
    const pay = tool({
      name: 'pay',
      execute: () => {
        tries++
        throw new Error('declined')
      },
    })
    const model = scripted(calls(['pay', {}, 'a'], ['pay', {}, 'b']), 'Done.')
    const A = agent({ name: 'A', model, tools: [pay] })
    await (await runtimeOf([A])).run(A, 'Pay.')
    expect(tries).toBe(1)
    expect(model.prompts[1]!.at(-1)).toMatchObject({ isError: true, content: expect.stringMatching(/declined/) })
  })

  test('in the background the other one is told where the result will stand', async () => {
    const { paid, pay } = till({ background: true })
    const model = scripted(same, 'I wait.', 'Done.')
    const A = agent({ name: 'A', model, tools: [pay] })
    await (await runtimeOf([A])).run(A, 'Pay.')
    expect(paid).toHaveLength(1)
    expect(told(model.prompts[1])[1]).toMatch(/works in the background as t1: its result will stand there\.\]$/)
  })

  test('with a middleware around calls they are one call, too', async () => {
    const { paid, pay } = till()
    const seen: string[] = []
    const around: Middleware = { name: 'around', wrapTool: (call, run) => (seen.push(call.id), run()) }
    const model = scripted(same, 'Done.')
    const A = agent({ name: 'A', model, tools: [pay], middleware: [around] })
    const run = await (await runtimeOf([A])).start(A, 'Pay.')
    await run.outcome()
    expect([paid.length, seen]).toEqual([1, ['a']])
    expect(await resultsIn(run as unknown as Run)).toEqual(told(model.prompts[1]))
  })

  test('the same call in a later answer is another call', async () => {
    const { paid, pay } = till()
    const A = agent({
      name: 'A',
      model: scripted(calls(['pay', { usd: 5 }]), calls(['pay', { usd: 5 }]), 'Done.'),
      tools: [pay],
    })
    await (await runtimeOf([A])).run(A, 'Pay.')
    expect(paid).toHaveLength(2)
  })
})

describe('ids that repeat over turns', () => {
  test('each call has an id of its own, recorded; the first keeps the one of its provider', async () => {
    const { pay } = till()
    const model = scripted(
      calls(['pay', { usd: 1 }, 'act:0']),
      calls(['pay', { usd: 2 }, 'act:0'], ['pay', { usd: 3 }, 'act:1']),
      'Done.',
    )
    const A = agent({ name: 'A', model, tools: [pay] })
    const run = await (await runtimeOf([A])).start(A, 'Pay.')
    await run.outcome()
    const ids = model.prompts[2]!.flatMap((each) => (each.role === 'tool' ? [each.callId] : []))
    expect(ids).toEqual(['act:0', expect.stringMatching(/^call_/), 'act:1'])
    expect(new Set(ids).size).toBe(3)
    const called = (await eventsOf(run)).flatMap((event) => (event.type === 'tool.called' ? [event.callId] : []))
    expect(called).toEqual(ids)
    expect(await replayProblems(run, A)).toEqual([])
  })
})
