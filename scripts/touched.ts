/**
 * Tests of what a change can touch: the packages in which files differ from a revision, and all that import them.
 * `npm run test:touched -- main` (or any other revision; `HEAD` when it says nothing: what is not committed).
 *
 * A change of the root's tools touches everything, one of a test that test's folder, one of a page the tests of pages.
 * Tests that need servers or a browser are run by their own commands, which are named.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packages, touchedBy } from './packages.ts'

const root = join(import.meta.dirname, '..')

/** Tests of the whole product, and the package that must have been touched; those of the house always run. */
const wholes: Readonly<Record<string, string>> = {
  'test/scenario': 'runtime',
  'test/replay': 'runtime',
  'test/crash': 'sqlite',
  'test/property': 'runtime',
  'test/fuzz': 'runtime',
  'test/redteam': 'server',
  'test/build': 'public',
}

/** Tools and settings at the root: what a change of them touches nobody can tell. */
const isTool = (file: string): boolean =>
  !/^(packages|test|docs|examples|templates|bench|conformance|api)\/|\.(md|txt)$/.test(file)

/** Commands of suites that need a server or a browser. */
const elsewhere: Readonly<Record<string, string>> = {
  postgres: 'test:postgres',
  restate: 'test:restate',
  temporal: 'test:temporal',
  studio: 'test:studio',
}

/** The folders whose tests can tell of a change of these files, and the commands beside them. */
export function testsOf(files: readonly string[]): {
  readonly folders: readonly string[]
  readonly commands: readonly string[]
} {
  const own = files.flatMap((file) => /^packages\/([^/]+)\/(?!test\/)/.exec(file)?.[1] ?? [])
  const names = touchedBy(files.some(isTool) ? packages.map(({ name }) => name) : own)
  const ofTests = files.flatMap((file) => /^packages\/[^/]+\/test(?=\/)|^test\/[^/]+(?=\/)/.exec(file)?.[0] ?? [])
  const ofPages = files.some((file) => /^(docs|examples|templates)\/|^[A-Z]+\.md$/.test(file)) ? ['test/docs'] : []
  const folders = [
    ...[...names].map((name) => `packages/${name}/test`),
    'test/arch',
    ...Object.entries(wholes).flatMap(([folder, name]) => (names.has(name) ? [folder] : [])),
    ...ofTests,
    ...ofPages,
  ]
  return {
    folders: [...new Set(folders)].toSorted(),
    commands: Object.entries(elsewhere).flatMap(([name, command]) => (names.has(name) ? [command] : [])),
  }
}

if (process.argv[1] === import.meta.filename) {
  const [base = 'HEAD'] = process.argv.slice(2)
  const git = (...args: readonly string[]): string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  const files = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]
  const { folders, commands } = testsOf(files)
  const there = folders.filter((folder) => existsSync(join(root, folder)))
  console.log(
    `${files.length} files differ from ${base}; of ${packages.length} packages it touches: ${there.join(' ')}`,
  )
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...there], { stdio: 'inherit', cwd: root })
  for (const command of commands) console.log(`besides, with a server: npm run ${command}`)
  process.exitCode = status ?? 1
}
