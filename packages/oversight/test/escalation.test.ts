/**
 * The triggers of escalation, to the letter: order, comparisons, what is unknown; and failures in a row. Spec team
 * R-14, C76, C77, X28 to X31.
 */
import { describe, expect, test } from 'vitest'
import { completed, failed, failure, type Outcome } from '@reeve/core'
import { afterFailures, evaluateEscalation, FailureCounter, failureCounterOf, type Subject } from '../src/index.ts'
import { rootEdge, workerEdge, type Escalate } from '@reeve/edge'
import { Locals, type Context } from '@reeve/engine'

/** The context of one run of a leader's code. */
function contextOf(): Context {
  const locals = new Locals()
  return { local: (make: () => unknown) => locals.of(make) } as unknown as Context
}

const codes = (subject: Subject, rules?: Escalate): string[] =>
  evaluateEscalation(subject, rules).all.map(({ code }) => code)

describe('the triggers', () => {
  test.each<[string, Subject, Escalate | undefined, string[]]>([
    ['confidence of exactly 0.6', { confidence: 0.6 }, undefined, []],
    ['confidence of 0.59', { confidence: 0.59 }, undefined, ['low_confidence']],
    ['no confidence is not 0', {}, undefined, []],
    ['confidence 0', { confidence: 0 }, undefined, ['low_confidence']],
    ['cost of exactly $1', { costUsd: 1 }, undefined, []],
    ['cost of $1.01', { costUsd: 1.01 }, undefined, ['cost_limit']],
    ['cost 0 at a limit of 0', { costUsd: 0 }, { costAboveUsd: 0 }, []],
    ['no cost at a limit of 0', {}, { costAboveUsd: 0 }, []],
    ['confidence turned off', { confidence: 0 }, { confidenceBelow: false }, []],
    ['cost turned off', { costUsd: 1_000 }, { costAboveUsd: false }, []],
    ['failures turned off', { failures: 9 }, { consecutiveFailures: false }, []],
    ['another threshold of confidence', { confidence: 0.85 }, { confidenceBelow: 0.9 }, ['low_confidence']],
    [
      'a limit that is said to be undefined is the usual one',
      { costUsd: 2 },
      { costAboveUsd: undefined as never },
      ['cost_limit'],
    ],
  ])('team C76: %s', (_what, subject, rules, due) => {
    expect(codes(subject, rules)).toEqual(due)
  })

  test.each<[string, Subject, Escalate | undefined, string[]]>([
    ['two failures', { failures: 2 }, undefined, []],
    ['three failures at a limit of 3', { failures: 3 }, undefined, ['consecutive_failures']],
    ['X29: more than three, too', { failures: 4 }, undefined, ['consecutive_failures']],
    ['one failure at a limit of 1', { failures: 1 }, { consecutiveFailures: 1 }, ['consecutive_failures']],
    ['X30: time is not looked at unless somebody says so', { tookMs: 1e9 }, undefined, []],
    ['X30: exactly the time', { tookMs: 500 }, { decisionMs: 500 }, []],
    ['X30: more than the time', { tookMs: 501 }, { decisionMs: 500 }, ['decision_timeout']],
    ['X30: out of scope', { outOfScope: 'no tool for it' }, undefined, ['out_of_scope']],
    ['X30: out of scope, turned off', { outOfScope: 'no tool for it' }, { outOfScope: false }, []],
  ])('team C77: %s', (_what, subject, rules, due) => {
    expect(codes(subject, rules)).toEqual(due)
  })

  test('X28: every hit is reported, the weightiest first, with its priority', () => {
    const all = { outOfScope: 'x', tookMs: 2, failures: 3, confidence: 0.1, costUsd: 5, action: 'delete_all' }
    const { escalate, primary, all: hits } = evaluateEscalation(all, { decisionMs: 1 })
    expect([escalate, primary, hits.map(({ code, priority }) => [code, priority])]).toEqual([
      true,
      hits[0],
      [
        ['sensitive_action', 'highest'],
        ['cost_limit', 'high'],
        ['low_confidence', 'medium'],
        ['consecutive_failures', 'medium'],
        ['decision_timeout', 'medium'],
        ['out_of_scope', 'low'],
      ],
    ])
    expect(hits.map(({ detail }) => detail)).toEqual([
      '"delete_all" is sensitive: delete',
      'it costs $5, and more than $1 is to be seen',
      'confidence is 0.1, and below 0.6 is to be seen',
      '3 failed in a row, and 3 are to be seen',
      'it took 2 ms, and more than 1 is to be seen',
      'x',
    ])
  })

  test('nothing speaks for it: no primary hit', () =>
    expect(evaluateEscalation({})).toEqual({ escalate: false, all: [] }))
})

describe('failures in a row', () => {
  const bad = failed(failure('agent.failed', 'no', 'internal'))
  const rejected = failed(failure('work.rejected', 'no', 'rejected'))
  const ends: Record<string, Outcome> = {
    ok: completed(1),
    bad,
    rejected,
    late: { status: 'timed-out', message: 'late' },
    limited: { status: 'limited', limit: 'turns', message: 'over' },
    cancelled: { status: 'cancelled', reason: 'stop' },
    bailed: { status: 'bailed', message: 'enough', text: '' },
  }
  test.each([
    ['bad bad bad', 3],
    ['bad bad', undefined],
    ['bad bad ok bad', undefined],
    ['bad bad ok bad bad bad', 3],
    ['bad late limited', 3],
    ['bad bad rejected cancelled bailed', undefined],
    ['bad bad rejected bad', 3],
  ])('team C77: after %s a human is to look at %s', (names, due) => {
    const streak = new FailureCounter()
    for (const name of names.split(' ')) streak.note(ends[name]!)
    expect(streak.take({})).toBe(due)
  })

  test('a human’s look restarts the count; without oversight, or turned off, there is no look', () => {
    const streak = new FailureCounter()
    for (let i = 0; i < 5; i++) streak.note(bad)
    expect([
      streak.take(undefined),
      streak.take({ escalate: { consecutiveFailures: false } }),
      streak.failures,
    ]).toEqual([undefined, undefined, 5])
    expect([streak.take({}), streak.take({}), streak.failures]).toEqual([5, undefined, 0])
  })

  test('only the next worker of this leader says so first', () => {
    const above = rootEdge({ instructions: '' }, { oversight: {} })
    const [leader, other] = [contextOf(), contextOf()]
    const edge = workerEdge(above, { name: 'w' }, { instructions: '' })
    for (let i = 0; i < 3; i++) failureCounterOf(leader).note(bad)
    expect(afterFailures(other, above, edge)).toBe(edge)
    expect(afterFailures(leader, above, edge)).toEqual({ ...edge, oversight: { policy: {}, failures: 3 } })
    expect(afterFailures(leader, above, edge)).toBe(edge)
  })
})
