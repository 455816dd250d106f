/**
 * The engine on Restate over PostgreSQL, beside the engine on PostgreSQL alone and the embedded engine (file, FULL), interleaved in one run: `npm run bench:restate -- [--quick]`.
 *
 * Each engine is in a process of its own, worker and client in one; the Restate server is as `reeve restate dev` starts it, PostgreSQL as it is installed (fsync on). Prints a table; writes
 * nothing, unless `--prof folder` asks for CPU profiles of the three processes. `--only <part of a figure's name>`. CPU is that of the process with the servers that it needs.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { inFolder, machineSeconds, median, quantile } from './measure.ts'
import { Arena, type Name } from './restate-place.ts'
import type { Order } from './restate-team.ts'

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string', default: '' }, prof: { type: 'string' } },
})
const turns = options.quick ? 1 : 3
const size = <T>(full: T, quick: T): T => (options.quick ? quick : full)
const wanted = (figure: string): boolean => figure.includes(options.only)

/** One figure of all engines. `more`: more of it is better. */
interface Line {
  readonly figure: string
  readonly unit: string
  readonly more?: true
  readonly of: Readonly<Partial<Record<Name, number>>>
}

interface Plan {
  readonly figure: string
  readonly unit: string
  readonly more?: true
  readonly order: Order
  /** The figure, from the milliseconds that it took. */
  readonly from: (ms: number) => number
  /** So many of them there are: CPU is said of one. */
  readonly parts?: number
}

const runs = size([640, 2_000] as const, [64, 400] as const)
const walk = size(1_000, 200)
const times = size(100, 20)
const rate =
  (count: number) =>
  (ms: number): number =>
    (count * 1000) / ms
const each =
  (count: number) =>
  (ms: number): number =>
    ms / count

const plans: readonly Plan[] = [
  {
    figure: 'runs of one step, 32 at once',
    unit: 'runs/s',
    more: true,
    order: { do: 'crowd', runs: runs[0], atOnce: 32, steps: 1 },
    from: rate(runs[0]),
  },
  {
    figure: 'runs of one step, 200 at once',
    unit: 'runs/s',
    more: true,
    order: { do: 'crowd', runs: runs[1], atOnce: 200, steps: 1 },
    from: rate(runs[1]),
    parts: runs[1],
  },
  {
    figure: `one run of ${walk} steps`,
    unit: 'steps/s',
    more: true,
    order: { do: 'crowd', runs: 1, atOnce: 1, steps: walk },
    from: rate(walk),
  },
  {
    figure: '50 runs of 20 steps at once',
    unit: 'steps/s',
    more: true,
    order: { do: 'crowd', runs: 50, atOnce: 50, steps: 20 },
    from: rate(1_000),
  },
  { figure: 'delegations one after the other, each', unit: 'ms', order: { do: 'delegate', times }, from: each(times), parts: times },
  { figure: 'fan-out of 64 workers', unit: 'ms', order: { do: 'fan out', workers: 64 }, from: (ms) => ms },
]

/** In turns, so that whatever else the machine does falls on all of them; the first turn only warms up. */
async function speed(arena: Arena, { figure, unit, more, order, from, parts }: Plan): Promise<Line[]> {
  const [seen, used] = [empty(), empty()]
  for (let turn = 0; turn <= turns; turn++) {
    for (const contestant of arena.contestants) {
      const before = arena.used(contestant)
      const [ms] = await contestant.take(order)
      if (turn === 0) continue
      seen[contestant.name].push(from(ms!))
      used[contestant.name].push((arena.used(contestant) - before) / (parts ?? NaN))
    }
  }
  const line: Line = { figure, unit, ...(more === undefined ? {} : { more }), of: ofEach((name) => median(seen[name])) }
  return parts === undefined ? [line] : [line, { figure: '… CPU of one', unit: 'ms', of: ofEach((name) => median(used[name])) }]
}

const empty = (): Record<Name, number[]> => ({ embedded: [], postgres: [], restate: [] })
const ofEach = (value: (name: Name) => number): Record<Name, number> => ({
  embedded: value('embedded'),
  postgres: value('postgres'),
  restate: value('restate'),
})

async function latency(arena: Arena): Promise<Line[]> {
  const seen = empty()
  for (let turn = 0; turn <= size(8, 2); turn++) {
    for (const contestant of arena.contestants) {
      const all = await contestant.take({ do: 'one by one', runs: 20 })
      if (turn > 0) seen[contestant.name].push(...all)
    }
  }
  const line = (what: string, q: number): Line => ({
    figure: `start to result of a run of one step, ${what}`,
    unit: 'ms',
    of: ofEach((name) => quantile(seen[name], q)),
  })
  return [line('median', 0.5), line('p95', 0.95)]
}

function memory(arena: Arena): Line[] {
  const { server, database, ...own } = arena.held()
  return [
    { figure: 'memory of the process after all this (PSS)', unit: 'MB', of: own },
    { figure: 'memory of the Restate server (PSS)', unit: 'MB', of: { restate: server } },
    { figure: 'memory of PostgreSQL (PSS)', unit: 'MB', of: { postgres: database, restate: database } },
  ]
}

async function measure(arena: Arena): Promise<Line[]> {
  const lines: Line[] = []
  const note = (...more: readonly Line[]): void => {
    lines.push(...more)
    for (const line of more) console.error(`  ${cells(line).join('  ')}`)
  }
  for (const plan of plans) if (wanted(plan.figure)) note(...(await speed(arena, plan)))
  if (wanted('start to result')) note(...(await latency(arena)))
  if (wanted('memory')) note(...memory(arena))
  return lines
}

function cells({ figure, unit, more, of }: Line): string[] {
  const value = (name: Name): string => (of[name] === undefined ? '–' : short(of[name]))
  const ratio = (name: Name): string => {
    if (of[name] === undefined || of.embedded === undefined) return ''
    return more === true ? `1/${short(of.embedded / of[name])}` : `× ${short(of[name] / of.embedded)}`
  }
  return [figure, unit, value('embedded'), value('postgres'), ratio('postgres'), value('restate'), ratio('restate')]
}

const short = (value: number): string =>
  value >= 1_000 ? Math.round(value).toLocaleString('en-US') : Number(value.toPrecision(3)).toString()

function table(lines: readonly Line[]): string {
  const head = ['figure', 'unit', 'embedded', 'PostgreSQL', '× embedded', 'Restate + PostgreSQL', '× embedded']
  const all = [head, ...lines.map(cells)]
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)))
  const text = all.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`)
  return [text[0], `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...text.slice(1)].join('\n')
}

await inFolder(async (folder) => {
  const prof = options.prof === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.prof}`]
  const [machine, begun] = [machineSeconds(), performance.now()]
  await using arena = await Arena.open(folder, prof)
  const lines = await measure(arena)
  console.log(table(lines))
  const used = (machineSeconds() - machine) / ((performance.now() - begun) / 1000)
  console.log(`\nNode ${process.version}, ${cpus().length} CPUs, of which ${used.toFixed(2)} were used in the mean, by this and by others.`)
})
