/**
 * What a delegation or a run leaves is garbage that a young collection takes away. In the old generation it would wait
 * for a major one: 12 KB of each delegation did. Bytes, not times: the same on a busy machine.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('what has ended does not wait for a major collection', () => {
  const child = join(import.meta.dirname, 'short-lived-child.ts')
  const flags = ['--no-warnings', '--expose-gc', '--max-semi-space-size=64']
  const left = JSON.parse(execFileSync(process.execPath, [...flags, child], { encoding: 'utf8' })) as {
    readonly delegation: number
    readonly run: number
  }
  expect(left.delegation).toBeLessThan(3_000)
  expect(left.run).toBeLessThan(3_000)
}, 60_000)
