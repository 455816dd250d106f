/** The first program of the README, pasted into an empty folder: it prints, or says what is missing and fails. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const [, program] = /## The smallest team\n[^]*?```ts\n([^]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'))!

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reeve-readme-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'team.ts'), program!)
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'reeve'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Runs it without the keys of this machine. */
const played = (env: Readonly<Record<string, string>>): ReturnType<typeof spawnSync> =>
  spawnSync(process.execPath, ['team.ts'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined, NODE_OPTIONS: undefined, ...env },
  })

test('without a key it prints, and leaves a store', () => {
  expect(played({})).toMatchObject({ status: 0, stdout: 'Ravens remember faces.\n', stderr: '' })
  expect(readdirSync(folder)).toContain('reeve.db')
}, 60_000)

test('what is wrong with its set-up is said with the remedy, and it fails', () => {
  const { status, stdout, stderr } = played({ OPENAI_API_KEY: 'sk-nothing', OPENAI_BASE_URL: 'nowhere' })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(
    /ReeveWarning: agent "editor" failed in run_\w+: the base URL of openai is not an http\(s\) URL\. Set OPENAI_BASE_URL/,
  )
  expect(stderr).toMatch(/ReeveError: the run "run_\w+" failed/)
}, 60_000)
