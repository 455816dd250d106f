/** How long a task waits while nothing moves among those it depends on. Spec team 1.5, R-5. */
import { expect, test } from 'vitest'
import { sleep, teammate } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { interrupt } from '@reeve/oversight'
import type { Subtask } from '../src/index.ts'
import { crew as common, played, staged, task, type Line } from './trace.ts'

const after = (id: string, ...dependencies: string[]): Subtask => task(id, { dependencies })
const crew: typeof common = (subtasks, doings, options) =>
  common(subtasks, doings, { tolerance: 100, timeoutMs: 0, ...options })
const of = (lines: readonly Line[], id: string): readonly Line[] =>
  lines.filter(([, what]) => what.startsWith(`${id} `))
const timedOut = 'failed: task.dependency-timeout'

test('team C21: nothing moves for 360 s: it has failed, once, is not tried again, and never was unblocked', async () => {
  const { lines, outcome } = await played(crew([task('a'), after('b', 'a')], { a: 1_000 }, { retry: { attempts: 3 } }))
  expect(of(lines, 'b')).toEqual([[360, `b ${timedOut}`]])
  expect(lines.at(-1)).toEqual([1_000, 'the run completed'])
  expect(outcome).toMatchObject({
    results: {
      coverage: { succeeded: 1, planned: 2 },
      tasks: [
        {},
        {
          status: 'failed',
          attempts: 0,
          failure: { code: 'task.dependency-timeout', class: 'timeout', retryable: false, details: { on: ['a'] } },
        },
      ],
    },
  })
})

test('an end in the last moment is in time', async () => {
  const { lines } = await played(crew([task('a'), after('b', 'a')], { a: 360 }))
  expect(of(lines, 'b')).toEqual([
    [360, 'b is unblocked'],
    [360, 'b begins'],
    [360, 'b succeeded'],
  ])
  const late = await played(crew([task('a'), after('b', 'a')], { a: 360.001 }))
  expect(of(late.lines, 'b')).toEqual([[360, `b ${timedOut}`]])
})

test('it is counted from the last that moved, not from the beginning: a chain of 300 s each goes through', async () => {
  const chain = [task('a'), after('b', 'a'), after('c', 'b'), after('d', 'c')]
  const { lines } = await played(crew(chain, { a: 300, b: 300, c: 300, d: 1 }))
  expect(lines.at(-1)).toEqual([901, 'the run completed'])
  expect(lines.some(([, what]) => what.includes('failed'))).toBe(false)
})

test('an end of one of them counts, also a failed one', async () => {
  const fails = async (ctx: Context): Promise<never> => {
    await sleep(ctx, 100_000)
    throw new Error('no')
  }
  const { lines } = await played(crew([task('a'), task('b'), after('c', 'a', 'b')], { a: fails, b: 1_000 }))
  expect(of(lines, 'c')).toEqual([[460, `c ${timedOut}`]])
})

test('a beginning counts: one at a time, and it waits for the first and the last', async () => {
  const tasks = [task('a'), task('x'), task('b'), after('c', 'a', 'b')]
  const { lines } = await played(crew(tasks, { a: 10, x: 500, b: 300 }, { concurrency: 1 }))
  expect(of(lines, 'c').map(([second, what]) => [second, what])).toEqual([
    [810, 'c is unblocked'],
    [810, 'c begins'],
    [810, 'c succeeded'],
  ])
})

test('each attempt that begins counts', async () => {
  let tried = 0
  const third = async (ctx: Context): Promise<string> => {
    await sleep(ctx, 300_000)
    if (++tried < 3) throw new Error('no')
    return 'at last'
  }
  const { lines } = await played(
    crew([task('a'), after('b', 'a')], { a: third }, { retry: { attempts: 3, backoffMs: 0, jitter: false } }),
  )
  expect(of(lines, 'b').at(-1)).toEqual([900, 'b succeeded'])
})

test('an entry in a topic that it waits for counts; entries of others do not', async () => {
  const publishes = async (ctx: Context): Promise<string> => {
    await sleep(ctx, 200_000)
    await teammate(ctx).publish('one', 1)
    await sleep(ctx.scope('rest'), 800_000)
    return 'done'
  }
  const tasks = [
    task('p', { produces: ['one'] }),
    task('q', { produces: ['two'] }),
    task('c', { consumes: ['one', 'two'] }),
    task('d', { consumes: ['two'] }),
  ]
  const { lines } = await played(crew(tasks, { p: publishes, q: 1_000 }))
  expect(of(lines, 'd')).toEqual([[360, `d ${timedOut}`]])
  expect(of(lines, 'c')).toEqual([[560, `c ${timedOut}`]])
})

test('0: however long; and a time of its own', async () => {
  const tasks = [task('a'), after('b', 'a')]
  const { lines, events } = await played(crew(tasks, { a: 100_000 }, { dependencies: { timeoutMs: 0 } }))
  expect(of(lines, 'b').at(-1)).toEqual([100_000, 'b succeeded'])
  expect(events.some(({ event }) => 'address' in event && String(event.address).startsWith('patience'))).toBe(false)
  const short = await played(crew(tasks, { a: 10 }, { dependencies: { timeoutMs: 1 } }))
  expect(of(short.lines, 'b')).toEqual([[0.001, `b ${timedOut}`]])
})

test('a timeout counts as a failed task under any policy: at zero tolerance it ends the plan', async () => {
  for (const policy of ['tolerate', 'require', 'fail'] as const) {
    const { lines, outcome } = await played(
      crew([task('a'), after('b', 'a')], { a: 1_000 }, { tolerance: 0, dependencies: { policy } }),
    )
    expect(lines.slice(-4)).toEqual([
      [360, `b ${timedOut}`],
      [360, 'aborted 1/2: failures'],
      [360, 'a cancelled: the plan was given up'],
      [360, 'the run failed'],
    ])
    expect(outcome).toMatchObject({ failure: { code: 'team.too-many-failures' } })
  }
})

test('several time out at once: each fails, in plan order, and their dependents go on from there', async () => {
  const tasks = [after('z', 'b'), task('a'), after('b', 'a'), after('c', 'a')]
  const { lines } = await played(crew(tasks, { a: 1_000 }))
  expect(lines.filter(([second]) => second === 360)).toEqual([
    [360, `b ${timedOut}`],
    [360, `c ${timedOut}`],
    [360, 'z begins'],
    [360, 'z succeeded without b'],
  ])
})

const asks = async (ctx: Context): Promise<Json> => {
  await sleep(ctx, 100_000)
  const answer = await interrupt(ctx, 'well?')
  await sleep(ctx.scope('rest'), 250_000)
  return answer
}

test('the clock stands while one of them waits for a human, for as long as that takes', async () => {
  const stage = await staged(crew([task('a'), after('b', 'a')], { a: asks }))
  await stage.until(100_000)
  const [question] = await stage.runtime.questions()
  await stage.runtime.answer({ interruptId: question!.id, value: 'yes' })
  const { lines } = await stage.end()
  expect(of(lines, 'b').at(-1)).toEqual([100_250, 'b succeeded'])
})

test('and goes on afterwards from where it stood', async () => {
  const slow = async (ctx: Context): Promise<Json> => {
    const answer = await asks(ctx)
    await sleep(ctx.scope('more'), 1_000_000)
    return answer
  }
  const stage = await staged(crew([task('a'), after('b', 'a')], { a: slow }))
  await stage.until(5_000)
  const [question] = await stage.runtime.questions()
  await stage.runtime.answer({ interruptId: question!.id, value: 'yes' })
  const { lines } = await stage.end()
  expect(of(lines, 'b')).toEqual([[5_260, `b ${timedOut}`]])
})

test('two humans at once stop it once: their waits are not added up', async () => {
  const first = async (ctx: Context): Promise<Json> => {
    const answer = await interrupt(ctx, 'one?')
    await sleep(ctx, 1_000_000)
    return answer
  }
  const stage = await staged(crew([task('a'), task('x'), after('b', 'a', 'x')], { a: first, x: first }))
  await stage.until(1_000)
  for (const { id } of await stage.runtime.questions()) await stage.runtime.answer({ interruptId: id, value: 'yes' })
  const { lines } = await stage.end()
  expect(of(lines, 'b')).toEqual([[1_360, `b ${timedOut}`]])
})

test('one timer for all, however many wait or move', async () => {
  const many = Array.from({ length: 50 }, (_, i) => task(`t${i}`))
  const tasks = [...many, ...['x', 'y', 'z'].map((id) => after(id, ...many.map((each) => each.id)))]
  const { events } = await played(crew(tasks, Object.fromEntries(many.map(({ id }) => [id, 60])), { concurrency: 2 }))
  const timers = events.filter(({ event }) => event.type === 'timer.set' && event.address.startsWith('patience'))
  expect(timers.length).toBeLessThanOrEqual(6) // 25 rounds of a minute: at most one in 360 s, and the first
  expect(timers.length).toBeGreaterThan(1)
})
