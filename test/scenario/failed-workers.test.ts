/** A run that completed shows which workers below it did not: in its outcome, its view, its row. */
import { expect, test } from 'vitest'
import { agent, delegate, tool, type Agent } from '@reeve/agent'
import { failure, FailureError, type Json } from '@reeve/core'
import { sequential } from '@reeve/flow'
import { delegateToSeveral, supervisor } from '@reeve/supervisor'
import { interrupt } from '@reeve/oversight'
import { team } from '@reeve/team'
import { calls, delegates, fatal, runtimeOf, scripted, store } from './team.ts'

/** What the outcome, the view and the row of an ended run say. They say the same. */
async function failuresOf(root: Agent, input: Json = 'go') {
  const runtime = await runtimeOf([root], { store: store() })
  const run = await runtime.start(root, input)
  const outcome = await run.outcome()
  expect(outcome).toMatchObject({ status: 'completed' })
  const { failures, failureCount } = outcome as { failures?: Json; failureCount?: number }
  const view = (await run.view()).outcome as { failures?: Json; failureCount?: number }
  const [row] = await runtime.runs()
  for (const each of [view, row!]) expect([each.failures, each.failureCount]).toEqual([failures, failureCount])
  return { failures, failureCount }
}

const broken = (name: string): Agent =>
  agent({ name, description: 'Fails.', model: () => Promise.reject(fatal('no luck')) })
const good = (name: string): Agent => agent({ name, description: 'Works.', model: scripted('done') })
const hard = { code: 'model.bad-request' }

test('workers that failed, ran into a limit or out of time are named, in the order in which they ended', async () => {
  const endless = agent({
    name: 'endless',
    description: 'Goes on.',
    model: scripted(calls(['look', {}])),
    tools: [tool({ name: 'look', execute: () => 'nothing' })],
    limits: { turns: 2 },
  })
  const slow = agent({
    name: 'slow',
    description: 'Waits.',
    run: (ctx) => ctx.next(ctx.ask('timer', { until: new Date(ctx.now().getTime() + 60_000) })).then(() => 'late'),
  })
  const root = supervisor({
    name: 'root',
    model: scripted(
      delegates(['broken', 'x']),
      delegates(['good', 'x'], ['endless', 'x']),
      delegates(['slow', 'x']),
      'final',
    ),
    workers: [broken('broken'), good('good'), endless, slow],
    delegation: { workers: { slow: { timeoutMs: 20 } } },
  })
  expect(await failuresOf(root)).toEqual({
    failures: [
      { worker: 'broken', ...hard },
      { worker: 'endless', code: 'limit.reached' },
      { worker: 'slow', code: 'effect.timed-out' },
    ],
    failureCount: undefined,
  })
})

test('the last attempt counts; a tool that fails is no worker', async () => {
  let tries = 0
  const flaky = agent({
    name: 'flaky',
    description: 'Fails once.',
    run: () => {
      if (tries++ === 0) throw new FailureError(failure('worker.failed', 'try again', 'transport'))
      return 'done'
    },
  })
  const root = supervisor({
    name: 'root',
    model: scripted(delegates(['flaky', 'x']), calls(['bad', {}]), 'final'),
    workers: [flaky],
    tools: [tool({ name: 'bad', run: () => Promise.reject(new Error('no')) })],
    delegation: { retry: { attempts: 2, backoffMs: 1 } },
  })
  expect(await failuresOf(root)).toEqual({})
  expect(tries).toBe(2)
})

test('at every depth, once: a leader that failed stands for what is below it', async () => {
  const mid = () =>
    supervisor({
      name: 'mid',
      description: 'Leads.',
      model: scripted(delegates(['deep', 'x']), 'mid is done'),
      workers: [broken('deep')],
    })
  const lost = sequential({ name: 'lost', description: 'Fails with its member.', agents: [broken('member')] })
  const root = supervisor({
    name: 'root',
    model: scripted(delegates(['mid', 'x']), delegates(['lost', 'x']), 'final'),
    workers: [mid(), lost],
  })
  expect(await failuresOf(root)).toEqual({
    failures: [
      { worker: 'deep', ...hard },
      { worker: 'lost', ...hard },
    ],
  })
  // a flow that gives the answer of its member as its own says the same once
  expect(await failuresOf(sequential({ name: 'flow', agents: [mid()] }))).toEqual({
    failures: [{ worker: 'deep', ...hard }],
  })
})

test('who was stopped is no failure, nor who failed in a race that another won', async () => {
  const race = agent({
    name: 'race',
    run: async (ctx) => {
      const answer = await delegateToSeveral(ctx, [broken('broken'), good('good')], 'x', { keep: 'first' })
      return answer.status
    },
    workers: [broken('broken'), good('good')],
  })
  expect(await failuresOf(race)).toEqual({})
  const none = agent({
    name: 'none',
    run: async (ctx) => {
      const answer = await delegateToSeveral(ctx, [broken('one'), broken('two')], 'x', { keep: 'first' })
      return answer.status
    },
    workers: [broken('one'), broken('two')],
  })
  expect(await failuresOf(none)).toEqual({
    failures: [
      { worker: 'one', ...hard },
      { worker: 'two', ...hard },
    ],
  })
})

test('of many the first twenty are named, and how many there are', async () => {
  const root = agent({
    name: 'root',
    run: async (ctx) => {
      for (let i = 0; i < 25; i++) await delegate(ctx, broken('broken'), `number ${i}`)
      return 'final'
    },
    workers: [broken('broken')],
  })
  const { failures, failureCount } = await failuresOf(root)
  expect([(failures as Json[]).length, failureCount]).toEqual([20, 25])
})

test('a task of a plan that failed, and that its team tolerates', async () => {
  const worker = agent({
    name: 'worker',
    description: 'Works.',
    run: (_ctx, brief: string) => {
      if (brief.startsWith('bad')) throw new FailureError(failure('worker.failed', 'no luck', 'validation'))
      return 'done'
    },
  })
  const subtasks = ['bad', 'b', 'c'].map((id) => ({ id, description: id }))
  const root = team({ name: 'crew', roles: { generalist: worker }, planner: { subtasks }, retry: { attempts: 1 } })
  expect(await failuresOf(root)).toEqual({ failures: [{ worker: 'worker', code: 'worker.failed' }] })
})

test('a process that goes on from the journal says the same', async () => {
  const root = agent({
    name: 'root',
    run: async (ctx) => {
      await delegate(ctx, broken('broken'), 'x')
      return (await interrupt(ctx, 'well?')) as string
    },
    workers: [broken('broken')],
  })
  const first = await runtimeOf([root], { store: store() })
  const begun = await first.start(root, 'go', { runId: 'r' })
  const state = await begun.until('waiting')
  await first.close()
  const run = (await runtimeOf([root], { store: store() })).handle('r')
  await run.answer({ interruptId: 'questions' in state ? state.questions[0]!.id : '', value: 'yes' })
  expect(await run.outcome()).toMatchObject({ output: 'yes', failures: [{ worker: 'broken', ...hard }] })
})
