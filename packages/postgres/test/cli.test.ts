/**
 * The command line on a database: `--store postgres://…` for every command, and a password that no printed command
 * repeats.
 */
import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChildProcess } from 'node:child_process'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { begin, lines, reeve, type Ended } from '../../cli/test/command.ts'
import { createRuntime } from '@reeve/public'
import { freshPostgres, type FreshPostgres } from '../../../test/servers/postgres.ts'

vi.setConfig({ testTimeout: 60_000 })

let folder = ''
let place: FreshPostgres
const children = new Set<ChildProcess>()
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-postgres-')))
  place = await freshPostgres()
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  await rm(folder, { recursive: true, force: true })
  await place.dispose()
})

/** The server trusts; the password is there to be hidden. */
function store(): string {
  const url = new URL(place.server)
  url.password = 's3cret'
  url.searchParams.set('schema', place.schema)
  return url.href
}
const said = async (...args: string[]): Promise<Ended> => {
  const ended = await reeve(folder, '--store', store(), ...args)
  expect(ended.out + ended.err).not.toContain('s3cret')
  return ended
}

test('the demo asks, is approved, resumed and shown in a database', async () => {
  await writeFile(join(folder, 'a.js'), 'x')
  const demo = await said('demo', '.', '--run', 'survey')
  expect(demo).toMatchObject({ code: 3, out: expect.stringContaining(':***@') as string })
  expect(await readdir(folder)).not.toContain('.reeve')
  expect(lines((await said('runs', '--json')).out)).toMatchObject([{ run: 'survey', status: 'waiting' }])
  const approval = /apr_\w+/.exec(demo.out)![0]
  expect(await said('approve', approval)).toMatchObject({ code: 0 })
  expect(await said('resume', 'survey')).toMatchObject({
    code: 0,
    out: expect.stringContaining('surveyor completed') as string,
  })
  expect(await said('show', 'survey')).toMatchObject({ code: 0, out: expect.stringContaining('surveyor') as string })
  expect(await readdir(folder)).toContain('REPORT.md')
})

test('a worker drives what others start, until SIGTERM; its config may name the address as well', async () => {
  const source = JSON.stringify(join(import.meta.dirname, '..', '..', 'public', 'src', 'index.ts'))
  const agents = `import { agent } from ${source}
export const agents = [agent({ name: 'echo', description: 'Says it again.', run: async (_ctx, input) => input })]`
  await writeFile(join(folder, 'reeve.config.ts'), `export const store = ${JSON.stringify(store())}\n${agents}`)
  const { promise: up, resolve } = Promise.withResolvers<ChildProcess>()
  const ended = begin(folder, ['work'], (out, child) => {
    children.add(child)
    if (out.includes('Ctrl-C stops the worker')) resolve(child)
  })
  const child = await Promise.race([up, ended.then(({ err }) => Promise.reject(new Error(err)))])
  const { agents: theirs } = (await import(join(folder, 'reeve.config.ts'))) as { agents: never[] }
  await using runtime = await createRuntime({ store: store(), agents: theirs, drive: false })
  expect(await (await runtime.start('echo', 'hello')).outcome()).toMatchObject({ status: 'completed', output: 'hello' })
  child.kill('SIGTERM')
  const { code, out, err } = await ended
  expect(code).toBe(0)
  expect(out).toContain(':***@')
  expect(out + err).not.toContain('s3cret')
})

test('what is for files only says so, and what cannot be reached says where, without the password', async () => {
  for (const command of [['backup', 'copy.db'], ['compact']])
    expect(await said(...command)).toMatchObject({
      code: 2,
      err: expect.stringContaining('this command needs a store in a file') as string,
    })
  const away = await reeve(folder, '--store', 'postgres://me:s3cret@127.0.0.1:9/test', 'runs')
  expect(away).toMatchObject({ code: 1, err: expect.stringContaining('me@127.0.0.1:9/test') as string })
  expect(away.err).not.toContain('s3cret')
  expect(await readdir(folder)).toEqual([])
})
