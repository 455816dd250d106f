/**
 * A delegation in a new process, and how it gets cheaper: V8 compiles what is called for the first time and optimises
 * what is called often. New processes in turns, in memory; medians. And what one takes, counted.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { inFolder, median, type Row } from './measure.ts'

const turns = 9
const perRun = 50

/** Which V8 a process has. */
const variants = {
  usual: [],
  'without its optimising compilers': ['--no-maglev', '--no-turbofan'],
  'with its interpreter alone': ['--no-sparkplug', '--no-maglev', '--no-turbofan'],
} as const
type Variant = keyof typeof variants

/** Microseconds of a delegation, in each run of a new process. */
function processOf(variant: Variant, runs: number, cache?: string): readonly number[] {
  const child = join(import.meta.dirname, 'cold-child.ts')
  const text = execFileSync(process.execPath, ['--no-warnings', ...variants[variant], child, String(runs)], {
    encoding: 'utf8',
    env: { ...process.env, ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }) },
  })
  return JSON.parse(text) as number[]
}

/** What a delegation makes the machine do, on any machine. */
function counted(): {
  readonly calls: number
  readonly functions: number
  readonly bytes: number
  readonly promises: number
} {
  const young = ['--min-semi-space-size=128', '--max-semi-space-size=128']
  const child = join(import.meta.dirname, 'cold-counts.ts')
  return JSON.parse(
    execFileSync(process.execPath, ['--no-warnings', ...young, child], { encoding: 'utf8' }),
  ) as ReturnType<typeof counted>
}

/** Of these processes the delegations from one to another, counted from the first. */
function between(processes: readonly (readonly number[])[], first: number, last: number): number {
  const runs = (each: readonly number[]): readonly number[] => each.slice(Math.floor(first / perRun), last / perRun)
  return median(processes.map((each) => runs(each).reduce((sum, us) => sum + us, 0) / runs(each).length))
}

export const run = (): Promise<Row[]> =>
  inFolder(async (folder) => {
    const long: (readonly number[])[] = []
    const short = { cached: long.slice(), baseline: long.slice(), interpreter: long.slice() }
    processOf('usual', 1, folder)
    for (let i = 0; i < turns; i++) {
      long.push(processOf('usual', 100))
      short.cached.push(processOf('usual', 5, folder))
      short.baseline.push(processOf('without its optimising compilers', 5))
      short.interpreter.push(processOf('with its interpreter alone', 5))
    }
    const counts = counted()
    const warm = { what: 'delegations 4,001 to 5,000', value: between(long, 4_001, 5_000) }
    const row = (figure: string, value: number): Row => ({ figure, value, unit: 'µs', side: warm })
    return [
      row('the first 50 delegations of a process', between(long, 1, 50)),
      row('the 200 after those', between(long, 51, 250)),
      row('… with Node’s compile cache', between(short.cached, 51, 250)),
      row('… without optimising compilers', between(short.baseline, 51, 250)),
      row('… with the interpreter alone', between(short.interpreter, 51, 250)),
      row('the 750 after those', between(long, 251, 1_000)),
      row('the next thousand', between(long, 1_001, 2_000)),
      { figure: 'JavaScript calls of a delegation, those inside Node too', value: counts.calls, unit: '' },
      { figure: 'different functions called', value: counts.functions, unit: '' },
      { figure: 'promises made', value: counts.promises, unit: '' },
      { figure: 'garbage made', value: counts.bytes / 1024, unit: 'KB' },
    ]
  })
