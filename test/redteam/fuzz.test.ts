/**
 * A sample of the fuzz of two tenants over every protocol. `REEVE_FUZZ=10000` makes more requests, `REEVE_SEED=…` others;
 * so does `npm run redteam -- --fuzz 10000 --seed …`.
 */
import { expect, test } from 'vitest'
import { fuzzTenants } from './fuzz.ts'

const requests = Number(process.env['REEVE_FUZZ'] ?? 300)
const seed = process.env['REEVE_SEED'] ?? 'tenants'

test(`${requests} requests of two tenants over every protocol: nobody is told what is another's`, async () => {
  const { problems, statuses } = await fuzzTenants(requests, seed)
  expect(problems).toEqual([])
  expect(statuses['200'] ?? 0).toBeGreaterThan(requests / 20)
}, 3_600_000)
