/** Approvals inside workers, also over restarts: spec delegation 56 to 67, collaboration 88 to 120, team C79 to C90. */
import { describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { supervisor } from '@reeve/supervisor'
import type { Run } from '@reeve/runtime'
import { manualClock } from '@reeve/testing'
import {
  calls,
  delegates,
  eventsOf,
  fastClock,
  pause,
  runtimeOf,
  scripted,
  store,
  told,
  waiting,
  type Scripted,
} from './team.ts'

/** A team of three levels whose lowest worker has a tool that needs an approval. */
function bank(
  options: {
    readonly low?: Scripted
    readonly lead?: Scripted
    readonly approval?: { readonly timeoutMs: number }
  } = {},
) {
  const paid: Json[] = []
  const pay = tool({
    name: 'pay',
    sensitive: true,
    ...(options.approval === undefined ? undefined : { approval: options.approval }),
    input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
    execute: (input) => (paid.push(input), { ok: true }),
  })
  const low = options.low ?? scripted(calls(['pay', { amount: 10 }, 'inner']), 'paid')
  const lead = options.lead ?? scripted(delegates(['mid', 'x', 'c1']), 'final')
  const mid = scripted(delegates(['clerk', 'pay 10', 'c2']), 'mid is done')
  const clerk = agent({ name: 'clerk', description: 'Pays.', model: low, tools: [pay] })
  const middle = supervisor({ name: 'mid', description: 'Leads the clerk.', model: mid, workers: [clerk] })
  const boss = supervisor({ name: 'boss', description: 'Leads mid.', model: lead, workers: [middle] })
  return { boss, paid, low, mid, lead, prompts: () => [lead, mid, low].map((model) => model.prompts.length) }
}

const halfAnHour = { timeoutMs: 30 * 60_000 }

const only = async (run: Run<unknown>) => {
  const { waiting: open } = await waiting(run)
  expect(open).toHaveLength(1)
  return open[0]!
}

describe('an approval inside a worker', () => {
  test('delegation 56: one approval shows the inner tool, arguments and whole path to every reader', async () => {
    const { boss, paid } = bank()
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    const approval = await only(run)
    expect(approval).toMatchObject({
      path: ['boss', 'mid', 'clerk'],
      tool: 'pay',
      input: { amount: 10 },
      risk: 'high',
      onTimeout: 'reject',
      reason: '"pay" is a sensitive tool',
    })
    expect(approval.activation.endsWith('>turn/call/mid>turn/call/clerk')).toBe(true)
    expect((await runtime.approvals())[0]).toEqual(approval)
    expect((await run.view()).status).toBe('waiting')
    const requested = (await run.journal()).flatMap(({ event }) => (event.type === 'approval.requested' ? [event] : []))
    expect(requested).toMatchObject([
      { id: approval.id, callId: 'inner', path: ['boss', 'mid', 'clerk'], inputHash: approval.inputHash },
    ])
    expect(paid).toEqual([])
  })
  test('delegation 57: approved, the tool runs once, and the call is not asked about again', async () => {
    const { boss, paid, low, lead } = bank()
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await run.decide({ approvalId: (await only(run)).id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect([paid, low.prompts.length, told(low.prompts[1]), told(lead.prompts[1])]).toEqual([
      [{ amount: 10 }],
      2,
      [{ ok: true }],
      ['mid is done'],
    ])
    expect((await run.view()).approvals).toMatchObject([{ open: false, resolution: 'approved', approver: 'ann' }])
  })
  test('delegation 58: rejected with a reason, the tool does not run, and the worker reads the reason', async () => {
    const { boss, paid, low } = bank()
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    await run.decide({ approvalId: (await only(run)).id, decision: 'reject', comment: 'too much' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(paid).toEqual([])
    expect(told(low.prompts[1])).toEqual(['[not done: a human rejected this call of "pay": too much]'])
  })
  test("edited arguments hold from then on, are checked again, and are recorded as the human's", async () => {
    const { boss, paid } = bank()
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    const first = await only(run)
    await run.decide({ approvalId: first.id, decision: 'edit', input: { amount: 'all' } })
    const second = await only(run)
    expect(second.id).not.toBe(first.id)
    expect(second.reason).toMatch(/do not fit: "amount" must be a number/)
    await run.decide({ approvalId: second.id, decision: 'edit', input: { amount: 5 } })
    await run.outcome()
    expect(paid).toEqual([{ amount: 5 }])
    const events = await eventsOf(run)
    expect(events.find((event) => event.type === 'tool.called')).toMatchObject({ tool: 'pay', input: { amount: 5 } })
    expect(events.findLast((event) => event.type === 'approval.resolved')).toMatchObject({
      resolution: 'edited',
      inputHash: expect.not.stringMatching(first.inputHash) as string,
    })
  })
  test('retry sends the call back to the model with the comment; another call is another approval', async () => {
    const { boss, paid, low } = bank({
      low: scripted(calls(['pay', { amount: 10 }]), calls(['pay', { amount: 9 }]), 'paid'),
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    const first = await only(run)
    await run.decide({ approvalId: first.id, decision: 'retry', comment: 'less' })
    const second = await only(run)
    expect([second.id === first.id, second.input, told(low.prompts[1])]).toEqual([
      false,
      { amount: 9 },
      ['[not done: a human asks you to change this call of "pay" and try again: less]'],
    ])
    await run.decide({ approvalId: second.id, decision: 'approve' })
    await run.outcome()
    expect(paid).toEqual([{ amount: 9 }])
  })
  test('team C86: an approval holds for its arguments: other arguments are asked for again', async () => {
    const { boss, paid } = bank({
      low: scripted(calls(['pay', { amount: 10 }]), calls(['pay', { amount: 1_000 }]), 'paid'),
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    const first = await only(run)
    await run.decide({ approvalId: first.id, decision: 'approve' })
    const second = await only(run)
    expect(second.inputHash).not.toBe(first.inputHash)
    await run.decide({ approvalId: second.id, decision: 'reject' })
    await run.outcome()
    expect(paid).toEqual([{ amount: 10 }])
  })
  test('delegation 59, team C90: at three levels a restart keeps approval and deadline and repeats nothing', async () => {
    const { boss, paid, prompts } = bank()
    const first = await runtimeOf([boss], { store: store() })
    const run = await first.start(boss, 'go')
    const before = await only(run)
    await first.close()
    const again = await runtimeOf([boss], { store: store() })
    const resumed = again.handle(run.id)
    expect(await only(resumed)).toEqual(before)
    await resumed.decide({ approvalId: before.id, decision: 'approve' })
    expect(await resumed.outcome()).toMatchObject({ output: 'final' })
    await expect(resumed.decide({ approvalId: before.id, decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.already-decided',
    })
    expect([paid.length, prompts()]).toEqual([1, [2, 2, 2]])
  })
})

/** One leader with two workers that each have a gated tool, and one that is free. */
function pair(lead: Scripted) {
  const ran: string[] = []
  const gated = (name: string) =>
    agent({
      name,
      description: name,
      model: scripted(calls([`act_${name}`, {}]), `${name} is done`),
      tools: [tool({ name: `act_${name}`, approval: true, execute: () => (ran.push(name), name) })],
    })
  const free = scripted('free is done')
  const boss = supervisor({
    name: 'boss',
    model: lead,
    workers: [gated('w1'), gated('w2'), agent({ name: 'free', description: 'Free.', model: free })],
  })
  return { boss, ran, free }
}

describe('several at once', () => {
  test('delegation 62, collaboration 88: a sibling that finished before the approval does not run again', async () => {
    const lead = scripted(delegates(['w1', 'x'], ['free', 'y']), 'final')
    const { boss, free } = pair(lead)
    const first = await runtimeOf([boss], { store: store() })
    const run = await first.start(boss, 'go')
    const approval = await only(run)
    expect((await run.view()).activations.find((each) => each.agent === 'free')?.outcome).toMatchObject({
      output: 'free is done',
    })
    await first.close()
    const resumed = (await runtimeOf([boss], { store: store() })).handle(run.id)
    await resumed.decide({ approvalId: approval.id, decision: 'approve' })
    await resumed.outcome()
    expect([free.prompts.length, told(lead.prompts[1])]).toEqual([1, ['w1 is done', 'free is done']])
  })
  test('delegation 63, team C79: answered in reverse over a restart, each runs once, the leader is asked once', async () => {
    const lead = scripted(delegates(['w1', 'x'], ['w2', 'y']), 'final')
    const { boss, ran } = pair(lead)
    const first = await runtimeOf([boss], { store: store() })
    const run = await first.start(boss, 'go')
    await expect.poll(async () => (await first.approvals()).length).toBe(2)
    const [one, two] = ['act_w1', 'act_w2'].map(
      async (name) => (await first.approvals()).find((each) => each.tool === name)!.id,
    )
    const ids = [await one!, await two!] as const
    await run.decide({ approvalId: ids[1], decision: 'approve' })
    await expect.poll(() => ran).toEqual(['w2'])
    await first.close()
    const resumed = (await runtimeOf([boss], { store: store() })).handle(run.id)
    await resumed.decide({ approvalId: ids[0], decision: 'approve' })
    expect(await resumed.outcome()).toMatchObject({ output: 'final' })
    expect([ran, lead.prompts.length, told(lead.prompts[1])]).toEqual([['w2', 'w1'], 2, ['w1 is done', 'w2 is done']])
  })
  test('collaboration 89: two calls of one worker have separate approvals; deciding one leaves the other', async () => {
    const pay = tool({ name: 'pay', approval: true, execute: () => 'paid' })
    const w1 = scripted(({ messages }) => (messages.at(-1)!.role === 'tool' ? 'done' : calls(['pay', {}])))
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'a'], ['w1', 'b']), 'final'),
      workers: [agent({ name: 'w1', description: 'W', model: w1, tools: [pay] })],
    })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go')
    await expect.poll(async () => (await runtime.approvals()).length).toBe(2)
    const [a, b] = await runtime.approvals()
    expect(a!.activation).not.toBe(b!.activation)
    await run.decide({ approvalId: a!.id, decision: 'approve' })
    await expect.poll(async () => (await runtime.approvals()).map((each) => each.id)).toEqual([b!.id])
    await run.decide({ approvalId: b!.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
  })
  test('collaboration 120: ours: a free tool and two approvals: ids stay, then one call with results in order', async () => {
    const ran: string[] = []
    const echo = tool({ name: 'echo', execute: () => (ran.push('e1'), 'echoed') })
    const act = tool({
      name: 'act',
      approval: true,
      input: { type: 'object', properties: { n: { type: 'number' } } },
      execute: (input) => (ran.push(`a${String((input as { n: number }).n)}`), 'acted'),
    })
    const model = scripted(calls(['echo', {}, 'e1'], ['act', { n: 1 }, 'a1'], ['act', { n: 2 }, 'a2']), 'final')
    const solo = agent({ name: 'solo', model, tools: [echo, act] })
    const first = await runtimeOf([solo], { store: store() })
    const run = await first.start(solo, 'go')
    await expect.poll(async () => [(await first.approvals()).length, ran.length]).toEqual([2, 1])
    const before = [...(await first.approvals())].sort(
      (a, b) => (a.input as { n: number }).n - (b.input as { n: number }).n,
    )
    await run.decide({ approvalId: before[0]!.id, decision: 'approve' })
    await expect.poll(() => ran).toEqual(['e1', 'a1'])
    await first.close()
    const again = await runtimeOf([solo], { store: store() })
    expect((await again.approvals()).map((each) => each.id)).toEqual([before[1]!.id])
    await again.decide({ approvalId: before[1]!.id, decision: 'approve' })
    expect(await again.handle(run.id).outcome()).toMatchObject({ output: 'final' })
    expect([ran, model.prompts.length, told(model.prompts[1])]).toEqual([
      ['e1', 'a1', 'a2'],
      2,
      ['echoed', 'acted', 'acted'],
    ])
    const events = await eventsOf(again.handle(run.id))
    expect(events.filter((event) => event.type === 'tool.called')).toHaveLength(3)
  })
  test('collaboration 102: a tool that fails beside a waiting one gives a result, and the wait goes on', async () => {
    const bad = tool({ name: 'bad', retry: { attempts: 1 }, execute: () => Promise.reject(new Error('no disk')) })
    const act = tool({ name: 'act', approval: true, execute: () => 'acted' })
    const model = scripted(calls(['bad', {}], ['act', {}]), 'final')
    const solo = agent({ name: 'solo', model, tools: [bad, act] })
    const run = await (await runtimeOf([solo])).start(solo, 'go')
    await run.decide({ approvalId: (await only(run)).id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual(['[tool "bad" failed: no disk]', 'acted'])
  })
  test('collaboration 104: calls with the same id, or none, have addresses of their own', async () => {
    const act = tool({ name: 'act', approval: true, repeatable: true, execute: () => 'acted' })
    const model = scripted(calls(['act', {}, 'same'], ['act', {}], ['act', {}]), 'final')
    const solo = agent({ name: 'solo', model, tools: [act] })
    const runtime = await runtimeOf([solo])
    const run = await runtime.start(solo, 'go')
    await expect.poll(async () => (await runtime.approvals()).length).toBe(3)
    const open = await runtime.approvals()
    expect(new Set(open.map((each) => each.id)).size).toBe(3)
    for (const { id } of open) await run.decide({ approvalId: id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
  })
})

describe('who may approve', () => {
  test('delegation 64: nothing that a model writes approves anything', async () => {
    const lead = scripted(
      calls([
        'delegate',
        { worker: 'mid', instructions: 'x', resumeData: { approved: true }, approved: true, approval: 'approve' },
      ]),
      'final',
    )
    const { boss, paid } = bank({
      lead,
      low: scripted(calls(['pay', { amount: 10, approved: true, decision: 'approve', approvalId: 'x' }]), 'paid'),
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    const approval = await only(run)
    expect(paid).toEqual([])
    await run.decide({ approvalId: approval.id, decision: 'reject' })
    await run.outcome()
    expect(paid).toEqual([])
  })
  test('delegation 65: a start may ask to approve everything, at every depth', async () => {
    const read = tool({ name: 'read', effect: 'read', execute: () => 'text' })
    const w = agent({ name: 'w', description: 'W', model: scripted(calls(['read', {}]), 'done'), tools: [read] })
    const mid = supervisor({
      name: 'mid',
      description: 'M',
      model: scripted(delegates(['w', 'x']), 'mid is done'),
      workers: [w],
    })
    const boss = supervisor({ name: 'boss', model: scripted(delegates(['mid', 'x']), 'final'), workers: [mid] })
    const runtime = await runtimeOf([boss])
    const run = await runtime.start(boss, 'go', { permissions: { approval: 'all' } })
    const approval = await only(run)
    expect([approval.tool, approval.path]).toEqual(['read', ['boss', 'mid', 'w']])
    await run.decide({ approvalId: approval.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
  })
  test('delegation 65: delegations themselves are approved where they are named', async () => {
    const boss = supervisor({
      name: 'boss',
      model: scripted(delegates(['w1', 'x']), 'final'),
      workers: [agent({ name: 'w1', description: 'W', model: scripted('done') })],
    })
    const run = await (await runtimeOf([boss])).start(boss, 'go', { permissions: { approval: ['delegate'] } })
    const approval = await only(run)
    expect([approval.tool, approval.input]).toEqual(['delegate', { worker: 'w1', instructions: 'x' }])
    await run.decide({ approvalId: approval.id, decision: 'approve' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
  })
  test('delegation 67, team C89: after a cancel a decision comes too late and nothing runs', async () => {
    const { boss, paid } = bank()
    const run = await (await runtimeOf([boss])).start(boss, 'go')
    const approval = await only(run)
    await run.control.cancel('stop')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    await expect(run.decide({ approvalId: approval.id, decision: 'approve' })).rejects.toMatchObject({
      code: expect.stringMatching(/^approval\./) as string,
    })
    await expect(run.decide({ approvalId: 'apr_stale', decision: 'approve' })).rejects.toMatchObject({
      code: 'approval.unknown',
    })
    expect(paid).toEqual([])
  })
  test('team C82: a deadline may approve what is of low risk; the record says that no human did', async () => {
    const ran: number[] = []
    const act = tool({
      name: 'act',
      approval: { risk: 'low', onTimeout: 'approve', timeoutMs: 10 },
      execute: () => ran.push(1),
    })
    const solo = agent({ name: 'solo', model: scripted(calls(['act', {}]), 'final'), tools: [act] })
    const run = await (await runtimeOf([solo])).start(solo, 'go')
    await run.outcome()
    expect(ran).toEqual([1])
    const [approval] = (await run.view()).approvals
    expect(approval).toMatchObject({ resolution: 'timed-out-approved' })
    expect(approval?.approver).toBeUndefined()
    for (const refused of [
      { sensitive: true, approval: { onTimeout: 'approve' } },
      { approval: { risk: 'critical', onTimeout: 'approve' } },
      { approval: { risk: 'low', onTimeout: 'approve' } },
      { approval: { risk: 'low', onTimeout: 'approve', timeoutMs: 'never' } },
    ] as const) {
      expect(() => tool({ name: 'act', ...refused, execute: () => 1 })).toThrow(
        expect.objectContaining({ code: 'tool.invalid' }),
      )
    }
  })
  test('team C81: without an answer the deadline rejects, as its own outcome', async () => {
    const { boss, paid, low } = bank({ approval: halfAnHour })
    const run = await (await runtimeOf([boss], { clock: fastClock() })).start(boss, 'go') // 30 minutes are 1.8 s here
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect([paid, told(low.prompts[1])]).toEqual([[], ['[not done: nobody approved this call of "pay" in time]']])
    const [approval] = (await run.view()).approvals
    expect(approval).toMatchObject({ resolution: 'timed-out-rejected', open: false })
    expect(approval!.until! - approval!.askedAt).toBeGreaterThanOrEqual(30 * 60_000 - 1_000)
  })
  test('team C81: a decision at exactly the deadline counts', async () => {
    const { boss, paid } = bank({ approval: halfAnHour })
    const clock = manualClock()
    const runtime = await runtimeOf([boss], { clock })
    const run = await runtime.start(boss, 'go')
    const approval = await only(run)
    clock.advance(approval.until! - clock.now())
    await pause(30) // whatever the clock has to say at the deadline is said before the human speaks
    await run.decide({ approvalId: approval.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(paid).toEqual([{ amount: 10 }])
    expect((await run.view()).approvals).toMatchObject([{ resolution: 'approved', approver: 'ann' }])
  })
  test.each(['driven', 'not driven'])(
    'team C81: 1 ms later it is timed out, and the decision is refused: %s',
    async (how) => {
      const { boss, paid } = bank({ approval: halfAnHour })
      const clock = manualClock()
      const first = await runtimeOf([boss], { clock, store: store() })
      const run = await first.start(boss, 'go', { runId: 'r' })
      const approval = await only(run)
      if (how === 'not driven') await first.close()
      const runtime = how === 'driven' ? first : await runtimeOf([boss], { clock, store: store(), drive: false })
      clock.advance(approval.until! - clock.now() + 1)
      const decided = runtime.decide({ approvalId: approval.id, decision: 'approve', approver: 'ann' })
      await expect(decided).rejects.toMatchObject({ code: 'approval.expired' })
      const last = how === 'driven' ? runtime : await runtimeOf([boss], { clock, store: store() })
      expect(await last.handle('r').outcome()).toMatchObject({ output: 'final' })
      expect(paid).toEqual([])
      expect((await last.handle('r').view()).approvals).toMatchObject([{ resolution: 'timed-out-rejected' }])
    },
  )
  test('team C81: a deadline of no time at all has passed at once', async () => {
    const act = tool({ name: 'act', approval: { timeoutMs: 0 }, execute: () => 'acted' })
    const model = scripted(calls(['act', {}]), 'final')
    const root = agent({ name: 'root', model, tools: [act] })
    expect(await (await runtimeOf([root], { clock: manualClock() })).run(root, 'go')).toMatchObject({ output: 'final' })
    expect(told(model.prompts[1])).toEqual(['[not done: nobody approved this call of "act" in time]'])
  })
  test('team C85: a worker that waits for a human, or one below it, holds no permit', async () => {
    const { boss: bankOf } = bank()
    const payer = scripted(calls(['pay', { amount: 1 }]), 'first is paid')
    const pay = tool({ name: 'pay', sensitive: true, execute: () => 'paid' })
    let [now, most] = [0, 0]
    const busy = (name: string) =>
      agent({
        name,
        description: name,
        model: scripted(async () => {
          most = Math.max(most, ++now)
          await pause(5)
          now--
          return `${name} is done`
        }),
      })
    const lead = scripted(delegates(['payer', 'a'], ['boss', 'b'], ['w1', 'c'], ['w2', 'd']), 'all done')
    const top = supervisor({
      name: 'top',
      model: lead,
      concurrency: 1,
      workers: [
        agent({ name: 'payer', description: 'Pays.', model: payer, tools: [pay] }),
        bankOf,
        busy('w1'),
        busy('w2'),
      ],
    })
    const runtime = await runtimeOf([top], { store: store() })
    const run = await runtime.start(top, 'go', { runId: 'r' })
    await expect
      .poll(async () => (await run.view()).activations.filter(({ outcome }) => outcome?.status === 'completed').length)
      .toBe(2)
    expect(most).toBe(1)
    const { waiting: open } = await waiting(run)
    expect(open.map(({ path }) => path.join('>')).sort()).toEqual(['top>boss>mid>clerk', 'top>payer'])
    await runtime.close()
    const again = (await runtimeOf([top], { store: store() })).handle('r')
    for (const { id } of open) await again.decide({ approvalId: id, decision: 'approve' })
    expect(await again.outcome()).toMatchObject({ output: 'all done' })
    expect(told(lead.prompts.at(-1))).toEqual(['first is paid', 'final', 'w1 is done', 'w2 is done'])
  })
})
