/**
 * K6 on every way back: random teams that pay, whose runs are forked, retried, sent back, taken over, deployed and
 * killed at random moments. `npm run fuzz -- --ways-back` plays as many as one likes.
 */
import { expect, test } from 'vitest'
import { playWaysBack } from './ways-back.ts'
import { everybodyIn, randomPayingTeam } from './ways-back-teams.ts'

const count = 30
const seeds = Array.from({ length: count }, (_, i) => i + 1)

test.each(seeds)(
  'K6: on every way back one yes is one act, seed %d',
  async (seed) => {
    const { team, wrong } = await playWaysBack(seed)
    expect(wrong, JSON.stringify(team)).toEqual([])
  },
  120_000,
)

test('the seeds of this file have every kind of team and of permission among them', () => {
  const found = new Set(
    seeds
      .flatMap((seed) => everybodyIn(randomPayingTeam(seed)))
      .flatMap((each) => {
        if (each.type === 'payer') return [each.gate, ...(each.isFlaky ? ['flaky'] : [])]
        const options = (
          ['command', 'retries', 'memory', 'apart', 'background', 'timeout', 'hedges', 'reviews'] as const
        ).filter((name) => (each as Readonly<Record<string, unknown>>)[name] === true)
        return [each.type, ...options]
      }),
  )
  expect([...found].toSorted()).toEqual([
    'apart',
    'background',
    'code',
    'command',
    'flaky',
    'hedges',
    'memory',
    'none',
    'parallel',
    'retries',
    'reviews',
    'sequential',
    'supervisor',
    'team',
    'timeout',
    'tool',
  ])
})
