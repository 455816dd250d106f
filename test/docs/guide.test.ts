/** The code in the pages comes from the examples, which run; the guide's links lead somewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { exits } from '../../src/cli/exit.ts'
import { guideNowAndDue, pages } from '../../scripts/guide.ts'

const root = dirname(dirname(import.meta.dirname))
const { now } = guideNowAndDue()

test.each(pages)('every excerpt of %s is what its example says now: npm run docs:guide', (page) => {
  const { now, due } = guideNowAndDue(page)
  expect(now).toBe(due)
})

test.each(pages)('no TypeScript in %s comes from anywhere else', (page) => {
  expect(guideNowAndDue(page).strays).toEqual([])
})

test('every example is in the guide, or on the pages about delegation, teams, oversight and useChat', () => {
  const told = [
    now,
    ...(['delegation.md', 'teams.md', 'oversight.md', 'ai-sdk.md'] as const).map((page) => guideNowAndDue(page).now),
  ].join('\n')
  const examples = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'))
  expect(examples.filter((name) => !told.includes(name))).toEqual([])
})

test.each(pages)('links of %s lead to files that exist and to headings of the page', (page) => {
  const { now: text } = guideNowAndDue(page)
  const headings = new Set([...text.matchAll(/^#+ (.+)$/gm)].map((found) => slug(found[1]!)))
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((found) => found[1]!)
    .filter((link) => !link.startsWith('http'))
  const broken = links.filter((link) =>
    link.startsWith('#') ? !headings.has(link.slice(1)) : !existsSync(join(root, 'docs', link.split('#')[0]!)),
  )
  expect(links.length).toBeGreaterThan(0)
  expect(broken).toEqual([])
})

test('receivers read whole characters: a chunk may end within one, and a signature would not fit', () => {
  const folder = join(root, 'examples')
  const examples = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  const split = examples.filter((name) => /\+= String\(/.test(readFileSync(join(folder, name), 'utf8')))
  expect(split).toEqual([])
})

test('the exit codes are those of the program', () => {
  const told = [...now.matchAll(/^\| (\d+) \|/gm)].map((found) => Number(found[1]))
  expect(told).toEqual(Object.values(exits))
})

test('every command of the program is in the guide', () => {
  const program = readFileSync(join(root, 'src', 'cli', 'program.ts'), 'utf8')
  const found = [...program.matchAll(/(\w+)\s*\.command\('(\w+)'\)/g)]
  const commands = found.map(([, parent, name]) => (parent === 'program' ? name! : `${parent} ${name}`))
  expect(commands.length).toBeGreaterThan(0)
  expect(commands.filter((name) => !now.includes(`reeve ${name}`))).toEqual([])
})

const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
