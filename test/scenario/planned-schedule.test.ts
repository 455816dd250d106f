/**
 * What a scheduler of a planned team promises wherever it runs; the exact seconds are in
 * packages/team/test/{s1,schedule,topics}.test.ts.
 */
import { expect, test } from 'vitest'
import { agent, step, teammate, type Agent } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { interrupt } from '@reeve/oversight'
import { team, type Subtask, type TeamOptions } from '@reeve/team'
import { eventsOf, fatal, runtimeOf } from './team.ts'

type Doing = (ctx: Context) => Promise<Json>
const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })

function crew(
  subtasks: readonly Subtask[],
  doings: Readonly<Record<string, Doing>> = {},
  options: Partial<TeamOptions<string>> = {},
): Agent {
  const worker = agent({
    name: 'worker',
    description: 'Does what the task says.',
    run: async (ctx: Context, brief: string): Promise<Json> => (await doings[brief.split('\n')[0]!]?.(ctx)) ?? 'done',
  })
  return team({
    name: 'crew',
    roles: { generalist: worker },
    planner: { subtasks },
    retry: { attempts: 1 },
    ...options,
  })
}
const fails: Doing = (ctx) =>
  step(ctx, 'work', () => {
    throw fatal('no luck')
  })
const gives =
  (value: Json): Doing =>
  (ctx) =>
    step(ctx, 'work', () => value)

/** What happened to its tasks and topics, in order. */
async function course(root: Agent): Promise<readonly string[]> {
  const runtime = await runtimeOf([root])
  const run = await runtime.start(root, 'Go')
  await run.outcome()
  return (await eventsOf(run)).flatMap((event) => {
    if (event.type === 'task.started') return [`${event.task} begins`]
    if (event.type === 'task.unblocked') return [`${event.task} is unblocked`]
    if (event.type === 'task.settled') return [`${event.task} ${event.status}`]
    if (event.type === 'topic.published') return [`${event.task} publishes ${event.topic}`]
    if (event.type === 'topic.refused') return [`${event.task} may not publish: ${event.reason}`]
    return []
  })
}

test('team C17: one permit, and the first waits for the last', async () => {
  const root = crew(
    [task('first', { dependencies: ['last'] }), task('between'), task('last')],
    { last: gives('l') },
    { concurrency: 1 },
  )
  expect((await course(root)).filter((what) => what.endsWith('begins'))).toEqual([
    'between begins',
    'last begins',
    'first begins',
  ])
})

for (const [policy, end] of [
  ['tolerate', ['b begins', 'b succeeded']],
  ['require', ['b skipped']],
  ['fail', ['b failed']],
] as const)
  test(`team C19: a dependency has failed: ${policy}`, async () => {
    const root = crew(
      [task('a'), task('b', { dependencies: ['a'], onMissing: policy })],
      { a: fails },
      { tolerance: 100 },
    )
    expect(await course(root)).toEqual(['a begins', 'a failed', ...end])
  })

test('team C22: a topic is published during work: its consumer begins while the producer waits for a human', async () => {
  const root = crew([task('c', { consumes: ['news'] }), task('p', { produces: ['news'] })], {
    p: async (ctx) => {
      await teammate(ctx).publish('news', { n: 1 })
      return interrupt(ctx, 'well?')
    },
    c: (ctx) => teammate(ctx).entries('news'),
  })
  const runtime = await runtimeOf([root])
  const run = await runtime.start(root, 'Go')
  await expect
    .poll(async () => (await run.view()).teams[0]?.plan.tasks.find((each) => each.task === 'c')?.status, {
      timeout: 20_000,
    })
    .toBe('succeeded')
  await expect.poll(async () => (await runtime.questions()).length, { timeout: 20_000 }).toBe(1)
  const [question] = await runtime.questions()
  await runtime.answer({ interruptId: question!.id, value: 'yes' })
  expect(await run.outcome()).toMatchObject({
    status: 'completed',
    results: { tasks: [{ output: [{ n: 1 }] }, { output: 'yes' }] },
  })
})

test('team C21: an unpublished topic: its consumer follows its policy and never was unblocked', async () => {
  const tasks = [
    task('p', { produces: ['news'] }),
    task('c', { consumes: ['news'] }),
    task('r', { consumes: ['news'], onMissing: 'require' }),
  ]
  expect(await course(crew(tasks, { p: fails }))).toEqual([
    'p begins',
    'p failed',
    'r skipped',
    'c begins',
    'c succeeded',
  ])
})

test('team C24: an entry that is too large is refused; its task has succeeded', async () => {
  const tasks = [task('p', { produces: ['news'] }), task('c', { consumes: ['news'], onMissing: 'require' })]
  const large = async (): Promise<Json> => 'x'.repeat(1024 * 1024 + 1)
  expect(await course(crew(tasks, { p: large }))).toEqual([
    'p begins',
    'p may not publish: too_large',
    'p succeeded',
    'c skipped',
  ])
})
