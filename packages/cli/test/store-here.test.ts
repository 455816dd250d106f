/** Without --store and --config a command takes the store that stands in its folder, and says what it looked for. */
import { copyFile, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agent, createRuntime } from '@reeve/public'
import { main } from '../src/program.ts'
import { fakeTerminal } from './fake-terminal.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-store-here-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const greeter = agent({ name: 'greeter', model: () => 'hello' })

async function reeve(
  ...args: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = fakeTerminal()
  const code = await main(args, { terminal, cwd: folder, interrupted: new AbortController().signal, version: '1.2.3' })
  return { code, out: terminal.written, err: terminal.notes }
}

const greeted = async (store: string): Promise<void> => {
  await using runtime = await createRuntime({ store: join(folder, store), agents: [greeter] })
  await runtime.run(greeter, 'hi', { runId: 'greeting' })
}

test('the store that a program here named is found by what it is, also while its first process is at work', async () => {
  await using runtime = await createRuntime({ store: join(folder, 'team.sqlite'), agents: [greeter] })
  await runtime.run(greeter, 'hi', { runId: 'greeting' })
  expect(await reeve('runs')).toMatchObject({ code: 0, out: expect.stringContaining('greeting') as string })
})

test('of databases of other programs none is taken, and none is changed', async () => {
  await greeted('own.db')
  const other = new DatabaseSync(join(folder, 'app.db'))
  other.exec('PRAGMA journal_mode=WAL; CREATE TABLE t(x)')
  other.close()
  await writeFile(join(folder, 'notes.db'), 'no database')
  await symlink(join(folder, 'own.db'), join(folder, 'link.db'))
  const before = await readdir(folder)
  expect(await reeve('show', 'greeting')).toMatchObject({ code: 0, out: expect.stringContaining('hello') as string })
  expect(await readdir(folder)).toEqual(before)
})

test('several stores are a question, none is an answer that says what was looked for', async () => {
  await greeted('a.db')
  await copyFile(join(folder, 'a.db'), join(folder, 'b.db'))
  const several = await reeve('runs')
  expect(several).toMatchObject({ code: 2, out: '' })
  expect(several.err).toContain('several stores: a.db, b.db')
  expect(several.err).toContain('--store a.db')
  expect(await reeve('runs', '--store', 'b.db')).toMatchObject({ code: 0 })
  await rm(join(folder, 'a.db'))
  await rm(join(folder, 'b.db'))
  const none = await reeve('runs')
  expect(none.code).toBe(2)
  expect(none.err).toMatch(/looked for .*reeve\.db, .*\*\.db.*reeve\.config\.ts/)
  expect(none.err).toContain('--store <file or postgres://…>')
})
