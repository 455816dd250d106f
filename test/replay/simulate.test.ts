/** Every representative run, with its process dying at every point where it can. */
import { describe, expect, test } from 'vitest'
import { simulate } from '../../src/testing/index.ts'
import { scenarios } from './scenarios.ts'

describe('a process that dies', () => {
  for (const scenario of scenarios) {
    test(`K5: ${scenario.name}: dead at every append, commit and release, the same outcome and facts; nothing recorded runs again`, async () => {
      const { points, differences, repeated } = await simulate(scenario)
      expect(differences).toEqual([])
      expect(repeated).toEqual([])
      expect(points).toBeGreaterThan(8)
    }, 60_000)
  }
})
