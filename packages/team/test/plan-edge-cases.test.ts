/**
 * Corners of plans at work: names that mean something elsewhere, empty plans, attempts that count for nothing, reserves
 * of those who never began.
 */
import { describe, expect, test } from 'vitest'
import { agent, sleep, step, teammate, type Agent } from '@reeve/agent'
import { failure, FailureError, type Failure, type Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { team, type Subtask, type TeamOptions } from '../src/index.ts'
import { played, staged, worker, type Doings } from './trace.ts'

const made = (doings: Doings, subtasks: readonly Subtask[], options: Partial<TeamOptions<string>> = {}): Agent =>
  team({ name: 'analysts', roles: { generalist: worker(doings) }, planner: { subtasks }, ...options })
const task = (id: string, more: Partial<Subtask> = {}): Subtask => ({ id, description: id, ...more })

describe('names of tasks', () => {
  const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'a/b', 'a>b', 'a#1', 'a b', '🙂 ü', '..', '*', 'role:writer', 'retry', 'idle', 'work', 'act_1', 'x'.repeat(300), '"', '\\', 'lead', 'operator'] // prettier-ignore
  test('team C53: any text is a name: results, inputs and journals go by it', async () => {
    const given: Record<string, Json> = {}
    const { outcome } = await played(
      made(
        {
          end: async (ctx) => {
            for (const [id, { output }] of Object.entries(teammate(ctx).inputs)) given[`_${id}`] = output ?? null
            return 'over'
          },
        },
        [...names.map((id) => task(id, { description: `do ${id}` })), task('end', { dependencies: names })],
        { retry: { backoffMs: 0 } },
      ),
    )
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { coverage: { succeeded: names.length + 1, planned: names.length + 1 } },
    })
    expect(given).toEqual(Object.fromEntries(names.map((id) => [`_${id}`, `do ${id}`.toLowerCase()])))
  })

  test.each(['constructor', 'toString', '__proto__'])(
    'team C19: onMissing speaks of others: "%s" has the policy of the team',
    async (name) => {
      const doings: Doings = { [`do ${name}`]: () => Promise.reject(new Error('no')) }
      const { outcome } = await played(
        made(
          doings,
          [
            task(name, { description: `do ${name}` }),
            task('other'),
            task('end', { dependencies: [name, 'other'], onMissing: { other: 'require' } }),
          ],
          {
            retry: { backoffMs: 0 },
          },
        ),
      )
      expect(outcome).toMatchObject({
        results: { tasks: [{ status: 'failed' }, { status: 'succeeded' }, { status: 'succeeded' }] },
      })
    },
  )
})

describe('an empty plan', () => {
  test.each([
    { route: 'team' },
    { route: 'dag' },
    { routing: { dynamic: true } },
    { routing: { communicating: true } },
  ] as const)('team X3: with %j, too, there is a member who answers', async (options) => {
    const { outcome, lines } = await played(made({ Go: 3 }, [], options))
    expect(outcome).toMatchObject({
      status: 'completed',
      output: 'go',
      results: { coverage: { succeeded: 1, planned: 1 } },
    })
    expect(lines.filter(([, what]) => what.startsWith('plan of'))).toHaveLength(1)
  })
})

describe('attempts', () => {
  const thrown =
    (of: Failure['class'], more: Parameters<typeof failure>[3] = {}) =>
    () =>
      Promise.reject(new FailureError(failure('model.failed', 'no', of, more)))
  test.each([
    ['transport', 3],
    ['rate-limit', 3],
    ['timeout', 3],
    ['unknown', 3],
    ['internal', 3],
    ['policy', 1],
    ['budget', 1],
    ['validation', 1],
    ['rejected', 1],
  ] as const)('team R-10: a failure of class %s is tried %d times', async (of, attempts) => {
    const { outcome } = await played(made({ A: thrown(of) }, [task('A'), task('B')], { retry: { backoffMs: 0 } }))
    expect(outcome).toMatchObject({ results: { tasks: [{ status: 'failed', attempts }, { status: 'succeeded' }] } })
  })

  test('team C54: a retry-after above the longest backoff is kept; less does not shorten the backoff', async () => {
    const once = (retryAfterMs: number): Doings => ({
      A: (ctx) =>
        teammate(ctx).attempt === 1 ? thrown('rate-limit', { retryable: true, retryAfterMs })() : Promise.resolve('a'),
    })
    const ends = async (retryAfterMs: number): Promise<number> =>
      (await played(made(once(retryAfterMs), [task('A')], { retry: { jitter: false } }))).lines.at(-1)![0]
    expect(await ends(90_000)).toBe(90)
    expect(await ends(1_000)).toBe(1)
    expect(await ends(1)).toBe(1)
  })

  test('team C54: so it is for one who says of itself that it had no success, and that it may pass', async () => {
    const says: Doings = {
      A: (ctx) =>
        Promise.resolve(
          teammate(ctx).attempt === 1
            ? { success: false, error: { message: 'busy', retryable: true, retryAfterMs: 7_000 } }
            : 'a',
        ),
    }
    const { lines, outcome } = await played(made(says, [task('A')]))
    expect(lines.find(([, what]) => what === 'A begins again (2)')).toEqual([7, 'A begins again (2)'])
    expect(outcome).toMatchObject({ status: 'completed', results: { tasks: [{ attempts: 2 }] } })
  })

  test('team C44: an attempt that counts for nothing makes no wait longer', async () => {
    const lost: Doings = {
      A: async (ctx) => {
        const { attempt } = teammate(ctx)
        if (attempt === 1) await sleep(ctx, 60_000)
        if (attempt === 2) throw new Error('not yet')
        return 'a'
      },
      B: async (ctx) => {
        await sleep(ctx, 1_000)
        await teammate(ctx).retire({ member: 'generalist_1', mode: 'force' })
        return 'b'
      },
    }
    const { lines, outcome } = await played(made(lost, [task('A'), task('B')], { retry: { jitter: false } }))
    expect(lines.filter(([, what]) => what.startsWith('A '))).toEqual([
      [0, 'A begins'],
      [1, 'A begins again (2)'],
      [1, 'A is to be tried again after 1000 ms'],
      [2, 'A begins again (3)'],
      [2, 'A succeeded after 2'],
    ])
    expect(outcome).toMatchObject({ status: 'completed' })
  })
})

describe('team C99: what is set aside', () => {
  test('for a recruit whose work cannot even begin is free again', async () => {
    const typed = agent({ name: 'typed', description: 'Takes numbers.', input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }, run: async () => 'n' }) // prettier-ignore
    const doings: Doings = {
      A: async (ctx) => {
        const asked = await teammate(ctx).recruit({
          description: 'count',
          role: 'typed',
          join: 'run',
          estimate: { tokens: 900 },
        } as never)
        await sleep(ctx, 2_000)
        return asked.admitted
      },
    }
    const root = team({
      name: 'analysts',
      roles: { generalist: worker(doings), typed },
      planner: {
        subtasks: [
          task('A', { estimate: { tokens: 50 } }),
          task('B', { dependencies: ['A'], estimate: { tokens: 900 } }),
        ],
      },
      budget: { tokens: 1_000 },
      retry: { backoffMs: 0 },
    }) as unknown as Agent
    const { outcome, events } = await played(root)
    const last = events.filter(({ event }) => event.type === 'budget.moved').at(-1)
    expect(last?.event).toMatchObject({ reserved: { tokens: 0 } })
    expect(outcome).toMatchObject({ status: 'completed', results: { coverage: { succeeded: 2 } } })
  })

  test('one larger than the whole budget is refused alone; its dependents follow their policy', async () => {
    const { outcome } = await played(
      made(
        {},
        [
          task('A', { estimate: { tokens: 2_000 } }),
          task('B', { estimate: { tokens: 1_000 } }),
          task('C', { dependencies: ['A'] }),
        ],
        { budget: { tokens: 1_000 } },
      ),
    )
    expect(outcome).toMatchObject({
      status: 'completed',
      results: {
        tasks: [
          { status: 'failed', attempts: 0, failure: { code: 'budget.exceeded' } },
          { status: 'succeeded' },
          { status: 'succeeded' },
        ],
      },
    })
  })
})

describe('team C21: topics that do not come', () => {
  test('a task that requires an entry that was too large is skipped at once', async () => {
    const huge = 'x'.repeat(1024 * 1024)
    const { lines } = await played(
      made({ P: async () => huge, Q: 20 }, [
        task('P', { produces: ['one'] }),
        task('Q', { produces: ['two'] }),
        task('C', { consumes: ['one', 'two'], onMissing: 'require' }),
      ]),
    )
    expect(lines.find(([, what]) => what.startsWith('C skipped'))?.[0]).toBe(0)
  })

  test('an entry of exactly 1 MiB is taken, as JSON with its quotes; a byte more is not', async () => {
    for (const [more, taken] of [
      [0, true],
      [1, false],
    ] as const) {
      const text = 'x'.repeat(1024 * 1024 - 2 + more)
      const { lines } = await played(made({ P: async () => text }, [task('P', { produces: ['one'] })]))
      expect(lines.some(([, what]) => what === 'P publishes one 1')).toBe(taken)
    }
  })
})

describe('team R-6: inputs', () => {
  test('are copies: changing one changes no other; they have status, output, failure and usage', async () => {
    const seen: Json[] = []
    const looks = async (ctx: Context): Promise<Json> => {
      const { inputs } = teammate(ctx)
      seen.push(structuredClone(inputs) as unknown as Json)
      Object.assign((inputs['A'] as { output: object }).output, { spoilt: true })
      return 'seen'
    }
    await played(
      made({ A: async () => ({ list: [1] }), N: () => Promise.reject(new Error('no')), B: looks, C: looks }, [
        task('A'), task('N'), task('B', { dependencies: ['A', 'N'] }), task('C', { dependencies: ['A', 'N', 'B'] }),
      ], { retry: { backoffMs: 0 } }), // prettier-ignore
    )
    expect(seen).toMatchObject([
      {
        A: { status: 'succeeded', output: { list: [1] }, usage: [] },
        N: { status: 'missing', failure: { message: 'no' } },
      },
      { A: { output: { list: [1] } } },
    ])
    expect(JSON.stringify(seen)).not.toContain('spoilt')
  })
})

describe('team C19: several dependencies, several policies', () => {
  test('of one required and one that must not fail, the first to end decides', async () => {
    const fails = (seconds: number) => (ctx: Context) =>
      sleep(ctx, seconds * 1_000).then(() => Promise.reject(new Error('no')))
    const plan: readonly Subtask[] = [
      task('A'),
      task('B'),
      task('E', { dependencies: ['A', 'B'], onMissing: { A: 'require', B: 'fail' } }),
      task('F'),
    ]
    const endOfE = async (a: number, b: number): Promise<string> =>
      (await played(made({ A: fails(a), B: fails(b), F: 9 }, plan, { retry: { backoffMs: 0 }, tolerance: 100 }))).lines
        .find(([, what]) => what.startsWith('E '))!
        .join(' ')
    expect(await endOfE(1, 2)).toMatch(/^3 E skipped/)
    expect(await endOfE(2, 1)).toBe('3 E failed: task.dependency-failed')
  })
})

describe('one terminal event', () => {
  test('team C101: a cancel while it is planned, and while it is answered, ends it once', async () => {
    const never = (): Promise<never> => new Promise(() => {})
    const planning = team({
      name: 'analysts',
      roles: { generalist: worker({}) },
      planner: never,
    }) as unknown as Agent
    const answering = made({}, [task('A'), task('B')], { synthesize: never })
    for (const root of [planning, answering]) {
      const stage = await staged(root)
      await stage.rests()
      await stage.run.control.cancel('enough')
      const { events, outcome } = await stage.end()
      expect(outcome.status).toBe('cancelled')
      expect(
        events.filter(({ activation, event }) => event.type === 'activation.settled' && !activation.includes('>')),
      ).toHaveLength(1)
    }
  })
})

test('team C45: a step of a member is tried three times in all, not nine; the results say so', async () => {
  let ran = 0
  const { outcome } = await played(
    made({ A: (ctx) => step(ctx, 'work', () => (ran++, Promise.reject(new FailureError(failure('model.failed', 'no', 'transport', { retryable: true }))))) }, [task('A'), task('B')]), // prettier-ignore
  )
  expect(ran).toBe(3)
  expect(outcome).toMatchObject({ results: { tasks: [{ status: 'failed', attempts: 3 }, {}] } })
})
