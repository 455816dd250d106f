/** What a change touches: scripts/touched.ts over the manifests. */
import { expect, test } from 'vitest'
import { packages } from '../../scripts/packages.ts'
import { testsOf } from '../../scripts/touched.ts'

test('a change in a leaf touches its own tests, and those of the house', () => {
  expect(testsOf(['packages/notify/src/slack.ts'])).toEqual({
    folders: ['packages/notify/test', 'test/arch'],
    commands: [],
  })
})

test('a change at the floor touches every package, and what needs servers is named', () => {
  const { folders, commands } = testsOf(['packages/core/src/ids.ts'])
  expect(folders).toEqual(expect.arrayContaining(packages.map(({ name }) => `packages/${name}/test`)))
  expect(folders).toEqual(expect.arrayContaining(['test/scenario', 'test/crash', 'test/redteam']))
  expect(commands).toEqual(['test:postgres', 'test:restate', 'test:temporal', 'test:studio'])
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
