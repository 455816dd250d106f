/** A scenario whose process dies at every point where it can, and once more while the next one recovers. */
import { expect, test } from 'vitest'
import { simulate, type Scenario } from '@reeve/testing'

/**
 * Two tests: it ends as `end` says, with the same facts, and nothing recorded runs again, wherever its process dies;
 * also where it dies twice. `least`: how many points there must be. `costs`: calls that die use up a tight limit, so the
 * end may be another one; journals and what runs again are checked all the same.
 */
export function diesEverywhere(scenario: Scenario, end: object, least = 10, costs?: 'costs'): void {
  const unexpected = (differences: readonly string[]): readonly string[] =>
    costs === undefined ? differences : differences.filter((each) => !/ instead of |, which is new$/.test(each))
  test(`K5: ${scenario.name}: dead at every append, commit and release, same outcome and facts; nothing reruns`, async () => {
    const { end: ended, points, differences, repeated } = await simulate(scenario)
    expect(ended.outcome).toMatchObject(end)
    expect(unexpected(differences)).toEqual([]) // K10: every journal, that of the run without a crash too, is replayed and compared
    expect(repeated).toEqual([])
    expect(points).toBeGreaterThan(least)
  }, 120_000)

  test(`K5: ${scenario.name}: dead again while the next process recovers`, async () => {
    const { differences, repeated } = await simulate(scenario, { points: ['commit.before', 'commit.after'], again: 1 })
    expect(unexpected(differences)).toEqual([])
    expect(repeated).toEqual([])
  }, 120_000)
}
