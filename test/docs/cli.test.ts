/** docs/reference/cli.md has every command and every exit code of the program. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { exits } from '../../packages/cli/src/exit.ts'

const root = dirname(dirname(import.meta.dirname))
const page = readFileSync(join(root, 'docs', 'reference', 'cli.md'), 'utf8')

test('the exit codes are those of the program', () => {
  const told = [...page.matchAll(/^\| (\d+) \|/gm)].map((found) => Number(found[1]))
  expect(told).toEqual(Object.values(exits))
})

test('every command of the program is on the page', () => {
  const program = readFileSync(join(root, 'packages', 'cli', 'src', 'program.ts'), 'utf8')
  const found = [...program.matchAll(/(\w+)\s*\.command\('(\w+)'\)/g)]
  const commands = found.map(([, parent, name]) => (parent === 'program' ? name! : `${parent} ${name}`))
  expect(commands.length).toBeGreaterThan(0)
  expect(commands.filter((name) => !page.includes(`reeve ${name}`))).toEqual([])
})
