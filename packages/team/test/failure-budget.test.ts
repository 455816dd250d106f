/** How many tasks of a plan may fail: the table of spec team 1.10, in integers. */
import { describe, expect, test } from 'vitest'
import { failure } from '@reeve/core'
import { failureBudgetOf, givenUp, isTooMuch, maxFailuresOf, tolerances } from '../src/schedule/failure-budget.ts'

const rows: Readonly<Record<number, readonly number[]>> = {
  50: [1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7],
  20: [1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3],
  0: Array.from({ length: 12 }, () => 1),
  100: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
}

describe('team C48: at so many failed tasks of 1 to 12', () => {
  test.each(Object.entries(rows))('%s percent', (percent, row) => {
    expect(row.map((_, i) => maxFailuresOf(i + 1, Number(percent)))).toEqual(row)
  })

  test('exactly half is tolerated, however many there are; one more is not', () => {
    for (let n = 1; n <= 200; n++) {
      const budget = failureBudgetOf(n, 50)
      for (let failed = 0; failed <= n; failed++)
        expect([n, failed, isTooMuch(budget, failed)]).toEqual([n, failed, failed > n / 2])
    }
  })
})

test('team C48: percent are whole, so no fraction is lost: 29 % of 100 tasks are 29, 57 % of 100 are 57', () => {
  for (let percent = 0; percent <= 100; percent++) expect(maxFailuresOf(100, percent)).toBe(percent + 1)
  expect(maxFailuresOf(1_000_000_000, 29)).toBe(290_000_001)
})

test('team C47: presets; `maxFailures` overrides the tolerance', () => {
  expect(tolerances).toEqual({ research: 50, data_analysis: 20, critical: 0 })
  expect(failureBudgetOf(8, 'research')).toEqual({ maxFailures: 5, never: false, percent: 50 })
  expect(failureBudgetOf(8, 'data_analysis')).toEqual({ maxFailures: 2, never: false, percent: 20 })
  expect(failureBudgetOf(8, 'critical')).toEqual({ maxFailures: 1, never: false, percent: 0 })
  expect(failureBudgetOf(8, 'critical', 3)).toEqual({ maxFailures: 3, never: false })
  expect(failureBudgetOf(8, 100, 8)).toEqual({ maxFailures: 8, never: false })
})

test('team C50: at 100 percent it is never too much, however many are added', () => {
  const budget = failureBudgetOf(3, 100)
  expect(budget.maxFailures).toBe(4)
  expect([3, 4, 1_000].map((failed) => isTooMuch(budget, failed))).toEqual([false, false, false])
})

test('nothing fails in a plan of nothing', () => {
  expect(isTooMuch(failureBudgetOf(0, 50), 0)).toBe(false)
})

test('team C47: who is given up is told which tasks failed, and why: the first three, shortened', () => {
  const failures = [
    { task: 'a', failure: failure('tool.failed', 'no\n luck', 'policy') },
    { task: 'b', failure: failure('tool.failed', '', 'policy') },
    { task: 'c', failure: failure('tool.failed', 'x'.repeat(500), 'policy') },
    { task: 'd', failure: failure('tool.failed', 'never told', 'policy') },
  ]
  const { message, hint } = givenUp({ reason: 'failures', failed: 4, maxFailures: 4, failures }, 6, undefined)
  expect(message).toBe('Too many subtask failures (4/6)')
  expect(hint).toBe(
    `Failed: "a" (no luck), "b" (tool.failed), "c" (${'x'.repeat(119)}…) and 1 more. At 4 failed tasks a plan is given up (tolerance, maxFailures). outcome.results has what there was.`,
  )
  const critical = givenUp({ reason: 'critical', failed: 1, maxFailures: 4, failures: failures.slice(0, 1) }, 6, 'a')
  expect(critical.message).toBe('Too many subtask failures (1/6): "a" was critical')
  expect(critical.hint).toBe('Failed: "a" (no luck). outcome.results has what there was.')
})
