/** Approvals as pure functions: what a decision may look like, what an end of the question means. */
import { describe, expect, test } from 'vitest'
import { completed, type Json } from '../../src/core/index.ts'
import { approvalProblems, readDecision, verdictOf } from '../../src/oversight/index.ts'

describe('decisions', () => {
  test.each<[Json, unknown]>([
    [{ decision: 'approve' }, { decision: 'approve' }],
    [
      { decision: 'reject', comment: 'no', approver: 'ann', more: 1 },
      { decision: 'reject', comment: 'no', approver: 'ann' },
    ],
    [
      { decision: 'edit', input: null },
      { decision: 'edit', input: null },
    ],
    [{ decision: 'edit' }, undefined],
    [{ decision: 'yes' }, undefined],
    [{ approved: true }, undefined],
    ['approve', undefined],
    [true, undefined],
    [null, undefined],
  ])('%j', (given, read) => expect(readDecision(given)).toEqual(read))
})

describe('verdicts', () => {
  test('only a decision approves; a deadline only where it may', () => {
    expect(verdictOf(completed({ decision: 'approve' }), 1, 'reject')).toEqual({ approved: true, input: 1, edited: false, by: 'human' })
    expect(verdictOf(completed({ decision: 'edit', input: 2 }), 1, 'reject')).toEqual({
      approved: true,
      input: 2,
      edited: true,
      by: 'human',
    })
    expect(verdictOf({ status: 'timed-out', message: '' }, 1, 'approve')).toEqual({
      approved: true,
      input: 1,
      edited: false,
      by: 'deadline',
    })
    expect(verdictOf({ status: 'timed-out', message: '' }, 1, 'reject')).toEqual({ approved: false, how: 'timed-out' })
    expect(verdictOf({ status: 'cancelled', reason: '' }, 1, 'approve')).toEqual({ approved: false, how: 'cancelled' })
    for (const output of [true, 'approve', { decision: 'edit' }, null])
      expect(verdictOf(completed(output), 1, 'approve')).toEqual({ approved: false, how: 'unreadable' })
  })
  test('what may not be configured', () => {
    expect(approvalProblems({ onTimeout: 'approve', risk: 'low' }, 'x')).toEqual([])
    for (const bad of [
      { onTimeout: 'approve', risk: 'high' },
      { onTimeout: 'approve', sensitive: true },
      { timeoutMs: 'never' },
      { timeoutMs: Number.NaN },
    ] as const)
      expect(approvalProblems(bad, 'x')).toHaveLength(1)
    expect(approvalProblems({ timeoutMs: 'never', risk: 'critical' }, 'x')).toEqual([])
  })
})
