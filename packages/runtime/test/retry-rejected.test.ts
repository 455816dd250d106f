/** A run that ended because a human said no, or nobody said yes in time: its retry asks again (K6). */
import { beforeEach, describe, expect, test } from 'vitest'
import { agent, step, type Agent } from '@reeve/agent'
import { rootActivation, type RunId } from '@reeve/core'
import { retryPoint } from '@reeve/engine'
import { sequential } from '@reeve/flow'
import type { Recorded } from '@reeve/journal'
import type { Run, Runtime } from '../src/index.ts'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { runtimeUnderTest } from '../../../test/engine-under-test.ts'

let paid = 0
beforeEach(() => {
  paid = 0
})

const clerk = agent({ name: 'clerk', description: 'Works.', run: () => 'done' })
/** Pays, asks, and does not go on without a yes. */
const asks = (timeoutMs?: number) =>
  agent({
    name: 'asks',
    description: 'Asks.',
    run: async (ctx) => {
      await step(ctx, 'pay', () => `paid ${++paid}`, { effect: 'once' })
      const word = await ctx.approve('publish', timeoutMs === undefined ? {} : { timeoutMs })
      if (!word.approved) throw new Error('not approved')
      return 'published'
    },
  })
const passes = (worker: Agent, place?: 'apart') =>
  supervisor({
    name: 'root',
    workers: [worker],
    ...(place === undefined ? {} : { delegation: { workers: { [worker.name]: { place } } } }),
    run: async (ctx) => {
      const end = await ctx.delegate(worker, 'Go')
      if (end.status !== 'completed') throw new Error('the worker was no good')
      return end.output
    },
  })
const planned = (more: object) =>
  team({
    name: 'root',
    roles: {
      clerk: agent({
        name: 'clerk',
        description: 'Works.',
        run: (ctx) => step(ctx, 'pay', () => `paid ${++paid}`, { effect: 'once' }),
      }),
    },
    planner: {
      subtasks: [
        { id: 'before', description: 'before', role: 'clerk' },
        { id: 'publish', description: 'publish', role: 'clerk', dependencies: ['before'], ...more },
      ],
    },
  })

const shapes: { readonly [Shape in string]: () => Agent } = {
  'code that asks': () => asks(),
  'a member of a sequence': () => sequential({ name: 'root', agents: [clerk, asks()] }),
  'a worker whose leader passes it on': () => passes(asks()),
  'a worker apart': () => passes(asks(), 'apart'),
  'the beginning of a worker': () =>
    supervisor({
      name: 'root',
      workers: [clerk],
      oversight: { mode: 'in-command' },
      run: async (ctx) => {
        const end = await ctx.delegate(clerk, 'Go')
        if (end.status !== 'completed') throw new Error('no clerk')
        return end.output
      },
    }),
  'a task': () => planned({ requiresApproval: true }),
  'the result of a task': () => planned({ review: true }),
}

type Open = readonly { readonly id: string }[]
async function openIn(run: Run<unknown>): Promise<Open> {
  const state = await run.until('waiting')
  if (!('waiting' in state)) throw new Error(`it ended as ${state.status}`)
  return state.waiting
}

async function rejected(runtime: Runtime, root: Agent, session?: string): Promise<Run<unknown>> {
  const run = await runtime.start(root, 'Go', session === undefined ? {} : { session })
  const [first] = await openIn(run)
  await run.decide({ approvalId: first!.id, decision: 'reject', approver: 'ann', comment: 'not today' })
  expect((await run.outcome()).status).toBe('failed')
  return run
}

describe('a retry asks the person who said no again', () => {
  test.each(Object.entries(shapes))('%s', async (shape, make) => {
    const root = make()
    await using runtime = await runtimeUnderTest({ agents: [root], onWarning: () => {} })
    const run = await rejected(runtime, root)
    const before = paid
    const retry = await runtime.retry(run.id)
    expect(retry.from.redoes).toBe('question')
    const [again, ...others] = await openIn(retry)
    expect(others).toEqual([])
    await retry.decide({ approvalId: again!.id, decision: 'approve', approver: 'ann' })
    expect(await retry.outcome()).toMatchObject({ status: 'completed' })
    // what was done before the no is kept; a task whose approval or result was refused is all that follows
    expect(paid - before).toBe(shape === 'a task' ? 1 : 0)
  })

  test('the plan of a team', async () => {
    const root = team({
      name: 'root',
      roles: { clerk },
      approvePlan: true,
      planner: { subtasks: [{ id: 'a', description: 'a', role: 'clerk' }] },
    })
    await using runtime = await runtimeUnderTest({ agents: [root], onWarning: () => {} })
    const run = await rejected(runtime, root)
    const retry = await runtime.retry(run.id)
    const [again] = await openIn(retry)
    await retry.decide({ approvalId: again!.id, decision: 'approve', approver: 'ann' })
    expect(await retry.outcome()).toMatchObject({ status: 'completed' })
  })

  test('in a session', async () => {
    const root = asks()
    await using runtime = await runtimeUnderTest({ agents: [root], onWarning: () => {} })
    const retry = await runtime.retry((await rejected(runtime, root, 's')).id)
    const [again] = await openIn(retry)
    await retry.decide({ approvalId: again!.id, decision: 'approve', approver: 'ann' })
    expect(await retry.outcome()).toMatchObject({ output: 'published' })
    expect(paid).toBe(1)
  })

  test('a no once more ends the retry, which is retried in turn', async () => {
    const root = asks()
    await using runtime = await runtimeUnderTest({ agents: [root], onWarning: () => {} })
    const run = await rejected(runtime, root)
    const retry = await runtime.retry(run.id)
    const [again] = await openIn(retry)
    await retry.decide({ approvalId: again!.id, decision: 'reject', approver: 'ann' })
    expect((await retry.outcome()).status).toBe('failed')
    expect(await openIn(await runtime.retry(retry.id))).toHaveLength(1)
    expect(paid).toBe(1)
  })

  test('a deadline that passed is no answer: it is asked once more', async () => {
    const root = asks(100)
    await using runtime = await runtimeUnderTest({ agents: [root], onWarning: () => {} })
    const run = await runtime.start(root, 'Go')
    expect((await run.outcome()).status).toBe('failed')
    const events: Recorded[] = []
    const retry = await runtime.retry(run.id)
    expect(retry.from).toMatchObject({ agent: 'asks', redoes: 'question' })
    await retry.outcome()
    for await (const recorded of retry.events()) events.push(recorded)
    const asked = events.filter(({ event }) => event.type === 'approval.requested')
    const forked = events.find(({ event }) => event.type === 'run.forked')
    expect([asked.length, asked[0]!.position > forked!.position]).toEqual([1, true])
    expect(paid).toBe(1)
  })

  test('a question that timed out has at least half of its time again, whatever was recorded while it was open', async () => {
    const run = 'run_x' as RunId
    const activation = rootActivation(run)
    const recorded = (at: number, event: object, i: number): Recorded =>
      ({ position: i + 1, run, activation, seq: i, at, event }) as Recorded
    const outcome = { status: 'timed-out', message: 'no answer' }
    const approval = {
      type: 'approval.requested',
      op: 'ask',
      address: 'approve/ask',
      until: 1_000,
      onTimeout: 'reject',
    }
    const work = { type: 'step.begun', op: 'step', address: 'work', effect: 'idempotent' }
    const failure = { code: 'orchestration.threw', message: 'no', class: 'internal', retryable: false }
    const feed = [
      [0, { type: 'activation.started', agent: 'asks', version: '1', input: null }],
      [0, approval],
      [100, work],
      [400, { type: 'step.settled', address: 'work', outcome: { status: 'completed', output: 1 } }],
      [600, { ...work, address: 'work#1' }],
      [990, { type: 'step.settled', address: 'work#1', outcome: { status: 'cancelled', reason: 'late' } }],
      [1_000, { type: 'ask.settled', address: 'approve/ask', outcome }],
      [1_000, { type: 'activation.settled', outcome: { status: 'failed', failure } }],
    ] as const
    const point = await retryPoint(feed.map(([at, event], i) => recorded(at, event, i)))
    expect(point).toMatchObject({
      at: 4,
      from: { position: 5, redoes: 'question' },
      discarded: { modelCalls: 0, effects: 1 },
    })
  })
})

test.each([undefined, 's'])('a no that the code went on from is kept (session: %s)', async (session) => {
  let isBroken = true
  const root = agent({
    name: 'root',
    run: async (ctx) => {
      const word = await ctx.approve('publish')
      const note = await step(ctx, 'note', () => `paid ${++paid}`)
      if (isBroken) throw new Error('a mistake')
      return [word.approved, note]
    },
  })
  await using runtime = await runtimeUnderTest({ agents: [root], onWarning: () => {} })
  const run = await rejected(runtime, root, session)
  isBroken = false
  const retry = await runtime.retry(run.id)
  expect(retry.from.redoes).toBe('code')
  expect(await retry.outcome()).toMatchObject({ output: [false, 'paid 1'] })
})
