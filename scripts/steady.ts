/**
 * Tells unsteady tests from broken ones: runs a vitest command, then the files in which something failed once more, one
 * after the other. What passes then counts as passed, and as unsteady: it is named with who owns it, and there may be at
 * most two. After an error that belongs to no test everything is run once more. `node scripts/steady.ts npm test
 * --silent --`. The last line says how many passed and failed.
 *
 * `REEVE_UNSTEADY` names a file in which the steps of one run of everything add up what was unsteady.
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

/** A file in vitest's JSON report. One that runs in several projects is there several times. */
interface FileReport {
  readonly name: string
  readonly status: 'passed' | 'failed'
  readonly assertionResults: readonly {
    readonly ancestorTitles: readonly string[]
    readonly title: string
    readonly status: string
  }[]
}

/** How a test ended; or a file as such, which fails where no test does: at its import, in a hook. */
interface End {
  readonly of: 'file' | 'test'
  readonly name: string
  readonly file: string
  readonly status: string
}

const [program = '', ...args] = process.argv.slice(2)
/** Files that are named are all run: a part of them is no answer. */
const argsAgain = args.filter((each) => !each.startsWith('--shard='))
const root = join(import.meta.dirname, '..')

function run(
  given: readonly string[],
  more: readonly string[] = [],
): { readonly status: number; readonly ends: readonly End[] } {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-steady-'))
  try {
    const report = join(folder, 'report.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    const { status } = spawnSync(program, [...given, ...reporters, ...more], { stdio: 'inherit' })
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as { testResults: readonly FileReport[] }
    return { status: status ?? 1, ends: testResults.flatMap(endsIn) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function endsIn({ name: path, status, assertionResults }: FileReport): End[] {
  const file = relative(root, path)
  const tests = assertionResults.map((test): End => {
    const name = [file, ...test.ancestorTitles, test.title].filter((part) => part !== '').join(' > ')
    return { of: 'test', name, file, status: test.status }
  })
  const inTests = tests.some((test) => test.status === 'failed')
  return [{ of: 'file', name: file, file, status: inTests ? 'failed in its tests' : status }, ...tests]
}

/** What failed and passes now; what still fails; and what fails only now. */
function compare(
  failures: readonly End[],
  now: readonly End[],
): { unsteady: readonly End[]; broken: number; fresh: readonly End[] } {
  const well = new Set(now.filter(({ status }) => status === 'passed').map(({ name }) => name))
  const ill = now.filter(({ status }) => status === 'failed')
  const illNames = new Set(ill.map(({ name }) => name))
  const unsteady = failures.filter(({ name, file }) => well.has(name) && !illNames.has(name) && !illNames.has(file))
  const before = new Set(failures.map(({ name }) => name))
  return { unsteady, broken: failures.length - unsteady.length, fresh: ill.filter(({ name }) => !before.has(name)) }
}

/** So many tests of one run of everything may pass only when they are tried again. */
const mostUnsteady = 2

/** Who mends a test: the package in which it stands, of the whole product the folder of it. */
export const ownerOf = (file: string): string => /^(?:packages|test)\/[^/]+/.exec(file)?.[0] ?? 'the root'

/** Names what was unsteady, here and in the steps before; the failures that this makes. */
function noteUnsteady(names: readonly { readonly name: string; readonly file: string }[]): number {
  for (const { name, file } of names) console.log(`== unsteady, to be mended by ${ownerOf(file)}: ${name}`)
  const list = process.env['REEVE_UNSTEADY']
  if (list !== undefined) appendFileSync(list, names.map(({ name }) => `${name}\n`).join(''))
  const before =
    list !== undefined && existsSync(list) ? readFileSync(list, 'utf8').split('\n').length - 1 : names.length
  if (names.length === 0 || before <= mostUnsteady) return 0
  console.log(`== ${before} unsteady tests in one run; at most ${mostUnsteady} may be`)
  return 1
}

function main(): void {
  const unsteady: { readonly name: string; readonly file: string }[] = []
  let first = run(args)
  // An error that belongs to no test (a worker that died, a promise that nobody handled) names no file: all of them are
  // run once more.
  if (first.status !== 0 && !first.ends.some(({ status }) => status === 'failed')) {
    console.log('\n== once more, as a whole: an error belongs to no test\n')
    first = run(args)
    if (first.status === 0) unsteady.push({ name: 'an error that belonged to no test', file: '' })
  }
  const failures = first.ends.filter(({ status }) => status === 'failed')
  let passed = first.ends.filter(({ of, status }) => of === 'test' && status === 'passed').length
  // One that belongs to no test, and came again, is a failure.
  let failed = first.status === 0 ? 0 : 1

  if (failures.length > 0) {
    const files = [...new Set(failures.map(({ file }) => file))]
    console.log(`\n== once more, alone: ${files.join(' ')}\n`)
    const second = run(argsAgain, ['--no-file-parallelism', ...files])
    const { unsteady: known, broken, fresh } = compare(failures, second.ends)
    unsteady.push(...known, ...fresh.map((end) => ({ ...end, name: `${end.name} (passed at first)` })))
    passed += known.length
    failed = broken + fresh.length === 0 && second.status !== 0 ? 1 : broken
  }
  failed += noteUnsteady(unsteady)

  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}

if (process.argv[1] === import.meta.filename) main()
