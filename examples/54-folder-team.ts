/**
 * A team that is a folder: `54-folder-team/agents` has one file for each agent and each tool. In that folder's parent,
 * `reeve dev`, `serve`, `work` and `start` find it by themselves; here a program loads it.
 */
import assert from 'node:assert/strict'
import { createRuntime, unwrap } from 'reeve'
import { loadTeam } from 'reeve/folder'

// #region load
const agents = await loadTeam(new URL('54-folder-team/agents/', import.meta.url))
await using runtime = await createRuntime({ agents })
const run = await runtime.start('support', 'Order 7 arrived broken.')
// #endregion
await run.until('waiting')
const [approval] = await runtime.approvals()
assert.deepEqual(approval?.input, { order: 7, usd: 40 })
await run.decide({ approvalId: approval.id, decision: 'approve', approver: 'ann' })
const answer = unwrap(await run.outcome())
assert.equal(answer, 'Done: "Paid back 40 dollars."')
console.log(
  agents.map(({ name }) => name),
  answer,
)
