/** Topics: who publishes, who waits, what is refused. Spec team 1.5. */
import { describe, expect, test } from 'vitest'
import { sleep, teammate } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { maxEntryBytes, published, Topics } from '../src/state/topics.ts'
import { crew, played, task, type Line } from './trace.ts'

const course = (lines: readonly Line[]): readonly Line[] =>
  lines.filter(([, what]) => /^\S+ (begins|succeeded|failed|skipped|cancelled|publishes|may not)/.test(what))
const fails = (): Promise<never> => Promise.reject(new Error('no luck'))
const seen: Json[] = []
const looks = async (ctx: Context, brief: string): Promise<string> => {
  seen.push([brief, await teammate(ctx).entries('news'), Object.keys(teammate(ctx).inputs)])
  return 'seen'
}
/** Publishes after `first` seconds, and works on for `rest`. */
const publishes =
  (topic: string, entry: Json, first: number, rest: number) =>
  async (ctx: Context): Promise<Json> => {
    await sleep(ctx, first * 1_000)
    const word = await teammate(ctx).publish(topic, entry)
    await sleep(ctx.scope('rest'), rest * 1_000)
    return word
  }

const by = (id: string): Parameters<Topics['publish']>[1] => ({ id, task: task(id, { produces: ['t', 'other'] }) })

describe('entries', () => {
  test('team C24: an entry of exactly 1 MiB fits, one byte more does not; bytes, not characters', () => {
    const topics = new Topics()
    const ofBytes = (bytes: number): string => 'x'.repeat(bytes - 2) // two quotes
    expect(maxEntryBytes).toBe(1_048_576)
    expect(topics.publish('t', by('a'), ofBytes(maxEntryBytes))).toEqual({
      published: true,
      seq: 1,
      bytes: maxEntryBytes,
    })
    expect(topics.publish('t', by('a'), ofBytes(maxEntryBytes + 1))).toEqual({ published: false, reason: 'too_large' })
    expect(topics.publish('t', by('a'), 'é'.repeat(maxEntryBytes / 2 - 1))).toMatchObject({ published: true, seq: 2 })
    expect(topics.publish('t', by('a'), 'é'.repeat(maxEntryBytes / 2))).toMatchObject({ published: false })
    expect(topics.publish('t', by('b'), null)).toEqual({ published: true, seq: 3, bytes: 4 })
  })

  test('are numbered in their topic, and are copies', () => {
    const topics = new Topics()
    const entry = { list: [1] }
    expect(topics.publish('t', by('a'), entry)).toMatchObject({ seq: 1 })
    expect(topics.publish('other', by('a'), 1)).toMatchObject({ seq: 1 })
    expect(topics.publish('t', by('b'), 2)).toMatchObject({ seq: 2 })
    entry.list.push(2)
    ;(topics.entries('t')[0] as { list: number[] }).list.push(3)
    expect(topics.entries('t')).toEqual([{ list: [1] }, 2])
    expect(topics.entries('nobody')).toEqual([])
    expect([topics.has('t'), topics.has('nobody'), topics.hasOf('t', 'b'), topics.hasOf('other', 'b')]).toEqual([
      true,
      false,
      true,
      false,
    ])
  })
})

describe('who waits for a topic', () => {
  test('team C22: listed before its producer, it begins right after the entry, in the same moment', async () => {
    seen.length = 0
    const { lines } = await played(
      crew([task('c', { consumes: ['news'] }), task('p', { produces: ['news'] })], { c: looks, p: 7 }),
    )
    expect(course(lines)).toEqual([
      [0, 'p begins'],
      [7, 'p publishes news 1'],
      [7, 'p succeeded'],
      [7, 'c begins'],
      [7, 'c succeeded'],
    ])
    expect(seen).toEqual([['c\n\n## Topic: news (p)\np', ['p'], []]])
  })

  test('team C22: a topic published during work frees its consumer; the output is no second entry', async () => {
    seen.length = 0
    const tasks = [task('c', { consumes: ['news'] }), task('p', { produces: ['news'] })]
    const { lines } = await played(crew(tasks, { c: looks, p: publishes('news', { n: 1 }, 3, 20) }))
    expect(course(lines)).toEqual([
      [0, 'p begins'],
      [3, 'p publishes news 1'],
      [3, 'c begins'],
      [3, 'c succeeded'],
      [23, 'p succeeded'],
    ])
    expect(seen).toEqual([['c\n\n## Topic: news (p)\n{"n":1}', [{ n: 1 }], []]])
  })

  test('team C17: with one permit it waits for the permit, not only for the entry', async () => {
    const tasks = [task('c', { consumes: ['news'] }), task('p', { produces: ['news'] })]
    const { lines } = await played(crew(tasks, { p: publishes('news', 1, 3, 20) }, { concurrency: 1 }))
    expect(course(lines).slice(-3)).toEqual([
      [23, 'p succeeded'],
      [23, 'c begins'],
      [23, 'c succeeded'],
    ])
  })

  test('two produce it: the first entry is enough, and that another fails is nothing', async () => {
    const tasks = [
      task('p', { produces: ['news'] }),
      task('q', { produces: ['news'] }),
      task('c', { consumes: ['news'] }),
    ]
    const { lines } = await played(crew(tasks, { p: fails, q: 5 }))
    expect(course(lines).slice(2)).toEqual([
      [0, 'p failed: orchestration.threw'],
      [5, 'q publishes news 1'],
      [5, 'q succeeded'],
      [5, 'c begins'],
      [5, 'c succeeded'],
    ])
  })

  const policies = [
    [
      'tolerate',
      [
        [4, 'c begins'],
        [4, 'c succeeded without news'],
      ],
    ],
    ['require', [[4, 'c skipped: "news", which it depends on, did not succeed']]],
    ['fail', [[4, 'c failed: task.dependency-failed']]],
  ] as const
  for (const [policy, end] of policies)
    test(`team C21: its producer fails: ${policy}; it never was unblocked`, async () => {
      const failsAt = async (ctx: Context): Promise<never> => {
        await sleep(ctx, 4_000)
        return fails()
      }
      const tasks = [
        task('c', { consumes: ['news'], onMissing: { news: policy } }),
        task('p', { produces: ['news'] }),
        task('x'),
      ]
      const { lines } = await played(crew(tasks, { p: failsAt, x: 9 }, { tolerance: 100 }))
      expect(course(lines).slice(2)).toEqual([[4, 'p failed: orchestration.threw'], ...end, [9, 'x succeeded']])
      expect(lines.some(([, what]) => what === 'c is unblocked')).toBe(false)
    })

  test('team C21: without an entry it is told that the topic is missing', async () => {
    seen.length = 0
    await played(crew([task('p', { produces: ['news'] }), task('c', { consumes: ['news'] })], { p: fails, c: looks }))
    expect(seen).toEqual([
      ['c\n\n## Missing: topic news\nNobody has added anything to this topic. Go on without it, and say so.', [], []],
    ])
  })

  test('team C24: an output too large for an entry is refused; its task succeeded, the topic is missing', async () => {
    const large = async (): Promise<string> => 'x'.repeat(1024 * 1024 + 1)
    for (const [policy, end] of policies) {
      const tasks = [task('p', { produces: ['news', 'news'] }), task('c', { consumes: ['news'], onMissing: policy })]
      const { lines } = await played(crew(tasks, { p: large }, { tolerance: 100 }))
      expect(course(lines)).toEqual([
        [0, 'p begins'],
        [0, 'p may not publish news: too_large'],
        [0, 'p succeeded'],
        ...end.map(([, what]) => [0, what]),
      ])
    }
  })

  test('a topic and the task that produces it: both are waited for, and its result is told once', async () => {
    seen.length = 0
    const tasks = [task('c', { consumes: ['news'], dependencies: ['p'] }), task('p', { produces: ['news'] })]
    const { lines } = await played(crew(tasks, { c: looks, p: publishes('news', 'early', 3, 20) }))
    expect(course(lines).at(-2)).toEqual([23, 'c begins'])
    await played(crew(tasks, { c: looks, p: 1 }))
    expect(seen).toEqual([
      ['c\n\n## Result: p\n{"published":true,"seq":1,"bytes":7}\n\n## Topic: news (p)\nearly', ['early'], ['p']],
      ['c\n\n## Result: p\np', ['p'], ['p']],
    ])
  })

  test('a task that consumes only its own topic does not wait', async () => {
    const { lines } = await played(crew([task('s', { produces: ['news'], consumes: ['news'] })], { s: 1 }))
    expect(course(lines)).toEqual([
      [0, 's begins'],
      [1, 's publishes news 1'],
      [1, 's succeeded'],
    ])
  })

  test('publishing a topic that the task does not produce is reported and changes nothing', async () => {
    const tasks = [task('p', { produces: ['news'] }), task('x'), task('c', { consumes: ['news'] })]
    const { lines, outcome } = await played(crew(tasks, { p: 5, x: publishes('news', 1, 1, 0) }))
    expect(course(lines)).toContainEqual([1, 'x may not publish news: undeclared'])
    expect(course(lines)).toContainEqual([5, 'c begins'])
    expect(outcome).toMatchObject({
      results: { tasks: [{}, { output: { published: false, reason: 'undeclared' } }, {}] },
    })
    const message = 'the task does not produce "news"; it produces no topic'
    expect(outcome).toMatchObject({ results: { tasks: [{}, { output: { message } }, {}] } })
    expect(published({ published: false, reason: 'undeclared' }, 'x', { produces: ['a', 'b'] })).toMatchObject({
      message: 'the task does not produce "x"; it produces "a", "b"',
    })
    expect(published({ published: false, reason: 'too_large' }, 'x', {})).toMatchObject({
      message: expect.stringContaining('1048576') as string,
    })
    expect(published({ published: true, seq: 1, bytes: 2 }, 'x', {})).toEqual({ published: true, seq: 1, bytes: 2 })
  })

  test('an entry of an attempt that failed then stays: entries are only added', async () => {
    seen.length = 0
    let tried = 0
    const twice = async (ctx: Context): Promise<string> => {
      await teammate(ctx).publish('news', ++tried)
      return tried === 1 ? fails() : 'done'
    }
    const tasks = [task('p', { produces: ['news'] }), task('c', { consumes: ['news'], dependencies: ['p'] })]
    await played(crew(tasks, { p: twice, c: looks }, { retry: { attempts: 2, backoffMs: 0, jitter: false } }))
    expect(seen).toMatchObject([[expect.anything(), [1, 2], ['p']]])
  })
})
