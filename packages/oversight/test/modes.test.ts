/** The three modes: who is asked about what, and which one holds. Spec team R-15, C78, X35 to X37. */
import { describe, expect, test } from 'vitest'
import { agent, asTool, loop, parallel, router, sequential, supervisor, team, tool } from '@reeve/public'
import { ledger, reflect, roundtable } from '@reeve/public/team'
import { stricterMode, type OversightMode } from '@reeve/core'
import { oversightCheck, stricter, type ApprovalRules, type Oversight } from '@reeve/edge'
import { gateOf, type Subject } from '../src/index.ts'
import { createRuntime } from '@reeve/runtime'

const modes = ['in-command', 'in-the-loop', 'on-the-loop'] as const

describe('the gate', () => {
  test.each<[string, Subject, boolean[]]>([
    ['a plain cheap action', { action: 'search', costUsd: 0.1 }, [true, false, false]],
    ['a sensitive one', { action: 'publish' }, [true, true, false]],
    ['a sensitive one that always needs an approval', { action: 'publish', always: true }, [true, true, true]],
    ['a plain one that always needs an approval', { action: 'search', always: true }, [true, true, true]],
    ['a dear one', { action: 'search', costUsd: 2 }, [true, true, false]],
    ['X37: any other hit', { outOfScope: 'no tool' }, [true, true, false]],
  ])('team C78: %s', (_what, subject, due) => {
    expect(modes.map((mode) => gateOf({ mode }, subject).asks)).toEqual(due)
  })

  test('X36: on the loop the hits are still there to be told', () => {
    expect(gateOf({ mode: 'on-the-loop' }, { action: 'publish' }).hits).toMatchObject([{ code: 'sensitive_action' }])
  })

  test('without oversight only what always needs an approval is asked, and nothing is looked for', () => {
    expect(gateOf(undefined, { action: 'publish', costUsd: 9 })).toMatchObject({ asks: false, hits: [] })
    expect(gateOf(undefined, { always: true }).asks).toBe(true)
  })

  test('X35: an unknown mode means in-command', () => {
    const foo = 'foo' as OversightMode
    expect(gateOf({ mode: foo }, { action: 'search' }).asks).toBe(true)
    expect([stricterMode(foo, 'in-command'), stricterMode('in-command', foo)]).toEqual([foo, foo])
  })
})

describe('which one holds', () => {
  test.each(modes.flatMap((one) => modes.map((other) => [one, other] as const)))(
    'of %s and %s the stricter',
    (one, other) => {
      const due = modes[Math.min(modes.indexOf(one), modes.indexOf(other))]
      expect(stricter({ mode: one }, { mode: other })?.mode).toBe(due)
    },
  )

  test('who says nothing loosens nothing', () => {
    expect(stricter(undefined, { mode: 'on-the-loop' })?.mode).toBe('on-the-loop')
    expect(stricter({ mode: 'on-the-loop' }, {})?.mode).toBe('in-the-loop')
    expect(stricter({ escalate: { costAboveUsd: 0.5 } }, { escalate: { costAboveUsd: false } })?.escalate).toEqual({
      costAboveUsd: 0.5,
    })
  })
})

test('team R-15: of two deadlines that reject the earlier holds, of two that approve the later', () => {
  const combined = (one: ApprovalRules, other: ApprovalRules): ApprovalRules | undefined =>
    stricter({ approval: one }, { approval: other })?.approval
  const approve = { onTimeout: 'approve' } as const
  expect(combined({ timeoutMs: 60_000 }, { timeoutMs: 0 })).toEqual({ timeoutMs: 0 })
  expect(combined({ timeoutMs: 3_600_000, ...approve }, { timeoutMs: 0, ...approve })).toEqual({
    timeoutMs: 3_600_000,
    ...approve,
  })
  expect(combined(approve, { timeoutMs: 0, ...approve })).toEqual({ timeoutMs: 30 * 60_000, ...approve })
  expect(combined({ timeoutMs: 3_600_000, ...approve }, { timeoutMs: 0 })).toEqual({ timeoutMs: 0 })
})

describe('what is wrong with given oversight is said of the very thing that is wrong', () => {
  test.each<[unknown, string]>([
    [
      { mode: 'in_the_loop' },
      'mode is the text "in_the_loop", expected "in-command", "in-the-loop" or "on-the-loop": did you mean "in-the-loop"?',
    ],
    [{ escalate: { sensitive: [/pay/u] } }, 'escalate.sensitive[0] is a RegExp, expected a name'],
    [{ approval: { notify: ['desk', 7] } }, 'approval.notify[1] is 7, expected a name'],
    [
      { approval: { fourEyes: 'low', approvers: [{ who: ['ann'] }] } },
      'approval: fourEyes needs two different people, and approvers names only "ann"',
    ],
    [
      { approval: { fourEyes: 'low', approvers: [{ who: ['ann'] }, { who: ['Ann'] }] } },
      'approval: fourEyes needs two different people, and approvers names only "ann"',
    ],
  ])('%j', (given, problem) => expect(oversightCheck(given, 'x: oversight')).toEqual([`x: oversight.${problem}`]))

  test('two named people suffice for four eyes, and so does any approver', () => {
    for (const approvers of [
      [{ who: ['ann', 'bob'] }],
      [{ who: ['ann'] }, { who: ['bob'] }],
      [{ who: ['ann'] }, { who: [] }],
    ])
      expect(oversightCheck({ approval: { fourEyes: 'low', approvers } }, 'x: oversight')).toEqual([])
    expect(oversightCheck({ approval: { fourEyes: false, approvers: [{ who: ['ann'] }] } }, 'x: oversight')).toEqual([])
  })
})

describe('an unknown mode', () => {
  const oversight = { mode: 'foo' } as unknown as Oversight
  const model = (): string => 'done'
  const fine = agent({ name: 'fine', description: 'Works.', model })
  const run = (): string => 'done'
  const kinds: Record<string, () => unknown> = {
    'an agent with a model': () => agent({ name: 'a', model, oversight }),
    code: () => agent({ name: 'a', run, oversight }),
    'a supervisor': () => supervisor({ name: 'a', model, workers: [fine], oversight }),
    'a supervisor with a base': () =>
      supervisor({ name: 'a', base: fine, workers: [agent({ name: 'w', description: 'W.', model })], oversight }),
    'a supervisor that is code': () => supervisor({ name: 'a', run, workers: [fine], oversight }),
    delegations: () => supervisor({ name: 'a', model, workers: [fine], delegation: { oversight } }),
    'delegations to one worker': () =>
      supervisor({ name: 'a', model, workers: [fine], delegation: { workers: { fine: { oversight } } } }),
    'a router': () => router({ name: 'a', model, workers: [fine], oversight }),
    'the edge of a router': () => router({ name: 'a', model, workers: [fine], transfer: { oversight } }),
    sequential: () => sequential({ name: 'a', agents: [fine], oversight }),
    parallel: () => parallel({ name: 'a', agents: [fine], oversight }),
    'a loop': () => loop({ name: 'a', agents: [fine], maxIterations: 1, oversight }),
    'the edge of a fixed order': () => sequential({ name: 'a', agents: [fine], edge: { oversight } }),
    'the edge of one member': () => parallel({ name: 'a', agents: [fine], edge: { agents: { fine: { oversight } } } }),
    'a round table': () => roundtable({ name: 'a', agents: [fine], speaker: 'round-robin', oversight }),
    'a round table with a ledger': () =>
      roundtable({ name: 'a', agents: [fine], speaker: ledger({ model }), edge: { oversight } }),
    reflect: () => reflect(fine, { judge: () => 1, oversight }),
    'a planned team': () =>
      team({
        name: 'a',
        roles: { generalist: fine },
        planner: { subtasks: [{ id: 't', description: 'T' }] },
        oversight,
      }),
    'an agent as a tool': () => asTool(fine, { oversight }),
  }
  test.each(Object.entries(kinds))('team C78: is a configuration error in %s', async (_what, make) => {
    const built = async (): Promise<unknown> => {
      const made = make()
      const runtime = await createRuntime({ agents: [made as never] })
      await runtime.close()
      return made
    }
    await expect(built()).rejects.toThrow(
      /mode is the text "foo", expected "in-command", "in-the-loop" or "on-the-loop"/,
    )
  })

  test('team C78: and where a run is started', async () => {
    const runtime = await createRuntime({ agents: [fine] })
    await expect(runtime.start(fine, 'go', { oversight })).rejects.toThrow(/mode is the text "foo"/)
    await runtime.close()
  })
})

describe('what an agent says of its results', () => {
  test.each([
    [
      'a mistake',
      () => agent({ name: 'a', model: () => 'x', assess: 'repot' as never }),
      /assess is the text "repot", expected a function or "report"/,
    ],
    [
      'code that is to report',
      () => agent({ name: 'a', run: () => 'x', assess: 'report' }),
      /assess is "report", which needs a model/,
    ],
    [
      'a tool of that name',
      () =>
        agent({ name: 'a', model: () => 'x', assess: 'report', tools: [tool({ name: 'report', execute: () => 1 })] }),
      /the tool name "report" is taken/,
    ],
    ['a cost that is none', () => tool({ name: 't', costUsd: -1, execute: () => 1 }), /costUsd is -1/],
  ] as const)('%s is refused', async (_what, make, problem) => {
    const built = async (): Promise<void> => {
      const made = make()
      await (await createRuntime({ agents: [made as never] })).close()
    }
    await expect(built()).rejects.toThrow(problem)
  })
})
