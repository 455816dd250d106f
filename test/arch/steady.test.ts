/** Unsteady tests: scripts/steady.ts over a suite of its own, whose tests fail as often as they are told to. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownerOf } from '../../scripts/steady.ts'

const root = join(import.meta.dirname, '..', '..')

/** What it says of a suite with so many tests that fail at first, and so many that always fail. */
function steady({ unsteady, broken }: { unsteady: number; broken: number }, list?: string, more: string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-steady-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'vitest.config.mjs'), 'export default { test: { include: ["*.test.mjs"] } }')
  const tests = [
    "import { existsSync, writeFileSync } from 'node:fs'",
    "import { expect, test } from 'vitest'",
    "test('passes', () => expect(1).toBe(1))",
    `const again = (name) => { const was = existsSync(name); writeFileSync(name, ''); return was }`,
    ...Array.from({ length: unsteady }, (_, i) => `test('u${i}', () => expect(again('${folder}/u${i}')).toBe(true))`),
    ...Array.from({ length: broken }, (_, i) => `test('b${i}', () => expect(1).toBe(2))`),
  ]
  writeFileSync(join(folder, 'a.test.mjs'), tests.join('\n'))
  if (more.length > 0) writeFileSync(join(folder, 'b.test.mjs'), tests.slice(1, 3).join('\n'))
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const { REEVE_UNSTEADY: _, ...env } = process.env
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, 'scripts', 'steady.ts'), process.execPath, vitest, 'run', '--root', folder, ...more],
    { encoding: 'utf8', env: list === undefined ? env : { ...env, REEVE_UNSTEADY: list } },
  )
  const said = stdout.split('\n').filter((line) => /^== .*unsteady|^\d+ passed/.test(line))
  return { status, said }
}

test('what passes when it is tried again counts as passed, and is named with its owner', () => {
  const { status, said } = steady({ unsteady: 1, broken: 0 })
  expect(said).toEqual([expect.stringMatching(/^== unsteady, to be mended by the root: .*> u0$/), '2 passed, 0 failed'])
  expect(status).toBe(0)
})

test('what fails twice is broken, and more than two unsteady ones in the steps of one run are a failure', () => {
  const list = join(mkdtempSync(join(tmpdir(), 'reeve-steady-list-')), 'unsteady')
  onTestFinished(() => rmSync(join(list, '..'), { recursive: true }))
  writeFileSync(list, 'one of a step before\n')
  const { status, said } = steady({ unsteady: 2, broken: 1 }, list)
  expect(said.slice(-2)).toEqual(['== 3 unsteady tests in one run; at most 2 may be', '3 passed, 2 failed'])
  expect(status).toBe(1)
  expect(readFileSync(list, 'utf8').trim().split('\n')).toHaveLength(3)
})

test('in a part of the files, what failed is tried again whichever part it would be in', () => {
  const ends = ['1/2', '2/2'].map((part) =>
    steady({ unsteady: 1, broken: 0 }, undefined, [`--shard=${part}`]).said.at(-1),
  )
  expect(new Set(ends)).toEqual(new Set(['1 passed, 0 failed', '2 passed, 0 failed']))
})

test('a test is owned by its package, of the whole product by its folder', () => {
  expect(ownerOf('packages/mcp/test/x.test.ts')).toBe('packages/mcp')
  expect(ownerOf('test/replay/x.test.ts')).toBe('test/replay')
})
