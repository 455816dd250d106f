/**
 * Reeve inside bundles: the application of `app.ts` is bundled without configuration in a folder in which the packed
 * Reeve is installed, and then works from another folder, in which it is not; and the same as a route of Next.js.
 * `node test/bundles/main.ts [name of a bundle]`; `npm run examples` runs it.
 */
import assert from 'node:assert/strict'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { freshEnv, packInto, runIn, startIn } from '../../scripts/fresh-folder.ts'
import { root } from '../../scripts/house.ts'
import { freePort } from '../servers/place.ts'
import { freshPostgres, type FreshPostgres } from '../servers/postgres.ts'
import { beginning, mustWork, postgresStore, sqliteStore, type Begin, type ScenarioStore } from './scenario.ts'
import { bundlers } from './versions.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reeve-bundles-')))
const project = join(folder, 'project')
const env = freshEnv()
const npx = (...args: readonly string[]): string => runIn(project, env, 'npx', '--no-install', ...args)
const node = (file: string, ...args: readonly string[]): string =>
  runIn(project, env, process.execPath, join('node_modules', file), ...args)

/** How each bundle is made, and which of its files is started. */
const bundles: Readonly<Record<string, { readonly make: (to: string) => unknown; readonly entry: string }>> = {
  'esbuild, ESM': {
    make: (to) => npx('esbuild', 'app.ts', '--bundle', '--platform=node', '--format=esm', `--outfile=${to}/app.mjs`),
    entry: 'app.mjs',
  },
  'esbuild, CommonJS': {
    make: (to) => npx('esbuild', 'app.ts', '--bundle', '--platform=node', '--format=cjs', `--outfile=${to}/app.cjs`),
    entry: 'app.cjs',
  },
  'rolldown, ESM': {
    make: (to) => node('rolldown/bin/cli.mjs', 'app.ts', '--platform', 'node', '--format', 'esm', '--dir', to),
    entry: 'app.js',
  },
  'rolldown, CommonJS': {
    make: (to) =>
      node(
        'rolldown/bin/cli.mjs',
        'app.ts',
        '--platform',
        'node',
        '--format',
        'cjs',
        '--dir',
        to,
        '--entry-file-names',
        '[name].cjs',
        '--chunk-file-names',
        '[name].cjs',
      ),
    entry: 'app.cjs',
  },
  'Vite SSR': {
    make: (to) => node('vite/bin/vite.js', 'build', '--ssr', 'app.ts', '--outDir', to, '--logLevel', 'warn'),
    entry: 'app.js',
  },
}

const typedKeys = <T extends object>(of: T): (keyof T & string)[] => Object.keys(of) as (keyof T & string)[]

/** Next.js, with each of its bundlers. */
const nextBuilds = { 'Next.js, Turbopack': [], 'Next.js, webpack': ['--webpack'] } as const

/** Bytes of all files of a bundle, and of them compressed. */
function sizeOf(place: string): string {
  const files = readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[cm]?js$/.test(name) && !name.includes('node_modules'))
    .map((name) => readFileSync(join(place, name)))
  const kilobytes = (of: (text: Buffer) => number): string =>
    `${Math.round(files.reduce((sum, text) => sum + of(text), 0) / 1000)} kB`
  return `${files.length} files, ${kilobytes((text) => text.length)}, gzip ${kilobytes((text) => gzipSync(text).length)}`
}

/** The address of a store of its own in PostgreSQL. */
let schemas = 0
const schemaOf = ({ server, schema }: FreshPostgres): ScenarioStore => postgresStore(server, `${schema}_${++schemas}`)

/** The one package that an application brings: where its bundle lies, nothing else is installed. */
function bringDriver(place: string): void {
  mkdirSync(join(place, 'node_modules'), { recursive: true })
  symlinkSync(realpathSync(join(root, 'node_modules', 'pg')), join(place, 'node_modules', 'pg'))
}

async function bundled(name: string): Promise<void> {
  const { make, entry } = bundles[name]!
  const place = join(folder, name.replaceAll(/\W+/g, '-'))
  make(place)
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  const begin = beginning(place, env, process.execPath, join(place, entry))
  await mustWork(begin, sqliteStore(join(place, 'runs.db')))
  const store = schemaOf(postgres)
  await assert.rejects(begin(store.name), { actual: /the package pg is not installed/ })
  bringDriver(place)
  await mustWork(begin, store)
  process.stdout.write(`ok: ${name} (${sizeOf(place)})\n`)
}

/** As it is built, with its own server; nothing is configured. */
async function inNext(name: keyof typeof nextBuilds): Promise<void> {
  node('next/dist/bin/next', 'build', ...nextBuilds[name])
  const begin: Begin = async (store) => {
    const port = await freePort()
    const next = join(project, 'node_modules/next/dist/bin/next')
    const app = await startIn(
      project,
      { ...env, STORE: store },
      /Ready in/,
      process.execPath,
      next,
      'start',
      '--port',
      `${port}`,
    )
    return { app, url: `http://127.0.0.1:${port}` }
  }
  await mustWork(begin, sqliteStore(join(folder, `${nextBuilds[name].length}.db`)))
  await mustWork(begin, schemaOf(postgres))
  process.stdout.write(`ok: ${name} (${sizeOf(join(project, '.next/server'))})\n`)
}

await using postgres = await freshPostgres()
try {
  const route = join(project, 'app', 'api', '[...path]')
  mkdirSync(route, { recursive: true })
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  for (const name of ['app.ts', 'agents.ts', 'next-route.ts', 'token.ts'])
    cpSync(join(import.meta.dirname, name), join(project, name))
  // in plain JavaScript: Next.js would install a compiler for a route in TypeScript
  writeFileSync(join(route, 'route.js'), "export { DELETE, GET, POST } from '../../../next-route.ts'\n")
  // everything is inlined, also where a bundler's default is to leave packages where they are
  writeFileSync(join(project, 'vite.config.js'), 'export default { ssr: { noExternal: true } }\n')
  const exact = Object.entries(bundlers).map(([name, version]) => `${name}@${version}`)
  runIn(project, env, 'npm', 'install', '--silent', packInto(folder), ...exact)
  const isWanted = (name: string): boolean => process.argv[2] === undefined || name.includes(process.argv[2])
  for (const name of Object.keys(bundles).filter(isWanted)) await bundled(name)
  bringDriver(project)
  for (const name of typedKeys(nextBuilds).filter(isWanted)) await inNext(name)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
