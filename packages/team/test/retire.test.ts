/** Retiring, second by second: who leaves when, and who has its task then. Spec team 1.8 (R-8b), 1.9. */
import { describe, expect, test } from 'vitest'
import { sleep, teammate, type Agent, type Retired, type RetireRequest, type TeamEntry } from '@reeve/agent'
import type { Json, PlanResults, TaskResult } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { JournalEvent, Recorded } from '@reeve/journal'
import { team, type PolicyQuestion, type Subtask, type TeamOptions } from '../src/index.ts'
import { played, staged, worker, type Doings, type Line } from './trace.ts'

const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, role: id, ...more })
const crew = (subtasks: readonly Subtask[], doings: Doings, options: Partial<TeamOptions<string>> = {}): Agent =>
  team({
    name: 'crew',
    retry: { backoffMs: 0 },
    roles: { generalist: worker(doings) },
    planner: { subtasks },
    ...options,
  })

/**
 * After so many seconds: retires these one after the other, waits on, and tells what came of it and who is there at the
 * end.
 */
const retires =
  (seconds: number, wishes: readonly unknown[], then = 60) =>
  async (ctx: Context): Promise<Json> => {
    await sleep(ctx, seconds * 1_000)
    const answers: Retired[] = []
    for (const wish of wishes) answers.push(await teammate(ctx).retire(wish as RetireRequest))
    await sleep(ctx.scope('then'), then * 1_000)
    const list = await teammate(ctx).team()
    return { answers: answers as unknown as Json, team: list.map(({ member, status }) => `${member} ${status}`) }
  }
type Told = { readonly answers: readonly Retired[]; readonly team: readonly string[] }

const factsOf = <T extends JournalEvent['type']>(
  events: readonly Recorded[],
  type: T,
): Extract<JournalEvent, { type: T }>[] =>
  events.flatMap(({ event }) => (event.type === type ? [event as Extract<JournalEvent, { type: T }>] : []))
const resultOf = (outcome: unknown, id: string): TaskResult =>
  (outcome as { results: PlanResults }).results.tasks.find((each) => each.task === id)!
const told = (outcome: unknown): Told => resultOf(outcome, 'boss').output as unknown as Told
const about = (lines: readonly Line[], what: RegExp): readonly Line[] => lines.filter(([, line]) => what.test(line))
const leaving = [{ member: 'a_1', reason: 'too slow' }]
const forced = [{ member: 'a_1', mode: 'force', reason: 'too slow' }]

describe('gracefully', () => {
  test('team C44: a working member ends its task and then has retired', async () => {
    const boss = async (ctx: Context): Promise<Json> => {
      await sleep(ctx, 2_000)
      await teammate(ctx).retire(leaving[0]!)
      const during = await teammate(ctx).team('a')
      await sleep(ctx.scope('then'), 60_000)
      return [during[0]!.status, (await teammate(ctx).team('a'))[0]!.status]
    }
    const { outcome, lines, events } = await played(crew([task('a'), task('boss')], { a: 10, boss }))
    expect(resultOf(outcome, 'boss').output).toEqual(['running', 'retired'])
    expect(resultOf(outcome, 'a')).toMatchObject({ status: 'succeeded', output: 'a', member: 'a_1', attempts: 1 })
    expect(about(lines, /^a /)).toEqual([
      [0, 'a begins'],
      [10, 'a succeeded'],
    ])
    expect(factsOf(events, 'teammate.retired')).toMatchObject([
      { member: 'a_1', mode: 'graceful', reason: 'too slow', by: 'boss_1' },
    ])
  })

  test('it is tried again if it fails, by the same one', async () => {
    let tries = 0
    const a = async (ctx: Context): Promise<Json> => {
      await sleep(ctx, 5_000)
      if (++tries === 1) throw new Error('no luck')
      return 'a'
    }
    const { outcome } = await played(crew([task('a'), task('boss')], { a, boss: retires(2, leaving) }))
    expect(resultOf(outcome, 'a')).toMatchObject({ status: 'succeeded', member: 'a_1', attempts: 2 })
    expect(told(outcome).team).toEqual(['a_1 retired', 'boss_1 running'])
  })

  test('a member that fails in the end has retired, too; the failure counts', async () => {
    const a = async (): Promise<Json> => {
      throw new Error('no luck')
    }
    const boss = retires(0, [{ member: 'a_1' }], 5)
    const { outcome } = await played(
      crew(
        [task('a'), task('boss')],
        { a: async (ctx) => (await sleep(ctx, 1_000), a()), boss },
        { retry: { attempts: 1 } },
      ),
    )
    expect(resultOf(outcome, 'a').status).toBe('failed')
    expect(told(outcome).team).toEqual(['a_1 retired', 'boss_1 running'])
    expect(outcome).toMatchObject({ results: { coverage: { succeeded: 1, planned: 2 } } })
  })

  test('a pending member leaves at once and a new one of its role has its task; also twice', async () => {
    const boss = retires(1, [{ member: 'b_1' }, { member: 'b_2' }])
    const { outcome, lines, events } = await played(
      crew([task('a'), task('b', { dependencies: ['a'] }), task('boss')], { a: 5, b: 5, boss }),
    )
    expect(resultOf(outcome, 'b')).toMatchObject({ status: 'succeeded', member: 'b_3', role: 'b', attempts: 1 })
    expect(told(outcome)).toEqual({
      answers: [{ retired: true }, { retired: true }],
      team: ['a_1 completed', 'b_1 retired', 'boss_1 running', 'b_2 retired', 'b_3 completed'],
    })
    expect(about(lines, /^b |joins for b$/)).toEqual([
      [0, 'b_1 joins for b'],
      [1, 'b_2 joins for b'],
      [1, 'b_3 joins for b'],
      [5, 'b is unblocked'],
      [5, 'b begins'],
      [10, 'b succeeded'],
    ])
    expect(factsOf(events, 'task.reassigned')).toMatchObject([
      { task: 'b', from: 'b_1', to: 'b_2' },
      { task: 'b', from: 'b_2', to: 'b_3' },
    ])
  })

  test('a pending member without a replacement leaves a failed task', async () => {
    const boss = retires(1, [{ member: 'b_1', reassign: false }])
    const { outcome, lines } = await played(
      crew([task('a'), task('b', { dependencies: ['a'] }), task('boss')], { a: 5, b: 5, boss }),
    )
    expect(resultOf(outcome, 'b')).toMatchObject({ status: 'failed', failure: { code: 'worker.failed' }, attempts: 0 })
    expect(about(lines, /^b (begins|failed)/)).toEqual([[1, 'b failed: worker.failed']])
    expect(told(outcome).team[1]).toBe('b_1 retired')
  })

  test('a second time it leaves already; then it may still be made to leave now', async () => {
    const boss = retires(2, [
      { member: 'a_1' },
      { member: 'a_1' },
      { member: 'a_1', mode: 'force' },
      { member: 'a_1', mode: 'force' },
    ])
    const { outcome, lines } = await played(crew([task('a'), task('boss')], { a: 10, boss }))
    expect(told(outcome).answers).toMatchObject([
      { retired: true },
      { retired: false, reason: 'ended', message: '"a_1" leaves already, after its task' },
      { retired: true },
      { retired: false, reason: 'ended' },
    ])
    expect(about(lines, /^a (begins|succ)/)).toEqual([
      [0, 'a begins'],
      [2, 'a begins again (2)'],
      [12, 'a succeeded'],
    ])
  })

  test('oneself', async () => {
    const boss = async (ctx: Context): Promise<Json> => {
      const answer = await teammate(ctx).retire({ member: 'boss_1' })
      await sleep(ctx, 1_000)
      return answer
    }
    const { outcome } = await played(crew([task('boss')], { boss }))
    expect(resultOf(outcome, 'boss')).toMatchObject({ status: 'succeeded', output: { retired: true } })
  })
})

describe('by force', () => {
  test('team C44: stopped now; a new member does the task; no failure, and no attempt lost', async () => {
    const { outcome, lines, events } = await played(
      crew([task('a'), task('boss')], { a: 10, boss: retires(4, forced) }, { tolerance: 0, retry: { attempts: 1 } }),
    )
    expect(outcome.status).toBe('completed')
    expect(resultOf(outcome, 'a')).toMatchObject({ status: 'succeeded', member: 'a_2', attempts: 1 })
    expect(about(lines, /^a |joins for a$/)).toEqual([
      [0, 'a_1 joins for a'],
      [0, 'a begins'],
      [4, 'a_2 joins for a'],
      [4, 'a begins again (2)'],
      [14, 'a succeeded'],
    ])
    expect(factsOf(events, 'task.reassigned')).toMatchObject([{ task: 'a', from: 'a_1', to: 'a_2' }])
    expect(factsOf(events, 'plan.aborted')).toEqual([])
    expect(told(outcome).team).toEqual(['a_1 retired', 'boss_1 running', 'a_2 completed'])
  })

  test('the second time there is no replacement, and the task has failed', async () => {
    const boss = retires(4, [...forced], 3)
    const again = retires(6, [{ member: 'a_2', mode: 'force' }], 3)
    const { outcome, lines } = await played(crew([task('a'), task('boss'), task('again')], { a: 10, boss, again }))
    expect(resultOf(outcome, 'a')).toMatchObject({
      status: 'failed',
      failure: { code: 'worker.failed' },
      member: 'a_2',
    })
    expect(about(lines, /^a |joins for a$/)).toEqual([
      [0, 'a_1 joins for a'],
      [0, 'a begins'],
      [4, 'a_2 joins for a'],
      [4, 'a begins again (2)'],
      [6, 'a failed: worker.failed'],
    ])
    expect(outcome).toMatchObject({ results: { coverage: { succeeded: 2, planned: 3 } } })
  })

  test('a member without a replacement leaves a failed task, which counts', async () => {
    const boss = retires(4, [{ ...forced[0], reassign: false }])
    const { outcome } = await played(crew([task('a'), task('boss')], { a: 10, boss }, { tolerance: 0 }))
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'team.too-many-failures' } })
    expect(resultOf(outcome, 'a').failure?.message).toContain('"a_1"')
  })

  test('attempts before it are not forgotten, the one that was stopped is', async () => {
    const a = async (ctx: Context): Promise<Json> => {
      await sleep(ctx, 5_000)
      throw new Error('no luck')
    }
    const { outcome, lines } = await played(crew([task('a'), task('boss')], { a, boss: retires(7, forced) }))
    expect(about(lines, /^a (begins|failed)/)).toEqual([
      [0, 'a begins'],
      [5, 'a begins again (2)'],
      [7, 'a begins again (3)'],
      [12, 'a begins again (4)'],
      [17, 'a failed after 3: orchestration.threw'],
    ])
    expect(resultOf(outcome, 'a')).toMatchObject({ status: 'failed', attempts: 3 })
  })

  test('between two attempts: the new member makes the next one, on time', async () => {
    let tries = 0
    const a = async (ctx: Context): Promise<Json> => {
      const { member } = teammate(ctx)
      await sleep(ctx, 2_000)
      if (++tries === 1) throw new Error('no luck')
      return member
    }
    const options = { retry: { backoffMs: 10_000, jitter: false } }
    const { outcome, lines } = await played(crew([task('a'), task('boss')], { a, boss: retires(5, forced) }, options))
    expect(about(lines, /^a begins/)).toEqual([
      [0, 'a begins'],
      [12, 'a begins again (2)'],
    ])
    expect(resultOf(outcome, 'a')).toMatchObject({ status: 'succeeded', output: 'a_2', attempts: 2 })
  })

  test('a member done before its stop arrives is done, and its task is not repeated', async () => {
    // both end in the same second: the wish is heard first, the end comes before the stop
    const a = async (ctx: Context): Promise<Json> => {
      ctx.onCancel('undo', async () => undefined)
      await sleep(ctx, 4_000)
      return 'a'
    }
    const { outcome, events } = await played(crew([task('boss'), task('a')], { a, boss: retires(4, forced) }))
    const { status, member } = resultOf(outcome, 'a')
    expect(status).toBe('succeeded')
    expect(factsOf(events, 'task.started').filter((each) => each.task === 'a')).toHaveLength(member === 'a_1' ? 1 : 2)
  })

  test('its results stand under its task, for any member; dependents have one result', async () => {
    const b = async (ctx: Context): Promise<Json> => teammate(ctx).inputs as unknown as Json
    const { outcome } = await played(
      crew([task('a'), task('b', { dependencies: ['a'] }), task('boss')], { a: 10, b, boss: retires(4, forced) }),
    )
    expect(resultOf(outcome, 'b').output).toMatchObject({ a: { status: 'succeeded', output: 'a' } })
    expect(Object.keys(resultOf(outcome, 'b').output as object)).toEqual(['a'])
  })

  test('a recruit likewise: a new one of its role, under the same task', async () => {
    const boss = async (ctx: Context): Promise<Json> => {
      await teammate(ctx).recruit({ description: 'help', role: 'scout' })
      await sleep(ctx, 2_000)
      const answer = await teammate(ctx).retire({ member: 'dynamic_scout_1', mode: 'force' })
      return answer
    }
    const { outcome, events } = await played(crew([task('boss')], { boss, help: 5 }))
    expect(resultOf(outcome, 'dynamic_scout_1')).toMatchObject({
      status: 'succeeded',
      member: 'dynamic_scout_2',
      recruited: true,
      output: 'help',
    })
    expect(factsOf(events, 'teammate.joined').at(-1)).toMatchObject({
      member: 'dynamic_scout_2',
      task: 'dynamic_scout_1',
      recruited: true,
    })
  })

  test('with one permit: the new member waits for it like any other', async () => {
    const { lines } = await played(
      crew([task('a'), task('b'), task('boss')], { a: 10, b: 1, boss: retires(4, forced, 1) }, { concurrency: 2 }),
    )
    expect(about(lines, /begins/)).toEqual([
      [0, 'a begins'],
      [0, 'b begins'],
      [1, 'boss begins'],
      [5, 'a begins again (2)'],
    ])
  })
})

describe('without retirements', () => {
  test('team C44: who is not there, has ended, or cannot be meant', async () => {
    const wishes = [
      { member: 'nobody' },
      { member: 'a' },
      { member: 'a_1' },
      { member: '' },
      {},
      null,
      'a_1',
      { member: 7, mode: 'slowly', reassign: 'yes', reason: 3 },
    ]
    const { outcome, events } = await played(crew([task('a'), task('boss')], { a: 1, boss: retires(2, wishes) }))
    const { answers } = told(outcome)
    expect(answers.map((each) => !each.retired && each.reason)).toEqual([
      'unknown',
      'unknown',
      'ended',
      'invalid',
      'invalid',
      'invalid',
      'invalid',
      'invalid',
    ])
    expect(answers[1]).toMatchObject({ message: expect.stringContaining('a_1') as string })
    const { message } = answers[7] as { message: string }
    for (const part of ['member', 'mode', 'reassign', 'reason']) expect(message).toContain(part)
    expect(factsOf(events, 'retire.refused')).toHaveLength(wishes.length)
    expect(factsOf(events, 'teammate.retired')).toEqual([])
  })

  const asks: PolicyQuestion[] = []
  test.each([
    ['says no', () => ({ verdict: 'deny', reason: 'we need everybody' }) as const],
    [
      'throws',
      (): never => {
        throw new Error('we need everybody')
      },
    ],
  ])('if the policy %s', async (_what, says) => {
    const policy = (question: PolicyQuestion): ReturnType<typeof says> => {
      asks.push(question)
      return says()
    }
    const { outcome } = await played(
      crew([task('a'), task('boss')], { a: 5, boss: retires(2, forced) }, { recruit: { policy } }),
    )
    expect(told(outcome).answers).toMatchObject([
      { retired: false, reason: 'policy', message: expect.stringContaining('we need everybody') as string },
    ])
    expect(resultOf(outcome, 'a')).toMatchObject({ status: 'succeeded', member: 'a_1' })
    expect(asks.at(-1)).toMatchObject({
      action: 'retire',
      actor: 'boss_1',
      role: 'a',
      details: { member: 'a_1', mode: 'force' },
    })
  })

  test('if it has ended while a human was asked', async () => {
    const policy = (): 'ask' => 'ask'
    const stage = await staged(
      crew([task('a'), task('boss')], { a: 5, boss: retires(2, leaving, 1) }, { recruit: { policy } }),
    )
    await stage.until(10)
    const [approval] = await stage.runtime.approvals()
    expect(approval).toMatchObject({ tool: 'retire', input: { member: 'a_1', mode: 'graceful' } })
    await stage.run.decide({ approvalId: approval!.id, decision: 'approve' })
    expect(told((await stage.end()).outcome).answers).toMatchObject([{ retired: false, reason: 'ended' }])
  })
})

test('ids are never reused', async () => {
  const boss = async (ctx: Context): Promise<Json> => {
    const me = teammate(ctx)
    for (let i = 0; i < 3; i++) {
      await me.recruit({ description: `help ${i}`, role: 'scout' })
      const there = (await me.team('scout')).filter(({ status }) => status === 'pending' || status === 'running')
      for (const { member } of there) await me.retire({ member, mode: 'force', reassign: false })
    }
    return (await me.team()) as unknown as Json
  }
  const { outcome } = await played(crew([task('boss')], { boss, 'help 0': 5, 'help 1': 5, 'help 2': 5 }))
  const list = resultOf(outcome, 'boss').output as unknown as readonly TeamEntry[]
  expect(list.map(({ member, status }) => `${member} ${status}`)).toEqual([
    'boss_1 running',
    'dynamic_scout_1 retired',
    'dynamic_scout_2 retired',
    'dynamic_scout_3 retired',
  ])
})
