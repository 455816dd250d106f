/**
 * What the benches share: a row of the table, medians, interleaved repetitions, folders that go away.
 *
 * A figure is worth something only beside another one of the same minute: `side` names and holds that one, and a budget
 * may be on the ratio.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'

/** One figure. `atMost` and `atLeast` are its budget; `of: 'ratio'` says that the budget is on value / side. */
export interface Row {
  readonly figure: string
  readonly value: number
  readonly unit: string
  readonly side?: { readonly what: string; readonly value: number }
  readonly budget?: { readonly atMost?: number; readonly atLeast?: number; readonly of?: 'ratio' }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
export const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b)
export const median = (values: readonly number[]): number => quantile(values, 0.5)
export const quantile = (values: readonly number[], q: number): number =>
  sorted(values)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? NaN

export const megabytes = (bytes: number): number => bytes / 1_048_576
export const peakMegabytes = (): number => process.resourceUsage().maxRSS / 1024

/** CPU seconds that all processes of this machine have used so far. */
export const machineSeconds = (): number =>
  cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000
/** CPU seconds that this process has used so far, the compiler's and collector's threads included. */
export const ownSeconds = (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1e6

/** Milliseconds that some work takes. */
export async function timed(work: () => unknown): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/**
 * Runs variants in turns, so that whatever else the machine does falls on all of them; the median of each. The first
 * turn only warms up. Nothing is collected by force in between: that throws optimised code away, and the next turn
 * would measure the compiler.
 */
export async function inTurns<K extends string>(
  turns: number,
  variants: { readonly [Name in K]: () => Promise<number> },
): Promise<{ [Name in K]: number }> {
  const names = Object.keys(variants) as K[]
  const seen = Object.fromEntries(names.map((name) => [name, [] as number[]])) as { [Name in K]: number[] }
  for (let turn = 0; turn <= turns; turn++) {
    for (const name of names) {
      const figure = await variants[name]()
      if (turn > 0) seen[name].push(figure)
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(seen[name])])) as { [Name in K]: number }
}

/** Calls with a new folder, which is gone afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Linux counts CPU time in hundredths of a second. */
const ticksPerSecond = 100

/** CPU seconds that a process has used, and its children that have ended; 0 for one that is gone. */
export function secondsOf(pid: number): number {
  const fields = statOf(pid)
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields?.[at] ?? 0), 0) / ticksPerSecond
}

/** The processes that a process has started. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => statOf(each)?.[1] === String(pid))
}

/** What /proc says after the name, which may hold anything: state, parent, … */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    // it has just ended
    return undefined
  }
}
