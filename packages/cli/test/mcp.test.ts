/** `reeve mcp`: a client starts it as a process of its own, and speaks MCP on its standard input and output. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createRuntime } from '@reeve/public'
import { begin, reeve } from './command.ts'

vi.setConfig({ testTimeout: 60_000 })

const root = join(import.meta.dirname, '..', '..', '..')
let folder = ''
const open: Client[] = []
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'reeve-mcp-')))
})
afterEach(async () => {
  for (const client of open.splice(0)) await client.close()
  await rm(folder, { recursive: true, force: true })
})

const configured = (): Promise<void> =>
  writeFile(
    join(folder, 'reeve.config.ts'),
    `import { agent } from ${JSON.stringify(join(root, 'packages', 'public', 'src', 'index.ts'))}
console.log('a config that prints')
export const store = './runs.db'
export const agents = [
  agent({ name: 'greeter', description: 'Greets.', run: (_ctx, name) => (console.log('an agent that prints'), 'Hello ' + name) }),
  agent({ name: 'payer', description: 'Pays.', run: async (ctx) => (await ctx.approve('pay', { input: { eur: 5 } })).approved }),
]
`,
  )

async function clientOf(...args: string[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  open.push(client)
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(root, 'packages', 'cli', 'src', 'main.ts'), 'mcp', ...args],
      cwd: folder,
      stderr: 'ignore',
    }),
  )
  return client
}
const call = async (
  client: Client,
  name: string,
  given: Record<string, unknown> = {},
): Promise<Record<string, unknown>> =>
  (await client.callTool({ name, arguments: given })).structuredContent as Record<string, unknown>
const namesOf = async (client: Client): Promise<readonly string[]> =>
  (await client.listTools()).tools.map(({ name }) => name)

test('starts agents of the config; the client decides nothing unless that was said', async () => {
  await configured()
  const client = await clientOf()
  expect(await namesOf(client)).toEqual(['start_run', 'run_status', 'run_result', 'list_questions', 'cancel'])
  const greeted = await call(client, 'start_run', { agent: 'greeter', input: 'Ann' })
  expect(greeted).toMatchObject({ status: 'completed', outcome: { output: 'Hello Ann' } })
  const paid = await call(client, 'start_run', { agent: 'payer', input: 'go' })
  expect(paid).toMatchObject({ status: 'waiting', questions: [{ kind: 'approval', input: { eur: 5 } }] })
  await client.close()

  const deciding = await clientOf('--decide', '--agents', 'payer')
  expect(await namesOf(deciding)).toContain('decide')
  const { questions } = (await call(deciding, 'list_questions')) as { questions: { id: string }[] }
  await call(deciding, 'decide', { approval: questions[0]!.id, decision: 'approve' })
  const ended = await call(deciding, 'run_result', { run: paid['run'], wait_seconds: 30 })
  expect(ended).toMatchObject({ status: 'completed', outcome: { output: true } })
})

test('without agents the runs of a store are looked at; it ends when its input does', async () => {
  await using runtime = await createRuntime({ store: join(folder, 'runs.db') })
  await runtime.close()
  const client = await clientOf('--store', 'runs.db')
  expect(await namesOf(client)).toEqual(['run_status', 'run_result', 'list_questions', 'cancel'])
  expect(await call(client, 'run_status')).toEqual({ runs: [] })
  const ended = await begin(folder, ['mcp', '--store', 'runs.db'])
  expect(ended).toMatchObject({ code: 0, out: '' })
})

test('without a store it says so on standard error and writes nothing else', async () => {
  const { code, out, err } = await reeve(folder, 'mcp')
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain('no store found in this folder')
})

test('nothing but the protocol reaches standard output: not what tools, libraries and child processes write', async () => {
  await writeFile(
    join(folder, 'reeve.config.ts'),
    `import { spawnSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import { agent } from ${JSON.stringify(join(root, 'packages', 'public', 'src', 'index.ts'))}
process.stdout.write('a config\\n')
export const store = './runs.db'
export const agents = [
  agent({
    name: 'noisy',
    description: 'Makes noise.',
    run: () => {
      console.log('a console')
      process.stdout.write('a library\\n')
      writeSync(1, 'native code\\n')
      spawnSync(process.execPath, ['-e', 'console.log("a child " + typeof process.env.REEVE_PROTOCOL_OUTPUT)'], { stdio: 'inherit' })
      return 'quiet'
    },
  }),
]
`,
  )
  const child = spawn(process.execPath, [join(root, 'packages', 'cli', 'src', 'main.ts'), 'mcp'], { cwd: folder })
  let [out, err] = ['', '']
  child.stdout.on('data', (piece: Buffer) => (out += piece.toString()))
  child.stderr.on('data', (piece: Buffer) => (err += piece.toString()))
  const exit = once(child, 'exit')
  const say = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const answers = (): readonly { readonly id?: number }[] =>
    out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { id?: number })
  const clientInfo = { name: 'test', version: '1' }
  say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
  await vi.waitUntil(() => answers().some(({ id }) => id === 1), { timeout: 30_000 })
  say({ method: 'notifications/initialized' })
  const given = { agent: 'noisy', input: 'x' }
  say({ id: 2, method: 'tools/call', params: { name: 'start_run', arguments: given } })
  await vi.waitUntil(() => answers().some(({ id }) => id === 2), { timeout: 30_000 })
  child.stdin.end()
  expect(await exit).toEqual([0, null])
  expect(out).toContain('quiet')
  expect(answers().map(({ id }) => id)).toEqual([1, 2])
  for (const said of ['a config', 'a console', 'a library', 'native code', 'a child undefined'])
    expect(err).toContain(said)
})

test('the process that serves is not left behind by a second signal, and its crash is told as a failure', async () => {
  await writeFile(
    join(folder, 'reeve.config.ts'),
    `import { agent } from ${JSON.stringify(join(root, 'packages', 'public', 'src', 'index.ts'))}
export const store = process.env.STORE
export const graceMs = 600_000
export const agents = [
  agent({ name: 'dies', model: () => (process.kill(process.pid, 'SIGKILL'), new Promise(() => {})) }),
  agent({ name: 'deaf', model: () => (console.error('asked'), new Promise(() => {})) }),
]
`,
  )
  const begun = async (agent: string) => {
    const child = spawn(process.execPath, [join(root, 'packages', 'cli', 'src', 'main.ts'), 'mcp'], {
      cwd: folder,
      env: { ...process.env, STORE: `./${agent}.db` },
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (piece: Buffer) => (out += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (err += piece.toString()))
    const closed = once(child, 'close')
    const say = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const clientInfo = { name: 'test', version: '1' }
    say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
    await vi.waitUntil(() => out !== '', { timeout: 30_000 })
    say({ method: 'notifications/initialized' })
    say({ id: 2, method: 'tools/call', params: { name: 'start_run', arguments: { agent, input: 'x' } } })
    return { child, closed, said: (what: string) => vi.waitUntil(() => err.includes(what), { timeout: 30_000 }) }
  }
  expect(await (await begun('dies')).closed).toEqual([1, null])
  const { child, closed, said } = await begun('deaf')
  await said('asked')
  child.kill('SIGTERM')
  await said('Waiting for 1 model call')
  child.kill('SIGTERM')
  // its output is closed when the process that serves, which writes there too, has ended
  expect(await closed).toEqual([130, null])
})
