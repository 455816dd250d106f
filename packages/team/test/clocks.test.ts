/** Clocks of working time stand while a run is paused, or a human has it (K11; spec team R-13). */
import { expect, test } from 'vitest'
import { agent, sleep } from '@reeve/agent'
import { supervisor } from '@reeve/supervisor'
import { team } from '../src/index.ts'
import { delegates, scripted } from '../../../test/scenario/team.ts'
import { staged } from './trace.ts'

/** Works for ten seconds between two steps that a pause holds back. */
const worker = agent({
  name: 'worker',
  description: 'Works.',
  run: async (ctx) => {
    await ctx.step('first', () => 1)
    await sleep(ctx, 10_000)
    return `${await ctx.step('second', () => 2)}`
  },
})
const crew = team({
  name: 'crew',
  roles: { generalist: worker },
  retry: { attempts: 1 },
  planner: {
    subtasks: [
      { id: 'A', description: 'A' },
      { id: 'B', description: 'B', dependencies: ['A'] },
    ],
  },
})

test.each([['pause'], ['takeover']])(
  'K8: an hour of %s is no other’s time: neither a task nor its dependents time out',
  async (how) => {
    const stage = await staged(crew)
    const { run } = stage
    await stage.until(5)
    if (how === 'pause') await run.control.pause()
    else await run.control.takeOver({ by: 'ann' })
    await stage.until(3_605)
    if (how === 'pause') await run.control.resume()
    else await run.control.handBack({ by: 'ann' })
    const { outcome, lines } = await stage.end()
    expect(outcome.status).toBe('completed')
    expect(lines.filter(([, what]) => what.includes('succeeded'))).toEqual([
      [3_605, 'A succeeded'],
      [3_615, 'B succeeded'],
    ])
  },
)

test('K8: work before and after a pause adds up: ten minutes of work last ten minutes plus the pause', async () => {
  const idle = agent({
    name: 'idle',
    description: 'Never ends.',
    run: async (ctx) => {
      await sleep(ctx, 100_000_000)
      return 'never'
    },
  })
  const lazy = team({
    name: 'lazy',
    roles: { generalist: idle },
    retry: { attempts: 1 },
    planner: {
      subtasks: [
        { id: 'A', description: 'A' },
        { id: 'B', description: 'B' },
      ],
    },
  })
  const stage = await staged(lazy)
  const { run } = stage
  await stage.until(300)
  await run.control.pause()
  await stage.until(900)
  await run.control.resume()
  const { lines } = await stage.end()
  expect(lines.filter(([, what]) => what.includes(' failed: '))).toEqual([
    [1_200, 'A failed: effect.timed-out'],
    [1_200, 'B failed: effect.timed-out'],
  ])
})

test('K8: so with the time that a supervisor gives a worker', async () => {
  const boss = supervisor({
    name: 'boss',
    workers: [worker],
    model: scripted(delegates(['worker', 'go', 'c1']), 'done'),
    delegation: { timeoutMs: 60_000 },
  })
  const stage = await staged(boss)
  const { run } = stage
  await stage.until(5)
  await run.control.pause()
  await stage.until(3_600)
  await run.control.resume()
  const { outcome, events } = await stage.end()
  expect(outcome).toMatchObject({ status: 'completed', output: 'done' })
  expect(events.some(({ event }) => event.type === 'worker.settled' && event.outcome.status === 'completed')).toBe(true)
})

test('K8: and with the time in which an answer is measured', async () => {
  const judge = agent({
    name: 'judge',
    description: 'Judges.',
    run: async (ctx) => {
      await sleep(ctx, 10_000)
      return ctx.step('look', () => true)
    },
  })
  const writer = agent({
    name: 'writer',
    model: scripted('a poem'),
    isComplete: { scorers: [judge], timeoutMs: 60_000 },
  })
  const stage = await staged(writer)
  const { run } = stage
  await stage.until(5)
  await run.control.pause()
  await stage.until(3_600)
  await run.control.resume()
  const { outcome, events } = await stage.end()
  expect(outcome).toMatchObject({ status: 'completed', output: 'a poem' })
  expect(
    events.flatMap(({ event }) => (event.type === 'completion.scored' ? [[event.passed, event.timedOut]] : [])),
  ).toEqual([[true, false]])
})
