/**
 * What a new user does in the first hour, task by task, in a fresh folder in which the packed Reeve is installed: the
 * programs of `scripts/first-hour` and, for many runs, the command line. It prints of each task how many lines it takes
 * and what was printed, and fails if a task does. `npm run first-hour`; `-- --only a,h --runs 30` for a part.
 *
 * Owns: the tasks, the folder, the model that answers (a provider on loopback). Does not own: the programs.
 * Needs PostgreSQL for task b. No key, and no network but npm's for four packages.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { JsonObject } from '@reeve/core'
import { strictProvider, type ProviderReply, type ProviderRequest } from '@reeve/testing'
import { freshPostgres } from '../test/servers/postgres.ts'
import { freshEnv, installIn } from './fresh-folder.ts'
import { root } from './house.ts'

const { values } = parseArgs({ options: { only: { type: 'string' }, runs: { type: 'string', default: '500' } } })
const runs = Number(values.runs)
const folder = mkdtempSync(join(tmpdir(), 'reeve-first-hour-'))

/** The place of a language model: it uses every worker or tool that it has once, and then says what came of it. */
function answer({ body, text }: ProviderRequest): ProviderReply {
  const usage = { input: Math.ceil(text.length / 4), output: 20 }
  const input = body['input'] as readonly { readonly type?: string; readonly output?: unknown }[]
  const tools = (body['tools'] ?? []) as readonly { readonly name: string; readonly parameters: unknown }[]
  const results = input.filter(({ type }) => type === 'function_call_output').map(({ output }) => String(output))
  const order = Number(/order (\d+)/.exec(text)?.[1] ?? 7)
  const [tool] = tools
  if (tool !== undefined && results.length === 0) {
    const workers = /"worker":\{[^}]*"enum":\[([^\]]*)\]/.exec(JSON.stringify(tool.parameters))?.[1]
    if (workers !== undefined)
      return {
        usage,
        calls: (JSON.parse(`[${workers}]`) as string[]).map((worker) => ({
          name: 'delegate',
          input: { worker, instructions: `What ${worker} knows.` },
        })),
      }
    const usd = order % 5 === 0 ? 240 : 40
    const inputs: Record<string, JsonObject> = { pay: payInput(text, order, usd), find_order: { id: '7' } }
    return { usage, calls: [{ name: tool.name, input: inputs[tool.name] ?? {} }] }
  }
  if (!text.includes('json_schema')) return { usage, text: `It is done: ${results.join(' ') || 'all is well.'}` }
  // as models do: some forget the form, unless they are told
  const forgets = order % 7 === 0 && !text.includes('as JSON')
  return { usage, text: forgets ? `Order ${order} is refunded.` : JSON.stringify({ order, done: true }) }
}

/** What the tool takes: the order as a number or as text. */
const payInput = (text: string, order: number, usd: number): JsonObject => ({
  order: /"order":\{"type":"string"/.test(text) ? `${order}` : order,
  usd,
})

await using provider = await strictProvider({ preset: 'openai', answer })
const env: NodeJS.ProcessEnv = {
  ...freshEnv(),
  ...provider.env,
  REEVE_TOKEN: 'a-token-of-24-characters-or-more',
}

/** Ends with the output, or throws with what was printed. */
async function run(
  command: string,
  ...args: readonly string[]
): Promise<{ readonly out: string; readonly err: string }> {
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 170_000 })
  const printed = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (printed.out += piece))
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (printed.err += piece))
  const [status] = (await once(child, 'close')) as [number | null]
  assert.equal(status, 0, `${[command, ...args].join(' ')} ended with ${status}\n${printed.out}${printed.err}`)
  return printed
}

const bin = join('node_modules', 'reeve', 'bin', 'reeve.js')
const node = async (...args: readonly string[]): Promise<string> =>
  (await run(process.execPath, '--no-warnings', ...args)).out

/** A command; asked again where it says that it does not count all runs yet. */
async function reeve(...args: readonly string[]): Promise<string> {
  const { out, err } = await run(process.execPath, '--no-warnings', bin, ...args)
  return err.includes('are not in the index yet') ? await reeve(...args) : out
}

/** Lines that say something: none that is empty, and no comment. */
const linesOf = (...files: readonly string[]): number =>
  files
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'))
    .filter((line) => line.trim() !== '' && !/^\s*(\/\/|\/\*)/.test(line)).length

interface Task {
  readonly what: string
  /** Lines that it took a new user of version 0.1. */
  readonly before: string
  readonly files: readonly string[]
  /** Runs it; resolves to what was printed. */
  readonly work: () => Promise<string>
}

const program = (file: string) => () => node(file)

const tasks: Readonly<Record<string, Task>> = {
  a: { what: 'a supervisor with three workers, streamed', before: '17', files: ['a.ts'], work: program('a.ts') },
  b: {
    what: 'refunds over HTTP with approvals; two processes on PostgreSQL, one killed',
    before: '15 + 30',
    files: ['b-server.ts', 'b.ts'],
    work: async () => {
      await using postgres = await freshPostgres()
      env['DATABASE_URL'] = `${postgres.server}?schema=${postgres.schema}`
      return await node('b.ts')
    },
  },
  c: { what: 'a typed pipeline, until it is good enough', before: '10', files: ['c.ts'], work: program('c.ts') },
  d: {
    what: 'a chat of the AI SDK; a worker asks for an approval in it',
    before: '12 + 15',
    files: ['d.ts'],
    work: program('d.ts'),
  },
  e: { what: 'MCP in and out', before: '24 + 3', files: ['e.ts'], work: program('e.ts') },
  f: { what: 'traces by OTLP', before: '3 and the receiver', files: ['f.ts'], work: program('f.ts') },
  g: { what: 'a planned team: mail, a recruit, a report', before: '57', files: ['g.ts'], work: program('g.ts') },
  h: {
    what: `${runs} runs: what waits, why some failed, all of them again with a changed prompt, the cost`,
    before: '4 commands + 16, and not solved',
    files: [],
    work: manyRuns,
  },
}

/** Looks after many runs by the command line alone. */
async function manyRuns(): Promise<string> {
  const log: string[] = []
  const command = async (...args: readonly string[]): Promise<string> => {
    const out = await reeve(...args)
    const lines = out.trimEnd().split('\n')
    const more = lines.length > 8 ? [`… ${lines.length - 8} more lines`] : []
    log.push(`$ reeve ${args.join(' ')}`, ...lines.slice(0, 8), ...more)
    return out
  }
  const counted = async (status: string): Promise<number> =>
    (await reeve('runs', '--store', 'runs.db', '--status', status, '--limit', '10000', '--json')).split('\n').length - 1

  await node('h.ts', values.runs)
  const numbers = Array.from({ length: runs }, (_, at) => at + 1)
  const waiting = numbers.filter((order) => order % 5 === 0).length
  const failed = numbers.filter((order) => order % 7 === 0 && order % 5 !== 0).length
  assert.deepEqual([await counted('waiting'), await counted('failed')], [waiting, failed])

  await command('runs', '--store', 'runs.db', '--status', 'waiting', '--why', '--limit', '2')
  const causes = await command('runs', '--store', 'runs.db', '--group', 'code')
  assert.match(causes, new RegExp(`output\\.invalid[^\\n]*\\b${failed}\\b`))

  // the prompt is mended in the code, and all that failed go on with it
  const config = join(folder, 'h.config.ts')
  writeFileSync(config, readFileSync(config, 'utf8').replace('say what you did.', 'answer as JSON.'))
  const asked = provider.requests.length
  await command('retry-run', '--store', 'runs.db', '--status', 'failed', '--limit', '10000', '--yes')
  const worker = spawn(process.execPath, ['--no-warnings', bin, 'work', '--config', 'h.config.ts'], {
    cwd: folder,
    env,
    stdio: 'ignore',
  })
  const ended = once(worker, 'exit')
  while ((await counted('running')) > 0) assert.equal(worker.exitCode, null, 'the worker ended')
  worker.kill('SIGTERM')
  await ended
  assert.equal(await counted('completed'), runs - waiting)
  assert.equal(provider.requests.length - asked, failed)
  log.push(`${failed} failed runs completed by ${provider.requests.length - asked} new calls of the model`)

  const costs = await command('runs', '--store', 'runs.db', '--group', 'agent,day')
  for (const agent of ['refunds', 'claims']) assert.match(costs, new RegExp(`${agent}[^\\n]*\\$`))
  return log.join('\n')
}

try {
  installIn(folder, env)
  cpSync(join(root, 'scripts', 'first-hour'), folder, { recursive: true })
  const results: { readonly [column: string]: string | number }[] = []
  for (const [name, task] of Object.entries(tasks)) {
    if (values.only !== undefined && !values.only.split(',').includes(name)) continue
    const begun = performance.now()
    const printed = await task.work()
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    const now = task.files.length === 0 ? '4 commands' : task.files.map((file) => linesOf(file)).join(' + ')
    console.log(`\n${name}. ${task.what} (${seconds} s)\n${printed.trimEnd().replaceAll(/^/gm, '   ')}`)
    results.push({ task: name, 'lines before': task.before, 'lines now': now, seconds })
  }
  console.log()
  console.table(results)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
