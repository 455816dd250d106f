/**
 * What a fork, and so a retry, makes of a yes that was given in its origin: what the oracle of forks does not play. Cites
 * K4, K6.
 */
import { describe, expect, test } from 'vitest'
import { agent, createRuntime, step, supervisor, team, tool, type Agent } from '../../src/index.ts'
import type { Recorded } from '../../src/journal/index.ts'
import type { Run, Runtime, RunWaiting } from '../../src/runtime/index.ts'
import { calls, delegates } from '../scenario/team.ts'

const runtimeOf = (root: Agent): Promise<Runtime> =>
  createRuntime({ agents: [root], strict: true, parkAfterMs: 20, pollMs: 5 })

async function waits(run: Run<unknown>): Promise<RunWaiting> {
  const state = await run.until('waiting', { signal: AbortSignal.timeout(20_000) })
  if (!('questions' in state)) throw new Error(`it has ended: ${JSON.stringify(state)}`)
  return state
}

const has = async (run: Run<unknown>, type: Recorded['event']['type']): Promise<boolean> =>
  (await run.journal()).some(({ event }) => event.type === type)

describe('the yes of a run that was cancelled', () => {
  const clerk = (paid: string[]): Agent =>
    agent({
      name: 'clerk',
      description: 'Pays.',
      tools: [
        tool({ name: 'pay', sensitive: true, input: { type: 'object' }, execute: (_input, io) => paid.push(io.key) }),
      ],
      model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : calls(['pay', {}])),
    })
  const roots: readonly (readonly [string, (paid: string[]) => Agent])[] = [
    [
      'a supervisor',
      (paid) =>
        supervisor({
          name: 'boss',
          workers: [clerk(paid)],
          model: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : delegates(['clerk', 'go'])),
        }),
    ],
    [
      'a planned team',
      (paid) =>
        team({
          name: 'crew',
          roles: { generalist: clerk(paid) },
          planner: { subtasks: [{ id: 'x', description: 'x' }] },
        }),
    ],
  ]
  test.each(roots)('permits nothing in its retry: %s', async (_name, make) => {
    const paid: string[] = []
    const root = make(paid)
    await using runtime = await runtimeOf(root)
    const run = await runtime.start(root, 'Go')
    const { waiting } = await waits(run)
    await run.control.pause({ by: 'ann' })
    await run.decide({ approvalId: waiting[0]!.id, decision: 'approve', approver: 'ann' })
    await expect.poll(() => has(run, 'tool.called')).toBe(true)
    await run.control.cancel('do not pay', 'ann')
    await run.outcome()
    const again = await runtime.retry(run.id)
    expect((await waits(again)).waiting).toMatchObject([{ tool: 'pay' }])
    expect(paid).toEqual([])
    await again.decide({ approvalId: (await waits(again)).waiting[0]!.id, decision: 'approve', approver: 'ann' })
    expect(await again.outcome()).toMatchObject({ status: 'completed' })
    expect(paid).toEqual([expect.stringContaining(`act_${again.id}>`)])
  })
})

describe('a task that has begun', () => {
  const printer = (out: string[]): Agent =>
    agent({
      name: 'printer',
      description: 'Prints.',
      run: async (ctx, brief: string) => {
        await step(ctx, 'print', (io) => void out.push(io.key), { effect: 'once' })
        await ctx.interrupt('is the ink dry?')
        return `printed ${brief.split('\n')[0]}`
      },
    })
  const crew = (out: string[]): Agent =>
    team({
      name: 'crew',
      roles: { generalist: printer(out) },
      planner: { subtasks: [{ id: 'print', description: 'draft', requiresApproval: true }] },
    })

  test('is approved or rejected as it stands, and goes on where it was', async () => {
    const out: string[] = []
    const root = crew(out)
    await using runtime = await runtimeOf(root)
    const run = await runtime.start(root, 'Go')
    await run.decide({ approvalId: (await waits(run)).waiting[0]!.id, decision: 'approve', approver: 'ann' })
    await expect.poll(() => has(run, 'interrupt.raised')).toBe(true)
    const fork = await runtime.fork({ run: run.id })
    const [asked] = (await waits(fork)).waiting
    expect(asked).toMatchObject({ kind: 'task', task: 'print', begun: true, options: ['approve', 'reject'] })
    const other = { task: 'print', description: 'another' }
    await expect(
      fork.decide({ approvalId: asked!.id, decision: 'edit', input: other, approver: 'ann' }),
    ).rejects.toMatchObject({ name: 'ReeveError' })
    await fork.decide({ approvalId: asked!.id, decision: 'approve', approver: 'ann' })
    const { questions } = await waits(fork)
    expect(questions).toMatchObject([{ kind: 'interrupt' }])
    await runtime.answer({ interruptId: questions[0]!.id, value: 'yes' })
    expect(await fork.outcome()).toMatchObject({ status: 'completed' })
    expect(out).toHaveLength(1)
  })

  test('whose yes had changed it begins anew: it is asked as it was, and what was done is in doubt', async () => {
    const out: string[] = []
    const root = crew(out)
    await using runtime = await runtimeOf(root)
    const run = await runtime.start(root, 'Go')
    await run.decide({
      approvalId: (await waits(run)).waiting[0]!.id,
      decision: 'edit',
      input: { task: 'print', description: 'proof' },
      approver: 'ann',
    })
    await expect.poll(() => has(run, 'interrupt.raised')).toBe(true)
    const fork = await runtime.fork({ run: run.id })
    const [asked] = (await waits(fork)).waiting
    expect(asked).toMatchObject({ kind: 'task', input: { description: 'draft' } })
    expect(asked).not.toHaveProperty('begun')
    await fork.decide({ approvalId: asked!.id, decision: 'approve', approver: 'ann' })
    const { questions } = await waits(fork)
    expect(questions).toMatchObject([{ kind: 'in-doubt', body: { reason: `already done in run ${run.id}` } }])
    expect(out).toHaveLength(1)
  })
})
