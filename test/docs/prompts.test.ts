import { expect, test } from 'vitest'
import { promptsNowAndDue } from '../../scripts/prompts.ts'

test('docs/reference/prompts.md shows what models are told (npm run docs:prompts)', async () => {
  const { now, due } = await promptsNowAndDue()
  expect(now).toBe(due)
})
