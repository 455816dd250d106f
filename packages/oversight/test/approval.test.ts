/** Approvals as pure functions: what a decision may look like, what an end of the question means. */
import { describe, expect, test } from 'vitest'
import { completed, duration, object, unchecked, type Json } from '@reeve/core'
import {
  approvalProblems,
  approvalTimeoutCheck,
  deadlineProblems,
  notPermitted,
  readDecision,
  verdictOf,
  type DecisionOption,
} from '../src/index.ts'

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
    expect(verdictOf(completed({ decision: 'approve' }), 1, 'reject')).toEqual({
      approved: true,
      input: 1,
      edited: false,
      by: 'human',
    })
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
    const configured = object<Parameters<typeof approvalProblems>[0] & { validForMs: number }>(
      {
        risk: unchecked,
        sensitive: unchecked,
        onTimeout: unchecked,
        timeoutMs: approvalTimeoutCheck,
        validForMs: duration,
      },
      approvalProblems,
    )
    expect(approvalProblems({ onTimeout: 'approve', risk: 'low' }, 'x')).toEqual([])
    for (const bad of [
      { onTimeout: 'approve', risk: 'high' },
      { onTimeout: 'approve', sensitive: true },
      { timeoutMs: Number.NaN },
      { validForMs: 0 },
      { validForMs: Infinity },
      { onTimeout: 'approve', risk: 'critical' },
    ] as const)
      expect(configured(bad, 'x')).toHaveLength(1)
    expect(approvalProblems({ timeoutMs: 'never', risk: 'critical' }, 'x')).toEqual([])
    expect(approvalProblems({ timeoutMs: 'never' }, 'x')).toEqual([])
  })
})

describe('who may decide, and what', () => {
  const two = { approvers: ['ann', 'bob'] }
  const second = { excludes: ['ann'], fourEyes: true } as const
  test.each<
    [Parameters<typeof notPermitted>[0], DecisionOption, string | undefined, 'invalid' | 'forbidden' | undefined]
  >([
    [{}, 'approve', undefined, undefined],
    [{}, 'edit', 'anybody', undefined],
    [two, 'approve', 'ann', undefined],
    [two, 'reject', 'bob', undefined],
    [two, 'approve', undefined, 'forbidden'],
    [two, 'reject', undefined, 'forbidden'],
    [two, 'retry', 'eve', 'forbidden'],
    [two, 'approve', 'Ann', 'forbidden'],
    [{ fourEyes: true }, 'approve', undefined, 'forbidden'],
    [{ fourEyes: true }, 'edit', ' ', 'forbidden'],
    [{ fourEyes: true }, 'reject', undefined, undefined],
    [{ fourEyes: true }, 'approve', 'ann', undefined],
    [second, 'approve', 'ann', 'forbidden'],
    [second, 'edit', 'ann', 'forbidden'],
    [second, 'reject', 'ann', undefined],
    [second, 'retry', 'ann', undefined],
    [second, 'approve', 'bob', undefined],
    [{ ...two, ...second }, 'approve', 'eve', 'forbidden'],
    [{ options: ['approve', 'reject'] }, 'retry', 'ann', 'invalid'],
    [{ options: ['approve', 'reject'] }, 'edit', 'ann', 'invalid'],
    [{ options: ['approve', 'reject'] }, 'reject', undefined, undefined],
    [{ ...two, options: ['approve'] }, 'approve', 'eve', 'forbidden'],
  ])('%j: %s by %s', (asked, decision, who, kind) => expect(notPermitted(asked, decision, who)?.kind).toBe(kind))
})

describe('team C82: where a deadline is to approve', () => {
  const rules = { onTimeout: 'approve' } as const
  test('what a deadline may not approve has to say so itself', () => {
    const tools = [
      { name: 'wipe', sensitive: true, approval: {} },
      { name: 'pay', sensitive: false, approval: {} },
      { name: 'look', sensitive: false },
      { name: 'small', sensitive: false, approval: { onTimeout: 'approve' } as const },
      { name: 'big', sensitive: true, approval: { onTimeout: 'reject' } as const },
    ]
    expect(deadlineProblems(rules, tools, 'x')).toEqual([
      expect.stringMatching(/^x: .*"wipe" is sensitive/) as string,
      expect.stringMatching(/^x: .*"pay" always asks/) as string,
    ])
    for (const others of [undefined, {}, { onTimeout: 'reject' }, { onTimeout: 'escalate' }] as const)
      expect(deadlineProblems(others, tools, 'x')).toEqual([])
  })
})
