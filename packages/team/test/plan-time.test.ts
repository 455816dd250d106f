/** Planning and time: exact, on a clock in the test's hand. Spec team R-2b, R-16 for plans. */
import { afterEach, expect, test } from 'vitest'
import type { Json } from '@reeve/core'
import { agent, sleep, type Agent } from '@reeve/agent'
import type { Recorded } from '@reeve/journal'
import { createRuntime, type Run, type RunWaiting, type Runtime } from '@reeve/runtime'
import { team, type TeamOptions } from '../src/index.ts'
import { manualClock, type ManualClock } from '@reeve/testing'

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

const sleeper = agent({
  name: 'sleeper',
  description: 'Sleeps ten seconds.',
  run: async (ctx, brief: string) => {
    await sleep(ctx, 10_000)
    return brief
  },
})
const started = async (
  options: Partial<TeamOptions<'t'>>,
): Promise<{ readonly run: Run<Json>; readonly clock: ManualClock; readonly led: Agent }> => {
  const clock = manualClock()
  const led = team({ name: 't', roles: { generalist: sleeper }, ...options })
  const runtime = await createRuntime({ store: ':memory:', agents: [led], clock, strict: true })
  open.push(runtime)
  return { run: await runtime.start(led, 'Go'), clock, led }
}
const tasks = (count: number): { id: string; description: string }[] =>
  Array.from({ length: count }, (_, i) => ({ id: `t${i}`, description: 'Do' }))
const turns = (count: number): Promise<void> =>
  new Promise((resolve) => (count === 0 ? resolve() : setImmediate(() => resolve(turns(count - 1)))))

/** Lets time pass whenever nothing else happens, until the run has ended. */
async function played(run: Run<Json>, clock: ManualClock): Promise<readonly Recorded[]> {
  let ended = false
  run.outcome().then(
    () => (ended = true),
    () => (ended = true),
  )
  for (let i = 0; !ended && i < 1_000; i++) {
    await turns(20)
    if (!ended) clock.advanceToNext()
  }
  const list: Recorded[] = []
  for await (const event of run.events()) list.push(event)
  return list
}
const took = (events: readonly Recorded[]): number => {
  const begun = events.find(({ event }) => event.type === 'task.started')!
  const ended = events.findLast(({ event }) => event.type === 'task.settled')!
  return ended.at - begun.at
}

test.each([
  ['no limit', {}, {}, 10_000],
  ['a limit of 0', { concurrencyLimit: 0 }, {}, 10_000],
  ['a limit that is none', { concurrencyLimit: NaN }, {}, 10_000],
  ['a limit of 1', { concurrencyLimit: 1 }, {}, 50_000],
  ['a limit of 2', { concurrencyLimit: 2 }, {}, 30_000],
  ["the team's own limit before that of the plan", { concurrencyLimit: 1 }, { concurrency: 3 }, 20_000],
  ['a sequential plan', { strategy: 'sequential' as const }, {}, 50_000],
])('team C09: five independent tasks of ten seconds with %s', async (_name, plan, options, ms) => {
  const { run, clock } = await started({ planner: { subtasks: tasks(5), ...plan }, ...options })
  const events = await played(run, clock)
  expect(took(events)).toBe(ms)
  expect(events.filter(({ event }) => event.type === 'task.settled')).toHaveLength(5)
})

test('team C09: six tasks wait for one of the five places', async () => {
  const { run, clock } = await started({ planner: { subtasks: tasks(6) } })
  expect(took(await played(run, clock))).toBe(20_000)
})

test('team C81: a plan not approved in time is not carried out, and counts as rejected by no one', async () => {
  const { run, clock } = await started({ planner: { subtasks: tasks(1) }, approvePlan: true })
  const state = (await run.until('waiting')) as unknown as RunWaiting
  expect(state.waiting).toMatchObject([{ tool: 'plan' }])
  clock.advance(30 * 60_000 - 1)
  await turns(50)
  expect(((await run.until('waiting')) as unknown as RunWaiting).waiting).toHaveLength(1)
  clock.advance(2)
  const outcome = await run.outcome()
  expect(outcome).toMatchObject({
    status: 'failed',
    failure: { code: 'work.rejected', class: 'timeout', retryable: false, details: { how: 'timed-out' } },
  })
  expect(JSON.stringify(outcome)).toContain('nobody approved the plan before its deadline')
  const events = await played(run, clock)
  expect(events.some(({ event }) => event.type === 'task.started')).toBe(false)
  expect(events.find(({ event }) => event.type === 'approval.resolved')?.event).toMatchObject({
    resolution: 'timed-out-rejected',
  })
})

test('team C89: a run cancelled while its plan waits for approval is cancelled; no task begins', async () => {
  const { run, clock } = await started({ planner: { subtasks: tasks(1) }, approvePlan: true })
  await run.until('waiting')
  await run.control.cancel('never mind')
  expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
  const events = await played(run, clock)
  expect(events.some(({ event }) => event.type === 'plan.created' || event.type === 'worker.started')).toBe(false)
})

test('team C10: a run cancelled during planning is cancelled, with a fallback too', async () => {
  const slow = agent({
    name: 'slow',
    description: 'Plans for hours.',
    run: async (ctx) => (await sleep(ctx, 3_600_000), 'late'),
  })
  const { run, clock } = await started({ planner: slow, fallback: true })
  await turns(50)
  await run.control.cancel('never mind')
  expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
  expect((await played(run, clock)).some(({ event }) => event.type === 'plan.created')).toBe(false)
})
