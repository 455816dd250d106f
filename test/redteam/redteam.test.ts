/** The attacks that need nothing but a server. All of them, with those that need load or a minute: `npm run redteam`. */
import { describe, expect, test } from 'vitest'
import { attacks } from './attacks/index.ts'
import { tryAttack } from './suite.ts'

const quick = attacks.filter(({ needs }) => needs === undefined)

test('every attack has a name of its own', () => {
  const ids = attacks.map(({ id }) => id)
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([])
  expect(ids.filter((id) => !/^[a-z0-9.-]+$/.test(id))).toEqual([])
})

describe.each([...new Set(quick.map(({ area }) => area))])('%s', (area) => {
  for (const attack of quick.filter((each) => each.area === area))
    test(`${attack.id}: ${attack.holds}`, { timeout: 120_000 }, async ({ skip }) => {
      const result = await tryAttack(attack)
      if (result.status === 'skipped') return skip(result.why)
      return expect(result.status, JSON.stringify(result)).toBe(attack.leftOpen === undefined ? 'held' : 'fell')
    })
})
