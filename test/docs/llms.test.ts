/** llms.txt says what docs/README.md lists. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { llmsNowAndDue, llmsText } from '../../scripts/docs-llms.ts'

test('llms.txt is not stale: npm run docs:llms', () => {
  const { now, due } = llmsNowAndDue()
  expect(now).toBe(due)
})

test('it has every page of the index', () => {
  const index = readFileSync(new URL('../../docs/README.md', import.meta.url), 'utf8')
  const linked = [...index.matchAll(/\]\(((?:tutorial|how-to|reference|explanation)\/[^)#]+)/g)].map(([, page]) => page)
  expect(linked.length).toBeGreaterThan(60)
  const { due } = llmsNowAndDue()
  expect(linked.filter((page) => !due.includes(`](docs/${page})`))).toEqual([])
})

test('groups are headings; a row with two pages gives two lines; anchors and markup are left out', () => {
  const index = ['| what | page |', '|---|---|', '| **Start** | |', '| **learn** `it` | [a](x/a.md#b), [b](../B.md) |']
  expect(llmsText(index.join('\n'), 'About.')).toBe(
    '# Reeve\n\n> About.\n\n## Start\n\n- [docs/x/a.md](docs/x/a.md): learn it\n- [B.md](B.md): learn it\n',
  )
})
