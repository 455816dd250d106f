/**
 * Approvals in rounds: who is asked after whom, two pairs of eyes, who may decide, what may be decided; what a yes is
 * good for. Spec team R-16, cases C79 to C90.
 */
import { describe, expect, test } from 'vitest'
import { agent, tool, type Agent } from '@reeve/agent'
import { asTool } from '@reeve/flow'
import { failure, FailureError, type Json } from '@reeve/core'
import type { ApprovalRules } from '@reeve/edge'
import {
  approve,
  hmacSigner,
  signCapability,
  verifyCapability,
  type ApprovalRequest,
  type UsedCapability,
} from '@reeve/oversight'
import type { Approval, Decision, Run } from '@reeve/runtime'
import { calls, eventsOf, runtimeOf, scripted, store, told, waiting } from './team.ts'

const minute = 60_000

/** Code that asks for one approval and answers with what came of it. */
const asks = (request: Partial<ApprovalRequest>, name = 'asks') =>
  agent({
    name,
    description: 'Asks.',
    run: async (ctx) => {
      const { capability, ...verdict } = { capability: undefined, ...(await approve(ctx, { ...base, ...request })) }
      return {
        ...verdict,
        ...(capability === undefined
          ? {}
          : { capability: { approvers: capability.approvers, approvals: capability.approvals } }),
      }
    },
  })
const base: ApprovalRequest = { tool: 'pay', toolVersion: '1', input: { amount: 10 }, reason: 'money' }
const critical = (rules: ApprovalRules = {}): Partial<ApprovalRequest> => ({ risk: 'critical', rules })

const only = async (run: Run<unknown>): Promise<Approval> => {
  const { waiting: open } = await waiting(run)
  expect(open).toHaveLength(1)
  return open[0]!
}
const next = async (run: Run<unknown>, before: Approval): Promise<Approval> => {
  await expect.poll(async () => (await waiting(run)).waiting.map(({ id }) => id)).not.toContain(before.id)
  return only(run)
}

describe('one after the other', () => {
  const tiers: ApprovalRules = {
    onTimeout: 'escalate',
    approvers: [
      { who: ['ann'], timeoutMs: 60 },
      { who: ['bob', 'eve'], timeoutMs: 10 * minute },
    ],
  }

  test('R-16: an escalating deadline asks the next tier under a new id and deadline; the last decision counts', async () => {
    const root = asks({ rules: tiers })
    const run = await (await runtimeOf([root])).start(root, 'go')
    await expect.poll(async () => (await waiting(run)).waiting[0]?.tier).toBe(2)
    const second = await only(run)
    const [first] = (await run.view()).approvals
    expect(first).toMatchObject({ open: false, resolution: 'escalated', approvers: ['ann'], onTimeout: 'escalate' })
    expect(second).toMatchObject({ tier: 2, follows: first!.id, approvers: ['bob', 'eve'], input: { amount: 10 } })
    expect(second.until! - second.askedAt).toBeGreaterThan(9 * minute)
    await expect(run.decide({ approvalId: first!.id, decision: 'approve', approver: 'ann' })).rejects.toMatchObject({
      code: 'approval.expired',
      message: expect.stringContaining(`the deadline of approval "${first!.id}" has passed`) as string,
      hint: `Nobody had decided it; "${second.id}" follows, for "bob", "eve". Nothing was changed.`,
    })
    await run.decide({ approvalId: second.id, decision: 'approve', approver: 'eve' })
    expect(await run.outcome()).toMatchObject({
      output: {
        approved: true,
        by: 'human',
        approver: 'eve',
        capability: { approvers: ['eve'], approvals: [second.id] },
      },
    })
  })
  test('R-16: the deadline of the last ones rejects, and says that it was one', async () => {
    const approvers = [
      { who: ['ann'], timeoutMs: 30 },
      { who: ['bob'], timeoutMs: 30 },
    ]
    const root = asks({ rules: { onTimeout: 'escalate', approvers } })
    const run = await (await runtimeOf([root])).start(root, 'go')
    expect(await run.outcome()).toMatchObject({ output: { approved: false, how: 'timed-out' } })
    const { approvals } = await run.view()
    expect(approvals.map(({ resolution, tier }) => [resolution, tier])).toEqual([
      ['escalated', undefined],
      ['timed-out-rejected', 2],
    ])
  })
})

describe('who may decide', () => {
  test('X43: only named approvers may decide, and a refused try changes nothing', async () => {
    const root = asks({ rules: { approvers: [{ who: ['ann', 'bob'] }] } })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const open = await only(run)
    expect(open).toMatchObject({ approvers: ['ann', 'bob'] })
    for (const decision of ['approve', 'reject', 'retry'] as const)
      for (const who of [undefined, 'eve', 'ANN', '', 'a nn', '\u200B']) {
        const given = { approvalId: open.id, decision, ...(who === undefined ? {} : { approver: who }) }
        await expect(run.decide(given)).rejects.toMatchObject({
          code: 'approval.forbidden',
          message: expect.stringMatching(/"ann", "bob"/) as string,
        })
      }
    expect(await only(run)).toEqual(open)
    await run.decide({ approvalId: open.id, decision: 'approve', approver: 'bob' })
    expect(await run.outcome()).toMatchObject({ output: { approved: true, approver: 'bob' } })
  })
  test('R-16: what is not offered is not decided', async () => {
    const root = asks({ options: ['approve', 'reject'] })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const open = await only(run)
    expect(open.options).toEqual(['approve', 'reject'])
    for (const given of [{ decision: 'retry' }, { decision: 'edit', input: { amount: 1 } }] as const)
      await expect(run.decide({ approvalId: open.id, ...given })).rejects.toMatchObject({ code: 'approval.invalid' })
    await run.decide({ approvalId: open.id, decision: 'reject', comment: 'no' })
    expect(await run.outcome()).toMatchObject({ output: { approved: false, how: 'rejected', comment: 'no' } })
  })
  test('mayDecide sees the approval and the decision; false, a reason and an error all leave it open', async () => {
    const seen: Json[] = []
    const mayDecide = async (
      { tool: name, risk, input }: Approval,
      { decision, approver }: { decision: string; approver?: string },
    ) => {
      await Promise.resolve()
      seen.push({ name, risk, input, decision, approver: approver ?? null })
      if (approver === 'broken') throw new Error('the directory is away')
      return approver === 'ann' ? true : approver === 'bob' ? 'bob is on holiday' : false
    }
    const root = asks({})
    const runtime = await runtimeOf([root], { mayDecide })
    const run = await runtime.start(root, 'go')
    const open = await only(run)
    const decision = (approver?: string) =>
      runtime.decide({ approvalId: open.id, decision: 'approve', ...(approver === undefined ? {} : { approver }) })
    await expect(decision('bob')).rejects.toMatchObject({
      code: 'approval.forbidden',
      message: expect.stringMatching(/on holiday/) as string,
    })
    await expect(decision()).rejects.toMatchObject({ code: 'approval.forbidden' })
    await expect(decision('broken')).rejects.toThrow('the directory is away')
    expect(await only(run)).toEqual(open)
    await run.decide({ approvalId: open.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: { approved: true } })
    expect(seen[0]).toEqual({
      name: 'pay',
      risk: 'medium',
      input: { amount: 10 },
      decision: 'approve',
      approver: 'bob',
    })
  })
})

describe('two pairs of eyes', () => {
  test('R-16: critical risk needs two different people, one question each; the capability names both', async () => {
    const root = asks(critical({ timeoutMs: 10 * minute }))
    const run = await (await runtimeOf([root])).start(root, 'go')
    const first = await only(run)
    expect(first).toMatchObject({ fourEyes: true, grantable: false })
    await expect(run.decide({ approvalId: first.id, decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.forbidden',
    })
    await run.decide({ approvalId: first.id, decision: 'approve', approver: 'ann' })
    const second = await next(run, first)
    expect(second).toMatchObject({ follows: first.id, excludes: ['ann'], fourEyes: true, until: first.until })
    await expect(run.decide({ approvalId: second.id, decision: 'approve', approver: 'ann' })).rejects.toMatchObject({
      code: 'approval.forbidden',
      message: expect.stringMatching(/already/) as string,
    })
    await run.decide({ approvalId: second.id, decision: 'approve', approver: 'bob' })
    expect(await run.outcome()).toMatchObject({
      output: {
        approved: true,
        approver: 'bob',
        capability: { approvers: ['ann', 'bob'], approvals: [first.id, second.id] },
      },
    })
    expect((await run.view()).approvals.map(({ resolution, approver }) => [resolution, approver])).toEqual([
      ['seconded', 'ann'],
      ['approved', 'bob'],
    ])
  })
  test('the second one may say no, and so may the first one, who has thought again', async () => {
    for (const who of ['bob', 'ann']) {
      const root = asks(critical())
      const run = await (await runtimeOf([root])).start(root, 'go')
      const first = await only(run)
      await run.decide({ approvalId: first.id, decision: 'approve', approver: 'ann' })
      await run.decide({ approvalId: (await next(run, first)).id, decision: 'reject', approver: who })
      expect(await run.outcome()).toMatchObject({ output: { approved: false, how: 'rejected', approver: who } })
    }
  })
  test('both see the same arguments: an edit by the second needs another approver', async () => {
    const root = asks(critical())
    const run = await (await runtimeOf([root])).start(root, 'go')
    const first = await only(run)
    await run.decide({ approvalId: first.id, decision: 'edit', input: { amount: 5 }, approver: 'ann' })
    const second = await next(run, first)
    expect(second).toMatchObject({ input: { amount: 5 }, excludes: ['ann'] })
    await run.decide({ approvalId: second.id, decision: 'edit', input: { amount: 6 }, approver: 'bob' })
    const third = await next(run, second)
    expect(third).toMatchObject({ input: { amount: 6 }, excludes: ['bob'] })
    await run.decide({ approvalId: third.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({
      output: {
        approved: true,
        edited: true,
        input: { amount: 6 },
        capability: { approvers: ['bob', 'ann'], approvals: [second.id, third.id] },
      },
    })
  })
  test('R-16: a tier without another approver passes to the next that has one, earlier tiers last', async () => {
    for (const [who, tiers] of [
      ['ann', [['ann'], ['Ann '], ['bob']]],
      ['ann', [['bob'], ['ann']]],
    ] as const) {
      const approvers = tiers.map((each, i) => ({
        who: each,
        timeoutMs: i === 0 && tiers.length === 2 ? 60 : 10 * minute,
      }))
      const root = asks(critical({ approvers, onTimeout: 'escalate' }))
      const run = await (await runtimeOf([root])).start(root, 'go')
      await expect.poll(async () => (await waiting(run)).waiting[0]?.approvers).toEqual([who])
      const first = await only(run)
      await run.decide({ approvalId: first.id, decision: 'approve', approver: who })
      const second = await next(run, first)
      expect(second).toMatchObject({ approvers: ['bob'], excludes: ['ann'], follows: first.id })
      await expect(run.decide({ approvalId: first.id, decision: 'approve', approver: who })).rejects.toMatchObject({
        code: 'approval.already-decided',
        message: `approval "${first.id}" was already decided: seconded by ann; "${second.id}" follows, for "bob"`,
      })
      await run.decide({ approvalId: second.id, decision: 'approve', approver: 'bob' })
      expect(await run.outcome()).toMatchObject({
        output: { approved: true, capability: { approvers: ['ann', 'bob'] } },
      })
    }
  })
  test('R-16: where two are needed and only one may decide, it ends at once and says why', async () => {
    const root = asks(
      critical({ approvers: [{ who: ['ann'] }, { who: ['ann'] }], onTimeout: 'escalate', timeoutMs: 60 * minute }),
    )
    const run = await (await runtimeOf([root])).start(root, 'go')
    const problem = 'four eyes need two different people, and approvers names only "ann"'
    expect(await run.outcome()).toMatchObject({ output: { approved: false, how: 'timed-out', comment: problem } })
    expect((await run.view()).approvals).toMatchObject([
      { resolution: 'timed-out-rejected', reason: `money (${problem})` },
    ])
  })
  test('a deadline is no approver: where two people must look it rejects', async () => {
    const root = asks({ risk: 'low', timeoutMs: 30, onTimeout: 'approve', rules: { fourEyes: 'low' } })
    const run = await (await runtimeOf([root])).start(root, 'go')
    expect(await run.outcome()).toMatchObject({ output: { approved: false, how: 'timed-out' } })
  })
})

describe('deadlines', () => {
  test('team C82: a deadline approves what is of low risk, and it is plain that no human did', async () => {
    const root = asks({ risk: 'low', timeoutMs: 30, onTimeout: 'approve' })
    const run = await (await runtimeOf([root])).start(root, 'go')
    expect(await run.outcome()).toMatchObject({
      output: { approved: true, by: 'deadline', capability: { approvers: [] } },
    })
    const [approval] = (await run.view()).approvals
    expect(approval).toMatchObject({ resolution: 'timed-out-approved', open: false })
    expect(approval).not.toHaveProperty('approver')
  })
  test('team C82: for high risk and sensitive tools it is refused when configured, else forced to reject', async () => {
    for (const options of [
      { sensitive: true },
      { approval: { risk: 'high' } },
      { approval: { risk: 'critical' } },
    ] as const) {
      const approval = { ...('approval' in options ? options.approval : {}), onTimeout: 'approve' } as const
      expect(() => tool({ name: 'act', ...options, approval, execute: () => 1 })).toThrow(/a deadline may not approve/)
    }
    for (const more of [{ risk: 'high' }, { risk: 'critical' }, { sensitive: true, risk: 'low' }] as const) {
      const root = asks({ ...more, timeoutMs: 30, onTimeout: 'approve' })
      const run = await (await runtimeOf([root])).start(root, 'go')
      expect(await run.outcome()).toMatchObject({ output: { approved: false, how: 'timed-out' } })
    }
  })
  test('R-16: without a deadline it waits for ever, a plan only at critical risk; of two deadlines the shorter counts', async () => {
    for (const [request, least, most] of [
      [{ timeoutMs: 'never', risk: 'critical' }, Infinity, Infinity],
      [{}, Infinity, Infinity],
      [{ rules: {} }, Infinity, Infinity],
      [{ timeoutMs: 'never', risk: 'high' }, Infinity, Infinity],
      [{ defaultTimeoutMs: 30 * minute }, 29 * minute, 31 * minute],
      [{ defaultTimeoutMs: 30 * minute, timeoutMs: 'never', risk: 'high' }, 29 * minute, 31 * minute],
      [{ defaultTimeoutMs: 30 * minute, timeoutMs: 'never', risk: 'critical' }, Infinity, Infinity],
      [{ defaultTimeoutMs: 30 * minute, timeoutMs: 60 * minute }, 59 * minute, 61 * minute],
      [{ defaultTimeoutMs: 30 * minute, rules: { timeoutMs: 60 * minute } }, 59 * minute, 61 * minute],
      // a deadline that escalates or approves has to come
      [{ rules: { onTimeout: 'approve' } }, 29 * minute, 31 * minute],
      [{ rules: { onTimeout: 'escalate', approvers: [{ who: ['ann'] }, { who: ['bob'] }] } }, 29 * minute, 31 * minute],
      [{ sensitive: true, rules: { onTimeout: 'approve' } }, Infinity, Infinity],
      [
        { timeoutMs: 'never', risk: 'critical', rules: { timeoutMs: 5 * minute, fourEyes: false } },
        4 * minute,
        6 * minute,
      ],
      [{ timeoutMs: 60 * minute, rules: { timeoutMs: 5 * minute } }, 4 * minute, 6 * minute],
      [{ timeoutMs: 2 * minute, rules: { timeoutMs: 5 * minute } }, minute, 3 * minute],
    ] as const) {
      const root = asks(request)
      const run = await (await runtimeOf([root])).start(root, 'go')
      const { askedAt, until = Infinity } = await only(run)
      expect(until - askedAt).toBeGreaterThanOrEqual(least)
      expect(until - askedAt).toBeLessThanOrEqual(most)
      await run.control.cancel('seen')
      await run.outcome()
    }
  })
})

describe('several, and none', () => {
  test('team C79: two are pending and are answered in reverse order; each decision reaches its own request', async () => {
    const root = agent({
      name: 'both',
      run: async (ctx) => {
        const one = approve(ctx.scope('one'), { ...base, input: 1 })
        const two = approve(ctx.scope('two'), { ...base, input: 2 })
        return (await Promise.all([one, two])).map((verdict) => ({
          approved: verdict.approved,
          comment: verdict.comment ?? null,
        }))
      },
    })
    const run = await (await runtimeOf([root])).start(root, 'go')
    await expect.poll(async () => (await waiting(run)).waiting.length).toBe(2)
    const { waiting: open } = await waiting(run)
    const idOf = (input: Json): string => open.find((each) => each.input === input)!.id
    await run.decide({ approvalId: idOf(2), decision: 'reject', comment: 'the second' })
    await run.decide({ approvalId: idOf(1), decision: 'approve', comment: 'the first' })
    expect(await run.outcome()).toMatchObject({
      output: [
        { approved: true, comment: 'the first' },
        { approved: false, comment: 'the second' },
      ],
    })
  })
  test('team C84: a failed channel is noted; the wait goes on and a later decision counts', async () => {
    const told: string[] = []
    const channels = [
      {
        name: 'broken',
        notify: () => Promise.reject(new FailureError(failure('notice.failed', 'the bell is broken', 'validation'))),
      },
      { name: 'good', notify: ({ id }: { readonly id: string }) => void told.push(id) },
    ]
    const root = asks({ rules: { notify: ['broken', 'good'] } })
    const run = await (await runtimeOf([root], { channels })).start(root, 'go')
    for await (const { event } of run.events()) if (event.type === 'notice.failed') break
    await expect.poll(() => told.length).toBe(1)
    const { id } = await only(run)
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: { approved: true, approver: 'ann' } })
    expect(told).toEqual([id])
    expect((await eventsOf(run)).find(({ type }) => type === 'notice.failed')).toMatchObject({ channel: 'broken', id })
  })
  test('team C82: an agent whose oversight lets deadlines approve says of what always asks that they may not', async () => {
    const wipe = tool({ name: 'wipe', sensitive: true, execute: () => 'wiped' })
    const root = agent({
      name: 'root',
      model: scripted('x'),
      tools: [wipe],
      oversight: { approval: { onTimeout: 'approve' } },
    })
    await expect(runtimeOf([root])).rejects.toMatchObject({
      code: 'team.invalid',
      message: expect.stringMatching(/"wipe" is sensitive/) as string,
    })
  })
  test('team C89: a cancel closes a pending approval as cancelled; a late decision is an error', async () => {
    const root = asks({})
    const run = await (await runtimeOf([root])).start(root, 'go')
    const { id } = await only(run)
    await run.control.cancel('not wanted any more')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    await expect(run.decide({ approvalId: id, decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.expired',
    })
    expect((await run.view()).approvals).toMatchObject([{ open: false, resolution: 'cancelled' }])
  })
})

describe('what a yes is good for', () => {
  const signer = hmacSigner('a secret of more than thirty-two bytes', 'bank')

  /** A payer whose bank demands a capability, and a process in which its tool is another. */
  function payer(
    options: {
      readonly validForMs?: number
      readonly version?: string
      readonly turns?: Parameters<typeof scripted>
    } = {},
  ) {
    const paid: Json[] = []
    const held: (UsedCapability | undefined)[] = []
    const used = new Map<string, string>()
    const bank = async (token: string, input: Json): Promise<void> => {
      const verdict = await verifyCapability(
        token,
        { tool: 'pay', input, approvers: 1 },
        {
          keys: [signer],
          now: Date.now(),
          used: (id, key) => {
            const before = used.get(id)
            used.set(id, before ?? key)
            return before
          },
        },
      )
      if (!verdict.ok) throw new Error(`the bank says: ${verdict.problem}`)
      paid.push(input)
    }
    const { validForMs, version, turns = [calls(['pay', { amount: 10 }]), 'paid'] } = options
    const pay = tool({
      name: 'pay',
      ...(version === undefined ? {} : { version }),
      input: { type: 'object', properties: { amount: { type: 'number' } } },
      approval: validForMs === undefined ? true : { validForMs },
      execute: async (input, io) => {
        held.push(io.capability)
        await bank(await signCapability(signer, io.capability!), input)
        return 'done'
      },
    })
    const model = scripted(...turns)
    return { root: agent({ name: 'payer', version: '1', model, tools: [pay] }), paid, held, model }
  }

  test('a tool passes its capability to a checking service; the journal says which was used where', async () => {
    const { root, paid, held } = payer()
    const run = await (await runtimeOf([root])).start(root, 'go')
    const open = await only(run)
    await run.decide({ approvalId: open.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'paid' })
    expect(paid).toEqual([{ amount: 10 }])
    const [capability] = held
    expect(capability).toMatchObject({
      run: run.id,
      path: ['payer'],
      tool: 'pay',
      inputHash: open.inputHash,
      by: 'human',
      approvers: ['ann'],
      approvals: [open.id],
    })
    expect(capability!.expiresAt - capability!.issuedAt).toBe(24 * 60 * minute)
    const events = await eventsOf(run)
    expect(events.find(({ type }) => type === 'approval.resolved')).toMatchObject({ capability: capability!.id })
    expect(events.find(({ type }) => type === 'tool.called')).toMatchObject({ capability: capability!.id })
    expect((await run.view()).approvals[0]).toMatchObject({ capability: capability!.id })
  })
  test('team C86: each call has its own; what was granted for the session has one for each use, too', async () => {
    const turns = [calls(['pay', { amount: 10 }]), calls(['pay', { amount: 10 }]), 'paid'] as const
    const { root, paid, held } = payer({ turns: [...turns] })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const open = await only(run)
    await run.decide({ approvalId: open.id, decision: 'approve', approver: 'ann', grant: 'session' })
    await run.outcome()
    expect(paid).toHaveLength(2)
    expect(held.map((each) => [each!.by, each!.approvers])).toEqual([
      ['human', ['ann']],
      ['grant', ['ann']],
    ])
    expect(new Set(held.map((each) => each!.id)).size).toBe(2)
    expect((await eventsOf(run)).find(({ type }) => type === 'approval.granted')).toMatchObject({
      capability: held[1]!.id,
    })
  })
  test('a tool that is orchestration and an agent as a tool begin with what was approved, too', async () => {
    const began: Json[] = []
    const plan = tool({
      name: 'plan',
      approval: true,
      input: { type: 'object', properties: { days: { type: 'number' } } },
      run: async (_ctx, input) => (began.push(input), await Promise.resolve('planned')),
    })
    const helper = asTool(agent({ name: 'helper', description: 'Helps.', model: scripted('helped') }), {
      approval: true,
    })
    const model = scripted(calls(['plan', { days: 3 }, 'one'], ['helper', { request: 'x' }, 'two']), 'done')
    const root = agent({ name: 'root', model, tools: [plan, helper] })
    const run = await (await runtimeOf([root])).start(root, 'go')
    await expect.poll(async () => (await waiting(run)).waiting.length).toBe(2)
    for (const { id, tool: name } of (await waiting(run)).waiting)
      await run.decide(
        name === 'plan'
          ? { approvalId: id, decision: 'edit', input: { days: 2 } }
          : { approvalId: id, decision: 'approve' },
      )
    expect(await run.outcome()).toMatchObject({ output: 'done' })
    expect([began, told(model.prompts[1])]).toEqual([
      [{ days: 2 }],
      [expect.stringMatching(/^\[a person changed this call .*\{"days":2\}\]\nplanned$/), 'helped'],
    ])
  })
  test('a call that comes too late after its approval is not done, and is asked about again, with the reason', async () => {
    const { root, paid } = payer({ validForMs: 40 })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const { id } = await only(run)
    await run.control.pause({ reason: 'hold on' })
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    await expect.poll(async () => (await run.view()).approvals[0]?.resolution).toBe('approved')
    const { resolvedAt } = (await run.view()).approvals[0]!
    await expect.poll(() => Date.now()).toBeGreaterThan(resolvedAt! + 100)
    await run.control.resume()
    await expect.poll(async () => (await run.view()).approvals.length).toBe(2)
    const later = await only(run)
    expect(later).toMatchObject({ follows: id, input: { amount: 10 }, reason: expect.stringMatching(/asked again: ann approved it; .*it was good until/) as string }) // prettier-ignore
    await run.control.cancel()
    await run.outcome()
    expect(paid).toEqual([])
    expect(
      (await eventsOf(run)).find((event) => event.type === 'step.settled' && event.outcome.status === 'failed'),
    ).toMatchObject({
      outcome: { failure: { code: 'capability.refused', retryable: false, details: { lapsed: 'expired' } } },
    })
  })
  /** A payer whose tool was asked about, and a process in which it is another. */
  async function deployed(after: Agent, before = payer({ version: '1' }), decided?: Omit<Decision, 'approvalId'>) {
    const first = await runtimeOf([before.root], { store: store() })
    const run = await first.start(before.root, 'go')
    const { id } = await only(run)
    if (decided !== undefined) {
      // decided while nobody drives the run
      await run.control.pause()
      await run.decide({ ...decided, approvalId: id } as Decision)
    }
    await first.close()
    const again = (await runtimeOf([after], { store: store() })).handle(run.id)
    return { run: again, id, before }
  }
  test.each([[false], [true]])(
    'a tool of another version than approved is asked about again, with the change (decided before: %s)',
    async (isDecidedBefore) => {
      const after = payer({ version: '2', turns: ['paid'] })
      const word = { decision: 'approve', approver: 'ann' } as const
      const { run, id } = await deployed(after.root, payer({ version: '1' }), isDecidedBefore ? word : undefined)
      if (isDecidedBefore) await run.control.resume()
      else await run.decide({ approvalId: id, ...word })
      await expect
        .poll(async () => (await run.view()).approvals.map(({ resolution }) => resolution))
        .toEqual(['approved', undefined])
      const later = await only(run)
      expect(later).toMatchObject({ follows: id, tool: 'pay', input: { amount: 10 } })
      expect(later.toolVersion).toMatch(/^2\+/)
      expect(later.reason).toMatch(/asked again: ann approved it; .*it is for version 1\+.* of "pay", and this is 2\+/)
      expect(after.paid).toEqual([])
      await run.decide({ approvalId: later.id, decision: 'approve', approver: 'ann' })
      expect(await run.outcome()).toMatchObject({ output: 'paid' })
      expect(after.paid).toEqual([{ amount: 10 }])
    },
  )
  test.each<[string, (model: ReturnType<typeof scripted>) => Agent, RegExp]>([
    [
      'takes other arguments now',
      (model) => {
        const input = {
          type: 'object',
          properties: { amount: { type: 'number' }, to: { type: 'string' } },
          required: ['to'],
        } as const
        return agent({
          name: 'payer',
          model,
          tools: [tool({ name: 'pay', input, approval: true, execute: () => 'done' })],
        })
      },
      /not done: ann approved this call, and "pay" has changed since: its arguments do not fit any more/,
    ],
    [
      'is gone',
      (model) => agent({ name: 'payer', model }),
      /not done: ann approved this call, and there is no tool "pay" any more/,
    ],
  ])(
    'an open approval of a tool that %s stays open, and the model is told of the yes that came to nothing',
    async (_name, make, what) => {
      const model = scripted('given up')
      const { run, id } = await deployed(make(model))
      expect(await only(run)).toMatchObject({ id })
      await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
      expect(await run.outcome()).toMatchObject({ output: 'given up' })
      expect(told(model.prompts.at(-1))).toEqual([expect.stringMatching(what)])
    },
  )
  test('an open approval of a tool that needs none any more is asked for all the same: a no is a no', async () => {
    const paid: Json[] = []
    const model = scripted('given up')
    const input = { type: 'object', properties: { amount: { type: 'number' } } } as const
    const pay = tool({ name: 'pay', input, execute: (given) => (paid.push(given), 'done') })
    const { run, id } = await deployed(agent({ name: 'payer', model, tools: [pay] }))
    await run.decide({ approvalId: id, decision: 'reject', comment: 'no' })
    expect(await run.outcome()).toMatchObject({ output: 'given up' })
    expect([paid, told(model.prompts.at(-1))]).toEqual([
      [],
      [expect.stringMatching(/a human rejected this call of "pay": no/)],
    ])
  })
  test('work done under one version stays done under the next, even if its arguments no longer fit', async () => {
    const paid: Json[] = []
    const make = (required: readonly string[], turns: Parameters<typeof scripted>) => {
      const input = { type: 'object', properties: { amount: { type: 'number' } }, required: [...required] } as const
      const pay = tool({ name: 'pay', input, approval: true, execute: (given) => (paid.push(given), 'done') })
      return agent({
        name: 'payer',
        model: scripted(...turns),
        tools: [pay, tool({ name: 'wait', input: {}, approval: true, execute: () => 'waited' })],
      })
    }
    const before = make([], [calls(['pay', { amount: 10 }]), calls(['wait', {}])])
    const first = await runtimeOf([before], { store: store() })
    const run = await first.start(before, 'go')
    await run.decide({ approvalId: (await only(run)).id, decision: 'approve' })
    await expect
      .poll(async () => (await run.view()).approvals.filter(({ open }) => open).map((each) => each.tool))
      .toEqual(['wait'])
    await first.close()
    const again = (await runtimeOf([make(['to'], ['end'])], { store: store() })).handle(run.id)
    await again.decide({ approvalId: (await only(again)).id, decision: 'approve' })
    expect(await again.outcome()).toMatchObject({ output: 'end' })
    expect(paid).toEqual([{ amount: 10 }])
  })
})
