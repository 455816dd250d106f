/**
 * Who joins and who leaves a team, over a process that dies anywhere: one member for one wish, one decision, nobody
 * twice. Spec team C41, C100.
 */
import { agent, teammate } from '@reeve/agent'
import type { Json } from '@reeve/core'
import type { Context } from '@reeve/engine'
import { team, type Lead, type LeadMoment, type LeadRequest } from '@reeve/team'
import { teamScenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const worker = agent({
  name: 'worker',
  description: 'Does what its task says.',
  run: async (ctx: Context, brief: string): Promise<Json> => {
    const task = brief.split('\n')[0]!
    const me = teammate(ctx)
    if (task === 'asks') {
      const refused = await me.recruit({ description: 'forbidden', role: 'spy' })
      const first = await me.recruit({ description: 'helps', role: 'scout', requestId: 'r1' })
      return [refused, first, await me.recruit({ description: 'helps', role: 'scout', requestId: 'r1' })]
    }
    if (task === 'waits' && me.member === 'generalist_2') return (await me.nextMail({ from: 'operator' })).length
    if (task === 'boss')
      return [await me.retire({ member: 'generalist_2', mode: 'force' }), await me.retire({ member: 'nobody' })]
    return task
  },
})

/**
 * One after the other, whoever waits aside, and without a clock: who is first must not depend on where a process dies.
 */
const inOrder = { strategy: 'sequential', timeoutMs: 0, dependencies: { timeoutMs: 0 } } as const

const crew = team({
  name: 'crew',
  ...inOrder,
  roles: { generalist: worker },
  recruit: { policy: ({ role }) => (role === 'spy' ? 'deny' : 'allow') },
  planner: {
    subtasks: [
      { id: 'asks', description: 'asks' },
      { id: 'waits', description: 'waits' },
      { id: 'boss', description: 'boss' },
      { id: 'last', description: 'last', dependencies: ['asks'] },
    ],
  },
})
diesEverywhere(
  teamScenario({
    name: 'a team with a recruit and a retirement',
    agents: [crew],
    input: 'Go',
  }),
  {
    status: 'completed',
    results: {
      coverage: { succeeded: 4, planned: 4 },
      tasks: [
        {
          task: 'asks',
          output: [{ reason: 'policy' }, { admitted: true, member: 'dynamic_scout_1' }, { member: 'dynamic_scout_1' }],
        },
        { task: 'waits', output: 'waits', member: 'generalist_5' },
        { task: 'boss', output: [{ retired: true }, { retired: false, reason: 'unknown' }] },
        { task: 'last' },
        { task: 'dynamic_scout_1', output: 'helps', recruited: true },
      ],
    },
  },
)

const orders: Readonly<Record<string, readonly LeadRequest[]>> = {
  one: [
    { add: [{ id: 'two', description: 'two', dependencies: ['one'] }] },
    { add: [{ id: 'one', description: 'again' }] },
  ],
  two: [{ recruit: { description: 'three', role: 'scout' } }],
}
const lead: Lead = ({ ended }: LeadMoment) => orders[ended.task]
const led = team({
  name: 'led',
  ...inOrder,
  roles: { generalist: worker },
  lead,
  planner: { subtasks: [{ id: 'one', description: 'one' }] },
})
diesEverywhere(teamScenario({ name: 'a team with a lead', agents: [led], input: 'Go' }), {
  status: 'completed',
  results: {
    coverage: { succeeded: 2, planned: 2 },
    tasks: [{ task: 'one' }, { task: 'two' }, { task: 'dynamic_scout_1', output: 'three' }],
  },
})

const asked = team({
  name: 'asked',
  ...inOrder,
  roles: { generalist: worker },
  recruit: { policy: () => 'ask' },
  planner: { subtasks: [{ id: 'asks', description: 'asks' }] },
})
diesEverywhere(
  teamScenario({
    name: 'a team whose recruits a human approves',
    agents: [asked],
    input: 'Go',
    outside: async (runtime) => {
      const [approval] = await runtime.approvals()
      if (approval === undefined) return
      const { role } = approval.input as { readonly role: string }
      await runtime
        .handle(approval.run)
        .decide({ approvalId: approval.id, decision: role === 'spy' ? 'reject' : 'approve' })
    },
  }),
  {
    status: 'completed',
    results: {
      tasks: [
        { output: [{ admitted: false, reason: 'approval' }, { admitted: true }, { admitted: true }] },
        { task: 'dynamic_scout_1', output: 'helps' },
      ],
    },
  },
)
