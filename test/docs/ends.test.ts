/** docs/reference/model-ends.md shows what was seen when every end of a model was played against every provider. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { endsPage } from '../../scripts/ends.ts'
import { strictProviderNames } from '@reeve/testing'
import { modelEnds, seeAllEnds, type SeenEnd } from '../../packages/model/test/providers/ends.ts'

let seen: ReadonlyMap<string, readonly SeenEnd[]>
beforeAll(async () => {
  seen = await seeAllEnds()
}, 60_000)

describe.each(modelEnds)('$title', (end) => {
  test('Reeve does the same at every provider that says so, and sends only what it takes', () => {
    const due = strictProviderNames.flatMap((provider) =>
      end.said(provider).map(({ word, code = end.code, waitMs }) => ({
        provider,
        word,
        follows: end.follows,
        code,
        refused: [],
        ...(waitMs !== undefined && { waitMs }),
      })),
    )
    expect(due.length).toBeGreaterThan(0)
    expect(seen.get(end.id)).toEqual(due.map((each) => expect.objectContaining(each) as unknown))
  })
})

test('a call whose answer did not arrive whole counts as unknown; one that was refused is not counted', () => {
  const byId = (...ids: readonly string[]): readonly SeenEnd[] => ids.flatMap((id) => seen.get(id)!)
  // Google says with every piece what was used so far, and its package hands that on with an error
  const toldWithError = byId('stream-error', 'stream-limited', 'stream-full')
  const saidBefore = (one: SeenEnd): boolean => one.provider === 'google' && toldWithError.includes(one)
  for (const one of byId(
    'stream-error',
    'stream-limited',
    'stream-full',
    'stream-reset',
    'silent',
    'filtered-error',
    'no-answer',
  ))
    expect(one).toMatchObject({ calls: one.requests, unknown: saidBefore(one) ? 0 : one.requests })
  for (const one of byId('limited', 'credit', 'key', 'model', 'wrong'))
    expect(one).toMatchObject({ calls: 0, unknown: 0 })
  for (const one of byId(
    'length',
    'length-calls',
    'refusal',
    'filter',
    'paused',
    'empty',
    'calls-missing',
    'broken-word',
  ))
    expect(one).toMatchObject({ calls: one.requests, unknown: 0 })
  // Google says with every piece what was used so far
  for (const one of byId('stream-end'))
    expect(one).toMatchObject({ calls: one.requests, unknown: one.provider === 'google' ? 0 : one.requests })
})

test('docs/reference/model-ends.md is not stale: npm run docs:ends', () => {
  const now = readFileSync(new URL('../../docs/reference/model-ends.md', import.meta.url), 'utf8')
  expect(now).toBe(endsPage(seen))
})
