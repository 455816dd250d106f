/** A store of 0.2.0 after its upgrade: what was there is there, what waited goes on, and all of it is taken into the index. */
import { expect } from 'vitest'
import { agent, createRuntime } from '@reeve/public'

const greets = agent({ name: 'greets', description: 'Greets.', model: () => 'again' })
const asks = agent({
  name: 'asks',
  description: 'Asks.',
  run: async (ctx) => ((await ctx.approve('pay', { input: { amount: 7 } })).approved ? 'paid' : 'no'),
})
const fails = agent({ name: 'fails', description: 'Fails.', run: async () => 'again' })

export async function expectUpgraded(store: string): Promise<void> {
  await using runtime = await createRuntime({ store, agents: [greets, asks, fails], onWarning: () => {} })
  const ids = async (filter: Parameters<typeof runtime.runs>[0]): Promise<readonly string[]> =>
    (await runtime.runs(filter)).map(({ run }) => run).sort()
  expect(await ids({})).toEqual(['run_done', 'run_failed', 'run_waits'])
  expect(await runtime.unindexed()).toBe(0)
  expect(await ids({ text: 'weather zurich' })).toEqual(['run_done'])
  expect(await ids({ text: 'bill' })).toEqual(['run_waits'])
  expect((await runtime.causes()).causes).toMatchObject([{ agent: 'fails', message: 'order 12 is "gone"', runs: 1 }])
  expect((await runtime.totals({}, { by: 'model' })).groups).toMatchObject([
    { key: 'rule/greets', usage: { calls: 1, tokens: 7, usd: 0.5 } },
    { key: null, runs: 2 },
  ])
  const [open] = await runtime.approvals()
  await runtime.decide({ approvalId: open!.id, decision: 'approve' })
  expect(await runtime.handle('run_waits').outcome()).toMatchObject({ status: 'completed', output: 'paid' })
  expect(await ids({ text: 'paid' })).toEqual(['run_waits'])
  expect(await runtime.run(greets, 'and now?')).toMatchObject({ output: 'again' })
}
