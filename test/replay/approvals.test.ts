/**
 * Approvals over crashes: nothing is asked twice, no deadline moves, whatever was decided is done once. Spec team R-16,
 * C79, C90.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { agent, tool } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { approve, type ApprovalRequest } from '@reeve/oversight'
import type { Approval, Decision, Runtime } from '@reeve/runtime'
import { teamScenario, type ManualClock, type Scenario } from '@reeve/testing'
import { calls } from '../scenario/team.ts'
import { diesEverywhere } from './dying.ts'

/** Whoever decides: what they say to an approval, if they say anything. Whoever came before the crash was faster. */
const decided =
  (say: (approval: Approval, all: readonly Approval[]) => Omit<Decision, 'approvalId'> | undefined, least = 1) =>
  async (runtime: Runtime): Promise<void> => {
    const open = await runtime.approvals()
    if (open.length < least) return
    for (const approval of open.toReversed()) {
      const word = say(approval, open)
      if (word !== undefined)
        await runtime.decide({ approvalId: approval.id, ...word } as Decision).catch(() => undefined)
    }
  }

const base: ApprovalRequest = { tool: 'pay', toolVersion: '1', input: { amount: 10 }, reason: 'money' }
const asking = (
  name: string,
  request: Partial<ApprovalRequest>,
  outside: (runtime: Runtime, clock: ManualClock) => Promise<void>,
): Scenario => {
  const root = agent({
    name: 'asks',
    run: async (ctx) => {
      const verdict = await approve(ctx, { ...base, ...request })
      if (!verdict.approved) return { how: verdict.how }
      const { capability, by } = verdict
      const paid = ctx.begin('pay', (io) => ({ paid: verdict.input, again: io.key }))
      const { outcome } = await ctx.next(paid)
      return {
        by,
        outcome: outcome as unknown as Json,
        approvers: capability!.approvers,
        approvals: capability!.approvals,
        id: capability!.id,
      }
    },
  })
  return teamScenario({ name, agents: [root], input: 'go', outside })
}

describe('one approval after the other', () => {
  diesEverywhere(
    asking(
      'critical: two people, the first of whom edits',
      { risk: 'critical', rules: {} },
      decided(({ excludes }) =>
        excludes === undefined
          ? { decision: 'edit', input: { amount: 5 }, approver: 'ann' }
          : { decision: 'approve', approver: 'bob' },
      ),
    ),
    { output: { by: 'human', approvers: ['ann', 'bob'], outcome: { output: { paid: { amount: 5 } } } } },
  )
  const tiers = [
    { who: ['ann'], timeoutMs: 1_000 },
    { who: ['bob'], timeoutMs: 1_000 },
  ]
  diesEverywhere(
    asking(
      'a deadline escalates, the next ones decide',
      { rules: { onTimeout: 'escalate', approvers: tiers } },
      async (runtime, clock) => {
        const [open] = await runtime.approvals()
        if (open === undefined) return
        if (open.tier === 2) await decided(() => ({ decision: 'approve', approver: 'bob' }))(runtime)
        else clock.advance(Math.max(0, open.until! - clock.now() + 1))
      },
    ),
    { output: { by: 'human', approvers: ['bob'] } },
  )
  diesEverywhere(
    asking(
      'a deadline escalates until nobody is left',
      { rules: { onTimeout: 'escalate', approvers: tiers } },
      async (runtime, clock) => {
        const [open] = await runtime.approvals()
        if (open !== undefined) clock.advance(Math.max(0, open.until! - clock.now() + 1))
      },
    ),
    { output: { how: 'timed-out' } },
  )
  diesEverywhere(
    asking('a deadline approves', { risk: 'low', onTimeout: 'approve', timeoutMs: 1_000 }, async (runtime, clock) => {
      const [open] = await runtime.approvals()
      if (open !== undefined) clock.advance(Math.max(0, open.until! - clock.now() + 1))
    }),
    { output: { by: 'deadline', approvers: [] } },
  )
})

describe('an unauthorized decision that bypasses the public API', () => {
  const root = agent({
    name: 'asks',
    run: async (ctx) =>
      (await approve(ctx, { ...base, options: ['approve', 'reject'], rules: { approvers: [{ who: ['ann'] }] } }))
        .approved,
  })
  const scenario = teamScenario({ name: 'ignored, and asked again', agents: [root], input: 'go' })
  diesEverywhere(
    {
      ...scenario,
      async outside(engine) {
        for (const { activation, address, body } of await engine.questions({ run: scenario.start.run })) {
          const { follows } = body as { follows?: string }
          const isFirst = follows === undefined
          const output: Json = isFirst
            ? { decision: 'approve', approver: 'eve' }
            : { decision: address.endsWith('#1') ? 'retry' : 'approve', approver: 'ann' }
          await engine.post({ type: 'answer', activation, address, outcome: { status: 'completed', output } })
        }
      },
    },
    { output: true },
  )

  const granting = agent({
    name: 'asks',
    run: async (ctx) => ({ grant: null, ...(await approve(ctx, base)), capability: null }),
  })
  const granted = teamScenario({ name: 'a grant where nothing can be granted', agents: [granting], input: 'go' })
  diesEverywhere(
    {
      ...granted,
      async outside(engine) {
        for (const { activation, address } of await engine.questions({ run: granted.start.run })) {
          const output: Json = { decision: 'approve', approver: 'eve', grant: 'session' }
          await engine.post({ type: 'answer', activation, address, outcome: { status: 'completed', output } })
        }
      },
    },
    { output: { approved: true, approver: 'eve', grant: null } },
    5,
  )
})

/** What was paid, by the key of the effect: a bank that looks at keys. */
const paid = new Map<string, number>()
const pay = tool({
  name: 'pay',
  effect: 'idempotent',
  approval: true,
  input: { type: 'object', properties: { amount: { type: 'number' } } },
  execute: (input, io) => {
    paid.set(io.key, (input as { amount: number }).amount)
    return { capability: io.capability!.id, key: io.capability!.key === io.key }
  },
})

describe('calls that were approved', () => {
  const twice = agent({
    name: 'payer',
    model: ({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'done' : calls(['pay', { amount: 10 }], ['pay', { amount: 11 }]),
    tools: [pay],
  })
  diesEverywhere(
    teamScenario({
      name: 'team C79, C90: two calls of one turn, decided in reverse order',
      agents: [twice],
      input: 'go',
      outside: decided(
        ({ input }) => ({
          decision: (input as { amount: number }).amount === 10 ? 'approve' : 'reject',
          approver: 'ann',
        }),
        1,
      ),
    }),
    { output: 'done' },
    20,
  )
  const again = agent({
    name: 'payer',
    model: ({ messages }) => {
      const answers = messages.filter(({ role }) => role === 'tool').length
      return answers === 2 ? 'done' : calls(['pay', { amount: answers === 0 ? 10 : 1_000 }])
    },
    tools: [pay],
  })
  diesEverywhere(
    teamScenario({
      name: 'team C86: approved for 10, called with 1000, asked again',
      agents: [again],
      input: 'go',
      outside: decided(({ input }) => ({
        decision: (input as { amount: number }).amount === 10 ? 'approve' : 'reject',
        approver: 'ann',
      })),
    }),
    { output: 'done' },
    20,
  )
  afterAll(() => paid.clear())
  test('only what was approved was ever paid, wherever the process died', () => {
    expect([...paid.values()].every((amount) => amount === 10)).toBe(true)
    expect(paid.size).toBeGreaterThan(0)
  })
})
