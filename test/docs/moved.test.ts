/** docs/reference/moved.md is true: names and methods that it sends a reader to are there, and what is gone is gone. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const page = readFileSync(join(root, 'docs', 'reference', 'moved.md'), 'utf8')
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

/** The methods that moved: the whole row, where the method was, where it is. */
const rows = [...page.matchAll(/^\| `(run[\w.]*)\([^)]*\)`.* \| `(run[\w.]*)\(\)`/gm)]

test('every method is where its row says, and no longer where it was', () => {
  const members = (type: string): string[] => {
    const text = new RegExp(`^interface ${type}\\b[^]*?^}`, 'm').exec(api)![0]
    return [...text.matchAll(/^ {4}(?:readonly )?(\w+)[<(:]/gm)].map(([, name]) => name!)
  }
  const groups: Readonly<Record<string, string>> = {
    'run.': 'Run',
    'run.control.': 'RunControl',
    'run.team.': 'RunTeam',
    'runtime.': 'Runtime',
    'runtime.versions.': 'RuntimeVersions',
    'runtime.trust.': 'RuntimeTrust',
    'runtime.grants.': 'RuntimeGrants',
  }
  const isThere = (path: string): boolean => {
    const at = path.lastIndexOf('.') + 1
    return members(groups[path.slice(0, at)]!).includes(path.slice(at))
  }
  expect(rows.length).toBeGreaterThan(20)
  expect(rows.flatMap(([, , is]) => (isThere(is!) ? [] : [is]))).toEqual([])
  // a group may have the name that a method had
  const isGroup = (path: string): boolean => Object.keys(groups).includes(`${path}.`)
  const left = rows.filter(([, was, is]) => was !== is && was !== 'run.post' && !isGroup(was!) && isThere(was!))
  expect(left.map(([, was]) => was)).toEqual([])
})

test('no page and no example calls a method by its old name', () => {
  const old = rows.flatMap(([, was, is]) => (was === is || was === 'run.post' ? [] : [was!.replace('.', '\\.')]))
  const pattern = new RegExp(`\\b(?:${old.join('|')})\\(`, 'g')
  const files = ['docs', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).flatMap((name) =>
      /\.(?:md|tsx?)$/.test(name) && !/^decisions|moved\.md$/.test(name) ? [join(folder, name)] : [],
    ),
  )
  const found = ['README.md', ...files].flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map(([call]) => `${file}: ${call}`),
  )
  expect(found).toEqual([])
})

test('a type that is inferred is exported from none of the five paths', () => {
  const paths = ['reeve', 'reeve/team', 'reeve/oversight', 'reeve/views', 'reeve/engine']
  const gone = names(section('Types that are inferred').split('\n\n')[2]!)
  expect(gone.length).toBeGreaterThan(40)
  expect(gone.filter((name) => paths.some((path) => exportedFrom.get(path)!.includes(name)))).toEqual([])
})
