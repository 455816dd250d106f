/** `reeve work`: a worker as a process of its own, for runs that others start. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Run, type Runtime, type RuntimeOptions } from '@reeve/public'
import { begin, reeve, type Ended } from './command.ts'

vi.setConfig({ testTimeout: 60_000 })

let folder = ''
const children = new Set<ChildProcess>()
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-work-')))
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  await rm(folder, { recursive: true, force: true })
})

const source = (path: string): string => JSON.stringify(join(import.meta.dirname, '..', '..', path))
const store = "export const store = './own.db'"
const engine = `import { createEmbeddedEngine } from ${source('sqlite/src/index.ts')}
export const engine = () => createEmbeddedEngine({ file: new URL('./own.db', import.meta.url).pathname })`
/**
 * Agents that say in which process they work; one takes its time for what must not be cut off, one awaits what nobody
 * told the engine of.
 */
const agents = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as later } from 'node:timers/promises'
import { agent, step } from ${source('public/src/index.ts')}
const note = (text: string) => appendFileSync(new URL('./notes', import.meta.url), text + '\\n')
export const agents = [
  agent({ name: 'worker', version: '7', description: 'Says where it works.', run: (ctx) => step(ctx, 'where', () => process.pid) }),
  agent({ name: 'slow', description: 'Posts a letter.', run: (ctx) => step(ctx, 'post', async () => {
    note('begun')
    while (!existsSync(new URL('./may-post', import.meta.url))) await later(5)
    note('posted')
  }, { effect: 'once' }) }),
  agent({ name: 'sloppy', description: 'Awaits a timer of its own.', run: () => later(500) }),
]
`
const configured = (where: string): Promise<void> => writeFile(join(folder, 'reeve.config.ts'), `${where}\n${agents}`)

/** Somebody else's process, which starts runs and drives none. */
async function starter(): Promise<Runtime> {
  const config = (await import(join(folder, 'reeve.config.ts'))) as { agents: NonNullable<RuntimeOptions['agents']> }
  return createRuntime({ store: join(folder, 'own.db'), agents: config.agents, drive: false })
}
async function outcomeOf(agent: string): Promise<unknown> {
  await using runtime = await starter()
  return await (await runtime.start(agent, 'go')).outcome()
}

interface Working {
  readonly child: ChildProcess
  readonly out: string
  readonly end: Promise<Ended>
  /** Resolves when it says that it stops. */
  readonly stops: Promise<void>
}
/** Resolves when it says what it drives. */
function working(...args: readonly string[]): Promise<Working> {
  return new Promise((resolve, reject) => {
    const stopping = Promise.withResolvers<void>()
    const end = begin(folder, ['work', ...args], (out, child, err) => {
      children.add(child)
      if (err.includes('The worker stops')) stopping.resolve()
      if (out.includes('Ctrl-C')) resolve({ child, out, end, stops: stopping.promise })
    })
    end.then(({ err }) => reject(new Error(err)), reject)
  })
}
const notes = (): Promise<string> => readFile(join(folder, 'notes'), 'utf8').catch(() => '')

describe.each([
  ['a store', store, (): string => join(folder, 'own.db')],
  ['an engine', engine, (): string => `the engine of ${join(folder, 'reeve.config.ts')}`],
])('a worker on %s', (_what, place, name) => {
  test('drives what another process starts, and ends in order on SIGTERM', async () => {
    await configured(place)
    const { child, out, end } = await working()
    expect(out).toContain(`reeve work  ${name()}`)
    expect(out).toMatch(/^ {2}drives worker {2}7\b/m)
    expect(await outcomeOf('worker')).toMatchObject({ status: 'completed', output: child.pid })
    child.kill('SIGTERM')
    expect(await end).toMatchObject({ code: 0, signal: null })
    expect((await end).err).toMatch(/^The worker stops/)
    expect((await reeve(folder, 'runs', '--config', 'reeve.config.ts')).out).toMatch(/completed +worker/)
  })

  test('a warning is one line, and stops nothing', async () => {
    await configured(place)
    const { child, end } = await working()
    expect(await outcomeOf('sloppy')).toMatchObject({ status: 'completed' })
    child.kill('SIGINT')
    const { code, err } = await end
    expect(code).toBe(130)
    expect(err.split('\n').filter((line) => line.includes('orchestration.foreign-await'))).toEqual([
      expect.stringMatching(/^reeve: orchestration\.foreign-await: ./),
    ])
    expect(err).not.toContain('trace-warnings')
  })
})

describe('the end of a worker', () => {
  async function posting(): Promise<Working & { readonly runtime: Runtime; readonly run: Run }> {
    await configured(store)
    const worker = await working()
    const runtime = await starter()
    const run = await runtime.start('slow', 'go')
    await vi.waitFor(async () => expect(await notes()).toBe('begun\n'), 25_000)
    return { ...worker, runtime, run }
  }
  test('what must not be cut off ends first; the next worker goes on', async () => {
    const { child, end, stops, runtime, run } = await posting()
    child.kill('SIGINT')
    await stops
    await writeFile(join(folder, 'may-post'), '')
    expect(await end).toMatchObject({ code: 130 })
    expect(await notes()).toBe('begun\nposted\n')
    await working()
    expect(await run.outcome()).toMatchObject({ status: 'completed' })
    expect(await notes()).toBe('begun\nposted\n')
    await runtime.close()
  })
  test('a second Ctrl-C stops the worker at once', async () => {
    const { child, end, stops, runtime } = await posting()
    child.kill('SIGINT')
    await stops
    expect(child.exitCode).toBe(null)
    child.kill('SIGINT')
    expect(await end).toMatchObject({ code: 130 })
    expect(await notes()).toBe('begun\n')
    await runtime.close()
  })
})

test('the config says where to work, not what else is in the folder; --store is another file', async () => {
  await configured(store)
  await mkdir(join(folder, '.reeve'))
  await createRuntime({ store: join(folder, '.reeve', 'reeve.db') }).then((runtime) => runtime.close())
  expect((await working()).out).toContain(join(folder, 'own.db'))
  expect((await working('--store', join('.reeve', 'reeve.db'))).out).toContain(join(folder, '.reeve', 'reeve.db'))
})

describe('what cannot be driven', () => {
  const twins = `import { agent } from ${source('public/src/index.ts')}
export const agents = ['one', 'two'].map((description) => agent({ name: 'twin', description, run: async () => description }))`
  test.each([
    ['no config', undefined, [], 'config not found'],
    ['a store that is not there', `${store}\n${agents}`, ['--store', 'x.db'], 'store not found'],
    ['a team that is wrong, on a store', `${store}\n${twins}`, [], 'twin'],
    ['a team that is wrong, on an engine', `${engine}\n${twins}`, [], 'twin'],
    ['an argument', `${store}\n${agents}`, ['run_a'], 'too many arguments'],
  ])('%s: says so, exits with 2', async (_what, config, args, told) => {
    if (config !== undefined) await writeFile(join(folder, 'reeve.config.ts'), config)
    const before = await readdir(folder)
    const { code, err } = await reeve(folder, 'work', ...args)
    expect(code, err).toBe(2)
    expect(err).toContain(told)
    expect(err).not.toMatch(/\n\s+at /)
    // an engine is made before it is known whether it can be driven, and this one makes its file
    const created = (await readdir(folder)).filter((name) => !before.includes(name) && !name.startsWith('own.db'))
    expect(created).toEqual([])
  })
  test('a store that cannot be opened is left alone, and that is said', async () => {
    await configured(store)
    await writeFile(join(folder, 'own.db'), 'not a database at all, but long enough to be looked at as one')
    const { code, err } = await reeve(folder, 'work')
    expect(code).toBe(2)
    expect(err).toMatch(/^reeve: .+\n {2}.+/)
  })
})

describe('what a config says of a runtime', () => {
  test('redaction applies to every command that is given it: a matching answer is refused', async () => {
    const secret = 'hunter2-hunter2'
    await writeFile(
      join(folder, 'reeve.config.ts'),
      `${store}
import { agent, interrupt, step } from ${source('public/src/index.ts')}
export const redact = { values: ['${secret}'] }
export const agents = [agent({ name: 'asks', run: async (ctx) => { await step(ctx, 'login', () => 'in with ${secret}'); return interrupt(ctx, 'which?') } })]
`,
    )
    const config = (await import(join(folder, 'reeve.config.ts'))) as Pick<RuntimeOptions, 'agents' | 'redact'>
    const runtime = await createRuntime({
      store: join(folder, 'own.db'),
      drive: false,
      agents: config.agents!,
      redact: config.redact!,
    })
    const run = await runtime.start('asks', 'go')
    const worker = await working()
    const state = await run.until('waiting')
    const id = 'waiting' in state ? state.questions[0]!.id : ''
    const bare = await reeve(folder, 'answer', id, secret, '--store', 'own.db')
    expect(bare).toMatchObject({ code: 1, err: expect.stringContaining('own.db is redacted') as string })
    expect(await reeve(folder, 'answer', id, secret, '--config', 'reeve.config.ts')).toMatchObject({ code: 0 })
    expect(await run.outcome()).toMatchObject({ status: 'completed', output: '[redacted]' })
    worker.child.kill('SIGTERM')
    await worker.end
    await runtime.close()
    for (const file of (await readdir(folder)).filter((each) => each.startsWith('own.db')))
      expect(await readFile(join(folder, file), 'latin1')).not.toContain(secret)
  })
})
