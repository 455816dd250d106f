/**
 * Approve, and it is executed; reject, and the plan is revised with what was said, and shown again. Where a graph needs
 * an interrupt, a checkpointer, a command that resumes and two nodes to go to, this is one awaited call in a loop: a
 * yes and a no are values, and the wait survives every restart.
 */
import assert from 'node:assert/strict'
import { agent, createRuntime, type ModelFunction } from 'reeve'
import type { Decision } from 'reeve/oversight'
import { z } from 'zod'

// #region planner
const Plan = z.object({ to: z.enum(['everybody', 'customers']), subject: z.string() })
/** Plans as a model does: as JSON, and otherwise when it is told what was wrong. */
const plans: ModelFunction = ({ messages }) => {
  const revised = JSON.stringify(messages).includes('only to customers')
  return JSON.stringify({ to: revised ? 'customers' : 'everybody', subject: 'Our spring sale' })
}
const planner = agent({ name: 'planner', description: 'Plans a campaign.', model: plans, output: Plan })
// #endregion

const sent: string[] = []
// #region campaign
const campaign = agent({
  name: 'campaign',
  workers: [planner],
  run: async (ctx, goal) => {
    let brief = goal
    for (let round = 1; round <= 5; round++) {
      const planned = await ctx.delegate(planner, brief)
      if (planned.status !== 'completed') throw new Error(`there is no plan: ${planned.status}`)

      const word = await ctx.approve('send_campaign', {
        input: planned.output,
        schema: Plan,
        reason: 'it goes to people',
        risk: 'high',
      })
      if (word.approved) {
        const { to, subject } = word.input // as planned, or as edited by the approver
        await ctx.step('send', () => void sent.push(`"${subject}" to ${to}`), { effect: 'once' })
        return `sent in round ${round}, approved by ${word.approver}`
      }
      brief = `${goal}\nYour last plan was ${JSON.stringify(planned.output)}. It was rejected: ${word.feedback}. Revise it.`
    }
    return 'given up after five plans'
  },
})
// #endregion

await using runtime = await createRuntime({ agents: [campaign] })
const run = await runtime.start(campaign, 'Tell people of our spring sale.')

// #region decide
/** What a person says to the first plan, and to the second. */
const words: readonly ((approvalId: string) => Decision)[] = [
  (approvalId) => ({ approvalId, decision: 'reject', comment: 'only to customers', approver: 'ann' }),
  (approvalId) => ({
    approvalId,
    decision: 'edit',
    input: { to: 'customers', subject: 'Spring sale: 20 % off' },
    approver: 'ann',
  }),
]
for (const word of words) {
  const state = await run.until('waiting')
  if (!('waiting' in state)) throw new Error('no approval was requested')
  const [approval] = state.waiting
  const decision = word(approval!.id)
  console.log(`${approval!.path.join(' > ')} asks for ${approval!.tool}:`, approval!.input)
  console.log(
    `  ${decision.approver}: ${decision.decision}${decision.comment === undefined ? '' : `, "${decision.comment}"`}`,
  )
  await run.decide(decision)
}
const outcome = await run.outcome()
// #endregion
console.log(outcome.status === 'completed' ? outcome.output : outcome, sent)
assert.deepEqual(sent, ['"Spring sale: 20 % off" to customers'])
assert.equal(outcome.status === 'completed' && outcome.output, 'sent in round 2, approved by ann')
