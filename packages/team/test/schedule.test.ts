/**
 * When tasks begin: permits, order, ties, dependencies that do not come, what a dependent is given. Spec team 1.4 to
 * 1.6.
 */
import { describe, expect, test } from 'vitest'
import { agent, sleep, teammate } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { interrupt } from '@reeve/oversight'
import type { Subtask, TeamOptions } from '../src/index.ts'
import { crew, played, staged, task, worker, type Doings, type Line } from './trace.ts'

const fails = (): Promise<never> => Promise.reject(new Error('no luck'))
const after = (id: string, ...dependencies: string[]): Subtask => task(id, { dependencies })
const many = (count: number, more?: (n: number) => Partial<Subtask>): Subtask[] =>
  Array.from({ length: count }, (_, i) => task(`t${i + 1}`, more?.(i + 1)))

/** Beginnings and ends of tasks. */
const course = (lines: readonly Line[]): readonly Line[] =>
  lines.filter(([, what]) => /^\S+ (begins|succeeded|failed|skipped|cancelled)/.test(what))
const all = (seconds: number, tasks: readonly Subtask[]): Doings =>
  Object.fromEntries(tasks.map(({ id }) => [id, seconds]))

describe('permits and order', () => {
  test('team C16: eight of 10 s, five at once: 1 to 5 at 0 s, 6 to 8 at 10 s, in the order of the plan; 20 s', async () => {
    const tasks = many(8)
    const { lines } = await played(crew(tasks, all(10, tasks)))
    const begin = course(lines).filter(([, what]) => what.endsWith('begins'))
    expect(begin).toEqual(tasks.map(({ id }, n) => [n < 5 ? 0 : 10, `${id} begins`]))
    expect(lines.at(-1)).toEqual([20, 'the run completed'])
  })

  test('team C16: a free permit is taken at once, while others work', async () => {
    const tasks = many(4)
    const { lines } = await played(crew(tasks, { t1: 3, t2: 10, t3: 4, t4: 1 }, { concurrency: 2 }))
    expect(course(lines)).toEqual([
      [0, 't1 begins'],
      [0, 't2 begins'],
      [3, 't1 succeeded'],
      [3, 't3 begins'],
      [7, 't3 succeeded'],
      [7, 't4 begins'],
      [8, 't4 succeeded'],
      [10, 't2 succeeded'],
    ])
  })

  test('team C17: one at a time, and the first waits for the last: the last goes first, without a deadlock', async () => {
    const tasks = [after('first', 'last'), task('between'), task('last')]
    const { lines } = await played(crew(tasks, all(1, tasks), { concurrency: 1 }))
    expect(course(lines)).toEqual([
      [0, 'between begins'],
      [1, 'between succeeded'],
      [1, 'last begins'],
      [2, 'last succeeded'],
      [2, 'first begins'],
      [3, 'first succeeded'],
    ])
  })

  test('team C17: sequential is the order of dependencies, and among equals that of the plan', async () => {
    const tasks = [after('d', 'b', 'c'), after('c', 'a'), after('b', 'a'), task('a'), task('e')]
    const { lines } = await played(crew(tasks, all(1, tasks), { strategy: 'sequential', concurrency: 9 }))
    expect(course(lines).flatMap(([, what]) => (what.endsWith('begins') ? [what[0]] : []))).toEqual([
      'a',
      'c',
      'b',
      'd',
      'e',
    ])
    expect(lines.at(-1)).toEqual([5, 'the run completed'])
  })

  test('team C18: ends of one moment come in the order of the beginnings, however deep the code of each goes', async () => {
    const deep = async (ctx: Context): Promise<string> => {
      await sleep(ctx, 5_000)
      await sleep(ctx.scope('rest'), 10_000)
      for (let i = 0; i < 50; i++) await Promise.resolve()
      return 'deep'
    }
    const throws = async (ctx: Context): Promise<never> => {
      await sleep(ctx, 15_000)
      return fails()
    }
    const { lines } = await played(crew(many(4), { t1: deep, t2: 15, t3: throws, t4: 15 }))
    expect(course(lines).slice(4)).toEqual([
      [15, 't1 succeeded'],
      [15, 't2 succeeded'],
      [15, 't3 failed: orchestration.threw'],
      [15, 't4 succeeded'],
    ])
  })

  test('team C18: also after the run left memory, for tasks with and without history', async () => {
    const naps = async (ctx: Context): Promise<string> => {
      for (let i = 0; i < 5; i++) await sleep(ctx.scope('nap'), 600_000)
      return 'rested'
    }
    const tasks = many(4)
    const { lines } = await played(crew(tasks, { t1: naps, t2: 3_000, t3: naps, t4: 3_000 }, { timeoutMs: 0 }))
    expect(course(lines).slice(4)).toEqual(tasks.map(({ id }) => [3_000, `${id} succeeded`]))
  })

  test('team C85: a member that waits for a human holds no permit, and has it again at once', async () => {
    const asks = async (ctx: Context): Promise<Json> => {
      const answer = await interrupt(ctx, 'well?')
      await sleep(ctx, 4_000)
      return answer
    }
    const stage = await staged(crew(many(3), { t1: asks, t2: 10, t3: 10 }, { concurrency: 1 }))
    await stage.until(5)
    const [question] = await stage.runtime.questions()
    await stage.runtime.answer({ interruptId: question!.id, value: 'yes' })
    const { lines } = await stage.end()
    expect(course(lines)).toEqual([
      [0, 't1 begins'],
      [0, 't2 begins'],
      [9, 't1 succeeded'],
      [10, 't2 succeeded'],
      [10, 't3 begins'],
      [20, 't3 succeeded'],
    ])
  })

  test('a task that backs off holds no permit, and comes before those after it when its time is there', async () => {
    let tried = 0
    const second = async (): Promise<string> => (++tried === 1 ? fails() : 'better')
    const retry = { attempts: 2, backoffMs: 2_000, jitter: false }
    const { lines } = await played(crew(many(3), { t1: second, t2: 3, t3: 3 }, { concurrency: 1, retry }))
    expect(course(lines)).toEqual([
      [0, 't1 begins'],
      [0, 't2 begins'],
      [3, 't2 succeeded'],
      [3, 't1 begins again (2)'],
      [3, 't1 succeeded after 2'],
      [3, 't3 begins'],
      [6, 't3 succeeded'],
    ])
  })

  test('a given-up plan leaves no timer behind: a task that backs off is cancelled', async () => {
    const retry = { attempts: 3, backoffMs: 60_000, jitter: false }
    const failsAt = async (ctx: Context): Promise<never> => {
      await sleep(ctx, 5_000)
      throw new Error('no')
    }
    const critical = [task('t1'), task('t2', { critical: true }), after('t3', 't1')]
    const twice = agent({
      name: 'bad',
      description: 'Says it cannot.',
      run: async (ctx) => {
        await sleep(ctx, 5_000)
        return { success: false, error: 'impossible' }
      },
    })
    const root = crew(
      critical.map((each) => (each.id === 't2' ? { ...each, role: 'bad' } : each)),
      { t1: failsAt },
      { retry, roles: { generalist: worker({ t1: fails, t3: 1 }), bad: twice } },
    )
    const { lines, events } = await played(root)
    expect(course(lines)).toEqual([
      [0, 't1 begins'],
      [0, 't2 begins'],
      [5, 't2 failed: task.unsuccessful'],
      [5, 't1 cancelled: the plan was given up'],
      [5, 't3 cancelled: the plan was given up'],
    ])
    const end = events.find(
      ({ activation, event }) => activation === 'act_traced' && event.type === 'activation.settled',
    )!.event
    expect((end as { open?: readonly unknown[] }).open ?? []).toEqual([])
  })

  for (const count of [200, 2_000])
    test(`a plan of ${count} tasks, all before the last, one failed, is carried out in its order`, async () => {
      const tasks = [...many(count - 1), after('all', ...many(count - 1).map(({ id }) => id))]
      const { lines, outcome } = await played(crew(tasks, { t7: fails }, { tolerance: 100 }))
      const begin = course(lines).filter(([, what]) => what.endsWith('begins'))
      expect(begin.map(([, what]) => what)).toEqual(tasks.map(({ id }) => `${id} begins`))
      expect(outcome).toMatchObject({ results: { coverage: { succeeded: count - 1, planned: count } } })
      expect(course(lines).at(-1)).toEqual([0, 'all succeeded without t7'])
    }, 60_000)

  test('a chain of 2,000 tasks is carried out; where the first is required and fails, all others are skipped', async () => {
    const chain = many(2_000, (n) => (n === 1 ? {} : { dependencies: [`t${n - 1}`] }))
    const { outcome } = await played(crew(chain))
    expect(outcome).toMatchObject({ results: { coverage: { succeeded: 2_000, planned: 2_000 } } })
    const broken = await played(crew(chain, { t1: fails }, { dependencies: { policy: 'require' }, tolerance: 50 }))
    expect(broken.lines.filter(([, what]) => what.includes('skipped'))).toHaveLength(1_999)
  }, 60_000)
})

describe('dependencies that did not succeed', () => {
  const pair = (policy: Partial<Subtask>): Subtask[] => [task('a'), { ...after('b', 'a'), ...policy }, after('c', 'b')]
  const cases: readonly (readonly [string, readonly Subtask[], Partial<TeamOptions<string>>, readonly Line[]])[] = [
    [
      'tolerate: it goes on without',
      pair({}),
      {},
      [
        [0, 'b begins'],
        [0, 'b succeeded without a'],
        [0, 'c begins'],
        [0, 'c succeeded'],
      ],
    ],
    [
      'require: it is skipped, and who tolerates that goes on',
      pair({ onMissing: 'require' }),
      {},
      [
        [0, 'b skipped: "a", which it depends on, did not succeed'],
        [0, 'c begins'],
        [0, 'c succeeded without b'],
      ],
    ],
    [
      'require, for all: the rest of the chain is skipped',
      pair({}),
      { dependencies: { policy: 'require' } },
      [
        [0, 'b skipped: "a", which it depends on, did not succeed'],
        [0, 'c skipped: "b", which it depends on, did not succeed'],
      ],
    ],
    [
      'fail: it fails, and counts',
      pair({ onMissing: 'fail' }),
      {},
      [
        [0, 'b failed: task.dependency-failed'],
        [0, 'c cancelled: the plan was given up'],
      ],
    ],
    [
      'what a task says goes before what the team says',
      pair({ onMissing: 'tolerate' }),
      { dependencies: { policy: 'fail' } },
      [
        [0, 'b begins'],
        [0, 'b succeeded without a'],
        [0, 'c begins'],
        [0, 'c succeeded'],
      ],
    ],
    [
      'by id: what it says of another dependency is nothing',
      pair({ onMissing: { z: 'fail' } }),
      { dependencies: { policy: 'require' } },
      [
        [0, 'b skipped: "a", which it depends on, did not succeed'],
        [0, 'c skipped: "b", which it depends on, did not succeed'],
      ],
    ],
  ]
  for (const [name, tasks, options, rest] of cases)
    test(`team C19: ${name}`, async () => {
      const { lines } = await played(crew(tasks, { a: fails }, options))
      expect(course(lines)).toEqual([[0, 'a begins'], [0, 'a failed: orchestration.threw'], ...rest])
    })

  test('team C19: failures that follow from one count, each: one of eight tasks fails and takes four with it', async () => {
    const tasks = [
      task('a'),
      ...['b', 'c', 'd', 'e'].map((id) => ({ ...after(id, 'a'), onMissing: 'fail' as const })),
      task('x'),
      task('y'),
      task('z'),
    ]
    const { lines, outcome } = await played(crew(tasks, { a: fails, x: 5, y: 5, z: 5 }))
    expect(outcome).toMatchObject({ status: 'failed', failure: { message: 'Too many subtask failures (5/8)' } })
    expect(lines.filter(([, what]) => what.includes('dependency-failed'))).toHaveLength(4)
  })

  test('team C19: policies by id: the required one is gone, so it is skipped at once, though another works', async () => {
    const tasks = [task('a'), task('b'), { ...after('c', 'b', 'a'), onMissing: { a: 'require' as const } }]
    const { lines } = await played(crew(tasks, { a: fails, b: 30 }))
    expect(course(lines)).toContainEqual([0, 'c skipped: "a", which it depends on, did not succeed'])
    expect(lines.at(-1)).toEqual([30, 'the run completed'])
  })

  test('a result that says it is none is missing for those that depend on it', async () => {
    const { lines } = await played(
      crew([task('a'), after('b', 'a')], { a: async () => ({ success: false, error: 'nothing found' }) }),
    )
    expect(course(lines).slice(1)).toEqual([
      [0, 'a failed: task.unsuccessful'],
      [0, 'b begins'],
      [0, 'b succeeded without a'],
    ])
  })
})

describe('what a dependent is given', () => {
  const seen: Json[] = []
  const looks = async (ctx: Context, brief: string): Promise<string> => {
    seen.push([brief, teammate(ctx).inputs as unknown as Json])
    return 'seen'
  }

  test('team C19: by task: the results of its own dependencies only; missing ones say why', async () => {
    seen.length = 0
    const tasks = [task('a'), task('b'), task('c'), after('d', 'c', 'a')]
    await played(
      crew(tasks, { a: fails, b: async () => 'b', c: async () => ({ found: [1, 2] }), d: looks }, { tolerance: 100 }),
    )
    const [[brief, inputs]] = seen as [[string, Json]]
    expect(inputs).toEqual({
      c: { status: 'succeeded', output: { found: [1, 2] }, usage: [] },
      a: { status: 'missing', failure: expect.objectContaining({ message: 'no luck' }), usage: [] },
    })
    expect(brief).toBe(
      'd\n\n## Result: c\n{"found":[1,2]}\n\n## Missing: a\nThere is no result of this task: no luck. Go on without it, and say so.',
    )
  })

  test('copies: changing an input changes nothing for others, for the next attempt, or for the result', async () => {
    seen.length = 0
    let tried = 0
    const spoils = async (ctx: Context, brief: string): Promise<string> => {
      const { inputs } = teammate(ctx) as unknown as { inputs: { a: { output: { list: number[] } } } }
      await looks(ctx, brief)
      seen[seen.length - 1] = JSON.parse(JSON.stringify(seen.at(-1))) as Json
      inputs.a.output.list.push(3)
      return tried++ === 0 ? fails() : 'spoilt'
    }
    const tasks = [task('a'), after('b', 'a'), after('c', 'b', 'a')]
    const { outcome } = await played(
      crew(
        tasks,
        { a: async () => ({ list: [1, 2] }), b: spoils, c: looks },
        { retry: { attempts: 2, backoffMs: 0, jitter: false } },
      ),
    )
    for (const [, inputs] of seen as [string, { a: Json }][])
      expect(inputs.a).toMatchObject({ output: { list: [1, 2] } })
    expect(seen).toHaveLength(3)
    expect(outcome).toMatchObject({ results: { tasks: [{ output: { list: [1, 2] } }, { attempts: 2 }, {}] } })
  })

  test('with `passAll`: of all ended tasks, failed ones too; not of working ones', async () => {
    seen.length = 0
    const tasks = [task('a'), task('b'), task('slow'), after('c', 'a'), task('last')]
    const doings = { a: 1, b: fails, slow: 60, c: looks, last: looks }
    await played(crew(tasks, doings, { dependencies: { passAll: true }, concurrency: 3 }))
    const given = (seen as [string, object][]).map(([brief, inputs]) => [brief.split('\n')[0], Object.keys(inputs)])
    expect(given).toEqual([
      ['last', ['b']],
      ['c', ['a', 'b', 'last']],
    ])
  })

  test('ids are names: also those that are words of JavaScript', async () => {
    seen.length = 0
    const tasks = [task('__proto__'), task('constructor'), after('c', '__proto__', 'constructor')]
    const { outcome } = await played(crew(tasks, { c: looks }))
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 3, planned: 3 } } })
    expect(Object.keys((seen[0] as [string, object])[1])).toEqual(['__proto__', 'constructor'])
  })
})
