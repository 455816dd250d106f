/**
 * Calls of models and tasks of a plan that wait for room, with their process dying at every point where it can: each is
 * called once there is room, once.
 */
import { describe } from 'vitest'
import { agent, teammate } from '@reeve/agent'
import type { ModelRequest } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { team } from '@reeve/team'
import { teamScenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'
import { outside, patient } from './resting.ts'

const names = ['a', 'b', 'c'] as const
/** Two of three calls fit at once; each uses so many tokens. */
const crew = (uses: number) =>
  supervisor({
    name: 'S',
    model: ({ messages }: ModelRequest) => {
      const usage = { input: 10, output: 0 }
      if (messages.some(({ role }) => role === 'tool')) return { text: 'all in', usage }
      return { calls: names.map((worker) => ({ name: 'delegate', input: { worker, instructions: 'go' } })), usage }
    },
    workers: names.map((name) =>
      agent({
        name,
        description: `Is ${name}.`,
        model: () => ({ text: 'done', usage: { input: uses, output: 0 } }),
        settings: { maxOutputTokens: 3_000 },
      }),
    ),
    settings: { maxOutputTokens: 100 },
    limits: { tokens: 8_000 },
  })

describe('calls at once', () => {
  diesEverywhere(
    teamScenario({
      name: 'there is room for all of them, one after the other',
      agents: [crew(10)],
      input: 'go',
      outside,
    }),
    {
      status: 'completed',
      output: 'all in',
    },
    10,
    'costs',
  )
  diesEverywhere(
    teamScenario({ name: 'one of them cannot fit any more', agents: [crew(3_000)], input: 'go', outside }),
    {
      status: 'completed',
      output: 'all in',
    },
    10,
    'costs',
  )
})

describe('tasks of a plan', () => {
  const writer = agent({
    name: 'writer',
    description: 'Writes.',
    model: () => ({ text: 'done', usage: { input: 60, output: 0 } }),
  })
  const estimate = { tokens: 100 }
  const waits = (tokens: number) =>
    team({
      name: 'analysts',
      roles: { generalist: writer },
      planner: { subtasks: names.map((id) => ({ id, description: id, estimate })) },
      budget: { tokens, onExhausted: 'ask' },
      tolerance: 50,
    })
  diesEverywhere(
    teamScenario({
      name: 'a task that waits for room, and begins',
      agents: [waits(220)],
      input: 'go',
      outside: patient,
    }),
    {
      status: 'completed',
      results: { coverage: { succeeded: 3, planned: 3 } },
    },
  )

  const hears = agent({
    name: 'hears',
    description: 'Hears.',
    run: async (ctx) =>
      (
        await teammate(ctx)
          .nextMail({ from: 'generalist_2' })
          .catch(() => [])
      ).length,
  })
  const circle = team({
    name: 'circle',
    roles: { generalist: writer, hears },
    planner: {
      subtasks: [
        { id: 'a', description: 'A', role: 'hears', estimate },
        { id: 'b', description: 'B', estimate },
      ],
    },
    budget: { tokens: 150 },
    route: 'team',
    tolerance: 90,
    timeoutMs: 0,
  })
  diesEverywhere(
    teamScenario({
      name: 'a task whose room is held by somebody who waits for it',
      agents: [circle],
      input: 'go',
      outside: patient,
    }),
    {
      status: 'completed',
      results: { tasks: [{ status: 'succeeded' }, { status: 'failed', failure: { code: 'budget.exceeded' } }] },
    },
  )
})
