/** What a team keeps of how its runs have ended: spec team 1.12, R-12, case C63. */
import { describe, expect, test } from 'vitest'
import type { Json } from '@reeve/core'
import type { Recollection } from '../src/learn/advisor.ts'
import { withEnd, type TeamEnd } from '../src/learn/memory.ts'

let runs = 0
const end = (given: Partial<TeamEnd> = {}): TeamEnd => ({
  run: `run-${runs++}`,
  question: 'q',
  strategy: 'parallel',
  subtasks: [{ id: 'a', description: 'A' }],
  status: 'success',
  ms: 10,
  tokens: 5,
  ...given,
})
const after = (...ends: readonly TeamEnd[]): Recollection & { readonly ends: readonly string[] } =>
  ends.reduce<Json>((memory, each) => withEnd(memory, each), null) as unknown as Recollection & {
    readonly ends: readonly string[]
  }

describe('what is kept of ends', () => {
  test('team C63: every end counts as a run, those with an answer as a success', () => {
    const statuses = ['success', 'partial', 'aborted', 'failed', 'cancelled'] as const
    const memory = after(...statuses.map((status) => end({ status })))
    expect(memory.plans).toEqual([
      { question: 'q', strategy: 'parallel', subtasks: [{ id: 'a', description: 'A' }], runs: 5, successes: 2 },
    ])
    expect(memory.strategies).toEqual({ parallel: { runs: 5, successes: 2, ms: 50, tokens: 25 } })
  })

  test('team C63: the same run counts once, however often it is told', () => {
    const once = end({ run: 'r' })
    expect(after(once, once, { ...once, status: 'cancelled' })).toEqual(after(once))
  })

  test('team R-12: questions ignore case and outer white space; the plan is that of the last success', () => {
    const memory = after(
      end({ question: 'Cats', status: 'failed', subtasks: [] }),
      end({ question: ' cats ', strategy: 'sequential', subtasks: [{ id: 'b', description: 'B' }] }),
      end({ question: 'CATS', strategy: 'hybrid', status: 'aborted', subtasks: [{ id: 'c', description: 'C' }] }),
    )
    expect(memory.plans).toEqual([
      { question: ' cats ', strategy: 'sequential', subtasks: [{ id: 'b', description: 'B' }], runs: 3, successes: 1 },
    ])
    expect(Object.keys(memory.strategies)).toEqual(['parallel', 'sequential', 'hybrid'])
  })

  test('team R-12: at most a hundred plans, the least recently asked goes; counts of strategies stay', () => {
    const many = Array.from({ length: 100 }, (_, i) => end({ question: `q${i}` }))
    const memory = after(...many, end({ question: 'q0' }), end({ question: 'new' }))
    expect(memory.plans).toHaveLength(100)
    expect(memory.plans.some(({ question }) => question === 'q1')).toBe(false)
    expect(memory.plans.slice(-2)).toMatchObject([
      { question: 'q0', runs: 2 },
      { question: 'new', runs: 1 },
    ])
    expect(memory.strategies).toMatchObject({ parallel: { runs: 102, successes: 102 } })
  })

  test('team R-12: bounded: ends are known for two hundred other runs, tasks up to 64 KiB', () => {
    const memory = after(...Array.from({ length: 300 }, () => end()))
    expect(memory.ends).toHaveLength(200)
    expect(memory.plans).toMatchObject([{ runs: 300, successes: 300 }])
    const huge = Array.from({ length: 1_000 }, (_, i) => ({ id: `t${i}`, description: 'x'.repeat(100) }))
    expect(after(end({ subtasks: huge })).plans).toMatchObject([{ subtasks: [] }])
  })

  test('team R-12: a question may have any name', () => {
    const memory = after(end({ question: '__proto__' }), end({ question: 'constructor' }), end({ question: '' }))
    expect(memory.plans.map(({ question }) => question)).toEqual(['__proto__', 'constructor', ''])
  })
})
