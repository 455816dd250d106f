/**
 * What a fork, and so a retry, makes of a yes that was given in its origin: what the oracle of forks does not play. Cites
 * K4, K6.
 */
import { describe, expect, test } from 'vitest'
import { agent, createRuntime, step, supervisor, team, tool, type Agent } from '@reeve/public'
import type { Recorded } from '@reeve/journal'
import type { Run, Runtime, RunWaiting } from '@reeve/runtime'
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

describe('what the origin has made', () => {
  const positionOf = async (run: Run<unknown>, type: Recorded['event']['type']): Promise<number> =>
    (await run.journal()).find(({ event }) => event.type === type)!.position

  const decide = async (run: Run<unknown>, decision: 'approve' | 'reject'): Promise<string> => {
    const [asked] = (await waits(run)).waiting
    await run.decide({ approvalId: asked!.id, decision, approver: 'ann' })
    return asked!.reason
  }

  /** Asks until it may, at most twice. */
  const cashier = (paid: string[]): Agent =>
    agent({
      name: 'cashier',
      description: 'Pays.',
      run: async (ctx) => {
        const said: string[] = []
        for (const attempt of [1, 2]) {
          const word = await ctx.approve('pay', { input: { attempt } })
          if (word.approved) {
            await step(ctx, 'pay', (io) => paid.push(io.key), { effect: 'once' })
            return [...said, 'paid']
          }
          said.push(word.feedback)
        }
        return said
      },
    })

  test('is told to code that asks, by the question and by a no', async () => {
    const paid: string[] = []
    const root = cashier(paid)
    await using runtime = await runtimeOf(root)
    const run = await runtime.start(root, null)
    expect(await decide(run, 'approve')).not.toContain('already done')
    await run.outcome()
    const fork = await runtime.fork({ run: run.id, at: await positionOf(run, 'approval.requested') })
    const told = new RegExp(`"pay" was already done in run ${run.id} at \\d{4}-`)
    expect(await decide(fork, 'reject')).toMatch(told)
    await decide(fork, 'reject')
    expect(await fork.outcome()).toMatchObject({ output: [expect.stringMatching(told), expect.stringMatching(told)] })
    expect(paid).toHaveLength(1)
  })

  test('is known also where it was held in the copied part: a fork of a fork pays no second time', async () => {
    const paid: string[] = []
    const root = agent({
      name: 'payer',
      description: 'Pays.',
      run: async (ctx) => {
        await ctx.interrupt('go on?')
        return step(ctx, 'pay', (io) => paid.push(io.key), { effect: 'once' })
      },
    })
    await using runtime = await runtimeOf(root)
    const run = await runtime.start(root, 'go')
    await run.until('waiting')
    const [question] = await runtime.questions({ run: run.id })
    await run.control.pause({ by: 'ann' })
    await runtime.answer({ interruptId: question!.id, value: 'yes' })
    await expect.poll(async () => (await run.journal()).some(({ event }) => event.type === 'effect.held')).toBe(true)
    await run.control.resume({ by: 'ann' })
    await run.outcome()
    let origin: Run<unknown> = run
    for (const _generation of [1, 2]) {
      const fork = await runtime.fork({ run: origin.id, at: await positionOf(origin, 'effect.held') })
      await fork.until('waiting')
      const [doubt] = await runtime.questions({ run: fork.id })
      expect(doubt?.kind).toBe('in-doubt')
      await runtime.settleDoubt({ id: doubt!.id, happened: true })
      expect(await fork.outcome()).toMatchObject({ status: 'completed', output: 1 })
      origin = fork
    }
    expect(paid).toHaveLength(1)
  })

  test('later than an answer is not told with it, since the origin was not told so', async () => {
    const paid: string[] = []
    const root = cashier(paid)
    await using runtime = await runtimeOf(root)
    const run = await runtime.start(root, null)
    await decide(run, 'reject')
    await decide(run, 'approve')
    const origin = await run.outcome()
    const fork = await runtime.fork({ run: run.id, at: await positionOf(run, 'ask.settled') })
    expect(await decide(fork, 'approve')).toContain(`already done in run ${run.id}`)
    const [doubt] = (await waits(fork)).questions
    expect(doubt).toMatchObject({ kind: 'in-doubt' })
    await runtime.settleDoubt({ id: doubt!.id, happened: true })
    expect(await fork.outcome()).toEqual({ ...origin, run: fork.id })
    expect(paid).toHaveLength(1)
  })

  test.each(['approve', 'reject'] as const)('in another attempt is the same effect: %s', async (decision) => {
    const paid: string[] = []
    let isDown = true
    const clerk = agent({
      name: 'clerk',
      description: 'Pays.',
      retry: { attempts: 1 },
      tools: [
        tool({ name: 'pay', sensitive: true, input: { type: 'object' }, execute: (_input, io) => paid.push(io.key) }),
      ],
      model: ({ messages }) => {
        if (isDown) {
          isDown = false
          throw new Error('the provider is down')
        }
        return messages.at(-1)?.role === 'tool' ? JSON.stringify(messages.at(-1)) : calls(['pay', {}])
      },
    })
    const root = supervisor({
      name: 'boss',
      workers: [clerk],
      delegation: { retry: { attempts: 2, backoffMs: 1 } },
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool' ? JSON.stringify(messages.at(-1)) : delegates(['clerk', 'go']),
    })
    await using runtime = await runtimeOf(root)
    const run = await runtime.start(root, 'Go')
    await decide(run, 'approve') // of the second attempt
    await run.outcome()
    expect(paid).toEqual([expect.stringContaining('clerk#1')])
    const fork = await runtime.fork({ run: run.id, at: await positionOf(run, 'worker.started') })
    expect(await decide(fork, decision)).toContain(
      `run ${run.id}, from which this one was forked, had already done "pay"`,
    )
    const end = JSON.stringify(await fork.outcome())
    expect(end.includes('not repeated')).toBe(decision === 'reject')
    expect(paid).toHaveLength(decision === 'approve' ? 2 : 1)
  })

  test('is told by a question that stays open because its work has begun', async () => {
    const out: string[] = []
    const root = team({
      name: 'crew',
      roles: {
        generalist: agent({
          name: 'printer',
          description: 'Prints.',
          run: async (ctx) => {
            await step(ctx, 'print', (io) => void out.push(io.key), { effect: 'once' })
            return 'printed'
          },
        }),
      },
      planner: { subtasks: [{ id: 'print', description: 'draft', requiresApproval: true }] },
    })
    await using runtime = await runtimeOf(root)
    const run = await runtime.start(root, 'Go')
    await decide(run, 'approve')
    await run.outcome()
    const fork = await runtime.fork({ run: run.id, at: await positionOf(run, 'task.started') })
    const [asked] = (await waits(fork)).waiting
    expect(asked).toMatchObject({
      begun: true,
      reason: expect.stringContaining(`"print" was already done in run ${run.id} at `),
    })
    await fork.control.cancel('seen', 'ann')
    expect(out).toHaveLength(1)
  })
})
