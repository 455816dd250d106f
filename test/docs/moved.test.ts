/** docs/moved.md is true: every name and method that it sends a reader to is there, and what is gone is gone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const page = readFileSync(join(root, 'docs', 'moved.md'), 'utf8')
const api = readFileSync(join(root, 'api', 'reeve.api.md'), 'utf8')

/** The names that each import path exports. */
const exportedFrom = new Map(
  api
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const names = [...section.matchAll(/^### (\w+)$/gm)].map(([, name]) => name!)
      return [/^`([^`]+)`/.exec(section)![1]!, names] as const
    }),
)
const section = (title: string): string => page.split(/^## /m).find((text) => text.startsWith(title)) ?? ''
/** The names in backticks; of one that was renamed (`` `Old` → `New` ``), the new one. */
const names = (text: string): string[] => [...text.matchAll(/`(\w+)`(?! →)/g)].map(([, name]) => name!)

test('every name is exported from the path that its row gives, and from no other', () => {
  const rows = [...section('Import paths').matchAll(/^\| (.*) \| `(reeve\/\w+)` \|$/gm)]
  expect(rows.length).toBeGreaterThan(4)
  for (const [, list, path] of rows) {
    const found = (name: string): string[] =>
      [...exportedFrom].flatMap(([each, all]) => (all.includes(name) ? [each] : []))
    const listed = names(list!)
    expect(listed.map((name) => [name, found(name)])).toEqual(listed.map((name) => [name, [path]]))
  }
})

test('a type that is inferred is exported from none of the five paths', () => {
  const paths = ['reeve', 'reeve/team', 'reeve/oversight', 'reeve/views', 'reeve/engine']
  const gone = names(section('Types that are inferred').split('\n\n')[2]!)
  expect(gone.length).toBeGreaterThan(40)
  expect(gone.filter((name) => paths.some((path) => exportedFrom.get(path)!.includes(name)))).toEqual([])
})
