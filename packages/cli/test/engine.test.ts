/**
 * A config that names an engine instead of a store: commands look, decide and control through it, and are no workers.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../src/program.ts'
import { agent, createRuntime, type Runtime, type RuntimeOptions } from '@reeve/public'
import type { Engine } from '../../public/src/engine.ts'
import { fakeTerminal, type FakeTerminal } from './fake-terminal.ts'

vi.setConfig({ testTimeout: 30_000 })

let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-engine-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const source = (path: string): string => JSON.stringify(join(import.meta.dirname, '..', '..', path))
const makers = {
  embedded: `
import { createEmbeddedEngine } from ${source('sqlite/src/index.ts')}
const make = () => createEmbeddedEngine({ file: new URL('./own.db', import.meta.url).pathname })`,
  adversarial: `
import { adversarialEngine } from ${source('contract/src/index.ts')}
import { MemoryStore } from ${source('engine/src/memory/store.ts')}
const store = new MemoryStore({})
const make = () => adversarialEngine({ store })`,
}
/** An engine that counts what is done with it, and a clerk who asks before paying. */
const config = (maker: keyof typeof makers): string => `${makers[maker]}
import { appendFileSync } from 'node:fs'
import { agent, tool } from ${source('public/src/index.ts')}
export const seen = { made: 0, driven: 0, closed: 0 }
export const engine = () => {
  const made = make()
  const { drive, close } = made
  seen.made++
  made.drive = (registry) => { seen.driven++; return drive.call(made, registry) }
  made.close = () => { seen.closed++; return close.call(made) }
  return made
}
const pay = tool({ name: 'pay', sensitive: true, execute: () => appendFileSync(new URL('./paid', import.meta.url), 'paid') })
export const agents = [agent({
  name: 'clerk', description: 'Pays.', tools: [pay],
  model: ({ messages }) => messages.some(({ role }) => role === 'tool') ? { text: 'Done.' } : { calls: [{ name: 'pay', input: {} }] },
})]
`

interface Config {
  readonly seen: { readonly made: number; readonly driven: number; readonly closed: number }
  readonly engine: () => Engine
  readonly agents: NonNullable<RuntimeOptions['agents']>
}
async function given(maker: keyof typeof makers): Promise<Config> {
  await writeFile(join(folder, 'reeve.config.ts'), config(maker))
  return (await import(join(folder, 'reeve.config.ts'))) as Config
}
const worker = ({ engine, agents }: Config): Promise<Runtime> => createRuntime({ engine: engine(), agents })
/** A run that asks whether it may pay. */
async function asked(config: Config): Promise<string> {
  await using runtime = await worker(config)
  const run = await runtime.start('clerk', 'pay', { runId: 'run_e' })
  await run.until('waiting')
  return (await runtime.approvals())[0]!.id
}

const reeve = (
  terminal: FakeTerminal,
  args: readonly string[],
  interrupted = new AbortController().signal,
): Promise<number> => main(args, { terminal, cwd: folder, interrupted, version: '1.2.3' })
async function said(...args: string[]): Promise<string> {
  const terminal = fakeTerminal()
  const named = args.some((each) => each === '--store' || each === '--config') ? args : [...args, ...where]
  expect(await reeve(terminal, named), terminal.notes).toBe(0)
  return terminal.written
}
const paid = (): Promise<string> => readFile(join(folder, 'paid'), 'utf8').catch(() => '')
const where = ['--config', 'reeve.config.ts']

describe.each(['embedded', 'adversarial'] as const)('a config with an engine (%s)', (maker) => {
  test('looking, deciding and controlling drive nothing, and close what they open', async () => {
    const config = await given(maker)
    const approval = await asked(config)
    expect(config.seen).toEqual({ made: 1, driven: 1, closed: 1 })
    expect(await said('runs')).toMatch(/run_e {2}waiting/)
    expect(await said('show', 'run_e', ...where)).toContain(`reeve approve ${approval} --config reeve.config.ts`)
    expect(await said('events', 'run_e', ...where)).toContain('clerk asks for approval of pay')
    expect(await said('approve', approval, ...where)).toContain('reeve work --config reeve.config.ts')
    expect(await said('pause', 'run_e')).toContain('reeve resume run_e')
    expect(await said('cancel', 'run_e', ...where)).toContain('reeve work --config reeve.config.ts')
    expect(await paid()).toBe('')
    expect(config.seen).toEqual({ made: 7, driven: 1, closed: 7 })
    await using runtime = await worker(config)
    expect(await runtime.handle('run_e').outcome()).toMatchObject({ status: 'cancelled' })
  })

  test('a rejection reaches the worker that comes later', async () => {
    const config = await given(maker)
    const approval = await asked(config)
    await said('reject', approval, '--reason', 'too much')
    await using runtime = await worker(config)
    expect(await runtime.handle('run_e').outcome()).toMatchObject({ status: 'completed' })
    expect(await paid()).toBe('')
  })
})

test('--store is a file for the embedded engine, even if the config names another store', async () => {
  await asked(await given('embedded'))
  await writeFile(join(folder, 'reeve.config.ts'), "throw new Error('this is not needed')")
  expect(await said('runs', '--store', 'own.db')).toMatch(/run_e {2}waiting/)
})

describe('resume with an engine', () => {
  test('says the word and watches; a worker drives, and a decision here is enough', async () => {
    const config = await given('embedded')
    await asked(config)
    await using _worker = await worker(config)
    const terminal = fakeTerminal({ isLive: true, answers: ['y'] })
    expect(await reeve(terminal, ['resume', 'run_e']), terminal.written).toBe(0)
    expect(terminal.written).toContain('✓ Done.')
    expect(terminal.notes).toBe('')
    expect(config.seen).toEqual({ made: 3, driven: 2, closed: 2 })
  })

  test('a waiting run: prints no answer, shows the open questions and drives nothing', async () => {
    const config = await given('embedded')
    const approval = await asked(config)
    const terminal = fakeTerminal()
    expect(await reeve(terminal, ['resume', 'run_e', ...where])).toBe(3)
    expect(terminal.notes).toBe('')
    expect(terminal.written).toContain('Decide; a worker continues it then:')
    expect(terminal.written).toContain(`reeve approve ${approval} --config reeve.config.ts`)
    expect(terminal.written).not.toContain('reeve resume')
    expect(config.seen).toMatchObject({ driven: 1 })
  })

  test('a paused run is watched until a worker takes it up, and is not told to be paused', async () => {
    const config = await given('embedded')
    const approval = await asked(config)
    await said('approve', approval)
    await said('pause', 'run_e')
    {
      await using runtime = await worker(config)
      await runtime.handle('run_e').until('waiting')
    }
    expect(await said('runs')).toMatch(/run_e {2}paused/)
    const terminal = fakeTerminal()
    const end = reeve(terminal, ['resume', 'run_e'])
    await vi.waitFor(() => expect(terminal.notes).toContain('No worker drives the run yet'), 10_000)
    expect(await paid()).toBe('')
    await using _worker = await worker(config)
    expect(await end).toBe(0)
    expect(terminal.written).toContain('run resumed')
    expect(terminal.written).not.toContain('The run is paused.')
    expect(await paid()).toBe('paid')
  })

  test('Ctrl-C leaves the run to its worker', async () => {
    await asked(await given('embedded'))
    const terminal = fakeTerminal()
    const left = new AbortController()
    const end = reeve(terminal, ['resume', 'run_e'], left.signal)
    left.abort('SIGINT')
    expect(await end).toBe(130)
    expect(terminal.notes).toContain('Its workers continue the run; watch it with:\n  reeve resume run_e')
  })

  test('a run that the workers have no code for says what is missing', async () => {
    const config = await given('embedded')
    const approval = await asked(config)
    await said('approve', approval)
    {
      const newer = agent({ name: 'clerk', version: '2', description: 'Pays.', run: () => Promise.resolve('') })
      await using runtime = await createRuntime({ engine: config.engine(), agents: [newer], onMissingVersion: 'park' })
      await vi.waitFor(async () => expect(await runtime.runs()).toMatchObject([{ status: 'stuck' }]), 10_000)
    }
    const terminal = fakeTerminal()
    expect(await reeve(terminal, ['resume', 'run_e'])).toBe(3)
    expect(terminal.written).toMatch(
      /No worker can drive the run: version 1\S* of "clerk" is not registered\. Start a worker that has its agent: reeve work/,
    )
  })
})

describe('a config that is wrong', () => {
  const agents = 'export const agents = [{}]\n'
  const ours = `import { ReeveError } from ${source('public/src/index.ts')}\n`
  test.each([
    ['both', "export const store = 'x.db'\nexport const engine = () => 1", 2, 'exports both `store` and `engine`'],
    ['neither', '', 2, 'exports no `store` and no `engine`'],
    ['an engine that is open already', 'export const engine = {}', 2, 'is not a function'],
    ['an engine that is none', 'export const engine = () => ({ drive() {} })', 2, 'returned no engine'],
    [
      'a function that throws',
      "export const engine = () => { throw new Error('no address') }",
      2,
      'failed: no address',
    ],
    [
      'a function that throws an error of ours',
      `${ours}export const engine = () => { throw new ReeveError('engine.unreachable', 'nobody there', { hint: 'Call again.' }) }`,
      1,
      'nobody there\n  Call again.',
    ],
  ])('%s', async (_what, text, code, told) => {
    await writeFile(join(folder, 'bad.config.ts'), agents + text)
    for (const command of [['runs'], ['resume', 'run_a'], ['work']]) {
      const terminal = fakeTerminal()
      expect(await reeve(terminal, [...command, '--config', 'bad.config.ts'])).toBe(code)
      expect(terminal.notes).toContain(told)
      expect(terminal.notes).not.toMatch(/\n\s+at /)
    }
  })
})
