/** What the past says about a question: spec team 1.12, R-12, cases C59 to C61, X23. */
import { describe, expect, test } from 'vitest'
import { seededRandom } from '@reeve/core'
import { advise, overrides, type Recollection, type RememberedPlan } from '../src/learn/advisor.ts'
import type { Advice } from '../src/plan/plan.ts'
import { wordSimilarity } from '../src/learn/similarity.ts'

const past = (
  question: string,
  successes: number,
  runs: number,
  strategy: RememberedPlan['strategy'] = 'sequential',
): RememberedPlan => ({
  question,
  strategy,
  subtasks: [{ id: 'a', description: question }],
  runs,
  successes,
})
const never = (): number => {
  throw new Error('no number is drawn here')
}
const always = (number: number) => (): number => number

/** The advice of Reeve's own advisor with its own similarity. */
function advice(
  plans: readonly RememberedPlan[],
  question: string,
  {
    strategies = {},
    random = always(0.5),
    ...options
  }: { strategies?: Recollection['strategies']; random?: () => number; explore?: number; accuracy?: number } = {},
): Advice {
  const alike = plans.map((each) => wordSimilarity(question, each.question))
  return advise({ plans, strategies }, question, random, { alike, ...options })
}
const record = (runs: number, successes: number, ms = 0) => ({ runs, successes, ms, tokens: 0 })

describe('how much alike two questions are', () => {
  test.each([
    ['Analyze Data', 'analyze data', 1],
    ['Analyze AI Agent market', 'Analyze RPA market', 0.5],
    ['a b c d e', 'a b c d x', 0.8],
    ['a b', 'b a', 1],
    ['a a', 'a', 0.5],
    ['a a b', 'a b b', 2 / 3],
    ['Analyze data!', 'analyze "data"', 1],
    ['ÄPFEL und Birnen', 'äpfel und birnen', 1],
    ['cats', 'dogs', 0],
    ['', '', 1],
    ['', 'cats', 0],
    ['!!', '??', 0],
    ['市场 分析', '分析 市场', 1],
  ])('team R-12: %j and %j: %d', (one, other, similarity) => {
    expect(wordSimilarity(one, other)).toBe(similarity)
    expect(wordSimilarity(other, one)).toBe(similarity)
  })
})

describe('advice of an earlier case', () => {
  test('team C59: a question in another case, success rate 0.9: its strategy and tasks decide', () => {
    const found = advice([past('analyze data', 9, 10)], 'Analyze Data', { random: never })
    expect(found).toEqual({
      strategy: 'sequential',
      confidence: 0.9,
      subtasks: [{ id: 'a', description: 'analyze data' }],
      source: 'analyze data',
      warnings: [expect.stringContaining('context_overflow')], // "analyze"
    })
    expect(overrides(found)).toBe(true)
  })

  test('team C60 X23: "Analyze RPA market" is 0.5 like "Analyze AI Agent market", so nothing is reused', () => {
    const found = advice([past('Analyze AI Agent market', 3, 3)], 'Analyze RPA market')
    expect(found).toMatchObject({ strategy: 'parallel', confidence: 0.5 })
    expect(found).not.toHaveProperty('subtasks')
    expect(found).not.toHaveProperty('source')
    expect(overrides(found)).toBe(false)
  })

  test('team C60: another similarity may find it alike', () => {
    const plans = [past('Analyze AI Agent market', 1, 1)]
    const found = advise({ plans, strategies: {} }, 'Analyze RPA market', never, { alike: [0.95] })
    expect(found).toMatchObject({ strategy: 'sequential', confidence: 0.95, source: 'Analyze AI Agent market' })
  })

  test.each([
    [4, 5, 'q', 0.8, false],
    [8, 10, 'q', 0.8, false],
    [81, 100, 'q', 0.81, true],
    [16, 17, `${'q '.repeat(17)}x y z`, 0.8, false], // 16/17 of 17/20 is 0.8, for a computer 0.8000000000000002
    [1, 1, 'q', 1, true],
  ])('team C61: %i of %i: confidence %3$s decides only above 0.8', (successes, runs, question, confidence, decides) => {
    const old = question === 'q' ? 'q' : `${'q '.repeat(17)}1 2 3`
    const found = advice([past(old, successes, runs)], question)
    expect([found.confidence, overrides(found)]).toEqual([confidence, decides])
  })

  test('team R-12: a similarity of exactly 0.8, or a success rate of exactly 0.7, is not enough', () => {
    expect(advice([past('a b c d e', 1, 1)], 'a b c d x').confidence).toBe(0.5)
    expect(advice([past('q', 7, 10)], 'q').confidence).toBe(0.5)
    expect(advice([past('q', 71, 100)], 'q').confidence).toBe(0.71)
  })

  test('team R-12: the first that is alike enough and has done well enough counts, not the best', () => {
    const plans = [past('other', 1, 1), past('q', 1, 2), past('Q', 8, 10, 'hybrid'), past('q', 1, 1)]
    expect(advice(plans, 'q')).toMatchObject({ confidence: 0.8, strategy: 'hybrid', source: 'Q' })
  })

  test('team R-12: what never ran has no success rate', () => {
    expect(advice([past('q', 0, 0)], 'q').confidence).toBe(0.5)
  })

  test('team C63: a run that failed makes the rate, and with it the confidence, smaller', () => {
    expect(advice([past('q', 9, 9)], 'q').confidence).toBe(1)
    expect(advice([past('q', 9, 10)], 'q').confidence).toBe(0.9)
    expect(advice([past('q', 9, 12)], 'q').confidence).toBe(0.75)
    expect(advice([past('q', 9, 13)], 'q').confidence).toBe(0.5)
  })
})

describe('what a question itself tells', () => {
  test('team C61: "urgent", with a history of 0.9: one at a time, a warning, the same confidence', () => {
    const question = 'Compare prices, URGENT'
    const found = advice([past(question, 9, 10, 'parallel')], question)
    expect(found).toMatchObject({
      strategy: 'sequential',
      confidence: 0.9,
      warnings: [expect.stringMatching(/^rate_limit: /)],
    })
    expect(overrides(found)).toBe(true)
  })

  test('team R-12: "urgent" without a history: one at a time, as a hint', () => {
    expect(advice([], 'urgent')).toEqual({
      strategy: 'sequential',
      confidence: 0.5,
      warnings: [expect.stringContaining('rate_limit')],
    })
  })

  test('team R-12: several patterns, one warning each, and none for a plain question', () => {
    const names = (question: string): readonly string[] =>
      advice([], question).warnings.map((text) => text.split(':')[0]!)
    expect(names('Review everything ASAP, I think')).toEqual(['rate_limit', 'context_overflow', 'ambiguous_request'])
    expect(names('maybe probably somehow')).toEqual(['ambiguous_request'])
    expect(names('Compare prices')).toEqual([])
    expect(names('')).toEqual([])
  })
})

describe('advice without an earlier case', () => {
  const strategies = {
    parallel: record(10, 9, 100_000),
    sequential: record(10, 10, 290_000),
    hybrid: record(10, 5, 10_000),
  }

  test('team R-12: mostly the strategy that did best: success by 0.7, speed by 0.3', () => {
    // parallel 0.63 + 0.2, sequential 0.7 + 0.01, hybrid 0.35 + 0.29
    expect(advice([], 'q', { strategies })).toEqual({ strategy: 'parallel', confidence: 0.5, warnings: [] })
    expect(advice([], 'q', { strategies, accuracy: 0.8 }).strategy).toBe('parallel') // 0.72 + 0.133; 0.8 + 0.007
    expect(advice([], 'q', { strategies: { ...strategies, parallel: record(10, 9, 290_000) } }).strategy).toBe(
      'sequential',
    )
  })

  test('team R-12: below 0.3 of accuracy always parallel, above 0.8 always sequential', () => {
    expect(advice([past('q', 1, 1)], 'q', { accuracy: 0.29 }).strategy).toBe('parallel')
    expect(advice([past('q', 1, 1, 'hybrid')], 'q', { accuracy: 0.3 }).strategy).toBe('hybrid')
    expect(advice([past('q', 1, 1, 'hybrid')], 'q', { accuracy: 0.81 }).strategy).toBe('sequential')
    expect(advice([past('q', 1, 1, 'hybrid')], 'q', { accuracy: 0.8 }).strategy).toBe('hybrid')
  })

  test('team R-12: one time in ten the strategy that was used least, those never used first', () => {
    const least = (known: Recollection['strategies'], random: number): string =>
      advice([], 'q', { strategies: known, random: always(random) }).strategy
    expect(least(strategies, 0.0999)).toBe('parallel') // all the same: the first
    expect(least({ ...strategies, hybrid: record(1, 0) }, 0)).toBe('hybrid')
    expect(least({ parallel: record(1, 1) }, 0)).toBe('sequential')
    expect(least({ parallel: record(5, 5), sequential: record(2, 2) }, 0.05)).toBe('hybrid')
    expect(least({ parallel: record(5, 5) }, 0.1)).toBe('parallel') // exactly 0.1 explores nothing
    expect(least({}, 0)).toBe('parallel')
    expect(least({}, 0.5)).toBe('parallel')
  })

  test('team R-12: explore 0 never tries, explore 1 always', () => {
    const known = { parallel: record(5, 5) }
    expect(advice([], 'q', { strategies: known, random: always(0), explore: 0 }).strategy).toBe('parallel')
    expect(advice([], 'q', { strategies: known, random: always(0.999), explore: 1 }).strategy).toBe('sequential')
  })

  test('team R-12: unknown strategies, and names that every object has, are ignored', () => {
    const known = { hierarchical: record(9, 9), hybrid: record(1, 1) }
    expect(advice([], 'q', { strategies: known }).strategy).toBe('hybrid')
    expect(
      advice([], 'q', { strategies: JSON.parse('{"__proto__": {"runs": 1, "successes": 1, "ms": 0, "tokens": 0}}') })
        .strategy,
    ).toBe('parallel')
  })

  test('team C64: equal numbers give equal advice, one try in ten or so, and memory is unchanged', () => {
    const known = Object.freeze({ parallel: Object.freeze(record(50, 50)) })
    const draw = (run: number): string =>
      advice([], 'q', { strategies: known, random: () => seededRandom(`act_run-${run}`, 0) }).strategy
    const first = Array.from({ length: 1_000 }, (_, run) => draw(run))
    expect(Array.from({ length: 1_000 }, (_, run) => draw(run))).toEqual(first)
    const tries = first.filter((strategy) => strategy !== 'parallel').length
    expect(tries).toBeGreaterThan(60)
    expect(tries).toBeLessThan(140)
  })
})
