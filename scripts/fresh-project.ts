/**
 * A template as a user has it: the packed Reeve writes the project into an empty folder, it is installed, checked,
 * tested and started, without a key. `node scripts/fresh-project.ts <template>`; `npm run examples` runs it for each.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { isTemplate } from '../packages/cli/src/project.ts'
import { freePort } from '../test/servers/place.ts'

const [template = ''] = process.argv.slice(2)
assert.ok(isTemplate(template), `no template is called "${template}"`)

const root = dirname(import.meta.dirname)
const folder = mkdtempSync(join(tmpdir(), 'reeve-fresh-'))
const project = join(folder, 'my-team')
// a package manager that runs this passes on settings of this checkout
const env: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_OPTIONS$|_API_KEY$|_BASE_URL$|^INIT_CWD$/.test(name)),
)
Object.assign(env, {
  // npm runs scripts with the Node that it finds
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
  NO_COLOR: '1',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_prefer_offline: 'true',
})

const run = (cwd: string, command: string, ...args: readonly string[]): string => {
  console.log(`$ ${[command, ...args].join(' ')}`)
  const out = execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  console.log(out)
  return out
}

/** Starts it, and resolves when it has said this. */
async function begin(
  what: RegExp,
  command: string,
  ...args: readonly string[]
): Promise<{ child: ChildProcess; said: string }> {
  // a group of its own: npm passes no signal on to what its script has started
  const child = spawn(command, args, { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  let said = ''
  for await (const piece of child.stdout.iterator({ destroyOnReturn: false })) {
    said += String(piece)
    if (what.test(said)) break
  }
  assert.match(said, what)
  child.stdout.resume()
  return { child, said }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  process.kill(-child.pid!, 'SIGTERM')
  await ended
}

/** The server as `npm start` has it, on a port that is free here. */
async function serving(use: (url: string) => Promise<void>): Promise<void> {
  const port = await freePort()
  const { child } = await begin(/token {2}\S+[^]*Ctrl-C/, 'npm', 'start', '--', '--port', `${port}`)
  try {
    await use(`http://127.0.0.1:${port}`)
  } finally {
    await end(child)
  }
}

/** Its store is found by the config alone. */
const config = template === 'service' ? ['--config', 'reeve.config.ts'] : []

const starts: Readonly<Record<typeof template, () => Promise<void> | void>> = {
  chat: () =>
    serving(async (url) => {
      env['REEVE_URL'] = url
      assert.match(
        run(project, 'npm', 'run', '--silent', 'ask', '--', 'My name is Ann.'),
        /You said: "My name is Ann\."/,
      )
      assert.match(
        run(project, 'npm', 'run', '--silent', 'ask', '--', 'Who am I?'),
        /the first one was "My name is Ann\."/,
      )
      assert.match(run(project, 'npx', 'reeve', 'runs'), /completed {2}assistant[^]*completed {2}assistant/)
    }),
  approvals: () =>
    serving(async (url) => {
      env['REEVE_URL'] = url
      const { child, said } = await begin(/npx reeve approve \S+/, 'npm', 'run', '--silent', 'ask')
      const [, ...decide] = /npx reeve (approve) (\S+)/.exec(said)!
      const ended = once(child, 'exit')
      assert.match(run(project, 'npx', 'reeve', ...decide), /Approved/)
      assert.deepEqual(await ended, [0, null])
    }),
  research: () => assert.match(run(project, 'npm', 'start', '--', 'Ravens'), /# Ravens(\s+- A note on "Ravens".*){3}/),
  planned: () => assert.match(run(project, 'npm', 'start'), /# Report/),
  // on PostgreSQL, if DATABASE_URL names one: a server as its container starts it
  service: () =>
    serving(async (url) => {
      env['REEVE_URL'] = url
      const { child, said } = await begin(/npx reeve approve \S+/, 'npm', 'run', '--silent', 'ask')
      const [, ...decide] = /npx reeve (approve) (\S+)/.exec(said)!
      const ended = once(child, 'exit')
      assert.match(run(project, 'npx', 'reeve', ...decide, ...config), /Approved/)
      assert.deepEqual(await ended, [0, null])
    }),
}

try {
  const packed = run(root, 'npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder)
  const tarball = join(folder, packed.trim().split('\n').at(-1)!)
  run(folder, 'npm', 'exec', '--yes', '--package', tarball, '--', 'reeve', 'init', 'my-team', '--template', template)
  run(project, 'npm', 'install', tarball)
  run(project, 'npm', 'run', '--silent', 'check')
  assert.match(run(project, 'npm', 'test', '--silent'), /fail 0/)
  await starts[template]()
  assert.match(run(project, 'npx', 'reeve', 'runs', ...config), /completed/)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
