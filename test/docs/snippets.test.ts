/** The code in the pages comes from the examples, which run; every example is on a page. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { excerptsOf, pages } from '../../scripts/snippets.ts'

const root = dirname(dirname(import.meta.dirname))

test('every excerpt of every page is what its file says now: npm run docs:snippets', () => {
  const stale = pages.filter((page) => {
    const { now, due } = excerptsOf(page)
    return now !== due
  })
  expect(stale).toEqual([])
})

test('every example is on a page', () => {
  const told = pages.map((page) => readFileSync(join(root, page), 'utf8')).join('\n')
  const examples = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'))
  expect(examples.filter((name) => !told.includes(name))).toEqual([])
})

test('receivers read whole characters: a chunk may end within one, and a signature would not fit', () => {
  const folder = join(root, 'examples')
  const examples = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  const split = examples.filter((name) => /\+= String\(/.test(readFileSync(join(folder, name), 'utf8')))
  expect(split).toEqual([])
})
