/**
 * Approvals without a deadline: a tool, `ctx.approve` and the work of a supervisor's worker wait for as long as it
 * takes; a planned team's own approvals keep half an hour.
 */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, tool } from '@reeve/agent'
import { supervisor } from '@reeve/supervisor'
import type { Approval, Run } from '@reeve/runtime'
import { team } from '@reeve/team'
import { manualClock } from '@reeve/testing'
import { calls, delegates, runtimeOf, scripted, store, waiting } from './team.ts'

const day = 86_400_000
const halfAnHour = 30 * 60_000

const only = async (run: Run<unknown>): Promise<Approval> => {
  const { waiting: open } = await waiting(run)
  expect(open).toHaveLength(1)
  return open[0]!
}

/** A worker whose tool asks, below a leader with working minutes of its own. */
function shop() {
  const paid: number[] = []
  const pay = tool({
    name: 'pay',
    sensitive: true,
    input: z.object({ amount: z.number() }),
    execute: ({ amount }) => {
      paid.push(amount)
      return { paid: true }
    },
  })
  const model = scripted(calls(['pay', { amount: 10 }]), 'paid')
  const clerk = agent({ name: 'clerk', description: 'Pays.', model, tools: [pay], limits: { minutes: 5 } })
  const root = supervisor({
    name: 'root',
    model: scripted(delegates(['clerk', 'pay 10']), 'final'),
    workers: [clerk],
    limits: { minutes: 10 },
  })
  return { root, paid }
}

describe('waits for as long as it takes', () => {
  test.each(['in one process', 'over a restart'])('a tool, three days: %s', async (how) => {
    const { root, paid } = shop()
    const clock = manualClock()
    const first = await runtimeOf([root], { clock, store: store() })
    const run = await first.start(root, 'go', { runId: 'r' })
    const asked = await only(run)
    expect(asked).not.toHaveProperty('until')
    clock.advance(1.5 * day)
    if (how === 'over a restart') await first.close()
    const runtime = how === 'over a restart' ? await runtimeOf([root], { clock, store: store() }) : first
    clock.advance(1.5 * day)
    const again = runtime.handle('r')
    expect(await only(again)).toMatchObject({ id: asked.id })
    expect(paid).toEqual([])
    await again.decide({ approvalId: asked.id, decision: 'approve', approver: 'ann' })
    // the time of the wait is not working time: neither limit of minutes is reached
    expect(await again.outcome()).toMatchObject({ status: 'completed', output: 'final' })
    expect(paid).toEqual([10])
  })
  test('what was approved late is good for a day from the decision, and for one use', async () => {
    const { root, paid } = shop()
    const clock = manualClock()
    const runtime = await runtimeOf([root], { clock })
    const run = await runtime.start(root, 'go')
    const asked = await only(run)
    clock.advance(3 * day)
    await run.control.pause()
    await run.decide({ approvalId: asked.id, decision: 'approve', approver: 'ann' })
    await expect.poll(async () => (await run.view()).approvals.map(({ open }) => open)).toEqual([false])
    clock.advance(day + 1)
    await run.control.resume()
    await expect.poll(async () => (await waiting(run)).waiting.length).toBe(1)
    // the approval has expired while the run was paused: it is asked again, again without a deadline
    const second = await only(run)
    expect(second).toMatchObject({ follows: asked.id, input: { amount: 10 } })
    expect(second).not.toHaveProperty('until')
    expect(paid).toEqual([])
    await run.decide({ approvalId: second.id, decision: 'approve', approver: 'ann' })
    expect(await run.outcome()).toMatchObject({ output: 'final' })
    expect(paid).toEqual([10])
  })
  test('ctx.approve, and the work and the result of a worker where a human is in command', async () => {
    const worker = agent({
      name: 'worker',
      description: 'Works.',
      assess: () => ({ confidence: 0.1 }),
      run: async (ctx) => {
        const said = await ctx.approve('deploy')
        return said.approved ? 'done' : said.feedback
      },
    })
    const root = supervisor({
      name: 'root',
      model: scripted(delegates(['worker', 'deploy']), 'final'),
      workers: [worker],
      oversight: { mode: 'in-command' },
    })
    const clock = manualClock()
    const run = await (await runtimeOf([root], { clock })).start(root, 'go')
    const subjects: (string | undefined)[] = []
    for (let seen: string | undefined; subjects.length < 3;) {
      await expect.poll(async () => (await waiting(run)).waiting.map(({ id }) => id)).not.toContain(seen)
      const asked = await only(run)
      expect(asked).not.toHaveProperty('until')
      subjects.push(asked.kind ?? asked.tool)
      clock.advance(day)
      await run.decide({ approvalId: asked.id, decision: 'approve', approver: 'ann' })
      seen = asked.id
    }
    expect(subjects).toEqual(['work', 'deploy', 'result'])
    expect(await run.outcome()).toMatchObject({ output: 'final' })
  })
})

describe('what still has a deadline', () => {
  test('team R-16: a plan, its tasks and their results have 30 minutes; the tools of its members have none', async () => {
    const act = tool({ name: 'act', approval: true, execute: () => 'acted' })
    const worker = agent({
      name: 'worker',
      description: 'Works.',
      model: scripted(calls(['act', {}]), 'done'),
      tools: [act],
    })
    const root = team({
      name: 'crew',
      roles: { generalist: worker },
      approvePlan: true,
      planner: { subtasks: [{ id: 'a', description: 'a', requiresApproval: true, review: true }] },
      oversight: {},
    })
    const run = await (await runtimeOf([root])).start(root, 'go')
    const deadlines: [string, number | undefined][] = []
    for (let seen: string | undefined; deadlines.length < 4;) {
      await expect.poll(async () => (await waiting(run)).waiting.map(({ id }) => id)).not.toContain(seen)
      const { id, kind, tool: name, askedAt, until } = await only(run)
      deadlines.push([kind ?? name, until === undefined ? undefined : until - askedAt])
      await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
      seen = id
    }
    expect(deadlines.map(([name, ms]) => [name, ms === undefined ? ms : Math.round(ms / 60_000) * 60_000])).toEqual([
      ['plan', halfAnHour],
      ['task', halfAnHour],
      ['act', undefined],
      ['result', halfAnHour],
    ])
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
  })
  test('onTimeout: "approve" needs a time: the definition and ctx.approve say so', async () => {
    expect(() => tool({ name: 'act', approval: { risk: 'low', onTimeout: 'approve' }, execute: () => 1 })).toThrow(
      'tool "act": onTimeout is "approve", but there is no deadline: add timeoutMs, such as 3_600_000 for an hour',
    )
    // stricter than whatever deadline the oversight sets
    tool({ name: 'act', approval: { onTimeout: 'reject' }, execute: () => 1 })
    const root = agent({ name: 'root', run: (ctx) => ctx.approve('act', { risk: 'low', onTimeout: 'approve' }) })
    expect(await (await runtimeOf([root])).run(root, 'go')).toMatchObject({
      status: 'failed',
      failure: {
        code: 'input.invalid',
        message: expect.stringMatching(/there is no deadline: add timeoutMs/) as string,
      },
    })
  })
})
