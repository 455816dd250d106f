/** Failure in a team, on a clock that moves only when nothing else can: spec team 1.10, C45 to C54. Embedded engine. */
import { describe, expect, test } from 'vitest'
import { agent, sleep, step } from '@reeve/agent'
import { failure, FailureError, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { team, type Plan } from '../src/index.ts'
import type { AnyTeamOptions } from '../src/options.ts'
import { played, staged, worker, type Doings, type Line } from './trace.ts'

const tasks = (...ids: string[]): Plan['subtasks'] => ids.map((id) => ({ id, description: id.toUpperCase() }))
const of = (doings: Doings, plan: Plan['subtasks'], options: Partial<AnyTeamOptions> = {}) =>
  team({
    name: 'analysts',
    roles: { generalist: worker(doings) },
    planner: { subtasks: plan },
    retry: { jitter: false },
    ...options,
  })
const dies = async (): Promise<Json> => {
  throw new FailureError(failure('worker.failed', 'no', 'validation'))
}
const told = (lines: readonly Line[], what: string): (readonly [number, string])[] =>
  lines.filter(([, line]) => line.includes(what))
const outcomeOf = (event: { readonly status: string }): string => event.status

describe('team C45: three attempts in all', () => {
  /** Fails so often, then succeeds. */
  const failing = (times: number, thrown: () => unknown): { doing: () => Promise<Json>; tried: () => number } => {
    let tried = 0
    return {
      doing: async () => {
        if (tried++ < times) throw thrown()
        return 'done'
      },
      tried: () => tried,
    }
  }

  test('throws twice, then succeeds: tried three times, after 1 s and after 2 s; no failure', async () => {
    const { doing, tried } = failing(2, () => new Error('no'))
    const { outcome, lines } = await played(of({ A: doing }, tasks('a')))
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: 1 }, tasks: [{ attempts: 3, status: 'succeeded' }] },
    })
    expect(tried()).toBe(3)
    expect(told(lines, 'begins')).toEqual([
      [0, 'a begins'],
      [1, 'a begins again (2)'],
      [3, 'a begins again (3)'],
    ])
  })

  test('throws three times: tried exactly three times, and has failed', async () => {
    const { doing, tried } = failing(9, () => new Error('no'))
    const { outcome } = await played(of({ A: doing }, tasks('a', 'b')))
    expect(tried()).toBe(3)
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { partial: true, tasks: [{ status: 'failed', attempts: 3 }, { status: 'succeeded' }] },
    })
  })

  test('`retry: { backoffMs: 0 }`: as many attempts, and no waiting', async () => {
    const { doing, tried } = failing(9, () => new Error('no'))
    const { lines } = await played(of({ A: doing }, tasks('a', 'b'), { retry: { backoffMs: 0 } }))
    expect(tried()).toBe(3)
    expect(told(lines, 'a begins').map(([second]) => second)).toEqual([0, 0, 0])
  })

  test('one attempt, and five', async () => {
    for (const attempts of [1, 5]) {
      const { doing, tried } = failing(9, () => new Error('no'))
      await played(of({ A: doing }, tasks('a', 'b'), { retry: { attempts, backoffMs: 0 } }))
      expect(tried()).toBe(attempts)
    }
  })

  test.each(['validation', 'policy', 'budget', 'rejected'] as const)(
    'what is of class %s will not pass: tried once',
    async (of_) => {
      const { doing, tried } = failing(9, () => new FailureError(failure('worker.failed', 'no', of_)))
      await played(of({ A: doing }, tasks('a', 'b')))
      expect(tried()).toBe(1)
    },
  )

  test.each(['transport', 'rate-limit', 'timeout', 'unknown'] as const)(
    'what is of class %s may: tried three times',
    async (of_) => {
      const { doing, tried } = failing(9, () => new FailureError(failure('worker.failed', 'no', of_)))
      await played(of({ A: doing }, tasks('a', 'b')))
      expect(tried()).toBe(3)
    },
  )

  test('a step that has tried three times is not tried again: three executions, not nine', async () => {
    let ran = 0
    const doing = async (ctx: Context): Promise<Json> =>
      step(
        ctx,
        'fetch',
        () => {
          ran++
          throw new Error('down')
        },
        { effect: 'read' },
      )
    const { outcome, lines } = await played(of({ A: doing }, tasks('a', 'b')))
    expect(ran).toBe(3)
    expect(outcome).toMatchObject({ results: { tasks: [{ status: 'failed', attempts: 3 }, {}] } })
    expect(told(lines, 'a begins')).toHaveLength(1)
  })

  test('a model that fails three times is asked three times', async () => {
    let asked = 0
    const model = (): never => {
      asked++
      throw new Error('down')
    }
    const writer = agent({ name: 'writer', description: 'Writes.', model })
    const { outcome } = await played(
      team({ name: 'analysts', roles: { generalist: writer }, planner: { subtasks: tasks('a') } }),
    )
    expect(asked).toBe(3)
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'team.too-many-failures' },
      results: { tasks: [{ attempts: 3 }] },
    })
  })

  test('an attempt has ten minutes of working time, and is tried again', async () => {
    const { outcome, lines } = await played(of({ A: 3_600 }, tasks('a', 'b')))
    expect(told(lines, 'a begins').map(([second]) => second)).toEqual([0, 601, 1_203])
    expect(outcome).toMatchObject({
      results: { tasks: [{ status: 'failed', attempts: 3, failure: { class: 'timeout' } }, {}] },
    })
  })
})

describe('an output that says of itself that it did not succeed', () => {
  test.each([
    [{ success: false }, 1],
    [{ success: false, error: 'no' }, 1],
    [{ success: false, error: { message: 'no', retryable: false } }, 1],
    [{ success: false, error: { message: 'no', retryable: true } }, 3],
    [{ success: false, error: { message: 'no', retryable: 'yes' } }, 1],
  ])('team C46: %j is a failure, tried %i times; what it says is kept', async (output, attempts) => {
    const { outcome } = await played(of({ A: async () => output }, tasks('a', 'b')))
    expect(outcome).toMatchObject({
      results: { tasks: [{ status: 'failed', attempts, output, failure: { code: 'task.unsuccessful' } }, {}] },
    })
  })

  test.each([{ success: true }, { success: 'false' }, { success: null }, 'success: false', [{ success: false }]])(
    '%j is none',
    async (output) => {
      const { outcome } = await played(of({ A: async () => output }, tasks('a')))
      expect(outcome).toMatchObject({ status: 'completed', results: { tasks: [{ status: 'succeeded', output }] } })
    },
  )

  test('team C54: with a time to wait, that is kept', async () => {
    const output = { success: false, error: { retryable: true, retryAfterMs: 7_000 } }
    const { lines } = await played(of({ A: async () => output }, tasks('a', 'b')))
    expect(told(lines, 'a begins').map(([second]) => second)).toEqual([0, 7, 14])
  })
})

test('team C54: a rate limit that names 7 s is retried after 7 s; one that names less, after the backoff', async () => {
  let tried = 0
  const limited = async (): Promise<Json> => {
    const retryAfterMs = [7_000, 500][tried++]
    if (retryAfterMs !== undefined)
      throw new FailureError(failure('worker.failed', 'slow down', 'rate-limit', { retryAfterMs }))
    return 'done'
  }
  const { outcome, lines } = await played(of({ A: limited }, tasks('a')))
  expect(outcome.status).toBe('completed')
  expect(told(lines, 'begins').map(([second]) => second)).toEqual([0, 7, 9])
})

describe('team C46: how much may fail', () => {
  const six = tasks('a', 'b', 'c', 'd', 'e', 'f')
  const failing = (...names: string[]): Doings => Object.fromEntries(names.map((name) => [name, dies]))

  test.each([
    [2, 'completed', 4],
    [3, 'completed', 3],
    [4, 'failed', 0],
  ])('%i of 6: %s', async (count, status, succeeded) => {
    const { outcome, lines } = await played(of(failing(...['A', 'B', 'C', 'D'].slice(0, count)), six))
    expect(outcomeOf(outcome)).toBe(status)
    expect(outcome).toMatchObject({ results: { partial: true, coverage: { succeeded, planned: 6 } } })
    const isGivenUp = status === 'failed'
    expect(told(lines, 'aborted')).toEqual(isGivenUp ? [[0, 'aborted 4/6: failures']] : [])
    expect(outcome.status === 'failed' ? [outcome.failure.code, outcome.failure.message] : []).toEqual(
      isGivenUp ? ['team.too-many-failures', 'Too many subtask failures (4/6)'] : [],
    )
  })

  test('team C47: of 8, four failures go on (exactly half), the fifth gives up; `critical` at the first', async () => {
    const eight = tasks('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
    const status = async (count: number, tolerance: AnyTeamOptions['tolerance']): Promise<string> =>
      outcomeOf(
        (await played(of(failing(...['A', 'B', 'C', 'D', 'E'].slice(0, count)), eight, { tolerance: tolerance! })))
          .outcome,
      )
    expect(await Promise.all([status(2, 'research'), status(4, 'research'), status(5, 'research')])).toEqual([
      'completed',
      'completed',
      'failed',
    ])
    expect(await Promise.all([status(0, 'critical'), status(1, 'critical')])).toEqual(['completed', 'failed'])
    expect(await Promise.all([status(1, 'data_analysis'), status(2, 'data_analysis')])).toEqual(['completed', 'failed'])
  })

  test('team C48: of one, one is too much; of two, one is not; `maxFailures` decides', async () => {
    expect((await played(of({ A: dies }, tasks('a')))).outcome).toMatchObject({
      status: 'failed',
      failure: { message: 'Too many subtask failures (1/1)' },
    })
    expect((await played(of({ A: dies }, tasks('a', 'b')))).outcome.status).toBe('completed')
    expect((await played(of({ A: dies }, tasks('a', 'b', 'c', 'd'), { maxFailures: 1 }))).outcome.status).toBe('failed')
    expect(
      (await played(of({ A: dies, B: dies, C: dies }, tasks('a', 'b', 'c', 'd'), { maxFailures: 4, tolerance: 0 })))
        .outcome.status,
    ).toBe('completed')
  })

  test('a critical task suffices, once it has used up its attempts; the message says which', async () => {
    const plan = [{ id: 'a', description: 'A', critical: true }, ...tasks('b', 'c', 'd')]
    let tried = 0
    const late = async (): Promise<Json> => {
      tried++
      throw new Error('no luck')
    }
    const { outcome, events } = await played(of({ A: late }, plan, { tolerance: 100 }))
    expect(tried).toBe(3)
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'team.too-many-failures', message: 'Too many subtask failures (1/4): "a" was critical' },
    })
    const aborted = events.flatMap(({ event }) => (event.type === 'plan.aborted' ? [event] : []))
    expect(aborted).toMatchObject([
      { reason: 'critical', failed: 1, total: 4, failures: [{ task: 'a', failure: { message: 'no luck' } }] },
    ])
  })

  test('team C50: at 100 percent all three fail: no give-up by number, and no synthesis of nothing', async () => {
    let asked = 0
    const synthesize = (): Json => ++asked
    const { outcome, lines } = await played(
      of(failing('A', 'B', 'C'), tasks('a', 'b', 'c'), { tolerance: 100, synthesize }),
    )
    expect(outcome).toMatchObject({
      status: 'failed',
      failure: { code: 'team.no-results' },
      results: { coverage: { succeeded: 0, planned: 3 } },
    })
    expect(asked).toBe(0)
    expect(told(lines, 'aborted')).toEqual([])
  })

  test('tasks that were skipped do not count', async () => {
    const plan = [
      ...tasks('a', 'b', 'c', 'd'),
      ...['e', 'f'].map((id) => ({ id, description: id, dependencies: ['a'] })),
    ]
    const { outcome } = await played(of({ A: dies, B: dies }, plan, { dependencies: { policy: 'require' } }))
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 2, planned: 6 } } })
  })
})

describe('team C52: given up while others work', () => {
  test('they stop by their signal, cancelled; done work stays; one end; no task begins', async () => {
    const stopped: string[] = []
    const long =
      (name: string) =>
      async (ctx: Context): Promise<Json> =>
        step(
          ctx,
          'long',
          ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                stopped.push(name)
                reject(signal.reason as Error)
              })
            }),
        )
    const late = async (ctx: Context): Promise<Json> => {
      await sleep(ctx, 5_000)
      return dies()
    }
    const plan = tasks('a', 'b', 'c', 'd', 'e', 'f')
    const { outcome, lines, events } = await played(
      of({ A: 1, B: late, C: long('c'), D: long('d'), E: late, F: 60 }, plan, {
        tolerance: 20,
        concurrency: 5,
        maxFailures: 2,
      }),
    )
    expect(outcome).toMatchObject({ status: 'failed', failure: { message: 'Too many subtask failures (2/6)' } })
    expect(stopped.sort()).toEqual(['c', 'd'])
    const results = outcome.status === 'failed' ? outcome.results! : undefined
    expect(results!.tasks.map(({ task, status, output }) => [task, status, output ?? null])).toEqual([
      ['a', 'succeeded', 'a'],
      ['b', 'failed', null],
      ['c', 'cancelled', null],
      ['d', 'cancelled', null],
      ['e', 'failed', null],
      ['f', 'cancelled', null],
    ])
    expect(told(lines, 'the run')).toHaveLength(1)
    expect(lines.at(-1)![0]).toBe(5)
    const ends = events.filter(({ event }) => event.type === 'activation.settled').map(({ activation }) => activation)
    expect(new Set(ends).size).toBe(ends.length)
    const aborted = events.flatMap(({ event }) => (event.type === 'plan.aborted' ? [event] : []))
    expect(aborted).toMatchObject([
      { reason: 'failures', failed: 2, total: 6, maxFailures: 2, failures: [{ task: 'b' }, { task: 'e' }] },
    ])
  })

  test('work done by the give-up has succeeded', async () => {
    // both end in the same moment; the first fails and gives the plan up
    const late = async (ctx: Context): Promise<Json> => {
      await sleep(ctx, 1_000)
      return dies()
    }
    const { outcome } = await played(of({ A: late, B: 1, C: 9 }, tasks('a', 'b', 'c'), { tolerance: 0 }))
    const statuses = outcome.status === 'failed' ? outcome.results!.tasks.map(({ status }) => status) : []
    expect(statuses[0]).toBe('failed')
    expect(['succeeded', 'cancelled']).toContain(statuses[1])
    expect(statuses[2]).toBe('cancelled')
  })

  test('one that waits for its next attempt is called off, and no timer is left', async () => {
    const never = async (): Promise<Json> => {
      throw new Error('again')
    }
    const late = async (ctx: Context): Promise<Json> => {
      await sleep(ctx, 500)
      return dies()
    }
    const stage = await staged(of({ A: never, B: late }, tasks('a', 'b'), { tolerance: 0 }))
    const { outcome, lines } = await stage.end()
    expect(outcome).toMatchObject({
      status: 'failed',
      results: { tasks: [{ status: 'cancelled', attempts: 1 }, { status: 'failed' }] },
    })
    expect(lines.at(-1)![0]).toBe(0.5)
    expect((await stage.run.view()).status).toBe('failed')
  })

  test('cancelling the run is no failure: nothing is given up', async () => {
    const stage = await staged(of({ A: 10, B: 10 }, tasks('a', 'b'), { tolerance: 0 }))
    await stage.until(5)
    await stage.run.control.cancel('enough')
    const { outcome, lines } = await stage.end()
    expect(outcome).toMatchObject({ status: 'cancelled', reason: 'enough' })
    expect(told(lines, 'aborted')).toEqual([])
  })
})
