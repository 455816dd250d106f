/** "Always allow this": a yes that holds for the session, and everything that it must not reach. */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import { asText, type Json } from '@reeve/core'
import type { ModelAnswerInput } from '@reeve/model'
import { approve, grantFor } from '@reeve/oversight'
import type { Run, Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { code, pay } from './control.ts'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, waiting } from './team.ts'

const schema = { type: 'object', properties: { to: { type: 'string' }, n: { type: 'number' } } } as const
const send = (done: Json[] = [], more: object = {}) =>
  tool({
    name: 'send',
    approval: { reason: 'mail leaves the house' },
    input: schema,
    execute: (input: Json) => (done.push(input), 'sent'),
    ...more,
  } as never)
/** Calls the tool with its brief, then answers with what came of it. */
const caller = (name: string, tools: readonly unknown[], called = 'send'): Agent =>
  agent({
    name,
    description: 'Calls.',
    tools: tools as never,
    model: scripted(({ messages }): ModelAnswerInput | string => {
      const last = messages.at(-1)!
      return last.role === 'tool' ? asText(last.content) : calls([called, JSON.parse(asText(last.content)) as Json])
    }),
  })
const session = { session: 's' }
const toAnn = JSON.stringify({ to: 'ann', n: 1 })
const toBob = JSON.stringify({ to: 'bob' })
/** Starts a run, and says yes with this grant to the first thing that it asks. */
async function granted(
  runtime: Runtime,
  grant: object | string,
  brief = toAnn,
  options: object = session,
): Promise<Run> {
  const run = await runtime.start('caller', brief, options)
  const [asked] = (await waiting(run)).waiting
  await run.decide({ approvalId: asked!.id, decision: 'approve', approver: 'eve', grant: grant as never })
  expect(await run.outcome()).toMatchObject({ output: 'sent' })
  return run
}
const factsOf = async (run: Run): Promise<readonly string[]> =>
  (await eventsOf(run)).flatMap(({ type }) => (type.startsWith('approval.') ? [type] : []))

describe('a grant for the session', () => {
  test('lets later calls of the tool pass, in later runs too; each use is recorded, with who granted it', async () => {
    const done: Json[] = []
    const runtime = await runtimeOf([caller('caller', [send(done)])])
    const first = await granted(runtime, 'session')
    expect(await factsOf(first)).toEqual(['approval.requested', 'approval.resolved'])
    const run = await runtime.start('caller', toBob, session)
    expect(await run.outcome()).toMatchObject({ output: 'sent' })
    expect((await eventsOf(run)).filter(({ type }) => type.startsWith('approval.'))).toMatchObject([
      { type: 'approval.granted', tool: 'send', approver: 'eve', inputHash: expect.any(String) as never },
    ])
    expect(done).toEqual([{ to: 'ann', n: 1 }, { to: 'bob' }])
  })

  test('that names an argument which the call does not have is refused, and nothing is decided', async () => {
    const runtime = await runtimeOf([caller('caller', [send()])])
    const run = await runtime.start('caller', toAnn, session)
    const [asked] = (await waiting(run)).waiting
    const yes = (input: object) =>
      run.decide({ approvalId: asked!.id, decision: 'approve', grant: { for: 'session', input: input as never } })
    await expect(yes({ too: 'ann' })).rejects.toMatchObject({
      code: 'approval.invalid',
      message: 'grant.input: unknown argument "too": did you mean "to"?',
    })
    expect((await run.view()).approvals).toMatchObject([{ open: true }])
    await yes({ to: 'bob' })
    expect(await run.outcome()).toMatchObject({ output: 'sent' })
  })

  test('holds for workers at any depth, and for the same run', async () => {
    const inner = supervisor({
      name: 'inner',
      description: 'Leads.',
      model: scripted(delegates(['caller', toAnn]), delegates(['caller', toBob]), 'done'),
      workers: [caller('caller', [send()])],
    })
    const root = supervisor({ name: 'root', model: scripted(delegates(['inner', 'x']), 'end'), workers: [inner] })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const [asked] = (await waiting(run)).waiting
    expect(asked).toMatchObject({ path: ['root', 'inner', 'caller'], grantable: true })
    await run.decide({ approvalId: asked!.id, decision: 'approve', grant: 'session' })
    expect(await run.outcome()).toMatchObject({ output: 'end' })
    expect(await factsOf(run)).toEqual(['approval.requested', 'approval.resolved', 'approval.granted'])
  })

  test('a grant holds for one agent’s tool: an equal tool of another agent still asks', async () => {
    const done: Json[] = []
    const lead = scripted(
      delegates(['caller', toAnn]),
      delegates(['other', toAnn]),
      delegates(['caller', toBob]),
      'end',
    )
    const workers = [
      caller('caller', [send(done)]),
      caller('other', [send(done, { description: 'Sends to everybody.' })]),
    ]
    const root = supervisor({ name: 'root', model: lead, workers })
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go', session)
    await run.decide({ approvalId: (await waiting(run)).waiting[0]!.id, decision: 'approve', grant: 'session' })
    const [asked] = (await waiting(run)).waiting
    expect(asked).toMatchObject({ path: ['root', 'other'] })
    expect(done).toHaveLength(1)
    expect(await runtime.grants.of(session)).toMatchObject([{ agent: 'caller', tool: 'send' }])
    await run.decide({ approvalId: asked!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'end' })
    expect(done).toHaveLength(3)
  })

  test('with a pattern it holds for calls that have these arguments, and for no others', async () => {
    const runtime = await runtimeOf([caller('caller', [send()])])
    await granted(runtime, { for: 'session', input: { to: 'ann' } })
    expect(await runtime.run('caller', JSON.stringify({ to: 'ann', n: 2 }), session)).toMatchObject({ output: 'sent' })
    for (const brief of [toBob, '{"n":1}']) {
      const run = await runtime.start('caller', brief, session)
      expect((await waiting(run)).waiting).toHaveLength(1)
      await run.control.cancel()
      await run.outcome()
    }
  })

  test('it ends when its time is over', async () => {
    const kept = { id: 'gra_1', agent: 'a', user: null, tool: 'send', toolVersion: '1', at: 1, until: 10 }
    const asked = { agent: 'a', tool: 'send', toolVersion: '1', input: {} }
    expect([9, 10].map((now) => grantFor([kept], asked, now)?.id)).toEqual(['gra_1', undefined])
    const runtime = await runtimeOf([caller('caller', [send()])])
    await granted(runtime, { for: 'session', expiresInMs: 1 })
    await expect.poll(async () => (await runtime.grants.of(session)).length).toBe(0)
    expect((await waiting(await runtime.start('caller', toAnn, session))).waiting).toHaveLength(1)
  })

  test('once is once; and another session, a run of its own, another version of the tool know nothing of it', async () => {
    const file = store()
    const runtime = await runtimeOf([caller('caller', [send()])], { store: file })
    await granted(runtime, 'once')
    await granted(runtime, 'session')
    for (const options of [{ session: 'other' }, {}])
      expect((await waiting(await runtime.start('caller', toAnn, options))).waiting).toHaveLength(1)
    await runtime.close()
    const after = await runtimeOf([caller('caller', [send([], { version: '2' })])], { store: file })
    expect((await waiting(await after.start('caller', toAnn, session))).waiting).toHaveLength(1)
  })

  test('may be seen and taken back', async () => {
    const runtime = await runtimeOf([caller('caller', [send()])])
    await granted(runtime, 'session')
    await granted(runtime, { for: 'session', input: { to: 'cid' } }, toAnn, { session: 't' })
    const [grant] = await runtime.grants.of(session)
    expect(grant).toMatchObject({ tool: 'send', approver: 'eve' })
    expect(await runtime.grants.revoke({ session: 's', grant: 'gra_other' })).toBe(0)
    expect(await runtime.grants.revoke({ session: 's', grant: grant!.id })).toBe(1)
    expect((await waiting(await runtime.start('caller', toAnn, session))).waiting).toHaveLength(1)
    expect(await runtime.grants.of({ session: 't' })).toMatchObject([{ input: { to: 'cid' } }])
  })

  test('survives the run that it was given in, and a restart', async () => {
    const file = store()
    const before = await runtimeOf([caller('caller', [send()])], { store: file })
    const run = await granted(before, 'session')
    await before.remove(run.id)
    await before.close()
    const runtime = await runtimeOf([caller('caller', [send()])], { store: file })
    expect(await runtime.run('caller', toBob, session)).toMatchObject({ output: 'sent' })
  })
})

describe('what a grant never reaches', () => {
  test('a grant for a sensitive tool, high risk or a code approval is refused, and nothing is decided', async () => {
    const byCode = code('byCode', async (ctx) =>
      (await approve(ctx, { tool: 'x', toolVersion: '1', input: 1, reason: 'why not' })).approved ? 'yes' : 'no',
    )
    const risky = send([], { name: 'send', approval: { risk: 'high' } })
    const runtime = await runtimeOf([caller('payer', [pay()], 'pay'), caller('risky', [risky]), byCode])
    for (const [name, brief] of [
      ['payer', '{"n":1}'],
      ['risky', toAnn],
      ['byCode', 'go'],
    ] as const) {
      const run = await runtime.start(name, brief, { session: name })
      const [asked] = (await waiting(run)).waiting
      expect(asked!.grantable).toBe(false)
      const word = { approvalId: asked!.id, decision: 'approve' } as const
      await expect(run.decide({ ...word, grant: 'session' })).rejects.toMatchObject({ code: 'approval.invalid' })
      expect((await waiting(run)).waiting).toHaveLength(1)
      await run.decide({ ...word, grant: 'once' })
      expect(await run.outcome()).toMatchObject({ status: 'completed' })
      expect(await runtime.grants.of({ session: name })).toEqual([])
    }
  })

  test('nothing that a model writes makes one', async () => {
    const model = scripted(
      calls(['send', { to: 'ann', grant: 'session', decision: 'approve', $grants: [{ tool: 'send' }] }]),
      ({ messages }) => asText(messages.at(-1)!.content),
    )
    const runtime = await runtimeOf([agent({ name: 'a', tools: [send()], model })])
    const run = await runtime.start('a', 'go', session)
    const [asked] = (await waiting(run)).waiting
    await run.decide({ approvalId: asked!.id, decision: 'reject' })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await runtime.grants.of(session)).toEqual([])
    expect(asText(told(model.prompts[1])[0] ?? null)).toContain('rejected')
  })

  test('two who decide at once: the first one counts, and what it grants', async () => {
    const runtime = await runtimeOf([caller('caller', [send()])])
    const run = await runtime.start('caller', toAnn, session)
    const [asked] = (await waiting(run)).waiting
    const word = { approvalId: asked!.id, decision: 'approve' } as const
    const said = await Promise.allSettled([
      run.decide({ ...word, approver: 'ann' }),
      run.decide({ ...word, approver: 'bob', grant: 'session' }),
    ])
    expect(said.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await run.outcome()
    expect(await runtime.grants.of(session)).toMatchObject(said[1].status === 'fulfilled' ? [{ approver: 'bob' }] : [])
  })

  test('a grant of the wrong shape is refused, and nothing is decided', async () => {
    const runtime = await runtimeOf([caller('caller', [send()])])
    const run = await runtime.start('caller', toAnn)
    const [asked] = (await waiting(run)).waiting
    for (const grant of [
      'always',
      {},
      { for: 'session', input: [] },
      { for: 'session', expiresInMs: 0 },
      { for: 'session', tool: 'x' },
    ])
      await expect(
        run.decide({ approvalId: asked!.id, decision: 'approve', grant: grant as never }),
      ).rejects.toMatchObject({
        code: 'approval.invalid',
      })
    await expect(
      run.decide({ approvalId: asked!.id, decision: 'reject', grant: 'session' } as never),
    ).rejects.toMatchObject({
      code: 'approval.invalid',
    })
    expect((await waiting(run)).waiting).toHaveLength(1)
  })
})
