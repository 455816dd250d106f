/** AGENTS.md and CONTRIBUTING.md name what is there: every package, and commands that exist. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../scripts/house.ts'
import { packages } from '../../scripts/packages.ts'

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const pages = [read('AGENTS.md'), read('CONTRIBUTING.md')].join('\n')
const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: { readonly [name: string]: string } }

test('the map has every package', () => {
  expect(packages.map(({ name }) => `\`${name}\``).filter((name) => !pages.includes(name))).toEqual([])
})

test('every command is a script of package.json', () => {
  const named = [...pages.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => !(name in scripts))).toEqual([])
})
