/** The trees of docs/explanation/architecture.md name files that a brief, an approval and a cancel really cross. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

test('every file in the trees of docs/explanation/architecture.md is crossed by that journey', () => {
  const script = join(root, 'scripts/crossings.ts')
  const { status, stderr, stdout } = spawnSync(process.execPath, ['--no-warnings', script, '--check'], {
    cwd: root,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  expect(stdout).toMatch(/^brief: \d+ files/)
})
