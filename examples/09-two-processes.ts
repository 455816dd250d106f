/**
 * Two processes on one file. The child has the team and drives it; this process has no team, opens the same file with
 * `drive: false`, sees the approval and decides it. It could as well be a web server, or `reeve approve` in a terminal.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, tool } from 'reeve'

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'reeve-example-'))
const store = join(folder, 'reeve.db')

if (process.argv[2] === undefined) await decideFromOutside()
else await driveTeam()

async function driveTeam(): Promise<void> {
  const deploy = tool({
    name: 'deploy',
    approval: { risk: 'critical', timeoutMs: 'never' },
    effect: 'once',
    execute: () => 'deployed',
  })
  const operator = agent({
    name: 'operator',
    tools: [deploy],
    model: ({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'It is live.' : { calls: [{ name: 'deploy', input: {} }] },
  })
  await using runtime = await createRuntime({ store, agents: [operator] })
  await runtime.run(operator, 'Deploy.', { runId: 'deploy-7' })
}

async function decideFromOutside(): Promise<void> {
  const child = spawn(process.execPath, [import.meta.filename, folder], { stdio: 'inherit' })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  // #region outside
  await using runtime = await createRuntime({ store, drive: false }) // reads, decides and controls; runs nothing
  while ((await runtime.runs()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  const run = runtime.handle('deploy-7')
  const state = await run.until('waiting')
  if (!('waiting' in state)) throw new Error('no approval was requested')
  await runtime.decide({ approvalId: state.waiting[0]!.id, decision: 'approve', approver: 'ann' })
  const outcome = await run.outcome()
  // #endregion
  console.log(outcome)
  assert.equal(outcome.status === 'completed' && outcome.output, 'It is live.')
  await gone
}
