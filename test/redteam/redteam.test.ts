/**
 * The attacks that need nothing but a server, and a sample of the fuzz of two tenants. All of them, with those that need
 * load or a minute: `npm run redteam`. `REEVE_FUZZ=10000` makes more requests, `REEVE_SEED=…` others.
 */
import { describe, expect, test } from 'vitest'
import { attacks } from './attacks/index.ts'
import { fuzzTenants } from './fuzz.ts'
import { tryAttack } from './suite.ts'

const requests = Number(process.env['REEVE_FUZZ'] ?? 300)
const seed = process.env['REEVE_SEED'] ?? 'tenants'
const quick = attacks.filter(({ needs }) => needs === undefined)

test('every attack has a name of its own', () => {
  const ids = attacks.map(({ id }) => id)
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([])
  expect(ids.filter((id) => !/^[a-z0-9.-]+$/.test(id))).toEqual([])
})

describe.each([...new Set(quick.map(({ area }) => area))])('%s', (area) => {
  test.each(quick.filter((each) => each.area === area))(
    '$id: $holds',
    async (attack) => {
      expect(await tryAttack(attack)).toEqual({ status: 'held' })
    },
    120_000,
  )
})

test(`${requests} requests of two tenants over every protocol: nobody is told what is another's`, async () => {
  const { problems, statuses } = await fuzzTenants(requests, seed)
  expect(problems).toEqual([])
  expect(statuses['200'] ?? 0).toBeGreaterThan(requests / 20)
}, 3_600_000)
