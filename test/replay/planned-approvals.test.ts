/**
 * Humans and the tasks of a plan, over a process that dies anywhere: nobody is asked twice, a report is published once.
 * Spec team C90, C100.
 */
import { describe, expect, test } from 'vitest'
import { agent, step } from '@reeve/agent'
import { isObject, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { team } from '@reeve/team'
import { teamScenario } from '@reeve/testing'
import type { Runtime } from '@reeve/runtime'
import { diesEverywhere } from './dying.ts'

/** One after the other, and without a clock: who is first must not depend on where a process dies. */
const inOrder = { strategy: 'sequential', timeoutMs: 0, dependencies: { timeoutMs: 0 } } as const
/** Under which keys something was published: one in all, however often a process has died. */
const keys = new Set<string>()

const worker = agent({
  name: 'worker',
  description: 'Does what its task says.',
  run: async (ctx: Context, brief: string): Promise<Json> => {
    const task = brief.split('\n')[0]!
    if (task === 'F') return brief.includes('shorter') ? 'a short report' : 'a report'
    if (task === 'publish') return step(ctx, 'publish', ({ key }) => (keys.add(key), 'published'))
    return task
  },
})

/** What somebody says to each approval: the same in every process. */
async function decides(runtime: Runtime): Promise<void> {
  const [approval] = await runtime.approvals()
  if (approval === undefined) return
  // runtime.approvals() says what is to be done, the view what it acts on
  const { approvals } = await runtime.handle(approval.run).view()
  const context = approvals.find(({ id }) => id === approval.id)?.context
  const decision =
    isObject(context) && context['F'] === 'a report'
      ? 'retry'
      : isObject(approval.input) && approval.input['task'] === 'mail'
        ? 'reject'
        : 'approve'
  await runtime.handle(approval.run).decide({
    approvalId: approval.id,
    decision,
    approver: 'anna',
    ...(decision === 'retry' ? { comment: 'shorter' } : undefined),
  })
}

const market = team({
  name: 'market',
  ...inOrder,
  roles: { generalist: worker },
  oversight: { mode: 'in-the-loop' },
  planner: {
    subtasks: [
      { id: 'A', description: 'A' },
      { id: 'E', description: 'E', dependencies: ['A'], review: true },
      { id: 'F', description: 'F', dependencies: ['E'] },
      { id: 'mail', description: 'mail', action: 'send_mail', required: false, dependencies: ['E'] },
      { id: 'publish', description: 'publish', action: 'publish_report', dependencies: ['F'] },
    ],
  },
})

describe('team C100: S2: a result reviewed, a report sent back, an optional task rejected, a report published', () => {
  diesEverywhere(
    teamScenario({ name: 'a market analysis with humans', agents: [market], input: 'Go', outside: decides }),
    {
      status: 'completed',
      results: {
        coverage: { succeeded: 4, planned: 5 },
        tasks: [
          { task: 'A' },
          { task: 'E', output: 'E' },
          { task: 'F', output: 'a short report', attempts: 2 },
          { task: 'mail', status: 'skipped', reason: 'rejected by anna' },
          { task: 'publish', output: 'published' },
        ],
      },
    },
  )
  test('team C90: wherever it died, it was published under one key', () => {
    expect(keys.size).toBe(1)
  })
})

const strict = team({
  name: 'strict',
  ...inOrder,
  roles: { generalist: worker },
  planner: {
    subtasks: [
      { id: 'A', description: 'A' },
      { id: 'mail', description: 'mail', requiresApproval: true, dependencies: ['A'] },
      { id: 'later', description: 'later', dependencies: ['mail'] },
    ],
  },
})
describe('team C83: a required task rejected', () => {
  diesEverywhere(
    teamScenario({ name: 'a team whose required task is rejected', agents: [strict], input: 'Go', outside: decides }),
    {
      status: 'failed',
      failure: { code: 'task.rejected' },
      results: {
        tasks: [
          { task: 'A', status: 'succeeded' },
          { task: 'mail', status: 'failed' },
          { task: 'later', status: 'cancelled' },
        ],
      },
    },
  )
})
