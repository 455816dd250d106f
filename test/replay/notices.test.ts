/**
 * Notices of a run whose process dies at every point where it can: who was told is not told again, and the question
 * stays one (K5, K6; team S2k).
 */
import { describe } from 'vitest'
import { agent } from '@reeve/agent'
import { completed, failure, FailureError, type RunId } from '@reeve/core'
import { approve, type Channel } from '@reeve/oversight'
import { teamScenario, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const clerk = agent({
  name: 'clerk',
  description: 'Pays.',
  run: async (ctx) => {
    const rules = { notify: ['desk', 'broken', 'nobody'] }
    const verdict = await approve(ctx, {
      tool: 'pay',
      toolVersion: '1',
      input: 10,
      reason: 'money',
      risk: 'high',
      rules,
    })
    return verdict.approved ? `yes, says ${verdict.approver}` : verdict.how
  },
})

const channels: readonly Channel[] = [
  { name: 'desk', notify: () => {} },
  {
    name: 'broken',
    notify: () => {
      throw new FailureError(failure('notice.failed', 'no such address', 'validation'))
    },
  },
]

/** Decides as soon as all three notices have come to an end, in whichever process. */
const scenario: Scenario = {
  ...teamScenario({ name: 'an approval that is told over three channels', agents: [clerk], channels, input: 'go' }),
  outside: async (engine) => {
    const events = await engine.read('simulated' as RunId).catch(() => [])
    const ends = events.filter(({ event }) => event.type === 'notice.sent' || event.type === 'notice.failed')
    if (ends.length < 3) return
    for (const { activation, address } of await engine.questions())
      await engine.post({
        type: 'answer',
        activation,
        address,
        outcome: completed({ decision: 'approve', approver: 'ann' }),
      })
  },
}

describe('a process that dies while people are told', () => {
  diesEverywhere(scenario, { status: 'completed', output: 'yes, says ann' })
})
