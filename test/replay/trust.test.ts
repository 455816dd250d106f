/**
 * A run that is trusted, with its process dying at every point where it can: it counts once, and its mode stays what it
 * was.
 */
import { describe } from 'vitest'
import { completed } from '@reeve/core'
import { escalate } from '@reeve/oversight'
import type { Runtime } from '@reeve/runtime'
import { teamScenario, type Scenario } from '@reeve/testing'
import { hand } from '../../packages/runtime/test/hand.ts'
import { diesEverywhere } from './dying.ts'

const analyst = hand(
  'analyst',
  async (ctx, edge) => {
    const about = { tool: 'send', toolVersion: '1', input: 'the report' }
    const done: string[] = []
    for (let n = 0; n < 2; n++) {
      const verdict = await escalate(
        ctx.scope('gate'),
        edge.oversight?.policy,
        { subject: 'action', name: 'send' },
        { action: 'send' },
        about,
      )
      done.push(verdict?.approved === true ? 'approved' : 'not approved')
    }
    return completed(done)
  },
  { oversight: { trust: 'analysts' } },
)

const scenario: Scenario = teamScenario({
  name: 'trusted work',
  agents: [analyst],
  input: 'go',
  outside: async (runtime: Runtime) => {
    for (const { id } of await runtime.approvals())
      await runtime.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
  },
})

describe('a process that dies while trusted work goes on', () => {
  // a run that counted twice would say so in its fact: `trust.updated` has the number of tasks
  diesEverywhere(scenario, { status: 'completed', output: ['approved', 'approved'] })
})
