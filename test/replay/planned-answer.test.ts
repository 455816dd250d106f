/**
 * A planned team that answers and learns, with its process dying at every point where it can, and once more while the
 * next one recovers; and replayed without an engine.
 */
import { describe } from 'vitest'
import { agent, sleep, teammate, type Agent } from '@reeve/agent'
import { failure, FailureError } from '@reeve/core'
import type { Context } from '@reeve/engine'
import type { Runtime } from '@reeve/runtime'
import { team, type TeamOptions } from '@reeve/team'
import { scripted, teamScenario, type Scenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const worker = agent({
  name: 'worker',
  description: 'Works.',
  run: async (ctx: Context) => {
    const { task } = teammate(ctx)
    if (task === 'hang') await sleep(ctx, 3_600_000)
    if (task === 'c') throw new FailureError(failure('tool.failed', 'it rains', 'policy'))
    return Promise.resolve(`${task} is done`)
  },
})

function scenario(
  name: string,
  options: Partial<TeamOptions<'analysts', undefined>>,
  outside?: (runtime: Runtime) => Promise<void>,
): Scenario {
  const root: Agent = team({
    name: 'analysts',
    roles: { generalist: worker },
    planner: { subtasks: ['a', 'b', 'c'].map((id) => ({ id, description: `Do ${id}` })) },
    retry: { backoffMs: 0 },
    ...options,
  })
  const made = teamScenario({
    name,
    agents: [root],
    input: 'Urgent: what about cats?',
    session: 'ses_1',
    user: 'ann',
    ...(outside === undefined ? {} : { outside }),
  })
  return { ...made, registry: { ...made.registry, onMissingVersion: 'move' } }
}

const stand =
  '## a\n\na is done\n\n## b\n\nb is done\n\n## Missing\n\n- c (Do c): failed: [worker "generalist_3" failed: it rains]'

describe('a process that dies while a team answers and learns', () => {
  diesEverywhere(
    scenario('a function that answers, the memory in the store', {
      synthesize: ({ results }) => `${results.length} done`,
      memory: true,
    }),
    { status: 'completed', output: '2 done' },
  )
  diesEverywhere(
    scenario('a model that answers, a memory and an advisor of somebody else', {
      synthesize: { model: scripted('All is done.') },
      memory: { recall: () => ({ plans: [], strategies: {} }), record: () => Promise.resolve() },
      advisor: (_past, _question, random) => ({
        strategy: random() < 2 ? 'sequential' : 'hybrid',
        confidence: 0.9,
        warnings: [],
      }),
    }),
    { status: 'completed', output: 'All is done.' },
  )
  diesEverywhere(
    scenario('an agent that fails to answer, a memory that fails', {
      synthesize: agent({ name: 'writer', description: 'Writes.', run: () => Promise.reject(new Error('boom')) }),
      memory: { recall: () => Promise.reject(new Error('down')), record: () => Promise.reject(new Error('full')) },
    }),
    { status: 'completed', output: stand },
  )
  diesEverywhere(
    scenario(
      'a team that is cancelled at work and remembers that',
      { planner: { subtasks: ['a', 'hang'].map((id) => ({ id, description: `Do ${id}` })) }, memory: true },
      async (runtime) => {
        const run = runtime.handle('simulated')
        const [view] = (await run.view()).teams
        if (view?.coverage.succeeded === 1) await run.control.cancel('enough').catch(() => undefined) // it has ended
      },
    ),
    { status: 'cancelled', reason: 'enough' },
  )
})
