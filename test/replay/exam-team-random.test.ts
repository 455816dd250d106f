/** Random teams with mail, waits, recruits and retirements, whose process dies at every commit: the same facts, and nothing recorded runs again. Spec team C30, C41, C100. */
import { expect, test } from 'vitest'
import { simulate, teamScenario } from '../../src/testing/index.ts'
import { chaoticCrew } from '../team/chaotic-crew.ts'

const from = Number(process.env['EXAM_FROM'] ?? 1)
const count = Number(process.env['EXAM_COUNT'] ?? 4)

test.each(Array.from({ length: count }, (_, i) => from + i))(
  'team C100: a random team dies at every commit, seed %d',
  async (seed) => {
    const { root } = chaoticCrew(seed, [], true)
    const { differences, repeated, points } = await simulate(teamScenario({ name: `random ${seed}`, agents: [root], input: 'Go' }), {
      points: ['commit.before', 'commit.after'],
    })
    expect(differences).toEqual([])
    expect(repeated).toEqual([])
    expect(points).toBeGreaterThan(4)
  },
  120_000,
)
