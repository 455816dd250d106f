/**
 * Property: with tiers and two pairs of eyes, whatever is tried by whomever, only what two different people who may
 * have approved with these very arguments is done.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { completed, runId, type Json } from '@reeve/core'
import { createEmbeddedEngine } from '@reeve/sqlite'
import type { Orchestration } from '@reeve/engine'
import { approve } from '@reeve/oversight'
import { createRuntime, type Decision } from '@reeve/runtime'
import { manualClock } from '@reeve/testing'
import { until } from '../../packages/contract/src/engine/stage.ts'
import { registryOf } from '../replay/scenarios.ts'

const tiers = [
  { who: ['ann', 'bob'], timeoutMs: 1_000 },
  { who: ['bob', 'eve', 'joe'], timeoutMs: 1_000 },
]

interface Paid {
  readonly input: Json
  readonly approvers: readonly string[]
}
const payer = (paid: Paid[]): Orchestration => ({
  name: 'payer',
  version: '1',
  async run(ctx, input) {
    const verdict = await approve(ctx, {
      tool: 'pay',
      toolVersion: '1',
      input,
      reason: 'money',
      risk: 'critical',
      rules: { approvers: tiers, onTimeout: 'escalate' },
    })
    if (!verdict.approved) return completed(verdict.how)
    const { outcome } = await ctx.next(
      ctx.begin('pay', () => {
        paid.push({ input: verdict.input, approvers: verdict.capability!.approvers })
        return verdict.input
      }),
    )
    return outcome
  },
})

const word = fc.record({
  act: fc.constantFrom('decide', 'decide', 'decide', 'decide', 'wait', 'stale'),
  who: fc.constantFrom(undefined, 'ann', 'bob', 'eve', 'joe', 'zoe', ''),
  decision: fc.constantFrom(
    'approve' as const,
    'approve' as const,
    'approve' as const,
    'edit' as const,
    'reject' as const,
  ),
  amount: fc.nat(2),
  ms: fc.integer({ min: 1, max: 700 }),
})

/** What is asked now, as the rules say: by whom, about what, who has approved it already. */
interface Model {
  tier: number
  input: Json
  first: string | undefined
  end: 'rejected' | 'timed-out' | 'paid' | undefined
  approvers: readonly string[]
}

describe('approval', () => {
  test('R-16: what is done was approved by two different people who may, each with these very arguments', async () => {
    const ends = new Set<string>()
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 10 }), async (words) => {
        const clock = manualClock()
        const paid: Paid[] = []
        const engine = createEmbeddedEngine({ file: ':memory:', strict: true, clock })
        engine.drive(registryOf([payer(paid)]))
        const run = runId('run_0')
        await engine.start({ run, agent: 'payer', version: '1', input: { amount: 9 } })
        const runtime = await createRuntime({ engine, clock, drive: false })
        const seen: string[] = []
        /** The question that is open now; undefined if the run has ended. */
        const open = async (): Promise<string | undefined> => {
          let id: string | undefined
          await until('it asks, or has ended', async () => {
            id = (await engine.questions()).find((each) => !seen.includes(each.id))?.id
            return id !== undefined || (await engine.summary(run))?.endedAt !== undefined
          })
          return id
        }
        const model: Model = { tier: 0, input: { amount: 9 }, first: undefined, end: undefined, approvers: [] }
        let deadline = clock.now() + 1_000
        let asked = await open()
        for (const { act, who, decision, amount, ms } of words) {
          if (asked === undefined || model.end !== undefined) break
          if (act === 'wait') {
            clock.advance(ms)
            if (clock.now() <= deadline) continue
            seen.push(asked)
            if (model.tier === 1) model.end = 'timed-out'
            else model.tier++
            asked = await open()
            deadline = clock.now() + 1_000
            continue
          }
          const given = {
            approvalId: act === 'stale' ? (seen.at(-1) ?? 'apr_0') : asked,
            decision,
            ...(decision === 'edit' ? { input: { amount } } : {}),
          }
          const accepted = await runtime
            .decide({ ...given, ...(who === undefined ? {} : { approver: who }) } as Decision)
            .then(
              () => true,
              () => false,
            )
          const says = decision !== 'reject'
          const valid =
            act === 'decide' &&
            who !== undefined &&
            tiers[model.tier]!.who.includes(who) &&
            !(says && who === model.first)
          expect(accepted, JSON.stringify({ act, who, decision, model })).toBe(valid)
          if (!accepted) continue
          seen.push(asked)
          if (decision === 'reject') model.end = 'rejected'
          else if (decision === 'approve' && model.first !== undefined) {
            model.end = 'paid'
            model.approvers = [model.first, who!]
          } else {
            if (decision === 'edit') model.input = { amount }
            model.first = who
          }
          asked = await open()
        }
        while (model.end === undefined) {
          clock.advance(1_001)
          if (asked !== undefined) seen.push(asked)
          if (model.tier === 1) model.end = 'timed-out'
          else model.tier++
          asked = await open()
        }
        const { outcome } = await engine.outcome(run)
        expect(outcome).toEqual(completed(model.end === 'paid' ? model.input : model.end))
        expect(paid).toEqual(model.end === 'paid' ? [{ input: model.input, approvers: model.approvers }] : [])
        ends.add(model.end)
        await engine.close()
      }),
      { numRuns: 150, seed: 7 },
    )
    expect([...ends].toSorted()).toEqual(['paid', 'rejected', 'timed-out'])
  }, 60_000)
})
