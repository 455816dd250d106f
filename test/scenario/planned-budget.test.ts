/** What a planned team may use: spec team R-20, C99; exact times are in packages/team/test/budget-runs.test.ts. */
import { expect, test } from 'vitest'
import { agent } from '@reeve/agent'
import { totalUsage } from '@reeve/core'
import type { ModelRequest } from '@reeve/model'
import { team, type Plan } from '@reeve/team'
import { eventsOf, runtimeOf, store } from './team.ts'

/** Somebody whose model uses as many tokens as its task says, `a: 4000`, and waits for `gate` if there is one. */
const writerOf = (asked: string[], gate?: Promise<void>) =>
  agent({
    name: 'writer',
    description: 'Writes.',
    model: async ({ messages }: ModelRequest) => {
      const [, task, tokens] = /(\w): (\d+)/.exec(JSON.stringify(messages)) ?? []
      asked.push(task!)
      await gate
      return { text: `done ${task}`, usage: { input: Number(tokens), output: 0, usd: 0 } }
    },
  })
const tasks = (list: Readonly<Record<string, number>>, estimate: number): Plan => ({
  subtasks: Object.entries(list).map(([id, tokens]) => ({
    id,
    description: `${id}: ${tokens}`,
    estimate: { tokens: estimate },
  })),
})

test('team C99: with 4,000 of 10,000 each for two, a third is refused; an overrun counts as used', async () => {
  const asked: string[] = []
  const analysts = team({
    name: 'analysts',
    roles: { generalist: writerOf(asked) },
    planner: tasks({ a: 6_000, b: 1_000, c: 1_000 }, 4_000),
    budget: { tokens: 10_000 },
  })
  const runtime = await runtimeOf([analysts])
  const run = await runtime.start(analysts, 'Go')
  const outcome = await run.outcome()
  expect(outcome).toMatchObject({
    status: 'completed',
    results: {
      partial: true,
      coverage: { succeeded: 2, planned: 3 },
      tasks: [{}, {}, { status: 'failed', attempts: 0, failure: { code: 'budget.exceeded' } }],
    },
  })
  expect(asked.toSorted()).toEqual(['a', 'b'])
  const usage = outcome.status === 'completed' ? outcome.results!.tasks.map((task) => totalUsage(task.usage).input) : []
  expect(usage).toEqual([6_000, 1_000, 0])
  const { teams } = await run.view()
  expect(teams?.[0]?.budget).toMatchObject({
    limits: { tokens: 10_000 },
    spent: { tokens: 7_000 },
    reserved: { tokens: 0 },
  })
})

test('team C99: a soft budget warns, and lets it begin', async () => {
  const asked: string[] = []
  const analysts = team({
    name: 'analysts',
    roles: { generalist: writerOf(asked) },
    planner: tasks({ a: 6_000, b: 1_000, c: 1_000 }, 4_000),
    budget: { tokens: 10_000, mode: 'soft' },
  })
  const runtime = await runtimeOf([analysts])
  const run = await runtime.start(analysts, 'Go')
  expect(await run.outcome()).toMatchObject({ status: 'completed', results: { partial: false } })
  const events = await eventsOf(run)
  expect(events.filter(({ type }) => type === 'budget.warned')).toMatchObject([
    { task: 'c', of: 'tokens', wanted: 4_000, left: 2_000 },
  ])
})

test('used up: what has not begun is skipped, and the answer says that it is partial', async () => {
  const asked: string[] = []
  const analysts = team({
    name: 'analysts',
    roles: { generalist: writerOf(asked) },
    planner: tasks({ a: 1_000, b: 10, c: 10 }, 0),
    budget: { tokens: 1_000 },
    concurrency: 1,
  })
  const runtime = await runtimeOf([analysts])
  const outcome = await runtime.run(analysts, 'Go')
  expect(asked).toEqual(['a'])
  expect(outcome).toMatchObject({
    status: 'completed',
    output: expect.stringContaining('done a') as string,
    results: {
      partial: true,
      tasks: [
        { status: 'succeeded' },
        { status: 'skipped', reason: 'the budget is used up' },
        { status: 'skipped', reason: 'the budget is used up' },
      ],
    },
  })
})

test('a human is asked for more, over a restart: the question stays, and so does what was spent', async () => {
  const asked: string[] = []
  const analysts = team({
    name: 'analysts',
    roles: { generalist: writerOf(asked) },
    planner: tasks({ a: 1_000, b: 10 }, 0),
    budget: { tokens: 1_000, onExhausted: 'ask' },
    concurrency: 1,
  })
  const file = store()
  const before = await runtimeOf([analysts], { store: file })
  const { id } = await before.start(analysts, 'Go')
  await before.handle(id).until('waiting')
  await before.close()
  const after = await runtimeOf([analysts], { store: file })
  const run = after.handle(id)
  const [asks] = (await run.view()).interrupts.filter(({ open }) => open)
  expect(asks?.question).toMatchObject({ type: 'budget', of: 'tokens', limit: 1_000, spent: 1_000 })
  await after.answer({ interruptId: asks!.id, value: 500 })
  expect(await run.outcome()).toMatchObject({ status: 'completed', results: { partial: false } })
  expect(asked).toEqual(['a', 'b'])
  expect((await run.view()).teams?.[0]?.budget).toMatchObject({ limits: { tokens: 1_500 }, spent: { tokens: 1_010 } })
})
