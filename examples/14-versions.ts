/**
 * Changing a team while its runs are under way: the version that a run began with goes on with it as long as it is
 * registered.
 */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createRuntime, interrupt, step } from 'reeve'
import { z } from 'zod'

const store = join(mkdtempSync(join(tmpdir(), 'reeve-example-')), 'reeve.db')

// #region versions
const first = agent({
  name: 'clerk',
  version: '1',
  run: async (ctx) => {
    const found = await step(ctx, 'look', () => 'found')
    const word = await interrupt(ctx, 'go on?', { schema: z.string() })
    return `${found}, ${word}, by version 1`
  },
})
const second = agent({
  name: 'clerk',
  version: '2',
  run: async (ctx) => {
    const found = await step(ctx, 'search', () => 'found', { aliases: ['look'] }) // renamed: running runs have it as `look`
    await step(ctx, 'audit', () => 'noted', { aliases: [] }) // new: replaces nothing
    const word = await interrupt(ctx, 'go on?', { schema: z.string() })
    return `${found}, ${word}, by version 2`
  },
})
// #endregion

async function waitingRun(runId: string): Promise<void> {
  await using runtime = await createRuntime({ store, agents: [first] })
  const run = await runtime.start(first, 'Go.', { runId })
  await run.until('waiting')
}
await waitingRun('stays')
await waitingRun('moves')

async function finish(runId: string, runtime: Awaited<ReturnType<typeof createRuntime>>): Promise<unknown> {
  const run = runtime.handle(runId)
  const state = await run.until('waiting')
  if ('questions' in state) await run.answer({ interruptId: state.questions[0]!.id, value: 'yes' })
  const outcome = await run.outcome()
  return outcome.status === 'completed' ? outcome.output : outcome
}

{
  // #region earlier
  await using runtime = await createRuntime({ store, agents: [second], earlier: [first] })
  // #endregion
  assert.equal(await finish('stays', runtime), 'found, yes, by version 1')
}
{
  // #region move
  await using runtime = await createRuntime({ store, agents: [second] }) // onMissingVersion: 'move' (default) or 'park'
  // #endregion
  assert.equal(await finish('moves', runtime), 'found, yes, by version 2')
}
console.log('both runs ended')
