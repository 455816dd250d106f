/** The ledger of a team: spec team R-20, C99. Pure. */
import { describe, expect, test } from 'vitest'
import { usageRow, type Usage } from '@reeve/core'
import { TeamBudget, treeLimits } from '../src/budget/budget.ts'

const used = (tokens: number, usd = 0): Usage => [usageRow('worker', 'a/b', { input: tokens, output: 0, usd })]
const unknown: Usage = [usageRow('worker', 'a/b', undefined)]
const tokens = (n: number): { tokens: number; usd: number } => ({ tokens: n, usd: 0 })

describe('team C99: what is set aside and what is spent', () => {
  test('two have 4,000 of 10,000; a third does not fit; 2,000 do, to the last token', () => {
    const budget = new TeamBudget({ tokens: 10_000 })
    budget.reserve('a', tokens(4_000))
    budget.reserve('b', tokens(4_000))
    expect(budget.shortage(tokens(4_000))).toEqual({
      of: 'tokens',
      limit: 10_000,
      spent: 0,
      reserved: 8_000,
      wanted: 4_000,
    })
    expect(budget.shortage(tokens(2_001))).toBeDefined()
    expect(budget.shortage(tokens(2_000))).toBeUndefined()
    expect(budget.exhausted()).toBeUndefined()
  })

  test('who uses 6,000 of its 4,000 has used 6,000', () => {
    const budget = new TeamBudget({ tokens: 10_000 })
    budget.reserve('a', tokens(4_000))
    expect(budget.settle('a', used(6_000))).toMatchObject({ used: { tokens: 6_000 } })
    expect(budget.state()).toMatchObject({ spent: { tokens: 6_000 }, reserved: { tokens: 0 } })
    budget.settle('b', used(9_000))
    expect(budget.state().spent.tokens).toBe(15_000)
    expect(budget.exhausted()).toMatchObject({ of: 'tokens', spent: 15_000, wanted: 0 })
  })

  test('who uses less gives the rest back; what is used up is exactly the limit', () => {
    const budget = new TeamBudget({ tokens: 100 })
    budget.reserve('a', tokens(100))
    expect(budget.shortage(tokens(1))).toBeDefined()
    budget.settle('a', used(99))
    expect(budget.shortage(tokens(1))).toBeUndefined()
    expect(budget.exhausted()).toBeUndefined()
    budget.settle('b', used(1))
    expect(budget.exhausted()).toMatchObject({ spent: 100 })
    expect(budget.shortage(tokens(0))).toBeUndefined()
  })

  test('attempts of one task count each', () => {
    const budget = new TeamBudget({ tokens: 100 })
    for (let attempt = 0; attempt < 3; attempt++) {
      budget.reserve('a', tokens(10))
      budget.settle('a', used(20))
    }
    expect(budget.state()).toMatchObject({ spent: { tokens: 60 }, reserved: { tokens: 0 } })
  })
})

describe('unknown values', () => {
  test('counts at the estimate, and is shown', () => {
    const budget = new TeamBudget({ tokens: 100, usd: 1 })
    budget.reserve('a', { tokens: 40, usd: 0.4 })
    expect(budget.settle('a', unknown).used).toEqual({ tokens: 40, usd: 0.4 })
    expect(budget.state().unknown).toBe(1)
  })

  test('beside something known: at least that', () => {
    const budget = new TeamBudget({ tokens: 100 })
    budget.reserve('a', tokens(40))
    expect(budget.settle('a', [...used(70), ...unknown]).used.tokens).toBe(70)
    budget.reserve('b', tokens(40))
    expect(budget.settle('b', [...used(7), ...unknown]).used.tokens).toBe(40)
  })

  test('what makes no sense counts at the estimate, and poisons nothing', () => {
    for (const nonsense of [Number.NaN, Infinity, -5]) {
      const budget = new TeamBudget({ tokens: 100, usd: 1 })
      budget.reserve('a', { tokens: 40, usd: 0.5 })
      expect(budget.settle('a', used(nonsense, nonsense)).used).toEqual({ tokens: 40, usd: 0.5 })
    }
  })
})

test('estimates: of the task, else of every task, each for itself; nonsense is none', () => {
  const budget = new TeamBudget({ tokens: 100, perTask: { tokens: 10, usd: 0.1 } })
  expect(budget.wanted({ tokens: 0 })).toEqual({ tokens: 0, usd: 0.1 })
  expect(budget.wanted({ usd: 0.2 })).toEqual({ tokens: 10, usd: 0.2 })
  expect(budget.wanted(undefined)).toEqual({ tokens: 10, usd: 0.1 })
  for (const nonsense of [-1, Number.NaN, Infinity, '7' as unknown as number])
    expect(budget.wanted({ tokens: nonsense }).tokens).toBe(10)
})

describe('marks', () => {
  test('50, 80 and 100 percent, once each, for tokens and dollars apart, all that one end passes', () => {
    const budget = new TeamBudget({ tokens: 1_000, usd: 10 })
    const marks = (usage: Usage): string[] =>
      budget.settle('a', usage).crossed.map(({ of, percent, spent }) => `${of} ${percent} ${spent}`)
    expect(marks(used(499))).toEqual([])
    expect(marks(used(1, 9))).toEqual(['tokens 50 500', 'usd 50 9', 'usd 80 9'])
    expect(marks(used(0))).toEqual([])
    expect(marks(used(700, 1))).toEqual(['tokens 80 1200', 'tokens 100 1200', 'usd 100 10'])
    expect(marks(used(700, 1))).toEqual([])
  })

  test('fractions of a cent: a dollar is spent in ten dimes, and three dimes fit into 0.3', () => {
    const dollar = new TeamBudget({ usd: 1 })
    const crossed = Array.from({ length: 10 }, () =>
      dollar.settle('a', used(0, 0.1)).crossed.map(({ percent }) => percent),
    )
    expect(crossed).toEqual([[], [], [], [], [50], [], [], [80], [], [100]])
    expect(dollar.exhausted()).toBeDefined()
    const dimes = new TeamBudget({ usd: 0.3 })
    dimes.settle('a', used(0, 0.1))
    dimes.settle('b', used(0, 0.1))
    expect(dimes.shortage({ tokens: 0, usd: 0.1 })).toBeUndefined()
    expect(dimes.shortage({ tokens: 0, usd: 0.1001 })).toBeDefined()
  })

  test('more to be spent: marks that are not reached any more are told again', () => {
    const budget = new TeamBudget({ tokens: 100 })
    budget.settle('a', used(100))
    budget.raise('tokens', 100)
    expect(budget.exhausted()).toBeUndefined()
    expect(budget.state().limits).toEqual({ tokens: 200 })
    expect(budget.settle('b', used(60)).crossed.map(({ percent }) => percent)).toEqual([80])
  })
})

test('a budget of 0 has room for nothing; none at all for everything', () => {
  const none = new TeamBudget({ tokens: 0 })
  expect(none.exhausted()).toBeDefined()
  expect(none.shortage(tokens(1))).toBeDefined()
  const free = new TeamBudget({})
  expect(free.exhausted()).toBeUndefined()
  expect(free.shortage(tokens(1e15))).toBeUndefined()
  expect(free.settle('a', used(1e15)).crossed).toEqual([])
})

test('a hard budget limits the whole tree, unless a human may raise it', () => {
  expect(treeLimits({ tokens: 5, usd: 1 })).toEqual({ tokens: 5, usd: 1 })
  expect(treeLimits({ tokens: 0 })).toEqual({ tokens: 0 })
  for (const budget of [
    undefined,
    {},
    { tokens: 5, mode: 'soft' },
    { tokens: 5, onExhausted: 'ask' },
    { tokens: Number.NaN },
  ] as const)
    expect(treeLimits(budget)).toBeUndefined()
})
