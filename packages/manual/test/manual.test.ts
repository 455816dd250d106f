/** The manual: its pages, its sections, and a search that nothing in a question can break. */
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { exampleOf, fullText, ManualSearch, pageOf, readManual, sectionsOf } from '../src/index.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const manual = readManual(root)

test('a page is found by its path, the end of it, and a heading; nothing outside is', () => {
  expect(pageOf(manual, 'docs/how-to/tools.md')?.title).toBe('Tools')
  expect(pageOf(manual, 'tools')?.path).toBe('docs/how-to/tools.md')
  const upgrade = pageOf(manual, 'docs/how-to/upgrade.md')!
  const [, second] = sectionsOf(upgrade)
  expect(pageOf(manual, second!.address)?.section?.text.startsWith(`## ${second!.heading}`)).toBe(true)
  for (const outside of ['../package.json', '/etc/passwd', 'docs/../AGENTS.md', '', '#', '__proto__'])
    expect(pageOf(manual, outside)).toBeUndefined()
})

test('the sections of a page are the whole page, and a heading in code is none', () => {
  for (const page of manual.pages) {
    const parts = sectionsOf(page).map(({ text }) => text)
    const squeezed = (text: string): string => text.replaceAll(/\s+/g, '')
    expect(squeezed(parts.join('\n'))).toBe(squeezed(page.text))
  }
  const page = {
    path: 'a.md',
    title: 'A',
    wanted: '',
    text: '# A\n\n```sh\n## no heading\n```\n\n## One `b`, two\n\ntext',
  }
  expect(sectionsOf(page).map(({ address }) => address)).toEqual(['a.md', 'a.md#one-b-two'])
})

test('an example is found by its name, its number and its words', () => {
  for (const name of ['02-approval', '02', 'approval', 'examples/02-approval.ts'])
    expect(exampleOf(manual, name)?.name).toBe('02-approval')
  expect(exampleOf(manual, '')).toBeUndefined()
})

test('whatever is asked, the search answers', () => {
  using search = new ManualSearch(manual)
  expect(search.find('" OR * NEAR( -title:x {} ; DROP TABLE section')).not.toBe([])
  expect(search.find('')).toEqual([])
  expect(search.find('zzzzqqqq')).toEqual([])
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (question) => {
      expect(search.find(question, 3).length).toBeLessThanOrEqual(3)
    }),
    { numRuns: 300 },
  )
  // it still stands
  expect(search.find('approvals').length).toBeGreaterThan(0)
})

test('every address that is found is a page, a section or an example', () => {
  using search = new ManualSearch(manual)
  const found = ['approve', 'tools', 'retry', 'PostgreSQL', 'run'].flatMap((words) => search.find(words, 30))
  expect(found.length).toBeGreaterThan(40)
  for (const { address } of found) {
    const page = pageOf(manual, address)
    const there = exampleOf(manual, address)?.name ?? page?.section?.address ?? page?.path
    expect(there).toBe(address)
  }
})

test('the whole text has every page that is read, and every example', () => {
  const text = fullText(manual, 'About.')
  const read = manual.pages.filter(({ path }) => /^docs\/(how-to|explanation|tutorial)/.test(path))
  for (const { text: page } of read) expect(text).toContain(page.trim())
  for (const { text: program } of manual.examples) expect(text).toContain(program.trim())
  expect(text).not.toContain('written by `npm run api`')
})
