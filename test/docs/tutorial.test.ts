/**
 * docs/tutorial/first-team.md, followed as a reader would: its files in an empty folder, its commands in their order,
 * with the package as it was built last. What is printed stands on the page.
 */
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/tutorial/first-team.md'), 'utf8')
const cli = join(root, 'bin/reeve.js')
// inside the checkout, where `reeve` is found
const folder = mkdtempSync(join(root, 'dist.tutorial-'))
cpSync(join(root, 'examples/tutorial'), folder, { recursive: true })
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function node(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', ...args], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return stdout
}
/** What a process has printed when it first says this. */
function saying({ stdout }: ChildProcessWithoutNullStreams, what: RegExp): Promise<string> {
  let printed = ''
  return new Promise((resolve) =>
    stdout.setEncoding('utf8').on('data', (piece: string) => {
      printed += piece
      if (what.test(printed)) resolve(printed)
    }),
  )
}
const asToldOnPage = (printed: string): string => printed.replaceAll(/apr_[0-9a-f]+/g, 'apr_…')
/** The outputs that the page shows, in order. */
const outputs = [...page.matchAll(/```text\n([^]*?)```/g)].map(([, text]) => text!)

test('every file of the tutorial is on the page', () => {
  const files = readdirSync(join(root, 'examples/tutorial'))
  expect(files.filter((file) => !page.includes(`<!-- example: tutorial/${file} -->`))).toEqual([])
})

test('its commands print what it shows', { timeout: 60_000 }, async () => {
  expect(node('hello.ts')).toBe(outputs[0])

  const asked = node('main.ts')
  expect(asToldOnPage(asked)).toBe(outputs[1])
  const [, approval] = /reeve approve (\w+)/.exec(asked)!
  node(cli, 'approve', approval!, '--store', 'tutorial.db')
  expect(node('main.ts')).toBe(outputs[2])

  const killed = spawn(process.execPath, ['--no-warnings', 'main.ts', 'letter-2'], { cwd: folder })
  const printed = await saying(killed, /writing\n/)
  killed.kill('SIGKILL')
  if (killed.exitCode === null && killed.signalCode === null) await once(killed, 'exit')
  expect(asToldOnPage(printed + node('main.ts', 'letter-2'))).toBe(outputs[3])

  expect(node(cli, 'show', 'letter-2', '--store', 'tutorial.db')).toContain('postman')
  const studio = spawn(process.execPath, [cli, 'studio', '--no-open', '--port', '0', '--store', 'tutorial.db'], {
    cwd: folder,
  })
  const told = await saying(studio, /studio (http:\S+)/)
  const [, address] = /studio (http:\S+)/.exec(told)!
  expect((await fetch(address!)).status).toBe(200)
  studio.kill('SIGTERM')
  await once(studio, 'exit')

  expect(node('--test', 'team.test.ts')).toContain('pass 2')
})
