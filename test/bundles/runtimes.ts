/**
 * Reeve where people run it: Bun, Deno, tsx, `require`, and the sentence that an older Node says. In a folder in which the
 * packed Reeve is installed. `node test/bundles/runtimes.ts`; `npm run examples` runs it.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freshEnv, packInto, runIn } from '../../scripts/fresh-folder.ts'
import { root } from '../../scripts/house.ts'
import { freshPostgres } from '../servers/postgres.ts'
import { beginning, mustWork, postgresStore, sqliteStore } from './scenario.ts'
import { bundlers, olderNodes, runtimes } from './versions.ts'

const { bun, deno, tsx } = runtimes
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reeve-runtimes-')))
const env = freshEnv()
const bin = (name: string): string => join(folder, 'node_modules', '.bin', name)

/** How a TypeScript program is started. */
const started: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  'Node.js 24': [process.execPath],
  tsx: [process.execPath, join(folder, 'node_modules/tsx/dist/cli.mjs')],
  Bun: [bin('bun')],
  Deno: [bin('deno'), 'run', '--allow-all'],
}

/** The first program that README shows. */
function firstSnippet(): string {
  const [, snippet] = /```ts\n([^]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'))!
  return snippet!
}

const doors = Object.keys(
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly exports: object }).exports,
)
  .filter((door) => door !== './package.json' && door !== './client')
  .map((door) => `reeve${door.slice(1)}`)

/** An older Node says what is wrong with it, whatever is imported first, and however. */
function mustRefuse(name: string, major: number): void {
  const sentence = new RegExp(`^Error: reeve needs Node 24 or newer.*; this is Node ${major}\\..*nodejs\\.org`, 'm')
  const node = join(folder, 'node_modules', name, 'bin', 'node')
  const says = (...args: readonly string[]): void => {
    const { status, stderr } = spawnSync(node, args, { cwd: folder, env, encoding: 'utf8' })
    assert.notEqual(status, 0)
    assert.match(stderr, sentence, `${name} ${args.join(' ')}`)
  }
  for (const door of doors) says('--input-type=module', '--eval', `import '${door}'`)
  says('bundle.mjs')
  says(join(folder, 'node_modules/tsx/dist/cli.mjs'), 'app.ts')
  // Node 18 and early 20 cannot require a module at all, and say so themselves
  says('--eval', "require('reeve')")
  process.stdout.write(`ok: Node.js ${major} is refused in one sentence\n`)
}

await using postgres = await freshPostgres()
try {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  for (const name of ['app.ts', 'agents.ts', 'token.ts']) cpSync(join(import.meta.dirname, name), join(folder, name))
  writeFileSync(join(folder, 'first.ts'), firstSnippet())
  writeFileSync(
    join(folder, 'required.cjs'),
    `const { agent, createRuntime, unwrap } = require('reeve')
const { createServer } = require('reeve/server')
const a = agent({ name: 'a', model: () => 'by require' })
createRuntime({ store: 'required.db', agents: [a] }).then(async (runtime) => {
  createServer({ runtime })
  console.log(unwrap(await runtime.run(a, 'x')))
  await runtime.close()
})
`,
  )
  const packages = { bun, deno, tsx, esbuild: bundlers.esbuild, pg: '8.23.1', zod: '4.6.7' }
  const exact = Object.entries(packages).map(([name, version]) => `${name}@${version}`)
  const nodes = Object.entries(olderNodes).map(([major, version]) => `node${major}@npm:node@${version}`)
  runIn(folder, env, 'npm', 'install', '--silent', packInto(folder), ...exact, ...nodes)
  for (const [at, [name, [command, ...args]]] of Object.entries(started).entries()) {
    runIn(folder, env, command, ...args, 'first.ts')
    const begin = beginning(folder, env, command, ...args, 'app.ts')
    await mustWork(begin, sqliteStore(join(folder, `${at}.db`)))
    await mustWork(begin, postgresStore(postgres.server, `${postgres.schema}_${at}`))
    process.stdout.write(`ok: ${name}\n`)
  }
  assert.match(runIn(folder, env, process.execPath, 'required.cjs'), /by require/)
  runIn(
    folder,
    env,
    'npx',
    '--no-install',
    'esbuild',
    'app.ts',
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--outfile=bundle.mjs',
  )
  for (const major of Object.keys(olderNodes)) mustRefuse(`node${major}`, Number(major))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
