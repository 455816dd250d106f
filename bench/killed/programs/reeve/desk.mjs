/** Reeve: docs/how-to/after-a-crash.md and docs/how-to/approvals.md. A process that opens the store continues its runs. */
import { agent, createRuntime, supervisor, tool } from 'reeve'
import { z } from 'zod'
import { refund } from '../refund.mjs'

const model = 'openai-chat/fake'
const pay = tool({
  name: 'refund',
  description: 'Pays the money of an order back.',
  input: z.object({ order: z.number(), dollars: z.number() }),
  effect: 'once',
  approval: process.env['APPROVAL'] === 'yes',
  execute: refund,
})
const clerk = agent({ name: 'clerk', description: 'Refunds orders.', model, tools: [pay] })
const support = supervisor({ name: 'support', model, workers: [clerk] })

await using runtime = await createRuntime({ store: 'desk.db', agents: [support] })
const verb = process.argv[2]
const runId = 'order-7'
const run = verb === 'start' ? await runtime.start(support, 'Refund order 7.', { runId }) : runtime.handle(runId)
const state = await run.until('waiting')
for (const { id, kind, body } of 'questions' in state ? state.questions : []) {
  if (kind === 'approval') console.log('asks', body.tool, JSON.stringify(body.input))
  else console.log('doubts', body.path.at(-1), body.address)
  if (verb === 'approve') await run.decide({ approvalId: id, decision: 'approve', approver: 'ann' })
  if (verb === 'continue') await run.control.settleDoubt({ id, happened: true, value: 'refunded', by: 'ann' })
}
const outcome = await run.outcome()
if (outcome.status === 'completed') console.log('ends', outcome.output)
