/** The code in the pages comes from the examples, which run; every example is on a page. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf, excerptsOf, pages, problemsIn } from '../../scripts/snippets.ts'

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
const block = (before: string, code: string, language = 'ts'): string =>
  `${before}\n\`\`\`${language}\n${code}\n\`\`\`\n`

test('a block is a program, unless the line before it says otherwise, with a reason', () => {
  const text = [
    block('Text.', 'a'),
    block('<!-- example: 01-first-team.ts#team -->', 'b'),
    block('<!-- not run: it serves -->', 'c'),
    block('<!-- fragment: one option -->', 'd'),
    block('<!-- fragment: -->', 'e'),
    block('', 'f', 'js'),
    block('', 'no code of ours', 'sh'),
    '<!-- example: 01-first-team.ts#team -->\n\nNo block.\n',
    '```ts\nnever closed',
  ].join('\n')
  expect(blocksOf('page.md', text).map(({ code, kind, line }) => [code, kind, line])).toEqual([
    ['a', 'run', 2],
    ['b', 'excerpt', 7],
    ['c', 'typed', 12],
    ['d', 'fragment', 17],
    ['e', 'invalid', 22],
    ['f', 'invalid', 27],
    ['', 'invalid', 36],
    ['never closed', 'run', 40],
  ])
})

test(
  'the check finds what does not compile, what fails when it runs, and what is no TypeScript',
  { timeout: 60_000 },
  () => {
    const text = [
      block('', "import { agent } from 'reeve'\nagent({ nome: 'x' })"), // no such option
      block('', 'runtime.run()'), // not complete, and unmarked
      block('', "import { agent } from 'reeve'\nif (agent !== undefined) throw new Error('it ran')"),
      block('<!-- not run: it fails -->', "throw new Error('it ran')"),
      block('<!-- fragment: of another -->', 'runtime.run()'),
      block('<!-- fragment: of another -->', 'runtime.run('),
      block('', "import { agent } from 'reeve'\nconsole.log(typeof agent)"),
    ].join('\n')
    const problems = problemsIn(blocksOf('page.md', text))
    expect(problems.map((problem) => problem.split('\n')[0]!.slice(0, 60))).toEqual([
      expect.stringMatching(/^page.md:29: Expected/),
      expect.stringMatching(/^page.md:2: its line 2: TS2353/),
      expect.stringMatching(/^page.md:8: its line 1: TS2304/),
      expect.stringMatching(/^page.md:13: run: /),
    ])
  },
)
