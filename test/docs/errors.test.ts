/** Every error code is a section of docs/reference/errors.md, and nothing else is. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { errorCodes } from '@reeve/core'

test('docs/reference/errors.md has exactly one section for every error code, in order', () => {
  const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8')
  const sections = [...page.matchAll(/^## (.+)$/gm)].map((match) => match[1])
  expect(sections).toEqual([...errorCodes].sort())
})
