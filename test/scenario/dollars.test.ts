/**
 * A limit in US dollars is kept or refused, wherever it is given: it is never passed over because a price is not known.
 */
import { expect, test } from 'vitest'
import { agent, delegate, type Agent } from '@reeve/agent'
import { asTool, parallel, router, sequential } from '@reeve/flow'
import { roundtable, supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { delegates, runtimeOf, scripted } from './team.ts'

let asked = 0
const unpriced = {
  id: 'x/y',
  call: () => Promise.reject(new Error(`call ${++asked} of a model that must not be asked`)),
}
const worker = (name = 'w'): Agent => agent({ name, description: 'W', model: unpriced })
const cap = { limits: { usd: 0.01 } }
const lead = () => scripted(delegates(['w', 'x']), 'done')

const makers: readonly (readonly [string, () => Agent, option: string])[] = [
  [
    'all delegations of a leader',
    () => supervisor({ name: 's', model: lead(), workers: [worker()], delegation: cap }),
    'delegation.limits.usd',
  ],
  [
    'the delegations to one worker',
    () => supervisor({ name: 's', model: lead(), workers: [worker()], delegation: { workers: { w: cap } } }),
    'delegation.workers.w.limits.usd',
  ],
  [
    'the delegations of code',
    () => supervisor({ name: 's', run: () => 1, workers: [worker()], delegation: cap }),
    'delegation.limits.usd',
  ],
  [
    'an agent as a tool',
    () => agent({ name: 's', model: lead(), tools: [asTool(worker(), cap)] }),
    'tools.w.limits.usd',
  ],
  ['the members of a fixed order', () => sequential({ name: 's', agents: [worker()], edge: cap }), 'edge.limits.usd'],
  [
    'one member of it',
    () => parallel({ name: 's', agents: [worker()], edge: { agents: { w: cap } } }),
    'edge.agents.w.limits.usd',
  ],
  [
    'the workers of a router',
    () => router({ name: 's', model: lead(), workers: [worker()], transfer: cap }),
    'transfer.limits.usd',
  ],
  [
    'a round table',
    () => roundtable({ name: 's', agents: [worker()], speaker: 'round-robin', edge: cap }),
    'edge.limits.usd',
  ],
  [
    'a role of a planned team',
    () =>
      team({
        name: 's',
        planner: { subtasks: [{ id: '1', description: 'x' }] },
        roles: { w: { agent: worker(), ...cap } },
      }),
    'roles.w.limits.usd',
  ],
]

test.each(makers)('a cap in dollars on %s is refused at build where a price is not known', async (_, make, option) => {
  await expect((async () => runtimeOf([make()]))()).rejects.toMatchObject({
    code: 'budget.no-price',
    message: expect.stringContaining(
      `${option} cannot be kept, because the price of "x/y" (agent "w") is not known`,
    ) as string,
  })
})

test('a dollar cap without prices is refused at start, also for planning models and those of a version', async () => {
  const boss = supervisor({ name: 's', model: lead(), workers: [worker()] })
  const planned = team({
    name: 'planned',
    planner: { model: unpriced },
    roles: { p: agent({ name: 'p', description: 'P', model: () => 'P' }) },
  })
  const free = agent({ name: 'free', model: () => 'F' })
  const runtime = await runtimeOf([boss, planned, free])
  const refused = expect.objectContaining({ code: 'budget.no-price' }) as Error
  await expect(runtime.run(boss, 'go', cap)).rejects.toEqual(refused)
  await expect(runtime.run(planned, 'go', cap)).rejects.toEqual(refused)
  await runtime.versions.publish(free, { version: 'v2', model: 'openai/gpt-unheard-of' })
  expect(await runtime.run(free, 'go', cap)).toMatchObject({ output: 'F' })
  await expect(runtime.run(free, 'go', { ...cap, defaultStatus: 'published' })).rejects.toEqual(refused)
  await runtime.versions.publish(free, { version: 'v3', model: 'openai/gpt-unheard-of', ...cap })
  await expect(runtime.run(free, 'go', { versions: { free: 'v3' } })).rejects.toEqual(refused)
  expect(await runtime.runs()).toHaveLength(1)
  expect(asked).toBe(0)
})

test('a cap that only code gives, while it runs, lets no model be asked whose price is not known', async () => {
  const w = worker()
  const root = agent({ name: 's', workers: [w], run: async (ctx) => (await delegate(ctx, w, 'x', cap)) as never })
  const outcome = await (await runtimeOf([root])).run(root, 'go')
  expect(outcome).toMatchObject({
    status: 'completed',
    output: { status: 'failed', failure: { code: 'budget.no-price' } },
  })
  expect(asked).toBe(0)
})
