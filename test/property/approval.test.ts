/**
 * Property: whatever is tried on approvals, only an open one of the right run can be decided, by the first valid word,
 * before its deadline.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { completed, runId, type RunId } from '@reeve/core'
import { createEmbeddedEngine } from '@reeve/sqlite'
import type { Orchestration } from '@reeve/engine'
import { approve } from '@reeve/oversight'
import { createRuntime, type Decision } from '@reeve/runtime'
import { manualClock } from '@reeve/testing'
import { until } from '../../packages/contract/src/engine/stage.ts'
import { registryOf } from '../replay/scenarios.ts'

const timeoutMs = 1_000
/** Pays only what was approved; its effect says under which approval. */
const payer = (paid: string[]): Orchestration => ({
  name: 'payer',
  version: '1',
  async run(ctx, input) {
    const verdict = await approve(ctx, {
      tool: 'pay',
      toolVersion: '1',
      input,
      reason: 'money',
      risk: 'high',
      timeoutMs,
    })
    if (!verdict.approved) return completed(verdict.how)
    const pay = ctx.begin('pay', () => {
      paid.push(ctx.place.run)
      return verdict.input
    })
    const { outcome } = await ctx.next(pay)
    return outcome
  },
})

/** What somebody tries: on which of three runs, with the id of which approval, in which words. */
const attempt = fc.record({
  act: fc.constantFrom('decide', 'decide', 'decide', 'wait'),
  run: fc.nat(2),
  approval: fc.nat(2),
  forged: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    'apr_0000',
    'case',
    'extra field',
    'as interrupt',
    'no word',
  ),
  decision: fc.constantFrom('approve' as const, 'reject' as const),
  ms: fc.integer({ min: 1, max: 700 }),
})

describe('approval', () => {
  test('K2: none forged, expired, replayed or of another run is accepted, and nothing is paid without one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(attempt, { maxLength: 12 }), async (attempts) => {
        const clock = manualClock()
        const paid: string[] = []
        const engine = createEmbeddedEngine({ file: ':memory:', strict: true, clock })
        engine.drive(registryOf([payer(paid)]))
        const ids = [0, 1, 2].map((n) => runId(`run_${n}`))
        for (const run of ids) await engine.start({ run, agent: 'payer', version: '1', input: { amount: 7, run } })
        await until('all ask', async () => (await engine.questions()).length === 3)
        const asked = (await engine.questions()).map(({ id, run }) => ({ id, run }))
        const approvalOf = (run: RunId): string => asked.find((one) => one.run === run)!.id
        const deadline = clock.now() + timeoutMs
        const runtime = await createRuntime({ engine, clock, drive: false })
        const won = new Map<RunId, 'approve' | 'reject'>()
        for (const { act, run, approval, forged, decision, ms } of attempts) {
          if (act === 'wait') {
            clock.advance(ms)
            continue
          }
          const id = approvalOf(ids[approval]!)
          const given = {
            approvalId: forged === 'apr_0000' ? forged : forged === 'case' ? id.toUpperCase() : id,
            decision: forged === 'no word' ? 'yes' : decision,
            ...(forged === 'extra field' ? { force: true } : {}),
          }
          const handle = runtime.handle(ids[run]!)
          const word =
            forged === 'as interrupt'
              ? handle.answer({ interruptId: id, value: { decision: 'approve' } })
              : handle.decide(given as Decision)
          const accepted = await word.then(
            () => true,
            () => false,
          )
          const valid = forged === undefined && run === approval && !won.has(ids[run]!) && clock.now() <= deadline
          expect(accepted, JSON.stringify({ act, run, approval, forged, decision })).toBe(valid)
          if (accepted) won.set(ids[run]!, decision)
        }
        clock.advance(timeoutMs + 1)
        for (const run of ids) {
          const { outcome } = await engine.outcome(run)
          expect(outcome).toEqual(
            completed(
              won.get(run) === 'approve' ? { amount: 7, run } : won.get(run) === 'reject' ? 'rejected' : 'timed-out',
            ),
          )
        }
        expect(paid.toSorted()).toEqual(ids.filter((run) => won.get(run) === 'approve'))
        await engine.close()
      }),
      { numRuns: 100 },
    )
  }, 60_000)
})
