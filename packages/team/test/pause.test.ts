/** A pause of a team at work, second by second: whoever works goes on with what needs no effect, and nobody begins. */
import { expect, test } from 'vitest'
import { sleep, teammate, type Agent } from '@reeve/agent'
import { team, type Subtask, type TeamOptions } from '../src/index.ts'
import { staged, worker, type Doings, type Line } from './trace.ts'

const task = (id: string, ...dependencies: string[]): Subtask => ({
  id,
  description: id,
  ...(dependencies.length === 0 ? {} : { dependencies }),
})

/** What happens to tasks in a team that is paused in one second and goes on in another. */
async function paused(
  doings: Doings,
  subtasks: readonly Subtask[],
  from: number,
  to: number,
  options: Partial<TeamOptions<string>> = {},
): Promise<readonly Line[]> {
  const root = team({
    name: 'analysts',
    roles: { generalist: worker(doings) },
    planner: { subtasks },
    ...options,
  }) as unknown as Agent
  const stage = await staged(root)
  await stage.until(from)
  await stage.run.control.pause({ reason: 'lunch', by: 'ann' })
  await stage.run.control.pause({ reason: 'another', by: 'bob' })
  await stage.until(to)
  expect((await stage.run.view()).pause).toMatchObject({ reason: 'lunch', by: 'ann' })
  await stage.run.control.resume()
  const { lines, outcome, events } = await stage.end()
  expect(outcome.status).toBe('completed')
  expect(events.filter(({ event }) => event.type === 'run.resumed')).toHaveLength(1)
  return lines.filter(([, what]) => /^\w+ (?:begins|succeeded)/.test(what))
}

test('team C65: one at a time, paused at 5 s: the first ends at 10 s; at 60 s the second begins', async () => {
  expect(
    await paused({ A: 10, B: 10, C: 10 }, [task('A'), task('B'), task('C')], 5, 60, { strategy: 'sequential' }),
  ).toEqual([
    [0, 'A begins'],
    [10, 'A succeeded'],
    [60, 'B begins'],
    [70, 'B succeeded'],
    [70, 'C begins'],
    [80, 'C succeeded'],
  ])
})

test('team C66: queued tasks do not begin, even when others end', async () => {
  expect(
    await paused({ A: 10, B: 20, C: 10, D: 3 }, [task('A'), task('B'), task('C'), task('D')], 5, 60, {
      concurrency: 2,
    }),
  ).toEqual([
    [0, 'A begins'],
    [0, 'B begins'],
    [10, 'A succeeded'],
    [20, 'B succeeded'],
    [60, 'C begins'],
    [60, 'D begins'],
    [63, 'D succeeded'],
    [70, 'C succeeded'],
  ])
})

test('team C98: S2i: paused at 20 s, E ends at 33 s, F begins at 60 s and ends at 70 s', async () => {
  const plan = [...['A', 'B', 'C', 'D'].map((id) => task(id)), task('E', 'A', 'B', 'C', 'D'), task('F', 'E')]
  const lines = await paused({ A: 15, B: 12, C: 18, D: 15, E: 15, F: 10 }, plan, 20, 60)
  expect(lines.slice(-5)).toEqual([
    [18, 'C succeeded'],
    [18, 'E begins'],
    [33, 'E succeeded'],
    [60, 'F begins'],
    [70, 'F succeeded'],
  ])
})

test('team C66: retries and recruits begin after the pause', async () => {
  const doings: Doings = {
    A: async (ctx) => {
      await sleep(ctx, 2_000)
      if (teammate(ctx).attempt === 1) throw new Error('not yet')
      return 'a'
    },
    B: async (ctx) => {
      await sleep(ctx, 4_000)
      teammate(ctx).post({ to: '*', content: 'hello' })
      return 'b'
    },
  }
  expect(await paused(doings, [task('A'), task('B')], 3, 60, { retry: { backoffMs: 5_000, jitter: false } })).toEqual([
    [0, 'A begins'],
    [0, 'B begins'],
    [4, 'B succeeded'],
    [60, 'A begins again (2)'],
    [62, 'A succeeded after 2'],
  ])
})

test('team C65: a pause without effect changes nothing; a cancel during a pause ends everything', async () => {
  expect(await paused({ A: 10, B: 10 }, [task('A'), task('B', 'A')], 2, 8)).toEqual([
    [0, 'A begins'],
    [10, 'A succeeded'],
    [10, 'B begins'],
    [20, 'B succeeded'],
  ])
  const root = team({
    name: 'analysts',
    roles: { generalist: worker({ A: 10 }) },
    planner: { subtasks: [task('A'), task('B', 'A')] },
  }) as unknown as Agent
  const stage = await staged(root)
  await stage.until(5)
  await stage.run.control.pause()
  await stage.until(30)
  await stage.run.control.cancel('enough')
  const { outcome, lines } = await stage.end()
  expect(outcome).toMatchObject({ status: 'cancelled', reason: 'enough' })
  expect(lines.some(([, what]) => what === 'B begins')).toBe(false)
})
