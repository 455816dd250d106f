/** The table "Killed" of the README has the versions that `npm run killed` installs, and its commands. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { frameworks } from '../../bench/killed/frameworks.ts'

test('each framework has its row: name, version, what was seen, command', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
  const table = /## Killed\n.*?(?=\n## )/s.exec(readme)?.[0] ?? ''
  const rows = table
    .split('\n')
    .filter((line) => line.includes('npm run killed -- '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const wanted = frameworks.map(({ folder, name, packages }) => [
    `${name} ${Object.values(packages)[0] ?? manifest.version}`,
    `\`npm run killed -- ${folder}\``,
  ])
  expect(rows.map(([, name, , , command]) => [name, command])).toEqual(wanted)
  for (const [, , step, waiting] of rows) {
    expect(step).toMatch(/\(\d+ of \d+\)$/)
    expect(waiting).toMatch(/\(\d+ of \d+\)$/)
  }
})
