/**
 * A step that keeps content, with the process dying at every point where it can: what a journal names is there, what the
 * run read is the same, and nothing that is recorded is kept again.
 */
import { describe } from 'vitest'
import { agent } from '@reeve/agent'
import type { ContentRef, Json, Outcome } from '@reeve/core'
import { teamScenario } from '@reeve/testing'
import { diesEverywhere } from './dying.ts'

const text = 'a long text, '.repeat(50_000)

const outputOf = (outcome: Outcome): readonly Json[] => {
  if (outcome.status !== 'completed') throw new Error(`the reader ${outcome.status}`)
  return outcome.output as Json[]
}

const reader = agent({
  name: 'reader',
  description: 'Reads what its leader has kept.',
  run: async (ctx, name) =>
    ctx.step('read', async ({ contents }) => [
      await contents.slice(name, 649_990, 650_001),
      (await contents.keep('found', 'text')) as unknown as Json,
    ]),
})

describe('contents', () => {
  diesEverywhere(
    teamScenario({
      name: 'a run that keeps a text, and a worker apart that reads it',
      agents: [
        agent({
          name: 'keeper',
          description: 'Keeps.',
          workers: [reader],
          run: async (ctx) => {
            const ref = await ctx.step('keep', ({ contents }) => contents.keep(text, 'text'))
            const told = await ctx.next(
              ctx.start('reader', { brief: { instructions: ref.$content }, depth: 1, maxDepth: 4 }, { place: 'apart' }),
            )
            const [read, found] = outputOf(told.outcome)
            const again = await ctx.step('again', ({ contents }) =>
              contents.slice((found as unknown as ContentRef).$content, 0, 9),
            )
            return [ref.size, read!, again]
          },
        }),
      ],
      input: 'go',
    }),
    { status: 'completed', output: [text.length, text.slice(-10), 'found'] },
  )
})
