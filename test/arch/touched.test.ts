/** What a change touches: scripts/touched.ts over the manifests. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packages } from '../../scripts/packages.ts'
import { testsOf } from '../../scripts/touched.ts'

test('a change in a leaf touches its own tests, and those of the house', () => {
  expect(testsOf(['packages/notify/src/slack.ts'])).toEqual({
    folders: ['packages/notify/test', 'test/arch'],
    steps: [],
  })
})

test('a change at the floor touches every package, and every step of the gate', () => {
  const { folders, steps } = testsOf(['packages/core/src/ids.ts'])
  expect(folders).toEqual(expect.arrayContaining(packages.map(({ name }) => `packages/${name}/test`)))
  expect(folders).toEqual(expect.arrayContaining(['test/scenario', 'test/crash', 'test/redteam']))
  expect(steps).toEqual(['postgres', 'restate', 'temporal', 'studio', 'conformance', 'kill', 'chaos', 'examples'])
})

test('a change of a test, or of a page, touches that alone', () => {
  expect(testsOf(['packages/team/test/budget.test.ts', 'docs/how-to/mcp.md']).folders).toEqual([
    'packages/team/test',
    'test/arch',
    'test/docs',
  ])
})

test('a change of a tool at the root touches everything', () => {
  expect(testsOf(['scripts/build.js'])).toEqual(testsOf(['packages/core/src/ids.ts']))
})

test('a change of a program of the docs, or of a suite, touches the step that runs it', () => {
  expect(testsOf(['examples/01-first.ts']).steps).toEqual(['examples'])
  expect(testsOf(['test/crash/kill.ts']).steps).toEqual(['kill'])
  expect(testsOf(['conformance/mcp.test.ts']).steps).toEqual(['conformance'])
})

test('every step of the gate is one that a change can touch', () => {
  const gate = readFileSync(join(import.meta.dirname, '..', '..', '.ci', 'run'), 'utf8')
  const inGate = [...gate.matchAll(/^(?:.*&& )?step (\w+) /gm)].map(([, name]) => name!)
  const always = ['install', 'checks', 'tests']
  expect([...new Set(inGate.filter((name) => !always.includes(name)))]).toEqual(
    testsOf(['packages/core/src/ids.ts']).steps,
  )
})
