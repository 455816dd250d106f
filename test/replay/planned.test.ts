/**
 * Planned teams whose process dies at every point where it can: the same outcome and facts, and nothing recorded runs
 * again. Spec team C100, C101.
 */
import { describe, expect, test } from 'vitest'
import { agent, sleep, step, teammate, type Agent } from '@reeve/agent'
import { failure, FailureError, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { team, type Subtask, type TeamOptions } from '@reeve/team'
import { teamScenario, verifyJournal, type Scenario } from '@reeve/testing'
import { staged } from '../../packages/team/test/trace.ts'
import { diesEverywhere } from './dying.ts'
import { outside } from './resting.ts'

type Doing = (ctx: Context) => Promise<Json>
const worker = (doings: Readonly<Record<string, Doing>>): Agent =>
  agent({
    name: 'worker',
    description: 'Does what the task says.',
    run: async (ctx: Context, brief: string): Promise<Json> => {
      const task = brief.split('\n')[0]!
      return (await doings[task]?.(ctx)) ?? task.toLowerCase()
    },
  })
const naps =
  (seconds: number): Doing =>
  (ctx) =>
    sleep(ctx, seconds * 1_000).then(() => 'rested')
const effect =
  (name: string): Doing =>
  (ctx) =>
    step(ctx, name, () => name)
const hopeless: Doing = (ctx) =>
  step(ctx, 'hopeless', () => {
    throw new FailureError(failure('model.bad-request', 'no luck', 'validation'))
  })

function scenario(
  name: string,
  subtasks: readonly Subtask[],
  doings: Readonly<Record<string, Doing>>,
  options: Partial<TeamOptions<string>> = {},
): Scenario {
  const root = team({
    name: 'analysts',
    roles: { generalist: worker(doings) },
    planner: { subtasks },
    ...options,
  }) as unknown as Agent
  const made = teamScenario({ name, agents: [root], input: 'task', outside })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}
const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })
const after = (id: string, ...dependencies: string[]): Subtask => task(id, { dependencies })

const recruits: Doing = async (ctx) => {
  await sleep(ctx, 2_000)
  await teammate(ctx).recruit({ description: 'P', role: 'pricing_analyst' })
  return effect('c')(ctx)
}
const failsOnce: Doing = async (ctx) => {
  if (teammate(ctx).attempt === 1) throw new Error('not yet')
  return step(ctx, 'better', () => 'better')
}
const publishes: Doing = async (ctx) => {
  await teammate(ctx).publish('news', 'early')
  await sleep(ctx, 3_000)
  return effect('p')(ctx)
}

const played: readonly (readonly [Scenario, object])[] = [
  [
    scenario(
      'S1 in small: a recruit whom the next waits for',
      [task('A'), task('C'), after('E', 'A', 'C'), after('F', 'E')],
      {
        A: effect('a'),
        C: recruits,
        P: naps(3),
        E: naps(1),
        F: effect('f'),
      },
    ),
    { status: 'completed', results: { coverage: { succeeded: 4, planned: 4 } } },
  ],
  [
    scenario(
      'one is tried again after a while',
      [task('A'), after('B', 'A')],
      { A: failsOnce, B: effect('b') },
      { retry: { attempts: 2, backoffMs: 1_000 } },
    ),
    { status: 'completed', results: { tasks: [{ attempts: 2, output: 'better' }, { output: 'b' }] } },
  ],
  [
    scenario(
      'given up while somebody works',
      [task('A'), task('B'), task('C'), after('D', 'A')],
      { A: naps(60), B: hopeless, C: effect('c') },
      { tolerance: 'critical' },
    ),
    { status: 'failed', failure: { code: 'team.too-many-failures', message: 'Too many subtask failures (1/4)' } },
  ],
  [
    scenario(
      'a topic in the middle of work, and one that never comes',
      [
        task('C', { consumes: ['news'] }),
        task('P', { produces: ['news'] }),
        task('Q', { produces: ['old'] }),
        task('D', { consumes: ['old'], onMissing: 'require' }),
      ],
      {
        P: publishes,
        Q: hopeless,
        C: effect('c'),
      },
    ),
    {
      status: 'completed',
      results: { coverage: { succeeded: 2, planned: 4 }, tasks: [{}, {}, { status: 'failed' }, { status: 'skipped' }] },
    },
  ],
  [
    scenario(
      'out of patience',
      [task('A'), after('B', 'A'), after('C', 'B')],
      { A: naps(10), C: effect('c') },
      { dependencies: { timeoutMs: 5_000 } },
    ),
    {
      status: 'completed',
      results: {
        tasks: [
          { output: 'rested' },
          { status: 'failed', failure: { code: 'task.dependency-timeout' } },
          { output: 'c' },
        ],
      },
    },
  ],
]

describe('team C100', () => {
  for (const [each, end] of played) diesEverywhere(each, end)
})

test('K10: a journal of a team of 300 tasks is replayed: nothing is appended and nothing is called', async () => {
  let ran = 0
  const root = team({
    name: 'analysts',
    roles: { generalist: worker({ T: (ctx) => step(ctx, 'work', () => ++ran) }) },
    planner: {
      subtasks: Array.from({ length: 300 }, (_, n) => ({
        ...task(`t${n}`),
        description: 'T',
        ...(n > 9 ? { dependencies: [`t${n - 10}`] } : {}),
      })),
    },
  }) as unknown as Agent
  const { events, outcome } = await (await staged(root)).end()
  expect(outcome).toMatchObject({ results: { coverage: { succeeded: 300, planned: 300 } } })
  const { registry } = teamScenario({ agents: [root], input: 'Go' })
  expect((await verifyJournal(events, registry)).problems).toEqual([])
  expect(ran).toBe(300)
})
