/**
 * Workers that are placed apart, each a child run, with the process dying at every point where it can: births, ends,
 * stops and budgets are neither lost nor doubled.
 */
import { describe } from 'vitest'
import { agent } from '@reeve/agent'
import type { ModelRequest } from '@reeve/model'
import { supervisor } from '@reeve/supervisor'
import { teamScenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const names = ['a', 'b'] as const
const workers = names.map((name) =>
  agent({
    name,
    description: `Is ${name}.`,
    model: () => ({ text: `${name} is done`, usage: { input: 10, output: 5 } }),
  }),
)
const usage = { input: 10, output: 5 }

describe('workers that are placed apart', () => {
  diesEverywhere(
    teamScenario({
      name: 'two at once, within limits',
      agents: [
        supervisor({
          name: 'S',
          model: ({ messages }: ModelRequest) =>
            messages.some(({ role }) => role === 'tool')
              ? { text: 'all in', usage }
              : { calls: names.map((worker) => ({ name: 'delegate', input: { worker, instructions: 'go' } })), usage },
          workers,
          settings: { maxOutputTokens: 100 },
          limits: { tokens: 30_000 },
          delegation: {
            workers: {
              a: { place: 'apart', limits: { tokens: 9_000 } },
              b: { place: 'apart', limits: { tokens: 9_000 } },
            },
          },
        }),
      ],
      input: 'go',
    }),
    { status: 'completed', output: 'all in' },
  )

  const slow = agent({
    name: 'slow',
    description: 'Takes its time.',
    run: async (ctx) => {
      await ctx.next((each) => each.type === 'message')
      return 'never'
    },
  })
  diesEverywhere(
    teamScenario({
      name: 'one that is stopped by its leader, with another one below it',
      agents: [
        agent({
          name: 'lead',
          description: 'Leads.',
          workers: [slow],
          run: async (ctx) => {
            const id = ctx.start('slow', { brief: { instructions: 'wait' }, depth: 1, maxDepth: 4 }, { place: 'apart' })
            ctx.stop(id, 'enough')
            return (await ctx.next(id)).outcome.status
          },
        }),
      ],
      input: 'go',
    }),
    { status: 'completed', output: 'cancelled' },
    4,
  )
})
