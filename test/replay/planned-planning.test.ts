/**
 * Planning with its process dying at every point where it can: the same plan, asked for once; the same question to a
 * human. Spec team C100 for planning.
 */
import { describe } from 'vitest'
import { agent } from '@reeve/agent'
import type { Runtime } from '@reeve/runtime'
import { team, type PlanQuestion, type TeamOptions } from '@reeve/team'
import { scripted, teamScenario, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const worker = agent({ name: 'worker', description: 'Works.', run: async (_ctx, brief: string) => `did ${brief}` })
const good = { complexity: 0.6, subtasks: [{ id: 'a', description: 'A' }, { id: 'b', description: 'B' }] } // prettier-ignore
const impossible = { subtasks: [{ id: 'a', description: 'A', dependencies: ['a'] }] }

const scenario = (
  name: string,
  options: Partial<TeamOptions<'led'>>,
  outside?: (runtime: Runtime) => Promise<void>,
): Scenario =>
  teamScenario({
    name,
    agents: [team({ name: 'led', roles: { generalist: worker }, ...options })],
    input: 'What is it?',
    ...(outside === undefined ? {} : { outside }),
  })

const done = {
  status: 'completed',
  output: '## a\n\ndid A\n\n## b\n\ndid B',
  results: { coverage: { succeeded: 2, planned: 2 } },
}
const mending = ({ problems }: PlanQuestion) => (problems === undefined ? impossible : good)

describe('team C100: a function plans, and mends its plan', () => {
  diesEverywhere(scenario('a planning function', { planner: mending }), done)
})

describe('team C100: a model plans, and mends its plan', () => {
  diesEverywhere(
    scenario('a planning model', { planner: { model: scripted(JSON.stringify(impossible), JSON.stringify(good)) } }),
    done,
  )
})

describe('team C100: an agent plans', () => {
  const planner = agent({ name: 'planner', description: 'Plans.', model: scripted(JSON.stringify(good)) })
  diesEverywhere(scenario('a planning agent', { planner }), done)
})

describe('team C100: a policy asks, and a human edits the plan', () => {
  const edited = { ...good, subtasks: good.subtasks.map((task) => ({ ...task })) }
  diesEverywhere(
    scenario(
      'an edited plan',
      { planner: { subtasks: [{ id: 'x', description: 'X' }] }, policy: () => 'ask' },
      async (runtime) => {
        for (const { id } of await runtime.approvals())
          await runtime.decide({ approvalId: id, decision: 'edit', input: edited }).catch(() => undefined)
      },
    ),
    done,
  )
})
