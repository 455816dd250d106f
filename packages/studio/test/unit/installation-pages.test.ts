/** What the pages of sessions, versions and the system compute of what the server says. Pure. */
import { expect, test } from 'vitest'
import { sessionCost, unknownCost } from '../../src/pages/sessions/session-cost.ts'
import { boundedText, bytesText, ranked } from '../../src/pages/system/system-labels.ts'
import { defaultVersion, nextVersion, countUses } from '../../src/pages/versions/version-use.ts'
import type { KeptRevision, RunRow, VersionUses } from '@reeve/server/wire'

const kept = (version: string, status: 'draft' | 'published', current = false): KeptRevision => ({
  agent: 'a',
  status,
  current,
  at: 1,
  revision: { version },
})
const all = [kept('v1', 'published'), kept('v2', 'published', true), kept('v3', 'draft', true)]

test('what runs get that choose nothing: what is pinned, the newest of a status, or the code', () => {
  expect(defaultVersion('a', all, {})).toEqual({ by: 'code' })
  expect(defaultVersion('a', all, { defaultStatus: 'published' })).toEqual({ version: 'v2', by: 'status' })
  expect(defaultVersion('a', all, { defaultStatus: 'draft' })).toEqual({ version: 'v3', by: 'status' })
  expect(defaultVersion('a', all.slice(0, 2), { defaultStatus: 'draft' })).toEqual({ version: 'v2', by: 'status' })
  expect(defaultVersion('a', [], { defaultStatus: 'published' })).toEqual({ by: 'code' })
  expect(defaultVersion('a', all, { defaultStatus: 'published', versions: { a: 'v1' } })).toEqual({
    version: 'v1',
    by: 'pinned',
  })
  expect(defaultVersion('a', all, { versions: { a: { version: 'v1' }, b: 'v9' } })).toEqual({
    version: 'v1',
    by: 'pinned',
  })
  expect(defaultVersion('a', all, { versions: { a: { status: 'draft' } } })).toEqual({ version: 'v3', by: 'status' })
  expect(defaultVersion('constructor', [], { versions: {} })).toEqual({ by: 'code' })
})

test('the next version is named after the newest one, and is not there yet', () => {
  expect(nextVersion([])).toBe('v1')
  expect(nextVersion(all)).toBe('v4')
  expect(nextVersion([kept('v2', 'draft'), kept('v1', 'published')])).toBe('v3')
  expect(nextVersion([kept('2026-01', 'published')])).toBe('2026-2')
  expect(nextVersion([kept('stable', 'published')])).toBe('v1')
})

test('runs are counted by the version that they began with, own members only', () => {
  const use = (agent: string, revisions: object): VersionUses['runs'][number] =>
    ({ run: 'r', agent, version: '1', status: 'completed', createdAt: 1, revisions }) as never
  const runs = [use('a', {}), use('a', { a: 'v1' }), use('lead', { a: 'v1' }), use('lead', { b: 'v1' })]
  expect(new Map(countUses(runs, 'a'))).toEqual(
    new Map([
      [undefined, 1],
      ['v1', 2],
    ]),
  )
  expect(countUses(runs, 'constructor').size).toBe(0)
})

test('the cost of a session is what is known, and it says what is not', () => {
  const run = (usage?: RunRow['usage']): Pick<RunRow, 'usage'> => (usage === undefined ? {} : { usage })
  const whole = sessionCost([run({ calls: 1, tokens: 10, usd: 0.5 }), run({ calls: 2, tokens: 5, usd: 0.25 })])
  expect([whole, unknownCost(whole)]).toEqual([{ tokens: 15, usd: 0.75, withoutTokens: 0, withoutPrice: 0 }, undefined])
  const partly = sessionCost([run({ calls: 1, tokens: 10, usd: 0.5 }), run({ calls: 2, tokens: 5, unpriced: 1 })])
  expect([partly.usd, unknownCost(partly)]).toEqual([
    0.5,
    'The cost is at least so much: of one run the whole price is not known.',
  ])
  // what called no model has cost nothing, which is not the cost of the session
  const none = sessionCost([run({ calls: 0, tokens: 0, usd: 0 }), run({ calls: 1, tokens: 5 })])
  expect([none.usd, unknownCost(none)]).toEqual([undefined, 'The price of one run is not known.'])
  expect(sessionCost([run({ calls: 0, tokens: 0, usd: 0 })])).toMatchObject({ usd: 0, withoutPrice: 0 })
  expect(unknownCost(sessionCost([run()]))).toContain('of one run not all tokens are known')
})

test('figures of the system in words', () => {
  expect([undefined, 0, 999, 2_048, 3_500_000, 5 * 1024 ** 3].map(bytesText)).toEqual([
    'not known',
    '0 bytes',
    '999 bytes',
    '2.0 KiB',
    '3.3 MiB',
    '5.0 GiB',
  ])
  expect([boundedText({ count: 12 }), boundedText({ count: 1_000, isMore: true })]).toEqual(['12', '1,000+'])
  expect(ranked({ completed: { count: 2 }, stuck: { count: 1 } }).map(([status]) => status)).toEqual([
    'stuck',
    'completed',
  ])
})
