/**
 * Approvals as an outsider tries them: the same person twice, grants of somebody else's session, decisions of the wrong
 * shape, a deadline that is no human's no, arguments that change on the way. Spec team.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, tool, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { ApprovalRules, Oversight } from '@reeve/edge'
import { asTool } from '@reeve/flow'
import { approve, type ApprovalRequest } from '@reeve/oversight'
import type { Approval, Run } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { inOrder, overseen } from './overseeing.ts'
import { calls, delegates, eventsOf, runtimeOf, scripted, store, told, waiting } from './team.ts'

const base: ApprovalRequest = { tool: 'pay', toolVersion: '1', input: { amount: 10 }, reason: 'money' }
const asks = (request: Partial<ApprovalRequest>): Agent =>
  agent({
    name: 'asks',
    run: async (ctx) => {
      const verdict = await approve(ctx, { ...base, ...request })
      return { ...verdict, capability: null } as unknown as Json
    },
  })
const only = async (run: Run<unknown>): Promise<Approval> => {
  const { waiting: open } = await waiting(run)
  expect(open).toHaveLength(1)
  return open[0]!
}
/** Runs to the end where nobody decides anything. */
async function unanswered(root: Agent, oversight: Oversight) {
  const run = await (await runtimeOf([root])).start(root as never, 'go', { oversight })
  const outcome = await run.outcome()
  return { outcome, events: await eventsOf(run) }
}
const next = async (run: Run<unknown>, before: Approval): Promise<Approval> => {
  await expect.poll(async () => (await waiting(run)).waiting.map(({ id }) => id)).not.toContain(before.id)
  return only(run)
}

describe('two pairs of eyes', () => {
  test.each(['ann', 'Ann', ' ann', 'ann ', 'ANN', '\uFF41nn'])('are not those of ann and of "%s"', async (again) => {
    const root = asks({ risk: 'critical', rules: {} })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const first = await only(run)
    await run.decide({ approvalId: first.id, decision: 'approve', approver: 'ann' })
    const second = await next(run, first)
    await expect(run.decide({ approvalId: second.id, decision: 'approve', approver: again })).rejects.toMatchObject({
      code: 'approval.forbidden',
    })
    await run.decide({ approvalId: second.id, decision: 'reject', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: { approved: false } })
  })
  test('a second round without a look has timed out, and is no approval', async () => {
    const root = asks({ risk: 'critical', timeoutMs: 200, rules: {} })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const first = await only(run)
    await run.decide({ approvalId: first.id, decision: 'edit', input: { amount: 1 }, approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: { approved: false, how: 'timed-out' } })
    expect((await run.view()).approvals.map(({ resolution }) => resolution)).toEqual(['seconded', 'timed-out-rejected'])
  })
  test('each of the tiers, crossed: the first yes, then the next tier looks with its own eyes', async () => {
    const rules: ApprovalRules = {
      onTimeout: 'escalate',
      fourEyes: 'low',
      approvers: [
        { who: ['ann'], timeoutMs: 150 },
        { who: ['ann', 'bob'], timeoutMs: 600_000 },
      ],
    }
    const root = asks({ risk: 'low', rules })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const first = await only(run)
    await run.decide({ approvalId: first.id, decision: 'approve', approver: 'ann' })
    await expect.poll(async () => (await waiting(run)).waiting[0]?.tier).toBe(2)
    const last = await only(run)
    expect(last).toMatchObject({ excludes: ['ann'], approvers: ['ann', 'bob'] })
    await expect(run.decide({ approvalId: last.id, decision: 'approve', approver: 'ann' })).rejects.toMatchObject({
      code: 'approval.forbidden',
    })
    await run.decide({ approvalId: last.id, decision: 'approve', approver: 'bob' })
    expect(await run.outcome()).toMatchObject({ output: { approved: true, approver: 'bob' } })
  })
})

describe('a grant', () => {
  /** Grants `look` for a session, as eve, where nobody oversees it; then works there again, under this oversight. */
  async function afterGrant(oversight: Oversight) {
    const done: Json[] = []
    const look = tool({ name: 'look', approval: true, execute: (input) => (done.push(input), 'seen') })
    const root = agent({
      name: 'root',
      model: scripted(calls(['look', {}]), 'one', calls(['look', {}]), 'two'),
      tools: [look],
    })
    const runtime = await runtimeOf([root])
    const first = await runtime.start(root, 'go', { session: 's' })
    const open = await only(first)
    await first.decide({ approvalId: open.id, decision: 'approve', grant: 'session', approver: 'eve' })
    await first.outcome()
    const second = await runtime.start(root, 'go', { session: 's', oversight })
    const state = (await second.until('waiting')) as { readonly waiting?: readonly Approval[] }
    return { second, asked: state.waiting ?? [], done }
  }
  test('holds where it may', async () => {
    expect((await afterGrant({})).asked).toEqual([])
    expect((await afterGrant({ approval: { approvers: [{ who: ['ann', 'eve'] }] } })).asked).toEqual([])
  })
  test.each<[string, Oversight]>([
    ['two people have to look', { approval: { fourEyes: 'medium' } }],
    ['whoever granted it may not decide', { approval: { approvers: [{ who: ['ann'] }] } }],
    ['a human is in command', { mode: 'in-command' }],
  ])('holds for nothing where %s', async (_where, oversight) => {
    const { second, asked, done } = await afterGrant(oversight)
    expect([asked.length, done.length]).toEqual([1, 1])
    await second.control.cancel('seen')
    await second.outcome()
  })
})

describe('who may decide', () => {
  test('is said by the oversight also where a leader may not delegate without an approval', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['inner', 'go']), 'final'),
      workers: [agent({ name: 'inner', description: 'In.', run: () => 'done' })],
    })
    const run = await (
      await runtimeOf([boss])
    ).start(boss, 'go', {
      permissions: { approval: ['delegate'] },
      oversight: { approval: { approvers: [{ who: ['ann'] }] } },
    })
    const open = await only(run)
    expect(open).toMatchObject({ tool: 'delegate', approvers: ['ann'] })
    await expect(run.decide({ approvalId: open.id, decision: 'approve', approver: 'eve' })).rejects.toMatchObject({
      code: 'approval.forbidden',
    })
    await run.decide({ approvalId: open.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
  })
})

describe('a decision', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', 'approve'],
    ['a list', ['approve']],
    ['no id', { decision: 'approve' }],
    ['an id that is a number', { approvalId: 7, decision: 'approve' }],
    ['true', { approvalId: '?', decision: true }],
    ['a word nobody knows', { approvalId: '?', decision: 'approved' }],
    ['a word in other letters', { approvalId: '?', decision: 'Approve' }],
    ['an edit without arguments', { approvalId: '?', decision: 'edit' }],
    ['arguments with an approval', { approvalId: '?', decision: 'approve', input: { amount: 1 } }],
    ['arguments that are no JSON', { approvalId: '?', decision: 'edit', input: { amount: Number.NaN } }],
    ['arguments that are a function', { approvalId: '?', decision: 'edit', input: () => 1 }],
    ['a comment that is a number', { approvalId: '?', decision: 'reject', comment: 1 }],
    ['an approver that is an object', { approvalId: '?', decision: 'approve', approver: { name: 'ann' } }],
    ['an approver that is null', { approvalId: '?', decision: 'approve', approver: null }],
    [
      'what it was decided on',
      { approvalId: '?', decision: 'approve', on: { tool: 'pay', toolVersion: '1', inputHash: 'x' } },
    ],
    ['a grant with a no', { approvalId: '?', decision: 'reject', grant: 'session' }],
    ['a grant where nothing can be granted', { approvalId: '?', decision: 'approve', grant: 'session' }],
    ['a grant for ever', { approvalId: '?', decision: 'approve', grant: 'for ever' }],
  ])('that is %s is refused, and nothing is decided', async (_what, given) => {
    const root = asks({})
    const run = await (await runtimeOf([root])).start(root, 'go')
    const open = await only(run)
    const said =
      typeof given === 'object' && given !== null && 'approvalId' in given && given.approvalId === '?'
        ? { ...given, approvalId: open.id }
        : given
    await expect(run.decide(said as never)).rejects.toMatchObject({ code: 'approval.invalid' })
    expect(await only(run)).toEqual(open)
    await run.decide({ approvalId: open.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: { approved: true, input: { amount: 10 } } })
  })
  test('on an approval of another run, or on one that was never asked, is unknown', async () => {
    const root = asks({})
    const runtime = await runtimeOf([root])
    const [one, other] = [await runtime.start(root, 'go'), await runtime.start(root, 'go')]
    const [first, second] = [await only(one), await only(other)]
    await expect(one.decide({ approvalId: second.id, decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.unknown',
    })
    await expect(runtime.decide({ approvalId: 'apr_nobody', decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.unknown',
    })
    await one.decide({ approvalId: first.id, decision: 'reject' })
    await expect(one.decide({ approvalId: first.id, decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.already-decided',
    })
    await other.decide({ approvalId: second.id, decision: 'approve' })
    expect([await one.outcome(), await other.outcome()]).toMatchObject([
      { output: { approved: false } },
      { output: { approved: true } },
    ])
  })
  test('of two at the same time one counts, and the other is told', async () => {
    const root = asks({})
    const runtime = await runtimeOf([root])
    const run = await runtime.start(root, 'go')
    const { id } = await only(run)
    const both = await Promise.allSettled([
      runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann' }),
      runtime.decide({ approvalId: id, decision: 'reject', approver: 'bob' }),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(both.find((each) => each.status === 'rejected')).toMatchObject({
      reason: { code: 'approval.already-decided' },
    })
    const winner = both[0].status === 'fulfilled'
    expect(await run.outcome()).toMatchObject({ output: { approved: winner, approver: winner ? 'ann' : 'bob' } })
  })
})

describe('R-16: a deadline is never a human’s no', () => {
  const gone: Oversight = { mode: 'in-command', approval: { timeoutMs: 0 } }
  test('an unapproved start times out, and the worker’s leader is told so', async () => {
    const inner = agent({ name: 'inner', description: 'In.', run: () => 'done' })
    const boss = agent({
      name: 'boss',
      workers: [inner],
      run: async (ctx) => (await delegate(ctx, inner, 'go')) as unknown as Json,
    })
    const { outcome, events } = await unanswered(boss, gone)
    expect(events.filter((event) => event.type === 'approval.resolved')).toMatchObject([
      { resolution: 'timed-out-rejected' },
    ])
    expect(outcome).toMatchObject({
      output: { failure: { code: 'work.rejected', class: 'timeout', retryable: false, details: { how: 'timed-out' } } },
    })
  })
  test('a result not approved in time failed by its deadline, one rejected by a human by that decision', async () => {
    const writer = agent({ name: 'writer', run: () => 'text', assess: () => ({ confidence: 0.1 }) })
    const { outcome } = await unanswered(writer, { approval: { timeoutMs: 0 } })
    expect(outcome).toMatchObject({
      failure: { code: 'work.rejected', class: 'timeout', details: { how: 'timed-out' } },
    })
    const no = await overseen(writer, {}, inOrder({ decision: 'reject', comment: 'poor' }))
    expect(no.outcome).toMatchObject({
      failure: {
        code: 'work.rejected',
        class: 'rejected',
        details: { how: 'rejected', approver: 'ann', comment: 'poor' },
      },
    })
  })
  test('a call not approved in time: the model is told that the deadline passed', async () => {
    const look = tool({ name: 'look', execute: () => 'seen' })
    const model = scripted(calls(['look', {}]), 'done')
    const { events } = await unanswered(agent({ name: 'root', model, tools: [look] }), gone)
    expect(told(model.prompts[1])).toEqual(['[not done: nobody approved this call of "look" in time]'])
    expect(events.find((event) => event.type === 'tool.refused')).toMatchObject({
      failure: { class: 'timeout', details: { how: 'timed-out' } },
    })
  })
  test('deadlines of beginnings are no failures of the workers', async () => {
    const workers = ['a', 'b', 'c'].map((name) => agent({ name, description: name, run: () => name }))
    const boss = agent({
      name: 'boss',
      workers,
      run: async (ctx) => {
        for (const each of workers) await delegate(ctx, each, 'go')
        return 'final'
      },
    })
    const { events } = await unanswered(boss, { ...gone, escalate: { consecutiveFailures: 2 } })
    expect(events.filter(({ type }) => type === 'approval.requested')).toHaveLength(3)
    expect(events.filter(({ type }) => type === 'escalation.raised')).toEqual([])
  })
})

describe('R-16: what is sent back', () => {
  test('C87: calls of a tool are sent back three times, or as often as is said; then that is not on offer', async () => {
    for (const [approval, times] of [
      [undefined, 3],
      [{ rounds: 1 }, 1],
      [{ rounds: 0 }, 0],
    ] as const) {
      const send = tool({
        name: 'send',
        input: { type: 'object', properties: { n: { type: 'number' } } },
        execute: () => 'sent',
      })
      const model = scripted(...[1, 2, 3, 4].map((n) => calls(['send', { n }])), 'end')
      const root = agent({ name: 'root', model, tools: [send] })
      const { asked, outcome } = await overseen(root, approval === undefined ? {} : { approval }, (_asked, n) =>
        n < times ? { decision: 'retry', comment: 'other words' } : { decision: 'reject' },
      )
      expect(asked.slice(0, times + 1).map(({ options }) => options)).toEqual([
        ...Array.from({ length: times }, () => undefined),
        ['approve', 'reject', 'edit'],
      ])
      expect(outcome.status).toBe('completed')
    }
  })
})

describe('R-16: an approval holds for what was seen', () => {
  const paying = (done: Json[], more: object = {}) =>
    tool({
      name: 'pay',
      approval: true,
      input: { type: 'object', properties: { amount: { type: 'number' } } },
      execute: (input: Json) => (done.push(input), 'paid'),
      ...more,
    } as never)

  test('C86: a middleware changes a call’s arguments before approval; later changes ask again', async () => {
    const done: Json[] = []
    const root = agent({
      name: 'root',
      model: scripted(calls(['pay', { amount: 10 }]), 'done'),
      tools: [paying(done)],
      middleware: [
        {
          name: 'greedy',
          wrapTool: async (_call: unknown, run: (input?: Json) => Promise<object>) => {
            const first = await run()
            await run({ amount: 1_000 })
            return first
          },
        },
      ],
    } as never)
    const { asked } = await overseen(root, undefined, inOrder({ decision: 'approve' }, { decision: 'reject' }))
    expect([asked.map(({ input }) => input), done]).toEqual([[{ amount: 10 }, { amount: 1_000 }], [{ amount: 10 }]])
  })

  test('an orchestration tool of another version after a restart is asked about again', async () => {
    const ran: string[] = []
    const made = (version: string) => {
      const plan = tool({
        name: 'plan',
        version,
        approval: true,
        run: async () => (ran.push(version), await Promise.resolve('planned')),
      })
      return agent({
        name: 'root',
        version: '1',
        model: scripted(...(version === '1' ? [calls(['plan', {}])] : []), 'end'),
        tools: [plan],
      })
    }
    const before = await runtimeOf([made('1')], { store: store() })
    const run = await before.start('root', 'go')
    const { id } = await only(run)
    await before.close()
    const after = await runtimeOf([made('2')], { store: store() })
    await after.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    const again = await only(after.handle(run.id))
    expect(again.id).not.toBe(id)
    expect(ran).toEqual([])
    await after.decide({ approvalId: again.id, decision: 'approve', approver: 'ann' })
    await after.handle(run.id).outcome()
    expect(ran).toEqual(['2'])
  })

  test('an agent as a tool begins once it was approved, with what was approved, and is not asked about twice', async () => {
    const got: Json[] = []
    const inner = agent({ name: 'inner', description: 'In.', run: (_ctx, brief) => (got.push(brief), 'ok') })
    const root = agent({
      name: 'root',
      model: scripted(calls(['inner', { request: 'a' }]), 'end'),
      tools: [asTool(inner)],
    })
    const { lines } = await overseen(
      root,
      { mode: 'in-command' },
      inOrder({ decision: 'edit', input: { request: 'b' } }),
    )
    expect([lines, got]).toEqual([['call inner by root'], ['b']])
  })

  test('C90: a yes is used once: a call that is repeated is asked for again', async () => {
    const done: Json[] = []
    const same = calls(['pay', { amount: 1 }])
    const root = agent({ name: 'root', model: scripted(same, same, 'end'), tools: [paying(done)] })
    const { asked } = await overseen(root, undefined, inOrder({ decision: 'approve' }, { decision: 'reject' }))
    expect([asked.length, done.length]).toEqual([2, 1])
  })

  test('what a human edits is done as it was edited, also where nothing fits at first', async () => {
    const done: Json[] = []
    const root = agent({ name: 'root', model: scripted(calls(['pay', { amount: 1 }]), 'end'), tools: [paying(done)] })
    const { asked } = await overseen(
      root,
      undefined,
      inOrder(
        { decision: 'edit', input: { amount: 'x' } },
        { decision: 'edit', input: 5 },
        { decision: 'edit', input: { amount: 5 } },
      ),
    )
    expect([asked.length, done]).toEqual([3, [{ amount: 5 }]])
    const never = agent({ name: 'root', model: scripted(calls(['pay', { amount: 1 }]), 'end'), tools: [paying(done)] })
    const refused = await overseen(never, undefined, inOrder({ decision: 'edit', input: { amount: 'x' } }))
    expect([refused.asked.length, done.length]).toEqual([3, 1])
  })
})

describe('deadlines', () => {
  test.each([0, -1, -1e9])(
    'a deadline of %s ms passes at once, and a deadline that approves does so',
    async (timeoutMs) => {
      const run = async (more: Partial<ApprovalRequest>) => {
        const root = asks({ timeoutMs, ...more })
        return (await runtimeOf([root])).run(root, 'go')
      }
      expect(await run({})).toMatchObject({ output: { approved: false, how: 'timed-out' } })
      expect(await run({ risk: 'low', onTimeout: 'approve' })).toMatchObject({
        output: { approved: true, by: 'deadline' },
      })
      expect(await run({ rules: { timeoutMs: 600_000 } })).toMatchObject({ output: { how: 'timed-out' } })
    },
  )
  test('C82: a sensitive tool is never approved by deadline, in any mode', async () => {
    for (const mode of ['in-command', 'in-the-loop'] as const) {
      const send = tool({ name: 'send_it', execute: () => 'sent' })
      const model = scripted(calls(['send_it', {}]), 'end')
      const root = agent({ name: 'root', model, tools: [send] })
      const { events } = await unanswered(root, { mode, approval: { timeoutMs: 0, onTimeout: 'approve' } })
      expect(events.filter((event) => event.type === 'approval.resolved')).toMatchObject([
        { resolution: 'timed-out-rejected' },
      ])
      expect(events.some((event) => event.type === 'tool.called')).toBe(false)
    }
  })
})

describe('decisions in a run that is held', () => {
  test('R-13: a decision that comes while it is paused counts, and acts when the run goes on', async () => {
    const done: Json[] = []
    const look = tool({ name: 'look', approval: true, execute: (input) => (done.push(input), 'seen') })
    const root = supervisor({
      name: 'boss',
      model: scripted(delegates(['inner', 'go']), 'final'),
      workers: [
        agent({ name: 'inner', description: 'In.', model: scripted(calls(['look', {}]), 'end'), tools: [look] }),
      ],
    })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const { id } = await only(run)
    await run.control.pause({ reason: 'lunch' })
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    await expect.poll(async () => (await run.view()).approvals[0]?.resolution).toBe('approved')
    expect(done).toEqual([])
    await run.control.resume()
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(done).toHaveLength(1)
  })
  test('R-13: also during a takeover', async () => {
    const done: Json[] = []
    const look = tool({ name: 'look', approval: true, execute: (input) => (done.push(input), 'seen') })
    const root = agent({ name: 'root', model: scripted(calls(['look', {}]), 'end'), tools: [look] })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const { id } = await only(run)
    await run.control.takeOver({ by: 'bob', reason: 'mine' })
    await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
    await expect.poll(async () => (await run.view()).approvals[0]?.resolution).toBe('approved')
    expect(done).toEqual([])
    await run.control.handBack({ by: 'bob' })
    expect(await run.outcome()).toMatchObject({ output: 'end' })
    expect(done).toHaveLength(1)
    expect((await eventsOf(run)).filter(({ type }) => type === 'approval.requested')).toHaveLength(1)
  })
})
