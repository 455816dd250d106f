/** Code that delegates to what is no agent: said at once, not waited for. */
import { expect, test } from 'vitest'
import { agent, createRuntime, type Agent } from '@reeve/public'

test.each([
  ['a name', 'asker'],
  ['nothing', undefined],
  ['an object', {}],
])('ctx.delegate to %s is refused, and the run ends', async (_what, worker) => {
  const lead = agent({
    name: 'lead',
    run: async (ctx) => (await ctx.delegate(worker as unknown as Agent, 'go')).status,
  })
  await using runtime = await createRuntime({ agents: [lead], strict: true })
  expect(await runtime.run(lead, 'go')).toMatchObject({
    status: 'failed',
    failure: { message: expect.stringContaining('expected an agent') as string },
  })
})
