/** A folder that somebody else has made: where the command line writes, and what it refuses to take for a store. */
import { cp, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRuntime } from '@reeve/public'
import { main } from '../src/program.ts'
import { reeve } from './command.ts'
import { fakeTerminal } from './fake-terminal.ts'

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-foreign-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A command in this process. */
async function said(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = fakeTerminal()
  const code = await main(args, { terminal, cwd: folder, interrupted: new AbortController().signal, version: '1.2.3' })
  return { code, out: terminal.written, err: terminal.notes }
}

test('the demo does not write through a .reeve symlink, only in its own folder', async () => {
  const elsewhere = join(folder, 'elsewhere')
  const given = join(folder, 'given')
  await mkdir(elsewhere)
  await mkdir(given)
  await writeFile(join(given, 'a.js'), 'x')
  await symlink(elsewhere, join(given, '.reeve'))
  const ended = await reeve(folder, 'demo', given, '--yes')
  expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('.reeve is a symbolic link') as string })
  expect(await readdir(elsewhere)).toEqual([])
  expect(await reeve(given, 'runs')).toMatchObject({ code: 2 })
})

/** Commands that run agents, make something new, or name both of their stores. */
const runners: readonly string[] = 'init doctor demo start resume work serve dev studio mcp restate help'.split(' ')

/** Every command that is no worker, with arguments that it takes. */
const lookers: Readonly<Record<string, readonly string[]>> = {
  runs: [],
  show: ['run_x'],
  events: ['run_x'],
  fork: ['run_x'],
  diff: ['run_x', 'run_y'],
  approve: ['apr_x'],
  reject: ['apr_x'],
  edit: ['apr_x', '{}'],
  retry: ['apr_x'],
  answer: ['int_x', '1'],
  pause: ['run_x'],
  stop: ['run_x', 'd1'],
  post: ['run_x', '*', 'hello'],
  cancel: ['run_x'],
  recruit: ['run_x', '--description', 'more'],
  retire: ['run_x', 'w_1'],
  trust: [],
  audit: ['run_x'],
  takeover: ['run_x'],
  complete: ['run_x', 't', '1'],
  finish: ['run_x', '1'],
  handback: ['run_x'],
  backup: ['copy.db'],
  batch: ['run_x'],
  content: ['run_x', `result-${'0'.repeat(32)}`],
  compact: [],
  questions: [],
  settle: ['int_x', '--happened', 'no'],
  watch: [],
  otel: ['run_x'],
}
/** They ask a server, or the documentation, and read neither store nor folder. */
const askers = ['probe', 'docs']

test('a command that runs no agents loads no code of the folder unless named, and says what to name', async () => {
  const config = `import { writeFileSync } from 'node:fs'
writeFileSync(new URL('./ran', import.meta.url), 'x')
export const store = './own.db'
export const agents = [{}]`
  await writeFile(join(folder, 'reeve.config.ts'), config)
  const help = await said('--help')
  const commands = [...help.out.matchAll(/^ {2}([a-z]+)(?: |$)/gm)].map(([, name]) => name!)
  expect(commands.filter((name) => !runners.includes(name) && !askers.includes(name)).toSorted()).toEqual(
    Object.keys(lookers).toSorted(),
  )
  for (const [name, args] of Object.entries(lookers)) {
    expect(await said(name, ...args), name).toMatchObject({
      code: 2,
      err: expect.stringContaining('--config reeve.config.ts') as string,
    })
    expect(await readdir(folder)).toEqual(['reeve.config.ts'])
  }
  expect(await said('runs', '--config', 'reeve.config.ts')).toMatchObject({
    code: 2,
    err: expect.stringContaining('store not found') as string,
  })
  expect(await readdir(folder)).toContain('ran')
})

test('resume refuses a demo run of another folder than its store’s, unless the store is named', async () => {
  const [theirs, mine] = [join(folder, 'theirs'), join(folder, 'mine')]
  await mkdir(theirs)
  await writeFile(join(theirs, 'a.js'), 'x')
  expect(await reeve(folder, 'demo', theirs, '--run', 'evil')).toMatchObject({ code: 3 })
  await cp(theirs, mine, { recursive: true })
  const resumed = await reeve(mine, 'resume', 'evil', '--yes')
  expect(resumed).toMatchObject({ code: 2, err: expect.stringContaining('not the folder of its store') as string })
  expect(await readdir(theirs)).not.toContain('REPORT.md')
  expect(await reeve(mine, 'resume', 'evil', '--yes', '--store', '.reeve/reeve.db')).toMatchObject({ code: 0 })
}, 60_000)

test('an address of another database is refused without its password, and nothing is created', async () => {
  await expect(createRuntime({ store: 'https://me:secret@db.example' })).rejects.toThrow(
    /^(?!.*secret)createRuntime: store is an address \(https:/,
  )
  expect(await said('runs', '--store', 'mysql://me:secret@db.example/reeve')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^(?![^]*secret)[^]*postgres:/) as string,
  })
  expect(await readdir(folder)).not.toContain('mysql:')
})
