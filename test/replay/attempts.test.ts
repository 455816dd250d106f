/**
 * Another attempt after an effect that may be made only once, with its process dying at every point where it can: the
 * same outcome and facts, and nothing recorded runs again.
 */
import { agent, step, type Agent } from '@reeve/agent'
import type { Runtime } from '@reeve/runtime'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { scripted, teamScenario, type ManualClock } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

/** Says of every doubt that it happened, and yes to every approval; moves the clock where nobody is asked. */
async function outside(runtime: Runtime, clock: ManualClock): Promise<void> {
  const questions = await runtime.questions()
  for (const { id, kind } of questions) {
    const run = runtime.handle('simulated')
    if (kind === 'in-doubt')
      await run.control.settleDoubt({ id, happened: true, value: 'receipt' }).catch(() => undefined)
    if (kind === 'approval')
      await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' }).catch(() => undefined)
  }
  if (questions.length === 0) clock.advance(100)
}

/** Pays once, and slips until it was begun for the second time. */
const payer = (): Agent =>
  agent({
    name: 'payer',
    description: 'Pays.',
    run: async (ctx) => {
      const receipt = await step(ctx, 'pay', () => 'receipt', { effect: 'once' })
      if (Number(await ctx.values.update('tried', (n) => Number(n ?? 0) + 1)) < 2)
        throw new Error('a slip after it has paid')
      return receipt
    },
  })

const planned = team({
  name: 'crew',
  roles: { generalist: payer() },
  planner: { subtasks: [{ id: 'pay', description: 'pay the bill', action: 'pay_bill' }] },
  oversight: { mode: 'in-the-loop' },
  retry: { backoffMs: 200, jitter: false },
})
diesEverywhere(
  teamScenario({
    name: 'a task that is approved, pays, slips and is approved again',
    agents: [planned],
    input: 'Go',
    outside,
  }),
  {
    status: 'completed',
  },
)

const led = supervisor({
  name: 'S',
  model: scripted({ calls: [{ name: 'delegate', input: { worker: 'payer', instructions: 'pay' } }] }, 'done'),
  workers: [payer()],
  delegation: { retry: { attempts: 2, backoffMs: 200, jitter: false, when: () => true } },
})
diesEverywhere(
  teamScenario({ name: 'a delegation that pays, slips and is tried again', agents: [led], input: 'Go', outside }),
  {
    status: 'completed',
    output: 'done',
  },
)
