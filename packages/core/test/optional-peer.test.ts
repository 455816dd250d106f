/** Where optional peers are found, and what is said where one is not. In processes of their own: resolution is Node's. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const source = pathToFileURL(join(import.meta.dirname, '../src/optional-peer.ts')).href
const [application, elsewhere] = ['application', 'elsewhere'] as const
let folder = ''

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'reeve-peers-')))
  mkdirSync(join(folder, elsewhere))
  const packages = {
    whole: 'module.exports = { from: __dirname }',
    broken: "throw new Error('it is broken')",
    needy: "module.exports = require('not-there')",
  }
  for (const [name, code] of Object.entries(packages)) {
    const place = join(folder, application, 'node_modules', name)
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, 'package.json'), JSON.stringify({ name, main: 'index.js' }))
    writeFileSync(join(place, 'index.js'), code)
  }
  const program = `
    import { optionalPeer, resolveAtRunTime } from ${JSON.stringify(source)}
    const name = process.argv[2]
    const told = await optionalPeer(name).then(
      (loaded) => loaded.default.from,
      ({ code, message, hint }) => ({ code, message, hint }),
    )
    console.log(JSON.stringify({ told, found: resolveAtRunTime(name) ?? null }))`
  for (const place of [application, elsewhere]) writeFileSync(join(folder, place, 'program.mjs'), program)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function load(name: string, cwd: string, program: string): { readonly told: unknown; readonly found: string | null } {
  const args = ['--no-warnings', join(folder, program, 'program.mjs'), name]
  return JSON.parse(execFileSync(process.execPath, args, { cwd: join(folder, cwd), encoding: 'utf8' })) as never
}

test.each([
  ['the working directory', application, elsewhere],
  ['the folder of the program', elsewhere, application],
])('a package is found from %s', (_, cwd, program) => {
  const place = join(folder, application, 'node_modules', 'whole')
  expect(load('whole', cwd, program)).toEqual({ told: place, found: join(place, 'index.js') })
})

test('a package that is found nowhere is said with what to install', () => {
  expect(load('@scope/nowhere/part', application, application)).toEqual({
    told: {
      code: 'config.invalid',
      message: 'the package @scope/nowhere is not installed',
      hint: 'npm install @scope/nowhere',
    },
    found: null,
  })
})

test.each([
  ['broken', 'the package broken could not be loaded: it is broken'],
  ['needy', expect.stringMatching(/^the package needy could not be loaded: Cannot find module 'not-there'/)],
])('%s: a package that is there is not taken for missing', (name, message) => {
  expect(load(name, application, application).told).toMatchObject({ code: 'config.invalid', message })
})
