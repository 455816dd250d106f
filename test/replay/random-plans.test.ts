/**
 * Random teams whose process dies at every point where it can: the same outcome and facts, and nothing recorded runs
 * again.
 */
import { expect, test } from 'vitest'
import { simulate, teamScenario } from '@reeve/testing'
import { drawn } from '../../packages/team/test/random-team.ts'
import { outside } from './resting.ts'

const from = Number(process.env['FUZZ_FROM'] ?? 1)
const seeds = Number(process.env['FUZZ'] ?? 4)

test.each(Array.from({ length: seeds }, (_, i) => from + i))(
  'team C100: a random team, seed %d',
  async (seed) => {
    const made = teamScenario({ name: `seed ${seed}`, agents: [drawn(seed, 4).root], input: 'Go', outside })
    const { differences, repeated, points } = await simulate({
      ...made,
      registry: { ...made.registry, onMissingVersion: 'move' },
    })
    expect(differences).toEqual([])
    expect(repeated).toEqual([])
    expect(points).toBeGreaterThan(10)
  },
  120_000,
)
