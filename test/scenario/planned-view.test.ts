/** What is seen of a planned team while it works and afterwards: spec team 1.9, 1.21. */
import { expect, test } from 'vitest'
import { agent, sleep, teammate, type TeamEntry } from '@reeve/agent'
import type { PlanResults } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { TeamView } from '@reeve/journal'
import { interrupt } from '@reeve/oversight'
import type { Run } from '@reeve/runtime'
import { team } from '@reeve/team'
import { runtimeOf, waiting } from './team.ts'

const teamOf = async (run: Run<never> | Run<unknown> | Run): Promise<TeamView> => (await run.view()).teams[0]!
const statuses = ({ plan }: TeamView): Record<string, string> =>
  Object.fromEntries(plan.tasks.map(({ task, status }) => [task, status]))
const members = (view: TeamView): Record<string, string> =>
  Object.fromEntries(view.members.map(({ member, status }) => [member, status]))

const asker = agent({
  name: 'asker',
  description: 'Asks.',
  run: (ctx: Context) => interrupt(ctx, { question: 'Which?' }),
})
const worker = agent({
  name: 'worker',
  description: 'Works.',
  run: (_ctx: Context, brief: string) => brief.split('\n')[0]!,
})

test('team C14: waits for humans and tasks, and pauses are shown; also after the end, always as a copy', async () => {
  const crew = team({
    name: 'crew',
    roles: { asker, generalist: worker },
    planner: {
      subtasks: [
        { id: 'ask', role: 'asker', description: 'Ask' },
        { id: 'other', description: 'Other' },
        { id: 'last', description: 'Last', dependencies: ['ask', 'other'] },
      ],
    },
  })
  const runtime = await runtimeOf([crew])
  const run = await runtime.start(crew, 'Go')
  const { waiting: approvals, questions } = await waiting(run)
  expect(approvals).toEqual([])
  const view = await teamOf(run)
  expect(statuses(view)).toEqual({ ask: 'awaiting_approval', other: 'succeeded', last: 'waiting' })
  expect(members(view)).toEqual({ asker_1: 'running', generalist_1: 'completed', generalist_2: 'pending' })
  expect(view.plan.tasks[2]!.waitsFor).toEqual(['ask'])

  await run.control.pause()
  await expect.poll(async () => (await run.view()).status).toBe('paused')
  expect(members(await teamOf(run))).toEqual({ asker_1: 'paused', generalist_1: 'completed', generalist_2: 'pending' })
  await run.control.resume()
  ;(view.members as unknown[]).length = 0
  Object.assign(view.plan.tasks[0]!, { status: 'failed' })
  await run.answer({ interruptId: questions[0]!.id, value: 'this' })
  await run.outcome()

  const ended = await teamOf(run)
  expect(statuses(ended)).toEqual({ ask: 'succeeded', other: 'succeeded', last: 'succeeded' })
  expect(ended).toMatchObject({
    state: 'completed',
    agent: 'crew',
    coverage: { succeeded: 3, planned: 3 },
    answer: { by: 'concatenation' },
  })
  expect(await teamOf(runtime.handle(run.id))).toEqual(ended)
})

test('a cancelled run shows no member at work', async () => {
  const crew = team({
    name: 'crew',
    roles: { asker, generalist: worker },
    planner: {
      subtasks: [
        { id: 'ask', role: 'asker', description: 'Ask' },
        { id: 'last', description: 'Last', dependencies: ['ask'] },
      ],
    },
  })
  const runtime = await runtimeOf([crew])
  const run = await runtime.start(crew, 'Go')
  await waiting(run)
  await run.control.cancel('enough')
  await run.outcome()
  const view = await teamOf(run)
  expect([statuses(view), members(view)]).toEqual([
    { ask: 'cancelled', last: 'cancelled' },
    { asker_1: 'cancelled', generalist_1: 'cancelled' },
  ])
})

test('K1: the view agrees with the team on each task and member: attempts, failures, recruits, retired', async () => {
  const flaky = agent({
    name: 'flaky',
    description: 'Fails at first.',
    run: (ctx: Context) => {
      const { attempt, task } = teammate(ctx)
      if (task === 'broken' || attempt < 3) throw new Error(`try ${attempt}`)
      return 'at last'
    },
  })
  const boss = agent({
    name: 'boss',
    description: 'Asks for help, lets somebody go.',
    run: async (ctx: Context) => {
      const me = teammate(ctx)
      const recruited = await me.recruit({ role: 'helper', description: 'Help' })
      const again = await me.recruit({ role: 'helper', description: ' help ' })
      me.post({ to: 'dynamic_helper_1', content: 'Now.' })
      const none = await me.recruit({ role: 'helper', description: ' ' })
      const retired = await me.retire({ member: 'slow_1', mode: 'force' })
      return [recruited.admitted, again.admitted, none.admitted, retired.retired]
    },
  })
  const slow = agent({
    name: 'slow',
    description: 'Takes its time, but for whoever comes after somebody else.',
    run: async (ctx: Context) => {
      if (teammate(ctx).member === 'slow_1') await sleep(ctx, 60_000)
      return 'done'
    },
  })
  const helper = agent({
    name: 'helper',
    description: 'Helps when it is told to.',
    run: async (ctx: Context) => (await teammate(ctx).nextMail({ from: 'boss_1' })).length,
  })
  const watcher = agent({
    name: 'watcher',
    description: 'Looks.',
    run: async (ctx: Context) => (await teammate(ctx).team()) as never,
  })
  const crew = team({
    name: 'crew',
    roles: { flaky, boss, slow, helper, watcher, generalist: worker },
    retry: { backoffMs: 0 },
    planner: {
      subtasks: [
        { id: 'slow', role: 'slow', description: 'Slow' },
        { id: 'boss', role: 'boss', description: 'Boss' },
        { id: 'flaky', role: 'flaky', description: 'Flaky' },
        { id: 'broken', role: 'flaky', description: 'Broken' },
        { id: 'needs', description: 'Needs', dependencies: ['broken'], onMissing: 'require' },
        {
          id: 'watch',
          role: 'watcher',
          description: 'Watch',
          dependencies: ['slow', 'boss', 'flaky', 'broken', 'needs'],
        },
      ],
    },
  })
  const runtime = await runtimeOf([crew])
  const run = await runtime.start(crew, 'Go')
  const outcome = await run.outcome()
  const { tasks, coverage } = (outcome as { results: PlanResults }).results
  const view = await teamOf(run)
  expect(tasks.find(({ task }) => task === 'boss')?.output).toEqual([true, true, false, true])
  expect(view.coverage).toEqual(coverage)
  const told = view.plan.tasks.map(({ task, member, role, status, attempts, failure, reason, usage, recruit }) => ({
    task,
    member,
    role,
    status,
    attempts,
    ...(failure === undefined || status === 'succeeded' ? undefined : { failure }),
    ...(reason === undefined ? undefined : { reason }),
    ...(recruit === undefined ? undefined : { recruited: true }),
    usage,
  }))
  expect(told).toEqual(tasks.map(({ output: _output, ...each }) => each))

  const seen = tasks.find(({ task }) => task === 'watch')?.output as unknown as readonly TeamEntry[]
  const fields = ({ member, role, status, task, recruited, attempts }: Omit<TeamEntry, 'lastError'>): unknown =>
    // who looks was at work then; a try that was stopped by force is none to the team, and one that began to whoever
    // looks on
    member === 'watcher_1'
      ? member
      : { member, role, status, task, recruited, attempts: status === 'retired' ? '' : attempts }
  expect(view.members.map(({ lastError: _lastError, ...each }) => fields(each))).toEqual(seen.map(fields))
  expect(view.members.find(({ member }) => member === 'slow_1')).toMatchObject({
    status: 'retired',
    retirement: { mode: 'force' },
  })
  expect(view.recruiting.map(({ admitted, duplicate }) => [admitted, duplicate])).toContainEqual([true, true])
  const worked = (await run.view()).activations.flatMap(({ task, recruited }) =>
    task === undefined ? [] : [`${task}${recruited ? ' (recruited)' : ''}`],
  )
  expect(worked.toSorted()).toEqual([
    'boss',
    'broken',
    'broken',
    'broken',
    'dynamic_helper_1 (recruited)',
    'flaky',
    'flaky',
    'flaky',
    'slow',
    'slow',
    'watch',
  ])
})
