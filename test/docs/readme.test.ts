/** The program of the README, pasted into an empty folder: it prints what the README says that it prints. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const [, program, output] = /## A supervisor at work\n[^]*?```ts\n([^]*?)```[^]*?```text\n([^]*?)```/.exec(readme)!

test('it shows who did what, and leaves a store', { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-readme-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'team.ts'), program!)
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'reeve'))
  const env = { ...process.env, NODE_OPTIONS: undefined }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['team.ts'], { cwd: folder, encoding: 'utf8', env })
  // workers work at once: which of them says something first is open
  const sorted = (text: string): readonly string[] =>
    text
      .trim()
      .split('\n')
      .toSorted((a, b) => a.localeCompare(b))
  expect({ status, stderr, lines: sorted(stdout) }).toEqual({ status: 0, stderr: '', lines: sorted(output!) })
  expect(readdirSync(folder)).toContain('reeve.db')
})
