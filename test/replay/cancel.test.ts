/**
 * Cancelled while a human has it, and while an approval is open, over a process that dies anywhere: what undoes the
 * work is done in the reverse order, workers before their leader, each once. Spec team C74, C89, C100.
 */
import { agent, step } from '@reeve/agent'
import type { Engine } from '@reeve/engine'
import { runView } from '@reeve/journal'
import { teamScenario, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const run = 'simulated' as Parameters<Engine['read']>[0]

/** Takes it over when somebody is asked, if that is said, and cancels it. */
const cancelled = (scenario: Scenario, takeover: boolean): Scenario => ({
  ...scenario,
  async outside(engine) {
    const events = await engine.read(run)
    const { approvals, outcome } = runView(events)
    if (outcome !== undefined || !approvals.some(({ open }) => open)) return
    const has = (type: string): boolean => events.some(({ event }) => event.type === type)
    if (takeover && !has('run.taken-over'))
      await engine.post({ type: 'pause', run, at: 'next', takeover: true, by: 'ann', id: 't' })
    else if (!has('cancel.received')) await engine.post({ type: 'cancel', run, reason: 'enough', by: 'ann' })
  },
})

const worker = agent({
  name: 'worker',
  description: 'Books, and can undo it.',
  run: async (ctx, brief) => {
    for (const what of ['first', 'second']) {
      const key = await step(ctx, `book ${what}`, () => `${brief} ${what}`)
      ctx.onCancel(`undo ${what}`, async () => void key)
    }
    return (await ctx.approve('pay', { input: { brief } })).approved
  },
})
const lead = agent({
  name: 'lead',
  workers: [worker],
  run: async (ctx) => {
    await step(ctx, 'open', () => 'opened')
    ctx.onCancel('close', async () => undefined)
    return (await ctx.delegate(worker, 'x')).status
  },
})

for (const takeover of [false, true])
  diesEverywhere(
    cancelled(
      teamScenario({
        name: `a run that is cancelled ${takeover ? 'by whoever has taken it over' : 'while an approval is open'}`,
        agents: [lead],
        input: 'Go',
      }),
      takeover,
    ),
    { status: 'cancelled', reason: 'enough' },
  )
