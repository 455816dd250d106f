/** Runs in which control is handed on, with their process dying at every point where it can, and once more while the next one recovers; and replayed without an engine. */
import { describe, expect, test } from 'vitest'
import { cancelled, completed, type Outcome } from '../../src/core/index.ts'
import { simulate } from '../../src/testing/index.ts'
import { flowScenarios } from './flow-scenarios.ts'

const ends: Readonly<Record<string, Outcome>> = {
  'an exit in a parallel in a parallel': completed('out'),
  'a handoff that stays over a session': completed('solved'),
  'cancelled while branches under a router ask': cancelled('enough'),
  'cancelled while a pause holds a payment back': cancelled('enough'),
}

describe('a process that dies while control is handed on', () => {
  for (const scenario of flowScenarios) {
    test(`K5: ${scenario.name}: dead at every append, commit and release, the same outcome and facts; nothing recorded runs again`, async () => {
      const { end, points, differences, repeated } = await simulate(scenario)
      expect(end.outcome).toEqual(ends[scenario.name] ?? completed('final'))
      expect(differences).toEqual([]) // K10: every journal, that of the run without a crash too, is replayed and compared
      expect(repeated).toEqual([])
      expect(points).toBeGreaterThan(20)
    }, 120_000)

    test(`K5: ${scenario.name}: dead again while the next process recovers`, async () => {
      const { differences, repeated } = await simulate(scenario, { points: ['commit.before', 'commit.after'], again: 1 })
      expect(differences).toEqual([])
      expect(repeated).toEqual([])
    }, 120_000)
  }
})
