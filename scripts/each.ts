/**
 * Runs every check, or every example, to the end; shows what failed; says how many passed. `node scripts/each.ts
 * checks|examples`; with `--shard=2/3` of projects, bundles and runtimes, which take minutes, that part.
 *
 * A check is any `check:*` script of `package.json`; two run at once. An example runs in a fresh folder in which the
 * packed Reeve is installed, with nobody at the keyboard; a template is written, installed, tested and started from the
 * packed one.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { templates } from '../packages/cli/src/project.ts'
import { freePort } from '../test/servers/place.ts'
import { freshPostgres, type FreshPostgres } from '../test/servers/postgres.ts'
import { freshEnv, installIn } from './fresh-folder.ts'

/** Where the examples find PostgreSQL: a schema on the one that runs, or on one that is started. */
let postgres: FreshPostgres | undefined
/** Where the examples find a Restate server. */
let restate: { readonly env: Record<string, string>; stop(): Promise<void> } | undefined

interface Job {
  name: string
  command: string
  args: string[]
}

const root = dirname(import.meta.dirname)
const minutes = 10
const empty = mkdtempSync(join(tmpdir(), 'reeve-each-'))

/** Builds once what several need; returns an exit code. */
const build = (): number | null =>
  spawnSync(process.execPath, [join(root, 'scripts', 'build.js'), '--if-changed'], { stdio: 'inherit' }).status

function checks(): Job[] {
  // where it fails, the checks of what is built fail
  build()
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const names = Object.keys(scripts).filter((name) => name.startsWith('check:'))
  return names.map((name) => ({ name, command: 'npm', args: ['--prefix', root, 'run', '--silent', name] }))
}

function examples(): Job[] {
  const folder = installed()
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .sort()
  const projects = Object.keys(templates).map((name) => ({
    name: `templates/${name}`,
    command: process.execPath,
    args: [join(root, 'scripts', 'fresh-project.ts'), name],
  }))
  const bundle = (file: string, ...named: readonly string[]): Job => ({
    name: ['bundles', file, ...named].join('/'),
    command: process.execPath,
    args: ['--no-warnings', join(root, 'test', 'bundles', `${file}.ts`), ...named],
  })
  const places = [...['esbuild', 'rolldown', 'Vite', 'Next.js'].map((name) => bundle('main', name)), bundle('runtimes')]
  const firstHour = {
    name: 'first-hour',
    command: process.execPath,
    args: ['--no-warnings', join(root, 'scripts', 'first-hour.ts'), '--only', 'a,h', '--runs', '30'],
  }
  return [
    ...names.map((name) => ({ name: `examples/${name}`, command: process.execPath, args: [join(folder, name)] })),
    ...[...projects, ...places, firstHour].filter((_, at) => at % part.of === part.at),
  ]
}

/** The examples in a folder as a user has it. */
function installed(): string {
  const project = join(empty, 'project')
  installIn(project, freshEnv())
  const folder = join(project, 'examples')
  cpSync(join(root, 'examples'), folder, { recursive: true })
  return folder
}

/** A server as a user has it who has none: by the command. */
async function startRestate(): Promise<NonNullable<typeof restate>> {
  const [ingress, admin, node] = await Promise.all([freePort(), freePort(), freePort()])
  const ports = ['--ingress-port', `${ingress}`, '--admin-port', `${admin}`, '--node-port', `${node}`]
  const command = [join(root, 'bin', 'reeve.js'), 'restate', 'dev', '--dir', join(empty, 'restate'), ...ports]
  const server = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  await Promise.race([once(server.stdout, 'data'), ended])
  if (server.exitCode !== null) throw new Error('the Restate server for the examples did not start')
  return {
    env: { RESTATE_INGRESS: `http://127.0.0.1:${ingress}`, RESTATE_ADMIN: `http://127.0.0.1:${admin}` },
    async stop() {
      server.kill('SIGTERM')
      await ended
    },
  }
}

async function passes({ name, command, args }: Job): Promise<boolean> {
  const started = performance.now()
  const child: ChildProcess = spawn(command, args, {
    cwd: empty,
    env: {
      ...process.env,
      ...restate?.env,
      ...(postgres && { DATABASE_URL: `${postgres.server}?schema=${postgres.schema}` }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: minutes * 60_000,
  })
  let said = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding('utf8').on('data', (text) => (said += text))
  const [status, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`)
  if (status !== 0) console.log(`${said}${signal ? `ended by ${signal}, is it over ${minutes} minutes?\n` : ''}`)
  return status === 0
}

/** Of what is installed or built for itself, which part: `--shard=2/3`, as of tests; else all. */
const [, at = '1', of = '1'] = /^--shard=(\d+)\/(\d+)$/.exec(process.argv[3] ?? '') ?? []
const part = { at: Number(at) - 1, of: Number(of) }

const kinds = { checks, examples }
const kind = process.argv[2]
if (kind !== 'checks' && kind !== 'examples') throw new Error(`say one of ${Object.keys(kinds).join(', ')}`)
if (kind === 'examples') {
  postgres = await freshPostgres()
  restate = await startRestate()
}
const jobs = kinds[kind]()
const results: boolean[] = []
// examples share their servers
const atOnce = kind === 'checks' ? Math.min(2, availableParallelism()) : 1
const works = async (): Promise<void> => {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) results.push(await passes(job))
}
await Promise.all(Array.from({ length: atOnce }, works))
await restate?.stop()
await postgres?.dispose()
rmSync(empty, { recursive: true, force: true })
const passed = results.filter(Boolean).length
console.log(`${passed} passed, ${results.length - passed} failed`)
process.exitCode = passed === results.length ? 0 : 1
