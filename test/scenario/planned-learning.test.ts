/** What a planned team learns of its runs: spec team 1.12, R-12, cases C59 to C64. */
import { describe, expect, test } from 'vitest'
import { agent, sleep, teammate, type Agent } from '@reeve/agent'
import { failure, FailureError, type Json, type SessionId } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { Run } from '@reeve/runtime'
import { sequential } from '@reeve/flow'
import {
  team,
  type Advice,
  type Advisor,
  type PlanQuestion,
  type Recollection,
  type TeamEnd,
  type TeamMemory,
  type TeamOptions,
} from '@reeve/team'
import { eventsOf, runtimeOf, store } from './team.ts'

/** A memory that says this, and keeps what it is told. */
function memoryOf(plans: Recollection['plans'] = [], strategies: Recollection['strategies'] = {}) {
  const recalls: (readonly [string, object])[] = []
  const ends: (readonly [TeamEnd, object])[] = []
  const memory: TeamMemory = {
    recall: (question, scope) => {
      recalls.push([question, scope])
      return { plans, strategies }
    },
    record: async (end, scope) => {
      await Promise.resolve()
      ends.push([end, scope])
    },
  }
  return { memory, recalls, ends }
}

/** Works a little on tasks called `wait…`, fails at those called `fail…`, hangs at those called `hang…`. */
const worker: Agent = agent({
  name: 'worker',
  description: 'Works.',
  run: async (ctx: Context) => {
    const { task } = teammate(ctx)
    if (task.startsWith('fail')) throw new FailureError(failure('tool.failed', 'no luck', 'policy'))
    if (task.startsWith('wait')) await sleep(ctx, 30)
    if (task.startsWith('hang')) await sleep(ctx, 3_600_000)
    return `${task} is done`
  },
})
type Options = TeamOptions<'analysts', undefined>
/** A team whose plan has these tasks; the planner keeps what it was asked. */
function teamOf(tasks: readonly string[], options: Partial<Options> = {}) {
  const questions: PlanQuestion[] = []
  const analysts = team({
    name: 'analysts',
    roles: { generalist: worker },
    planner: (question) => {
      questions.push(question)
      return { subtasks: tasks.map((id) => ({ id, description: `Do ${id}` })) }
    },
    ...options,
  })
  return { analysts, questions }
}
const session = 'ses_1' as SessionId

/** How many were at work at once, at most. */
async function atOnce(run: { events: Run['events'] }): Promise<number> {
  let now = 0
  let most = 0
  for (const { type } of await eventsOf(run)) {
    if (type === 'task.started') most = Math.max(most, ++now)
    if (type === 'task.settled') now--
  }
  return most
}
const adviceIn = async (run: { events: Run['events'] }) =>
  (await eventsOf(run)).filter(({ type }) => type === 'strategy.advised')
const unavailable = async (run: { events: Run['events'] }) =>
  (await eventsOf(run)).filter(({ type }) => type === 'memory.unavailable')
const remembered = (
  question: string,
  strategy: 'sequential' | 'parallel' = 'sequential',
  successes = 9,
  runs = 10,
) => ({
  question,
  strategy,
  subtasks: [{ id: 'old', description: question }],
  runs,
  successes,
})

describe('advice', () => {
  test('team C59: a question asked before with a success of 0.9: one at a time, and the planner is told', async () => {
    const { memory, recalls } = memoryOf([remembered('analyze data')])
    const { analysts, questions } = teamOf(['wait-a', 'wait-b', 'wait-c'], { memory })
    const runtime = await runtimeOf([analysts])
    const run = await runtime.start(analysts, 'Analyze Data', { session })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await atOnce(run)).toBe(1)
    expect(await adviceIn(run)).toMatchObject([
      { strategy: 'sequential', confidence: 0.9, overrides: true, source: 'analyze data' },
    ])
    expect((await eventsOf(run)).find(({ type }) => type === 'plan.created')).toMatchObject({
      strategy: 'sequential',
      concurrency: 1,
    })
    expect(questions).toMatchObject([
      { advice: { strategy: 'sequential', confidence: 0.9, subtasks: [{ id: 'old' }] } },
    ])
    expect(recalls).toEqual([['Analyze Data', { session, team: 'analysts' }]])
  })

  test('team C60 X23: half alike is not reused: the plan goes its own way; another similarity finds it', async () => {
    const { memory } = memoryOf([remembered('Analyze AI Agent market', 'sequential', 1, 1)])
    const tasks = ['wait-a', 'wait-b', 'wait-c']
    const plain = teamOf(tasks, { memory }).analysts
    const runtime = await runtimeOf([plain])
    const run = await runtime.start(plain, 'Analyze RPA market', { session })
    await run.outcome()
    expect(await adviceIn(run)).toMatchObject([{ strategy: 'parallel', confidence: 0.5, overrides: false }])
    expect(await atOnce(run)).toBe(3)

    const embedding = teamOf(tasks, { memory, advisor: { similarity: () => Promise.resolve(0.95) } }).analysts
    const other = await (await runtimeOf([embedding])).start(embedding, 'Analyze RPA market', { session })
    await other.outcome()
    expect(await adviceIn(other)).toMatchObject([{ strategy: 'sequential', confidence: 0.95, overrides: true }])
    expect(await atOnce(other)).toBe(1)
  })

  test('team C61: exactly 0.8 decides nothing; "urgent" and 0.9 go one at a time, with a warning', async () => {
    const tasks = ['wait-a', 'wait-b']
    const { memory } = memoryOf([
      remembered('compare prices', 'sequential', 8, 10),
      remembered('urgent: compare prices', 'parallel'),
    ])
    const { analysts } = teamOf(tasks, { memory })
    const runtime = await runtimeOf([analysts])
    const even = await runtime.start(analysts, 'Compare prices', { session })
    await even.outcome()
    expect(await adviceIn(even)).toMatchObject([{ strategy: 'sequential', confidence: 0.8, overrides: false }])
    expect(await atOnce(even)).toBe(2)
    const urgent = await runtime.start(analysts, 'URGENT: compare prices', { session })
    await urgent.outcome()
    expect(await adviceIn(urgent)).toMatchObject([
      { strategy: 'sequential', confidence: 0.9, overrides: true, warnings: [expect.stringContaining('rate_limit')] },
    ])
    expect(await atOnce(urgent)).toBe(1)
  })

  test('team R-12: advice above 0.8 overrides the plan, but not what the team insists on', async () => {
    const { memory } = memoryOf([remembered('q', 'parallel', 1, 1)])
    const planner = {
      strategy: 'sequential' as const,
      subtasks: ['wait-a', 'wait-b'].map((id) => ({ id, description: id })),
    }
    for (const [insists, most] of [
      [{}, 2],
      [{ strategy: 'sequential' as const }, 1],
    ] as const) {
      const { analysts } = teamOf([], { memory, planner, ...insists })
      const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session })
      await run.outcome()
      expect(await atOnce(run)).toBe(most)
    }
  })

  test('team R-12: a custom advisor is a recorded step with the same numbers each time', async () => {
    const asked: (readonly [Recollection, string, readonly number[]])[] = []
    const advisor: Advisor = (recollection, question, random) => {
      asked.push([recollection, question, [random(), random()]])
      return { strategy: 'sequential', confidence: 1, warnings: [] }
    }
    const { memory } = memoryOf([remembered('x')])
    const { analysts } = teamOf(['wait-a', 'wait-b'], { memory, advisor })
    const runtime = await runtimeOf([analysts])
    const run = await runtime.start(analysts, 'q', { session, runId: 'same' })
    await run.outcome()
    expect(await atOnce(run)).toBe(1)
    const again = await (await runtimeOf([analysts])).start(analysts, 'q', { session, runId: 'same' })
    await again.outcome()
    expect(asked).toHaveLength(2)
    expect(asked[1]).toEqual(asked[0])
    expect(asked[0]).toMatchObject([{ plans: [{ question: 'x' }] }, 'q', [expect.any(Number), expect.any(Number)]])
    expect(new Set(asked[0]![2]).size).toBe(2)
  })

  const bad: readonly (readonly [string, unknown])[] = [
    ['throws', () => { throw new Error('boom') }], // prettier-ignore
    ['rejects', () => Promise.reject(new Error('boom'))],
    ['names no strategy', () => ({ strategy: 'hierarchical', confidence: 1, warnings: [] })],
    ['is sure beyond measure', () => ({ strategy: 'sequential', confidence: 1.5, warnings: [] })],
    ['is not a number', () => ({ strategy: 'sequential', confidence: Number.NaN, warnings: [] })],
    ['says a word', () => 'sequential'],
    ['says something else besides', () => ({ strategy: 'sequential', confidence: 1, warnings: [], concurrency: 3 })],
  ]
  test.each(bad)('team R-12: an advisor that %s: hook.failed, no advice, and the work goes on', async (_, advisor) => {
    const { analysts, questions } = teamOf(['a', 'b'], { memory: memoryOf().memory, advisor: advisor as Advisor })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    const events = await eventsOf(run)
    expect(events.filter(({ type }) => type === 'hook.failed')).toMatchObject([{ hook: 'advisor' }])
    expect(events.filter(({ type }) => type === 'strategy.advised')).toEqual([])
    expect(questions[0]).not.toHaveProperty('advice')
  })

  test.each([
    ['throws', () => Promise.reject(new Error('boom'))],
    ['is no number', () => Number.NaN],
    ['is above 1', () => 1.1],
  ])('team R-12: a similarity that %s: hook.failed, no advice', async (_, similarity) => {
    const { analysts } = teamOf(['a', 'b'], { memory: memoryOf([remembered('q')]).memory, advisor: { similarity } })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect((await eventsOf(run)).filter(({ type }) => type === 'hook.failed')).toMatchObject([{ hook: 'similarity' }])
    expect(await adviceIn(run)).toEqual([])
  })

  test('team R-12: an advisor without a memory is asked with nothing; one that has no advice gives none', async () => {
    const seen: Recollection[] = []
    const advisor: Advisor = (recollection) => void seen.push(recollection)
    const { analysts } = teamOf(['a', 'b'], { advisor })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([{ plans: [], strategies: {} }])
    expect(await adviceIn(run)).toEqual([])
  })

  test('team C64: the same run in another store draws the same, and not every run the same', async () => {
    const strategies = { parallel: { runs: 9, successes: 9, ms: 0, tokens: 0 } }
    const advised = async (runId: string, explore: number): Promise<Advice['strategy']> => {
      const { analysts } = teamOf(['a'], { memory: memoryOf([], strategies).memory, advisor: { explore } })
      const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session, runId })
      await run.outcome()
      const [fact] = await adviceIn(run)
      return (fact as unknown as Advice).strategy
    }
    const ids = Array.from({ length: 6 }, (_, i) => `run-${i}`)
    const first = await Promise.all(ids.map((id) => advised(id, 0.5)))
    expect(await Promise.all(ids.map((id) => advised(id, 0.5)))).toEqual(first)
    expect(new Set(first)).toEqual(new Set(['parallel', 'sequential']))
  })
})

describe('what is remembered', () => {
  const cases: readonly (readonly [TeamEnd['status'], readonly string[], Partial<Options>, string])[] = [
    ['success', ['a', 'b'], {}, 'completed'],
    ['partial', ['a', 'b', 'fail-c'], {}, 'completed'],
    ['aborted', ['fail-a', 'fail-b', 'c'], {}, 'failed'],
    ['failed', ['fail-a', 'fail-b'], { tolerance: 100 }, 'failed'],
    ['failed', ['a', 'a'], {}, 'failed'],
    [
      'failed',
      [],
      { planner: () => Promise.reject(new FailureError(failure('tool.failed', 'no plan', 'policy'))) },
      'failed',
    ],
    ['success', [], { route: 'simple' }, 'completed'],
  ]
  test.each(cases)('team C63: %s: %j %j, once, with how it really ended', async (status, tasks, options, ended) => {
    const { memory, ends } = memoryOf()
    const { analysts } = teamOf(tasks, { memory, retry: { backoffMs: 0 }, ...options })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session, runId: 'r1' })
    expect(await run.outcome()).toMatchObject({ status: ended })
    expect(ends).toHaveLength(1)
    const [end, scope] = ends[0]!
    expect(scope).toEqual({ session, team: 'analysts' })
    expect(end).toMatchObject({ run: 'r1', question: 'q', status, strategy: 'hybrid', tokens: 0 })
    expect(end.ms).toBeGreaterThanOrEqual(0)
    expect(end.subtasks.map(({ id }) => id)).toEqual(tasks[0] === tasks[1] ? [] : tasks) // two tasks of one name are no plan
    expect(await unavailable(run)).toEqual([])
  })

  test('team C63: one that was cancelled is remembered as that, once', async () => {
    const { memory, ends } = memoryOf()
    const { analysts } = teamOf(['a', 'hang-b'], { memory })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session })
    for await (const { event } of run.events()) if (event.type === 'task.settled') break
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(ends).toMatchObject([[{ run: run.id, status: 'cancelled', subtasks: [{ id: 'a' }, { id: 'hang-b' }] }, {}]])
  })

  test('team C63: a memory that fails while it is cancelled changes nothing', async () => {
    const { analysts } = teamOf(['a', 'hang-b'], {
      memory: { ...memoryOf().memory, record: () => Promise.reject(new Error('down')) },
    })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session })
    for await (const { event } of run.events()) if (event.type === 'task.settled') break
    await run.control.cancel('enough')
    expect(await run.outcome()).toMatchObject({ status: 'cancelled' })
    expect(await unavailable(run)).toMatchObject([
      { wanted: 'record', failure: { message: expect.stringContaining('down') } },
    ])
  })

  test('team R-12: tokens of the tasks, and a question that is JSON or very long', async () => {
    const { memory, ends } = memoryOf()
    const thinker = agent({
      name: 'thinker',
      description: 'x',
      model: () => ({ text: 'Cats sleep.', usage: { input: 60, output: 40 } }),
    })
    const { analysts } = teamOf(['a', 'b'], { memory, roles: { generalist: thinker } })
    const runtime = await runtimeOf([analysts])
    await runtime.run(analysts, 'x'.repeat(5_000), { session })
    await runtime.run(analysts, { cats: 2 } as unknown as string, { session })
    expect(ends.map(([{ question, tokens }]) => [question, tokens])).toEqual([
      ['x'.repeat(2_000), 200],
      ['{"cats":2}', 200],
    ])
  })

  test('team C62: without a session nothing is recalled, nothing is recorded, nothing is advised', async () => {
    const { memory, recalls, ends } = memoryOf([remembered('q')])
    const { analysts } = teamOf(['a', 'b'], { memory })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q')
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect([recalls, ends, await adviceIn(run)]).toEqual([[], [], []])
  })

  test('team C62: a recall that throws: one memory.unavailable, no advice, the run goes on and is remembered', async () => {
    let asked = 0
    const { memory, ends } = memoryOf()
    const broken: TeamMemory = {
      ...memory,
      recall: () => {
        asked++
        throw new Error('down')
      },
    }
    const { analysts } = teamOf(['a', 'b'], { memory: broken })
    const run = await (await runtimeOf([analysts])).start(analysts, 'urgent', { session })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(asked).toBe(1)
    expect(await unavailable(run)).toMatchObject([
      { wanted: 'recall', failure: { message: expect.stringContaining('down') } },
    ])
    expect(await adviceIn(run)).toEqual([])
    expect(ends).toMatchObject([[{ status: 'success' }, {}]])
  })

  test('team R-12: a record that throws: the outcome is the same, and one memory.unavailable', async () => {
    const { analysts } = teamOf(['a', 'b'], {
      memory: { ...memoryOf().memory, record: () => Promise.reject(new Error('full')) },
    })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await unavailable(run)).toMatchObject([{ wanted: 'record' }])
  })

  const nonsense: readonly (readonly [string, unknown])[] = [
    ['a text', 'plans'],
    ['plans that are none', { plans: [{ question: 'q' }] }],
    ['more successes than runs', { plans: [remembered('q', 'sequential', 3, 2)] }],
    ['a strategy that nobody knows', { plans: [{ ...remembered('q'), strategy: 'hierarchical' }] }],
    ['something that is no JSON', { plans: [{ ...remembered('q'), runs: 10n }] }],
    ['figures that are none', { plans: [], strategies: { parallel: { runs: 1, successes: 1, ms: -1, tokens: 0 } } }],
  ]
  test.each(nonsense)('team R-12: a memory that recalls %s is unavailable', async (_, said) => {
    const { analysts } = teamOf(['a', 'b'], { memory: { ...memoryOf().memory, recall: () => said as Recollection } })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await unavailable(run)).toMatchObject([{ wanted: 'recall' }])
    expect(await adviceIn(run)).toEqual([])
  })

  test.each([undefined, null, {}, { plans: [] }])('team R-12: a memory that recalls %j knows nothing', async (said) => {
    const { analysts } = teamOf(['a', 'b'], {
      memory: { ...memoryOf().memory, recall: () => said as unknown as Recollection },
    })
    const run = await (await runtimeOf([analysts])).start(analysts, 'q', { session })
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await unavailable(run)).toEqual([])
    expect(await adviceIn(run)).toMatchObject([{ strategy: 'parallel', confidence: 0.5, overrides: false }])
  })
})

describe('the memory in the store', () => {
  const last = async (run: { events: Run['events'] }): Promise<Json> => {
    const [fact] = await adviceIn(run)
    const { strategy, confidence, overrides } = fact as unknown as Advice & { overrides: boolean }
    return [strategy, confidence, overrides]
  }

  test('team C63: it learns over runs and processes; a give-up lowers it; sessions and teams are separate', async () => {
    const file = store()
    const plan = (tasks: readonly string[], strategy: 'sequential' | 'parallel') => ({
      strategy,
      subtasks: tasks.map((id) => ({ id, description: id })),
    })
    const good = team({
      name: 'analysts',
      roles: { generalist: worker },
      planner: plan(['wait-a', 'wait-b'], 'sequential'),
      memory: true,
    })
    const bad = team({ name: 'analysts', roles: { generalist: worker }, planner: plan(['fail-a', 'fail-b'], 'parallel'), memory: true, retry: { backoffMs: 0 } }) // prettier-ignore
    const seen: Json[] = []
    const go = async (which: typeof good, question: string, inSession = session): Promise<void> => {
      const runtime = await runtimeOf([which], { store: file })
      const run = await runtime.start(which, question, { session: inSession })
      await run.outcome()
      seen.push(await last(run))
      await runtime.close()
    }
    await go(good, 'Compare cats')
    await go(good, 'compare CATS')
    await go(bad, 'compare cats')
    await go(good, 'compare cats')
    await go(good, 'compare cats', 'ses_2' as SessionId)
    expect(seen).toEqual([
      ['parallel', 0.5, false], // nothing is known
      ['sequential', 1, true],
      ['sequential', 1, true], // two of two; this one fails
      [expect.any(String), 0.5, false], // two of three: less than 0.7
      ['parallel', 0.5, false],
    ])
  })

  test('team C63: cancelled runs count in it, too', async () => {
    const { analysts } = teamOf([], {
      memory: true,
      planner: ({ advice }) => ({
        subtasks: (advice?.source === undefined ? ['a', 'b'] : ['a', 'hang-b']).map((id) => ({ id, description: id })),
      }),
    })
    const runtime = await runtimeOf([analysts])
    const ask = (): Promise<Run> => runtime.start(analysts, 'q', { session })
    expect(await (await ask()).outcome()).toMatchObject({ status: 'completed' })
    const second = await ask()
    for await (const { event } of second.events()) if (event.type === 'task.settled') break
    await second.control.cancel('enough')
    expect(await second.outcome()).toMatchObject({ status: 'cancelled' })
    expect(await last(second)).toMatchObject([expect.any(String), 1, true])
    const third = await ask()
    await third.outcome()
    expect(await last(third)).toMatchObject([expect.any(String), 0.5, false]) // one of two
  })

  test('team R-12: a team below another agent has its own ends: two of them in one run are two', async () => {
    const { memory, ends } = memoryOf()
    const { analysts } = teamOf(['a', 'b'], { memory })
    const twice = sequential({ name: 'twice', agents: [analysts, analysts] })
    const runtime = await runtimeOf([twice])
    expect(await runtime.run(twice, 'q', { session })).toMatchObject({ status: 'completed' })
    expect(new Set(ends.map(([{ run }]) => run)).size).toBe(2)
  })
})

describe('options', () => {
  test.each([
    [{ memory: false }, 'memory is false'],
    [{ memory: { recall: () => ({}) } }, 'expected true or { recall, record }'],
    [{ memory: [] }, 'memory is a list'],
    [{ advisor: 'me' }, 'advisor is the text "me"'],
    [{ advisor: { similarity: 0.8 } }, 'similarity is 0.8'],
    [{ advisor: { explore: Number.NaN } }, 'explore is NaN'],
    [{ advisor: { explore: 1.1 } }, 'explore is 1.1'],
    [{ advisor: { accuracy: -1 } }, 'accuracy is -1'],
    [{ advisor: { epsilon: 0.1 } }, '"epsilon"'],
  ])('team R-12: %j', (given, problem) => {
    expect(() => teamOf(['a'], given as never)).toThrow(problem)
  })
})
