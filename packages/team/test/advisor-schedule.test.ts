/**
 * What advice does to the schedule, to the second: spec team 1.12, X24, cases C59, C61, C63, on a clock in the test's
 * hand.
 */
import { expect, test } from 'vitest'
import { agent, sleep, type Agent } from '@reeve/agent'
import type { Context } from '@reeve/engine'
import { team, type Advisor } from '../src/index.ts'
import { played } from './trace.ts'

const worker = agent({
  name: 'worker',
  description: 'Works for ten seconds.',
  run: async (ctx: Context) => {
    await sleep(ctx, 10_000)
    return 'done'
  },
})
const teamWith = (advisor: Advisor | undefined, strategy?: 'sequential' | 'parallel'): Agent =>
  team({
    name: 'analysts',
    roles: { generalist: worker },
    planner: {
      subtasks: ['a', 'b', 'c'].map((id) => ({ id, description: id })),
      ...(strategy === undefined ? {} : { strategy }),
    },
    ...(advisor === undefined ? {} : { advisor }),
  })
const advises =
  (strategy: 'sequential' | 'parallel' | 'hybrid', confidence: number): Advisor =>
  () => ({ strategy, confidence, warnings: [] })

/** In which seconds tasks began. */
async function begins(root: Agent): Promise<readonly number[]> {
  const { outcome, events } = await played(root)
  expect(outcome).toMatchObject({ status: 'completed' })
  const at = events.filter(({ event }) => event.type === 'task.started').map(({ at: moment }) => moment)
  return at.map((moment) => (moment - events[0]!.at) / 1_000)
}

test('team C59: sequential with 0.9: three tasks of ten seconds begin at 0, 10 and 20', async () => {
  expect(await begins(teamWith(undefined))).toEqual([0, 0, 0])
  expect(await begins(teamWith(advises('sequential', 0.9)))).toEqual([0, 10, 20])
  expect(await begins(teamWith(advises('sequential', 0.9), 'parallel'))).toEqual([0, 10, 20])
})

test('team C61: with exactly 0.8 it is a hint, and the schedule is that of the plan', async () => {
  expect(await begins(teamWith(advises('sequential', 0.8)))).toEqual([0, 0, 0])
  expect(await begins(teamWith(advises('parallel', 0.8), 'sequential'))).toEqual([0, 10, 20])
  expect(await begins(teamWith(advises('sequential', 0.8 + Number.EPSILON)))).toEqual([0, 10, 20])
})

test('team X24: parallel and hybrid of more than 0.8 let a sequential plan go at once', async () => {
  expect(await begins(teamWith(advises('parallel', 0.81), 'sequential'))).toEqual([0, 0, 0])
  expect(await begins(teamWith(advises('hybrid', 1), 'sequential'))).toEqual([0, 0, 0])
})
