import { describe, expect, test } from 'vitest'
import type { LiveActivation } from '@reeve/server/wire'
import { agentRows, doingOf, rowsAround } from '../../src/pages/run/agent-tree.ts'

type Open = LiveActivation['open'][number]
const activation = (id: string, more: Partial<LiveActivation> = {}): LiveActivation => {
  const at = id.lastIndexOf('>')
  return {
    activation: id as LiveActivation['activation'],
    agent: id.slice(at + 1),
    version: '1',
    ...(at < 0 ? {} : { parent: id.slice(0, at) as LiveActivation['activation'] }),
    path: id.split('>'),
    state: 'running',
    startedAt: 1_000,
    open: [],
    usage: [],
    modelCalls: 0,
    toolCalls: 0,
    failedAttempts: 0,
    recruited: false,
    ...more,
  }
}
const all = (...views: readonly LiveActivation[]): Readonly<Record<string, LiveActivation>> =>
  Object.fromEntries(views.map((view) => [view.activation, view]))
const open = (kind: Open['kind'], name: string, more: Partial<Open> = {}): Open => ({
  kind,
  address: 'a',
  name,
  since: 5_000,
  failedAttempts: 0,
  inDoubt: false,
  ...more,
})

describe('rows of the tree', () => {
  const run = all(activation('a'), activation('a>b'), activation('a>c'), activation('a>b>d'))

  test('each stands below its leader with its level and its place among its siblings', () => {
    expect(
      agentRows(run, new Set()).map(({ view, level, position, size }) => [view.activation, level, position, size]),
    ).toEqual([
      ['a', 1, 1, 1],
      ['a>b', 2, 1, 2],
      ['a>b>d', 3, 1, 1],
      ['a>c', 2, 2, 2],
    ])
  })

  test('a collapsed row hides all that is below it, and says how many', () => {
    const rows = agentRows(run, new Set(['a>b']))
    expect(rows.map(({ view, expanded, hidden }) => [view.activation, expanded, hidden])).toEqual([
      ['a', true, 0],
      ['a>b', false, 1],
      ['a>c', undefined, 0],
    ])
    expect(agentRows(run, new Set(['a']))).toMatchObject([{ hidden: 3 }])
  })

  test('one whose leader is not known stands as a root; a name of every object is no leader', () => {
    const apart = { ...activation('x'), parent: 'constructor' as LiveActivation['activation'] }
    expect(agentRows(all(apart), new Set()).map(({ level }) => level)).toEqual([1])
  })

  test('a chain of 20,000 leaders has rows', () => {
    const chain: LiveActivation[] = []
    for (let i = 0; i < 20_000; i++)
      chain.push({
        ...activation(`n${i}`),
        ...(i === 0 ? {} : { parent: `n${i - 1}` as LiveActivation['activation'] }),
      })
    expect(agentRows(all(...chain), new Set()).at(-1)?.level).toBe(20_000)
    expect(agentRows(all(...chain), new Set(['n0']))).toMatchObject([{ hidden: 19_999 }])
  })
})

describe('what an agent does now', () => {
  test.each([
    [[open('model', 'gpt')], 'work', 'asks gpt'],
    [[open('tool', 'send', { failedAttempts: 2 })], 'work', 'runs send, attempt 3'],
    [[open('worker', 'writer'), open('worker', 'editor')], 'wait', 'waits for writer and 1 more'],
    [[open('worker', 'writer'), open('approval', 'x')], 'human', "waits for an approver's decision"],
    [[open('tool', 'pay', { inDoubt: true }), open('model', 'm')], 'human', 'waits for an operator: did pay happen?'],
  ] as const)('%j', (ops, kind, text) => {
    expect(doingOf(activation('a', { open: ops }))).toEqual({ kind, text, since: 5_000 })
  })

  test('a limit that holds it up is named', () => {
    const shortOf = { limit: 'usd', max: 2, activation: 'a' as LiveActivation['activation'], since: 7 } as const
    expect(doingOf(activation('a', { shortOf }))).toMatchObject({ text: 'waits for room in its limit of $2', since: 7 })
  })

  test('what is recorded during a pause has not begun; what began before goes on', () => {
    const doing = (since: number, kind: Open['kind'] = 'step') =>
      doingOf(activation('a', { open: [open(kind, 'send', { since })] }), 5_000)
    expect(doing(5_000)).toEqual({ kind: 'wait', text: 'send begins when the run goes on', since: 5_000 })
    expect(doing(4_999)).toMatchObject({ text: 'does send' })
    expect(doing(6_000, 'worker')).toMatchObject({ text: 'waits for send' })
  })

  test.each([
    ['mail', 'waits for mail'],
    ['a/sleep#2', 'sleeps'],
    ['turn/until', 'waits for a timer'],
  ])('the timer %s', (address, text) => {
    expect(doingOf(activation('a', { open: [open('timer', address)] }))).toMatchObject({ kind: 'wait', text })
  })

  test('a deadline is nothing that it waits for', () => {
    expect(doingOf(activation('a', { open: [open('timer', 'work/b/timeout#3')] }))).toBeUndefined()
  })

  test('nothing once it has ended', () => {
    expect(doingOf(activation('a', { endedAt: 9, open: [open('model', 'm')] }))).toBeUndefined()
  })
})

test('of a long list the rows around one are chosen from; of a short one all', () => {
  const rows = Array.from({ length: 1_000 }, (_, i) => i)
  expect(rowsAround(rows, 500, 10)).toEqual({ rows: rows.slice(495, 505), before: 495, after: 495 })
  expect(rowsAround(rows, -1, 10)).toEqual({ rows: rows.slice(0, 10), before: 0, after: 990 })
  expect(rowsAround(rows, 999, 10)).toEqual({ rows: rows.slice(990), before: 990, after: 0 })
  expect(rowsAround([1, 2], 1, 10)).toEqual({ rows: [1, 2], before: 0, after: 0 })
})
