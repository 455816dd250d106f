/**
 * The lead: code that looks at the team after each end, and gives orders. Spec team 1.8, R-8; the orders go through the
 * same doors as everybody's wishes.
 */
import { expect, test } from 'vitest'
import { sleep, teammate, type Agent } from '@reeve/agent'
import type { Json, PlanResults, TaskResult } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { JournalEvent, Recorded } from '@reeve/journal'
import { team, type Lead, type LeadMoment, type LeadRequest, type Subtask, type TeamOptions } from '../src/index.ts'
import { played, worker, type Doings, type Line } from './trace.ts'

const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })
const led = (
  lead: Lead,
  subtasks: readonly Subtask[],
  doings: Doings,
  options: Partial<TeamOptions<string>> = {},
): Agent =>
  team({
    name: 'crew',
    retry: { backoffMs: 0 },
    roles: { generalist: worker(doings) },
    planner: { subtasks },
    lead,
    ...options,
  })

const factsOf = <T extends JournalEvent['type']>(
  events: readonly Recorded[],
  type: T,
): Extract<JournalEvent, { type: T }>[] =>
  events.flatMap(({ event }) => (event.type === type ? [event as Extract<JournalEvent, { type: T }>] : []))
const resultOf = (outcome: unknown, id: string): TaskResult | undefined =>
  (outcome as { results: PlanResults }).results.tasks.find((each) => each.task === id)
const about = (lines: readonly Line[], what: RegExp): readonly Line[] => lines.filter(([, line]) => what.test(line))
/** Gives orders when this task has ended. */
const after =
  (id: string, ...orders: readonly LeadRequest[]): Lead =>
  ({ ended }) =>
    ended.task === id ? orders : undefined

test('looks once after each end, in the order in which they came, at copies of everything', async () => {
  const moments: LeadMoment[] = []
  const lead: Lead = (moment) => {
    moments.push(moment)
    ;(moment.tasks as TaskResult[]).length = 0
    ;(moment.ended as { output: Json }).output = 'changed'
  }
  const tasks = [task('a'), task('b'), task('c', { dependencies: ['a'] })]
  const { outcome } = await played(led(lead, tasks, { a: 5, b: 5, c: 5 }))
  expect(moments.map(({ ended }) => `${ended.task} ${ended.status}`)).toEqual([
    'a succeeded',
    'b succeeded',
    'c succeeded',
  ])
  expect(moments[0]?.team.map(({ member, status }) => `${member} ${status}`)).toEqual([
    'generalist_1 completed',
    'generalist_2 running',
    'generalist_3 pending', // it begins in this moment, and after this word
  ])
  expect(resultOf(outcome, 'a')?.output).toBe('a')
})

test('recruits: the team waits for its answer and the recruit; only the team size bounds its recruits', async () => {
  const four = Array.from({ length: 5 }, (_, i): LeadRequest => ({
    recruit: { description: `extra ${i}`, role: 'scout' },
  }))
  const { outcome, lines, events } = await played(
    led(after('a', ...four), [task('a')], { a: 5, 'extra 0': 7 }, { maxTeamSize: 5 }),
  )
  expect(about(lines, /dynamic_scout_1 (begins|succ)|the run/)).toEqual([
    [5, 'dynamic_scout_1 begins'],
    [12, 'dynamic_scout_1 succeeded'],
    [12, 'the run completed'],
  ])
  expect(factsOf(events, 'recruit.decided').map(({ admitted }) => admitted)).toEqual([true, true, true, true, false])
  expect(factsOf(events, 'teammate.joined')[1]).toMatchObject({ by: 'lead', join: 'run', recruited: true })
  expect(resultOf(outcome, 'dynamic_scout_4')).toMatchObject({ status: 'succeeded' })
})

test('a recruit for the sake of a task: those that depend on it wait for the recruit, too', async () => {
  const lead = after('a', { recruit: { description: 'help', parentTask: 'b' } })
  const { lines } = await played(
    led(lead, [task('a'), task('b'), task('c', { dependencies: ['b'] })], { a: 1, b: 2, c: 1, help: 9 }),
  )
  expect(about(lines, /^c begins/)).toEqual([[10, 'c begins']])
})

test('retires: a working member is stopped, and a new one does the task', async () => {
  const lead = after('a', { retire: { member: 'generalist_2', mode: 'force', reason: 'too slow' } })
  const { outcome, events } = await played(led(lead, [task('a'), task('b')], { a: 1, b: 5 }))
  expect(resultOf(outcome, 'b')).toMatchObject({ status: 'succeeded', member: 'generalist_3' })
  expect(factsOf(events, 'teammate.retired')).toMatchObject([
    { member: 'generalist_2', by: 'lead', reason: 'too slow' },
  ])
})

test('sends mail, as `lead`', async () => {
  const b = async (ctx: Context): Promise<Json> => {
    await sleep(ctx, 5_000)
    return (await teammate(ctx).inbox()).map(({ from, content }) => ({ from, content }))
  }
  const lead = after('a', { post: { to: 'generalist_2', content: 'hurry up' } })
  const { outcome } = await played(led(lead, [task('a'), task('b')], { a: 1, b }))
  expect(resultOf(outcome, 'b')?.output).toEqual([{ from: 'lead', content: 'hurry up' }])
})

test('adds tasks to the plan: they may depend on those that are there, and are part of what is covered', async () => {
  const lead = after('a', {
    add: [
      task('d', { dependencies: ['b', 'a'], role: 'writer' }),
      { id: ' e ', description: 'e', dependencies: ['d'] },
    ],
  })
  const { outcome, lines, events } = await played(led(lead, [task('a'), task('b')], { a: 1, b: 5, d: 2, e: 2 }))
  expect(about(lines, /^[de] (begins|succ)/)).toEqual([
    [5, 'd begins'],
    [7, 'd succeeded'],
    [7, 'e begins'],
    [9, 'e succeeded'],
  ])
  expect(factsOf(events, 'plan.revised')).toMatchObject([
    {
      by: 'lead',
      added: [
        { task: 'd', member: 'writer_1', role: 'writer', dependencies: ['b', 'a'] },
        { task: 'e', dependencies: ['d'] },
      ],
    },
  ])
  expect(factsOf(events, 'teammate.joined').map(({ task: id }) => id)).toEqual(['a', 'b', 'd', 'e'])
  expect(outcome).toMatchObject({ results: { coverage: { succeeded: 4, planned: 4 } } })
})

test('if one task is impossible none is added, all problems are recorded, and the work goes on', async () => {
  const lead = after(
    'a',
    {
      add: [
        task('fine'),
        task('b'),
        task('x', { dependencies: ['y'] }),
        task('y', { dependencies: ['x'] }),
        task('z', { dependencies: ['z', 'nowhere'] }),
        task('twice'),
        task('twice'),
      ],
    },
    { add: [task('good')] },
  )
  const { outcome, events } = await played(led(lead, [task('a'), task('b')], { a: 1, b: 2 }))
  expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 3, planned: 3 } } })
  const [refused] = factsOf(events, 'hook.failed')
  expect(refused).toMatchObject({ hook: 'lead' })
  for (const part of ['"b"', 'x > y > x', '"z"', '"nowhere"', '"twice"'])
    expect(refused?.failure.message).toContain(part)
  expect(factsOf(events, 'plan.revised')).toMatchObject([{ added: [{ task: 'good' }] }])
})

test.each([
  [
    'throws',
    (): never => {
      throw new Error('no idea')
    },
    'no idea',
  ],
  ['rejects', () => Promise.reject(new Error('no idea')), 'no idea'],
  ['says no list', () => 'hire' as never, 'the text "hire"'],
  ['orders what nobody knows', () => [{ hire: {} }] as never, 'no option "hire"'],
  ['orders nothing', () => [{}] as never, 'order 1 says nothing'],
  [
    'orders two things in one',
    () => [{ recruit: { description: 'x' }, retire: { member: 'y' } }] as never,
    'recruit and retire',
  ],
  ['orders what is no object', () => [null] as never, 'order 1 is null'],
] as readonly (readonly [string, Lead, string])[])(
  'one that %s is recorded, and the work goes on',
  async (_what, lead, why) => {
    const { outcome, events } = await played(led(lead, [task('a'), task('b', { dependencies: ['a'] })], {}))
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 2 } } })
    const failed = factsOf(events, 'hook.failed')
    expect(failed).toHaveLength(2)
    for (const { hook, failure } of failed)
      expect([hook, failure.message]).toEqual(['lead', expect.stringContaining(why)])
  },
)

test('an order that is refused is recorded, nothing is thrown', async () => {
  const lead = after(
    'a',
    { recruit: { description: '' } },
    { retire: { member: 'nobody' } },
    { post: { to: '', content: 'x' } },
  )
  const { outcome, events } = await played(led(lead, [task('a')], {}))
  expect(outcome.status).toBe('completed')
  expect(factsOf(events, 'recruit.decided')).toMatchObject([{ admitted: false, reason: 'invalid' }])
  expect(factsOf(events, 'retire.refused')).toMatchObject([{ reason: 'unknown', by: 'lead' }])
})

test('is not asked any more when the plan is given up', async () => {
  const seen: string[] = []
  const lead: Lead = ({ ended }) => {
    seen.push(ended.task)
    return [{ recruit: { description: 'help' } }]
  }
  const bad = async (): Promise<Json> => {
    throw new Error('no luck')
  }
  const { outcome, events } = await played(
    led(lead, [task('bad'), task('slow')], { bad, slow: 60 }, { tolerance: 0, retry: { attempts: 1 } }),
  )
  expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'team.too-many-failures' } })
  expect(factsOf(events, 'teammate.joined')).toHaveLength(2)
  expect(seen.length).toBeLessThanOrEqual(1)
  expect(factsOf(events, 'hook.failed')).toEqual([])
})

test('goes on recruiting as long as it likes, and the team ends when it does not', async () => {
  const lead: Lead = ({ tasks }) => (tasks.length < 4 ? [{ recruit: { description: `round ${tasks.length}` } }] : [])
  const { outcome } = await played(led(lead, [task('a')], { a: 1, 'round 1': 1, 'round 2': 1, 'round 3': 1 }))
  expect((outcome as { results: PlanResults }).results.tasks.map(({ output }) => output)).toEqual([
    'a',
    'round 1',
    'round 2',
    'round 3',
  ])
})

test('team R-2: ended tasks wait for nothing: a lead adds a review of what depended on it', async () => {
  const rounds = [task('review', { produces: ['remarks'] }), task('draft', { consumes: ['remarks'] })]
  const again = task('again', { dependencies: ['draft'], produces: ['remarks'] })
  const { outcome } = await played(led(after('draft', { add: [again] }), rounds, { review: 1, draft: 1, again: 1 }))
  expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 3, planned: 3 } } })
  // what has not ended does wait
  const early = await played(led(after('review', { add: [again] }), rounds, { review: 1, draft: 1 }))
  expect(factsOf(early.events, 'hook.failed')).toMatchObject([
    { failure: { message: expect.stringContaining('tasks wait for each other') as string } },
  ])
})
