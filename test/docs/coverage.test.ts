/** docs/reference/coverage.md says what the titles of the tests say. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { coveragePage } from '../../scripts/coverage.ts'

test('docs/reference/coverage.md is not stale: npm run docs:coverage', () => {
  expect(readFileSync(new URL('../../docs/reference/coverage.md', import.meta.url), 'utf8')).toBe(coveragePage())
})
