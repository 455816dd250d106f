/** `reeve doctor`: what is wrong with an installation, each with what to do. */
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { agent, createRuntime } from '@reeve/public'
import {
  clockFinding,
  copiesOf,
  isOfMajor,
  nodeFinding,
  optionalPackages,
  packageFinding,
  reeveFinding,
  storeFinding,
  typeScriptFinding,
  type Finding,
} from '../src/checkup.ts'
import { main } from '../src/program.ts'
import type { WorkerView } from '@reeve/runtime'
import { reeve } from './command.ts'
import { fakeTerminal } from './fake-terminal.ts'

vi.setConfig({ testTimeout: 30_000 })

const root = join(import.meta.dirname, '..', '..', '..')
let folder = ''
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-doctor-')))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await mkdir(join(folder, 'node_modules'))
  await symlink(root, join(folder, 'node_modules', 'reeve'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const index = JSON.stringify(join(root, 'packages', 'public', 'src', 'index.ts'))
const config = (body: string): Promise<void> =>
  writeFile(join(folder, 'reeve.config.ts'), `import { agent, supervisor } from ${index}\n${body}`)
const working = `export const store = './own.db'
export const agents = [agent({ name: 'greeter', model: () => 'hello' })]`

type Report = { readonly ok: boolean; readonly findings: readonly Finding[] }
async function examined(
  ...args: readonly string[]
): Promise<Report & { readonly code: number; readonly of: (check: Finding['check']) => readonly Finding[] }> {
  const terminal = fakeTerminal()
  const world = { terminal, cwd: folder, interrupted: new AbortController().signal, version: '1.2.3' }
  const code = await main(['doctor', '--json', ...args], world)
  expect(terminal.notes).toBe('')
  const report = JSON.parse(terminal.written) as Report
  expect(code).toBe(report.ok ? 0 : 1)
  return { ...report, code, of: (check) => report.findings.filter((each) => each.check === check) }
}
const finding = (status: Finding['status'], message: RegExp, hint?: RegExp): unknown =>
  expect.objectContaining({
    status,
    message: expect.stringMatching(message) as string,
    ...(hint === undefined ? undefined : { hint: expect.stringMatching(hint) as string }),
  })

test('an installation that works: every line is ok, and nothing is created', async () => {
  await config(working)
  const { findings, of } = await examined()
  expect(findings.filter(({ status }) => status !== 'ok')).toEqual([])
  expect(of('store')).toEqual([finding('ok', /own\.db does not exist yet/)])
  expect(of('models')).toEqual([finding('ok', /^rule\/greeter/)])
  const { code, out } = await reeve(folder, 'doctor')
  expect(code).toBe(0)
  expect(out).toMatch(/^✓ node +Node \d+/)
  expect((await examined()).of('store')).toEqual([finding('ok', /does not exist yet/)])
})

test('keys and addresses that are missing, of any agent below, fail with the remedy', async () => {
  await config(`export const store = './own.db'
const writer = agent({ name: 'writer', description: 'Writes.', model: 'groq/x' })
const local = agent({ name: 'local', description: 'Reads.', model: 'ollama/x' })
export const agents = [supervisor({ name: 'lead', workers: [writer, local], model: 'google/x' })]`)
  const empty = { GROQ_API_KEY: '', GOOGLE_API_KEY: '', GEMINI_API_KEY: '', GOOGLE_GENERATIVE_AI_API_KEY: '' }
  for (const [name, value] of Object.entries({ ...empty, OLLAMA_BASE_URL: 'nowhere' })) vi.stubEnv(name, value)
  const { code, of } = await examined()
  expect(code).toBe(1)
  expect(of('models')).toHaveLength(3)
  expect(of('models')).toEqual(
    expect.arrayContaining([
      finding('fail', /agent "writer", groq\/x: .*GROQ_API_KEY is not set/, /^Set GROQ_API_KEY/),
      finding('fail', /agent "lead", google\/x: .*GOOGLE_API_KEY is not set/),
      finding('fail', /agent "local", ollama\/x: the base URL/, /OLLAMA_BASE_URL/),
    ]),
  )
  const shown = await reeve(folder, 'doctor')
  expect(shown).toMatchObject({ code: 1, err: '3 of 12 checks failed.\n' })
  expect(shown.out).toMatch(/✗ models +agent "writer"[^\n]*\n +Set GROQ_API_KEY/)
})

describe('the config', () => {
  test('that cannot be loaded: where', async () => {
    await config('export const store = ((')
    const { code, out } = await reeve(folder, 'doctor', '--json')
    expect(code).toBe(1)
    expect((JSON.parse(out) as Report).findings).toContainEqual(
      finding('fail', /could not be loaded: .*reeve\.config\.ts:2\)/),
    )
  })
  test('with agents that cannot be registered together', async () => {
    await config(`export const store = './own.db'
const one = agent({ name: 'one', model: () => '1' })
export const agents = [one, agent({ name: 'one', model: () => '2', version: '1', instructions: 'other' })]`)
    expect((await examined()).of('agents')).toEqual([finding('fail', /one/)])
  })
  test('that is not there is a warning; one that is named and not there fails', async () => {
    expect((await examined()).of('config')).toEqual([finding('warn', /no reeve\.config\.ts/, /reeve init/)])
    expect((await examined('--config', 'other.ts')).of('config')).toEqual([finding('fail', /config not found/)])
  })
})

test.each([
  ["{ mail: tool({ name: 'mail', execute }), look: tool({ name: 'look', effect: 'read', execute }) }", 'warn'],
  ["[tool({ name: 'look', effect: 'read', execute })]", 'ok'],
])('tools without an effect are named by agent: %s', async (tools, status) => {
  await config(`import { tool } from ${index}
export const store = './own.db'
const execute = () => 1
const clerk = agent({ name: 'clerk', description: 'Mails.', model: () => 'hi', tools: ${tools} })
export const agents = [supervisor({ name: 'lead', model: () => 'hi', workers: [clerk] })]`)
  const { code, of } = await examined()
  expect(code).toBe(0)
  expect(of('tools')).toEqual([
    status === 'ok'
      ? finding('ok', /all tools declare an effect/)
      : finding('warn', /without an effect: "mail" of agent "clerk"$/, /Declare effect/),
  ])
})

describe('the store', () => {
  beforeEach(() => config(working))
  const made = async (): Promise<void> => {
    const greeter = agent({ name: 'greeter', model: () => 'hello' })
    await using runtime = await createRuntime({ store: join(folder, 'own.db'), agents: [greeter] })
    await runtime.run(greeter, 'hi')
  }
  test('that works', async () => {
    await made()
    const { of } = await examined()
    expect(of('store')).toEqual([finding('ok', /own\.db \(embedded\), driven by 0 processes now/)])
    expect(of('clock')).toEqual([finding('ok', /^20/)])
  })
  test('that hears of news, as this process does on PostgreSQL: it does not count itself', () => {
    const at = (id: string, more: object): WorkerView => ({ id, isThis: false, isAlive: true, drives: [], ...more })
    const installation = {
      engine: 'postgres',
      store: { kind: 'postgres', name: 'PostgreSQL at db/app' },
      backlog: { ready: { count: 0 }, unheard: { count: 0 } },
    } as const
    const said = (...workers: readonly WorkerView[]): string => storeFinding({ ...installation, workers }).message
    const own = at('own', { isThis: true })
    expect(said(own)).toMatch(/driven by 0 processes now/)
    expect(said(own, at('other', {}), at('dead', { isAlive: false }))).toMatch(/driven by 1 process now/)
  })
  test('whose process was killed: it drives nothing once its lease is over', async () => {
    const program = `import { agent, createRuntime } from ${index}
const greeter = agent({ name: 'greeter', model: () => 'hello' })
const runtime = await createRuntime({ store: 'own.db', agents: [greeter] })
await runtime.run(greeter, 'hi')
process.kill(process.pid, 'SIGKILL')`
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder })
    expect(signal).toBe('SIGKILL')
    const said = async (): Promise<void> =>
      expect((await examined()).of('store')).toEqual([finding('ok', /driven by 0 processes now/)])
    await vi.waitFor(said, { timeout: 20_000, interval: 200 }) // its lease is over
  })
  test('of a newer Reeve', async () => {
    await made()
    const { DatabaseSync } = await import('node:sqlite')
    const db = new DatabaseSync(join(folder, 'own.db'))
    db.exec('PRAGMA user_version=999')
    db.close()
    expect((await examined()).of('store')).toEqual([finding('fail', /newer Reeve/, /Upgrade Reeve/)])
  })
  test('that another program holds', async () => {
    await made()
    const { DatabaseSync } = await import('node:sqlite')
    using db = new DatabaseSync(join(folder, 'own.db'))
    db.exec('PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE')
    expect((await examined()).of('store')).toEqual([finding('fail', /./, /Another process holds the store/)])
  })
  test('of another program, and one that cannot be made', async () => {
    await writeFile(join(folder, 'own.db'), 'notes')
    expect((await examined()).of('store')).toEqual([finding('fail', /./, /not an SQLite database/)])
    await writeFile(
      join(folder, 'other.ts'),
      `import { agent } from ${index}\n${working.replace('./own.db', './none/own.db')}`,
    )
    expect((await examined('--config', 'other.ts')).of('store')).toEqual([
      finding('fail', /cannot be written to/, /Create the folder/),
    ])
  })
  test.skipIf(process.getuid?.() === 0)('that may not be written to', async () => {
    await made()
    await chmod(join(folder, 'own.db'), 0o444)
    expect((await examined()).of('store')).toEqual([finding('fail', /not writable/)])
  })
  test('on a PostgreSQL that is not there, without its password', async () => {
    const { of } = await examined('--store', 'postgres://ann:s3cret@127.0.0.1:1/reeve')
    expect(of('store')).toEqual([finding('fail', /^(?!.*s3cret)PostgreSQL at/, /cannot be reached/)])
  })
})

test('packages: the type of the project, and several copies of Reeve', async () => {
  const written = async (text: string): Promise<Finding> => {
    await writeFile(join(folder, 'package.json'), text)
    return packageFinding(folder)
  }
  expect(await written('{ "type": "commonjs" }')).toEqual(finding('fail', /"commonjs"/, /"type": "module"/))
  expect(await written('{}')).toEqual(finding('warn', /says no "type"/))
  expect(await written('{')).toEqual(finding('fail', /is not JSON/))
  expect(await written('{ "type": "module" }')).toEqual(finding('ok', /^package\.json/))
  const copies = (): Finding => reeveFinding('1.0.0', copiesOf('reeve', folder), folder)
  const other = join(folder, 'node_modules', '@team', 'tools', 'node_modules', 'reeve')
  await mkdir(other, { recursive: true })
  await writeFile(join(other, 'package.json'), '{ "name": "reeve", "version": "0.0.1" }')
  expect(copies()).toEqual(
    finding(
      'warn',
      /installed 2 times: \S+ in node_modules\/reeve, 0\.0\.1 in node_modules\/@team\/tools/,
      /npm dedupe/,
    ),
  )
  await rm(join(folder, 'node_modules', 'reeve'))
  expect(copies()).toEqual(finding('warn', /programs in this folder use 0\.0\.1/, /npx reeve/))
  await rm(join(folder, 'node_modules'), { recursive: true })
  expect(copies()).toEqual(finding('warn', /find none/, /npm install reeve/))
})

test('packages: an optional one that is not installed is not taken for the project that asks', async () => {
  await writeFile(join(folder, 'package.json'), '{ "version": "1.0.0" }')
  const peers = { '@team/absent': '^8.0.0' }
  const before = process.cwd()
  process.chdir(folder)
  try {
    expect([...optionalPackages(peers, folder)]).toEqual([finding('ok', /^no optional package is installed$/)])
  } finally {
    process.chdir(before)
  }
  const absent = join(folder, 'node_modules', '@team', 'absent')
  await mkdir(absent, { recursive: true })
  await writeFile(join(absent, 'package.json'), '{ "version": "7.1.0" }')
  expect([...optionalPackages(peers, folder)]).toEqual([finding('warn', /absent 7\.1\.0 is installed/, /absent@8$/)])
})

test('what can only be said of other machines', () => {
  expect(nodeFinding('22.1.0', '>=24')).toEqual(finding('fail', /24 or newer/, /newer Node/))
  expect(nodeFinding('24.0.0', '>=24')).toEqual(finding('ok', /24\.0\.0/))
  expect(typeScriptFinding(false)).toEqual(finding('fail', /does not run TypeScript/, /NODE_OPTIONS/))
  expect(clockFinding(1_000_000, 900_000)).toEqual(finding('warn', /newest run began/, /NTP/))
  expect([clockFinding(1_000_000, 999_000).status, clockFinding(undefined, 0).status]).toEqual(['ok', 'ok'])
  expect([isOfMajor('4.0.1', '^4.0.0'), isOfMajor('1.10.0', '>=1.9.0 <2'), isOfMajor('5.0.0', '^4.0.0')]).toEqual([
    true,
    true,
    false,
  ])
  expect(reeveFinding('1.0.0', [], '/')).toEqual(finding('warn', /find none/))
  expect(copiesOf('reeve', join(root, 'docs'))).toEqual([root])
})
