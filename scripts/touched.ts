/**
 * Tests of what a change can touch: the packages in which files differ from a revision, and all that import them.
 * `npm run test:touched -- main` (or any other revision; `HEAD` when it says nothing: what is not committed); options
 * after it are handed to vitest. `--steps main` prints the steps of `.ci/run` that it touches instead.
 *
 * A change of the root's tools touches everything, one of a test that test's folder, one of a page the tests of pages.
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

/** Steps of `.ci/run` beside checks and tests, and the packages of which one must have been touched. */
const steps: Readonly<Record<string, readonly string[]>> = {
  postgres: ['postgres'],
  restate: ['restate'],
  temporal: ['temporal'],
  studio: ['studio'],
  conformance: ['protocols', 'mcp', 'workers'],
  kill: ['runtime', 'sqlite'],
  chaos: ['runtime', 'postgres', 'restate'],
  examples: ['runtime'],
}

/** The packages in which a file of that name has tests or suites of such a step. */
const ofTests: Readonly<Record<string, RegExp>> = {
  postgres: /^packages\/postgres\/test\//,
  restate: /^packages\/restate\/test\//,
  temporal: /^packages\/temporal\/test\//,
  studio: /^packages\/studio\/test\//,
  conformance: /^conformance\//,
  kill: /^test\/crash\//,
  chaos: /^test\/chaos\//,
  examples: /^(examples|templates)\//,
}

/** The folders whose tests can tell of a change of these files, and the steps of `.ci/run` beside checks and tests. */
export function testsOf(files: readonly string[]): {
  readonly folders: readonly string[]
  readonly steps: readonly string[]
} {
  const own = files.flatMap((file) => /^packages\/([^/]+)\/(?!test\/)/.exec(file)?.[1] ?? [])
  const names = touchedBy(files.some(isTool) ? packages.map(({ name }) => name) : own)
  const changedTests = files.flatMap((file) => /^packages\/[^/]+\/test(?=\/)|^test\/[^/]+(?=\/)/.exec(file)?.[0] ?? [])
  const ofPages = files.some((file) => /^(docs|examples|templates)\/|^[A-Z]+\.md$/.test(file)) ? ['test/docs'] : []
  const folders = [
    ...[...names].map((name) => `packages/${name}/test`),
    'test/arch',
    ...Object.entries(wholes).flatMap(([folder, name]) => (names.has(name) ? [folder] : [])),
    ...changedTests,
    ...ofPages,
  ]
  return {
    folders: [...new Set(folders)].toSorted(),
    steps: Object.entries(steps).flatMap(([step, needs]) =>
      needs.some((name) => names.has(name)) || files.some((file) => ofTests[step]!.test(file)) ? [step] : [],
    ),
  }
}

if (process.argv[1] === import.meta.filename) {
  const onlySteps = process.argv[2] === '--steps'
  const [base = 'HEAD', ...more] = process.argv.slice(onlySteps ? 3 : 2)
  const git = (...args: readonly string[]): string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  const files = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]
  const { folders, steps: touched } = testsOf(files)
  if (onlySteps) {
    console.log(['checks', 'tests', ...touched].join('\n'))
    process.exit()
  }
  const there = folders.filter((folder) => existsSync(join(root, folder)))
  console.log(
    `${files.length} files differ from ${base}; of ${packages.length} packages it touches: ${there.join(' ')}`,
  )
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  // what is tried again is named itself
  const chosen = more.some((each) => each.endsWith('.test.ts')) ? [] : there
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...more, ...chosen], { stdio: 'inherit', cwd: root })
  if (touched.length > 0) console.log(`besides, steps of .ci/run: ${touched.join(' ')}`)
  process.exitCode = status ?? 1
}
