/** The rules of the pages: each row of a table whose last column is `test` names tests that are there. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testedCases } from '../../scripts/coverage.ts'
import { root, specNames } from '../../scripts/house.ts'
import { pages } from '../../scripts/prose.ts'

const tested = testedCases()

const scripts = Object.keys(
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly scripts: object }).scripts,
)
/** A file of tests, and after `›` the beginning of a title in it. */
const inFile = /`?([\w./-]+\/[\w.-]+\.ts)`?(?: › "([^"]+)")?/g

/** What a row names as its tests and is not there: cases, files, titles, commands; the row itself if it names none. */
function missingIn(row: string): readonly string[] {
  const cell = row
    .slice(0, -1)
    .split(/(?<!\\)\|/)
    .at(-1)!
    .trim()
  const files = [...cell.matchAll(inFile)].map(([, file, title]) => ({
    file: file!,
    title: title?.replace(/ ?…$/, ''),
  }))
  const commands = [...cell.matchAll(/`npm run ([\w:]+)`/g)].map(([, name]) => name!)
  let spec = ''
  const rest = cell.replaceAll(inFile, '').replaceAll(/`[^`]+`/g, '')
  const cases = [...rest.matchAll(/\b(?:(\w+) )?(C?\d+[a-z]?)\b/g)].map(([, name, id]) => {
    if (specNames.some((each) => each === name)) spec = name!
    return `${spec} ${id}`
  })
  if (files.length + commands.length + cases.length === 0) return [row]
  return [
    ...files.flatMap(({ file, title = '' }) => {
      if (!existsSync(join(root, file))) return [file]
      return readFileSync(join(root, file), 'utf8').includes(title) ? [] : [`${file} › "${title}"`]
    }),
    ...commands.filter((name) => !scripts.includes(name)),
    ...cases.filter((each) => !tested.has(each)),
  ]
}

/** The rows of the tables of rules of a page. */
const rowsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^\|(?:.*\|)? test \|\n\|[-|: ]+\|\n((?:\|.*\|\n?)+)/gm)].flatMap(([, rows]) =>
    rows!.trim().split('\n'),
  )

test('every rule of a page names a case with a test, or a file of tests', () => {
  const rows = pages.flatMap((page) => rowsOf(readFileSync(join(root, page), 'utf8')))
  expect(rows.length).toBeGreaterThan(60)
  expect(rows.flatMap(missingIn)).toEqual([])
})

test.each([
  ['| It waits. | team C07, C53, delegation 27 |', []],
  ['| It waits. | `test/docs/rules.test.ts` |', []],
  [`| It waits. | team C07, C${'9'.repeat(3)} |`, [`team C${'9'.repeat(3)}`]],
  ['| It waits. | `test/docs/gone.test.ts`, collaboration 29 |', ['test/docs/gone.test.ts']],
  ['| It waits. | test/docs/rules.test.ts › "every rule of …" |', []],
  ['| It waits. | test/docs/rules.test.ts › "every \u0072ow of" |', ['test/docs/rules.test.ts › "every \u0072ow of"']],
  ['| It waits. | `npm run docs:prose` |', []],
  ['| It waits. | `npm run docs:poetry` |', ['docs:poetry']],
  ['| It waits. | |', ['| It waits. | |']],
])('the tests that a row names are looked up: %s', (row, missing) => {
  expect(missingIn(row)).toEqual(missing)
})
