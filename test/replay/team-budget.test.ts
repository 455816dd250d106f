/**
 * A team that fails, tries again and asks for more budget, with its process dying at every point where it can: the same
 * outcome and facts, and nothing recorded runs again.
 */
import { describe } from 'vitest'
import { agent, step } from '@reeve/agent'
import type { Json } from '@reeve/core'
import { team } from '@reeve/team'
import { teamScenario, type ManualClock } from '@reeve/testing'
import type { Runtime } from '@reeve/runtime'
import { diesEverywhere } from './dying.ts'

/** Answers the one question; moves the clock where nobody is asked. */
async function outside(runtime: Runtime, clock: ManualClock): Promise<void> {
  const questions = await runtime.questions()
  for (const { id } of questions) await runtime.answer({ interruptId: id, value: 50 }).catch(() => undefined)
  if (questions.length === 0) clock.advance(500)
}

const writer = agent({
  name: 'writer',
  description: 'Writes.',
  model: ({ messages }) => ({
    text: `done ${JSON.stringify(messages).length > 0}`,
    usage: { input: 60, output: 0, usd: 0 },
  }),
})
/** Fails once with what may pass, then with what will not. */
const unlucky = agent({
  name: 'unlucky',
  description: 'Fails.',
  run: async (ctx): Promise<Json> => {
    const tried = Number(await ctx.values.update('tried', (n) => Number(n ?? 0) + 1))
    await step(ctx, 'work', () => tried)
    return { success: false, error: { message: 'no', retryable: tried < 2 } }
  },
})

describe('budget', () => {
  const asking = team({
    name: 'analysts',
    roles: { generalist: writer, unlucky },
    planner: {
      subtasks: [
        { id: 'a', description: 'A', estimate: { tokens: 50 } },
        { id: 'b', description: 'B', role: 'unlucky' },
        { id: 'c', description: 'C', estimate: { tokens: 50 } },
      ],
    },
    budget: { tokens: 90, onExhausted: 'ask' },
    retry: { backoffMs: 200, jitter: false },
  })
  diesEverywhere(teamScenario({ name: 'a team that asks for more', agents: [asking], input: 'Go', outside }), {
    status: 'completed',
    results: { coverage: { succeeded: 2, planned: 3 } },
  })
})

describe('failure', () => {
  const failing = team({
    name: 'failing',
    roles: { generalist: unlucky, writer },
    planner: {
      subtasks: [
        { id: 'a', description: 'A', role: 'writer' },
        { id: 'b', description: 'B' },
      ],
    },
    tolerance: 0,
    retry: { backoffMs: 200, jitter: false },
  })
  diesEverywhere(teamScenario({ name: 'a team that gives up', agents: [failing], input: 'Go', outside }), {
    status: 'failed',
    failure: { code: 'team.too-many-failures' },
  })
})
