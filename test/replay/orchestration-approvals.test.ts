/**
 * Approvals of tasks and of tools that are orchestration, over a process that dies anywhere: one question under one id,
 * done once. Spec team C90, C100, R-16.
 */
import { describe, expect, test } from 'vitest'
import { agent, delegate, step, tool } from '@reeve/agent'
import { isObject, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { asTool } from '@reeve/flow'
import type { Approval, Runtime } from '@reeve/runtime'
import { team } from '@reeve/team'
import { scripted, teamScenario, type ManualClock } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

type Word = {
  readonly decision: 'approve' | 'reject' | 'retry' | 'edit'
  readonly approver?: string
  readonly comment?: string
  readonly input?: Json
}
/**
 * Whoever decides, the same in every process: nothing to what is `undefined`; then the clock moves past its deadline.
 */
const deciding =
  (say: (approval: Approval) => Word | undefined) =>
  async (runtime: Runtime, clock: ManualClock): Promise<void> => {
    const open = await runtime.approvals()
    for (const approval of open.toReversed()) {
      const word = say(approval)
      if (word !== undefined)
        await runtime.decide({ approvalId: approval.id, approver: 'ann', ...word } as never).catch(() => undefined)
      else if (open.length === 1) clock.advance(Math.max(0, approval.until! - clock.now() + 1))
    }
  }
const call = (name: string, input: object) => ({ name, input: input as never })
/** One after the other, and without a clock: who is first must not depend on where a process dies. */
const inOrder = { strategy: 'sequential', timeoutMs: 0, dependencies: { timeoutMs: 0 } } as const

describe('C90: tools that are orchestration, and agents as tools', () => {
  const keys = new Set<string>()
  const plan = tool({
    name: 'plan',
    approval: true,
    input: { type: 'object', properties: { days: { type: 'number' } } },
    run: async (ctx: Context, input: unknown) =>
      step(ctx, 'plan', ({ key }) => (keys.add(key), `planned ${(input as { days: number }).days}`)),
  })
  const helper = asTool(
    agent({
      name: 'helper',
      description: 'Helps.',
      run: (ctx) => step(ctx, 'help', ({ key }) => (keys.add(key), 'helped')),
    }),
    { approval: true },
  )
  const root = agent({
    name: 'root',
    model: scripted({ calls: [call('plan', { days: 3 }), call('helper', { request: 'x' })] }, 'end'),
    tools: [plan, helper],
  })
  const outside = deciding(({ tool: name }) =>
    name === 'plan' ? { decision: 'edit', input: { days: 2 } } : { decision: 'approve' },
  )
  diesEverywhere(
    teamScenario({ name: 'two that begin as workers once they were approved', agents: [root], input: 'go', outside }),
    {
      status: 'completed',
      output: 'end',
    },
  )
  test('wherever it died, each was done under one key', () => expect(keys.size).toBe(2))
})

describe('C100: a task of critical risk, with tiers', () => {
  const keys = new Set<string>()
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    run: async (ctx: Context, brief: string): Promise<Json> => {
      const task = brief.split('\n')[0]!
      return task === 'delete' ? step(ctx, 'delete', ({ key }) => (keys.add(key), 'deleted')) : task
    },
  })
  const root = team({
    name: 'crew',
    ...inOrder,
    roles: { generalist: worker },
    planner: {
      subtasks: [
        { id: 'look', description: 'look' },
        { id: 'delete', description: 'delete', action: 'delete_all', risk: 'critical', dependencies: ['look'] },
      ],
    },
    oversight: {
      approval: {
        onTimeout: 'escalate',
        approvers: [
          { who: ['bob'], timeoutMs: 1_000 },
          { who: ['ann', 'eve'], timeoutMs: 600_000 },
        ],
      },
    },
  })
  const outside = deciding(({ tier, excludes = [] }) =>
    tier === 2 ? { decision: 'approve', approver: excludes.includes('ann') ? 'eve' : 'ann' } : undefined,
  )
  diesEverywhere(
    teamScenario({ name: 'nobody of the first tier, two of the second', agents: [root], input: 'go', outside }),
    {
      status: 'completed',
      results: { tasks: [{ task: 'look' }, { task: 'delete', output: 'deleted' }] },
    },
  )
  test('wherever it died, it was done under one key', () => expect(keys.size).toBe(1))
})

describe('C100: in command', () => {
  const worker = agent({ name: 'worker', description: 'Works.', run: (_ctx, brief: string) => brief.split('\n')[0]! })
  const root = team({
    name: 'crew',
    ...inOrder,
    roles: { generalist: worker },
    planner: {
      subtasks: [
        { id: 'a', description: 'a' },
        { id: 'b', description: 'b', dependencies: ['a'], required: false },
        { id: 'c', description: 'c', dependencies: ['b'], review: true },
      ],
    },
    oversight: { mode: 'in-command' },
  })
  const outside = deciding(({ kind, input }) => {
    const id = isObject(input) ? input['task'] : undefined
    if (kind === 'result') return { decision: 'edit', input: 'by hand' }
    if (id === 'b') return { decision: 'reject', comment: 'not b' }
    return id === 'a' ? { decision: 'edit', input: { description: 'A' } } : { decision: 'approve' }
  })
  diesEverywhere(
    teamScenario({
      name: 'a plan, three tasks and a result, each with another word',
      agents: [root],
      input: 'go',
      outside,
    }),
    {
      status: 'completed',
      results: {
        tasks: [
          { task: 'a', output: 'A' },
          { task: 'b', status: 'skipped', reason: 'rejected by ann: not b' },
          { task: 'c', output: 'by hand' },
        ],
      },
    },
  )
})

describe('R-16: missed deadlines', () => {
  const inner = agent({ name: 'inner', description: 'In.', run: () => 'done' })
  const root = agent({
    name: 'boss',
    workers: [inner],
    oversight: { mode: 'in-command', approval: { timeoutMs: 1_000 } },
    run: async (ctx) => {
      const outcome = await delegate(ctx, inner, 'go')
      return outcome.status === 'failed'
        ? { class: outcome.failure.class, details: outcome.failure.details ?? null }
        : outcome.status
    },
  })
  const outside = deciding(() => undefined)
  diesEverywhere(teamScenario({ name: 'a beginning that nobody approves', agents: [root], input: 'go', outside }), {
    output: { class: 'timeout', details: { how: 'timed-out' } },
  })
})
