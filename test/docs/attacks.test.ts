/** docs/reference/attacks.md has every attack of `npm run redteam`, with what holds. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { attacks } from '../redteam/attacks/index.ts'

test('docs/reference/attacks.md has a row for every attack: npm run redteam -- --write', () => {
  const page = readFileSync(new URL('../../docs/reference/attacks.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z0-9.-]+)` \| (.+?) \| /gm)].map(([, id, holds]) => `${id}: ${holds}`)
  expect(rows.toSorted()).toEqual(attacks.map(({ id, holds }) => `${id}: ${holds}`).toSorted())
})
