/**
 * The Restate engine over both of its stores, beside the embedded engine (file, FULL), interleaved in one run: `npm run bench:restate -- [--quick]`.
 *
 * Each engine is in a process of its own, worker and client in one; the Restate server is as `reeve restate dev` starts it, PostgreSQL as it is installed
 * (fsync on). Prints a table; writes nothing, unless `--prof folder` asks for CPU profiles of the three processes. `--only <part of a figure's name>`.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { inFolder, machineSeconds, median, quantile, sleep } from './measure.ts'
import { Arena, reportMs, type Name } from './restate-place.ts'
import { afterKill, type Restarted } from './restate-long.ts'
import type { Order } from './restate-team.ts'

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string', default: '' }, prof: { type: 'string' } },
})
const names: readonly Name[] = ['embedded', 'sqlite', 'postgres']
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
}

const runs = size([320, 600] as const, [64, 200] as const)
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
  { figure: 'delegations one after the other, each', unit: 'ms', order: { do: 'delegate', times }, from: each(times) },
  { figure: 'fan-out of 64 workers', unit: 'ms', order: { do: 'fan out', workers: 64 }, from: (ms) => ms },
]

/** In turns, so that whatever else the machine does falls on all of them; the first turn only warms up. */
async function speed(arena: Arena, { figure, unit, more, order, from }: Plan): Promise<Line> {
  const seen: Record<Name, number[]> = { embedded: [], sqlite: [], postgres: [] }
  for (let turn = 0; turn <= turns; turn++) {
    for (const contestant of arena.contestants) {
      const [ms] = await contestant.take(order)
      if (turn > 0) seen[contestant.name].push(from(ms!))
    }
  }
  return { figure, unit, ...(more === undefined ? {} : { more }), of: ofEach((name) => median(seen[name])) }
}

const ofEach = (value: (name: Name) => number): Record<Name, number> => ({
  embedded: value('embedded'),
  sqlite: value('sqlite'),
  postgres: value('postgres'),
})

async function latency(arena: Arena): Promise<Line[]> {
  const seen: Record<Name, number[]> = { embedded: [], sqlite: [], postgres: [] }
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

/** Transactions of PostgreSQL (and commits of the embedded engine) for one of a thing, from so many of them. */
async function transactions(arena: Arena, what: string, order: Order, count: number): Promise<Line[]> {
  const [embedded, postgres] = [arena.contestant('embedded'), arena.contestant('postgres')]
  const commits = async (): Promise<number> => (await embedded.take({ do: 'commits' }))[0]!
  const [before, committed] = [await settled(arena), await commits()]
  await embedded.take(order)
  const ours = (await commits()) - committed
  await postgres.take(order)
  const after = await settled(arena)
  const writing = (after.writing - before.writing) / count
  return [
    { figure: `transactions that write, per ${what}`, unit: '', of: { embedded: ours / count, postgres: writing } },
    {
      figure: `transactions with those that only read, per ${what}`,
      unit: '',
      of: { postgres: (after.transactions - before.transactions) / count },
    },
  ]
}

async function settled(arena: Arena): ReturnType<Arena['transactions']> {
  await sleep(reportMs)
  return arena.transactions()
}

/** What Restate writes down for a step: of a run that has walked and waits. */
async function journal(arena: Arena): Promise<Line[]> {
  const steps = 500
  const run = `journal-${Date.now()}`
  const of: { readonly entries: number; readonly bytes: number }[] = []
  for (const name of ['sqlite', 'postgres'] as const) {
    await arena.contestant(name).take({ do: 'walk', steps, run })
    const mine = (await arena.journals(name)).filter(({ key }) => key.includes(run))
    of.push({
      entries: mine.reduce((sum, one) => sum + one.entries, 0) / steps,
      bytes: mine.reduce((sum, one) => sum + one.bytes, 0) / steps,
    })
    await arena.contestant(name).take({ do: 'let on', run })
  }
  const line = (figure: string, unit: string, pick: (one: (typeof of)[number]) => number): Line => ({
    figure,
    unit,
    of: { sqlite: pick(of[0]!), postgres: pick(of[1]!) },
  })
  return [
    line("entries in Restate's journal, per step", '', ({ entries }) => entries),
    line("bytes in Restate's journal, per step", 'bytes', ({ bytes }) => bytes),
  ]
}

function memory(arena: Arena, when: string): Line[] {
  const { server, database, ...own } = arena.held()
  return [
    { figure: `memory of the worker process, ${when} (PSS)`, unit: 'MB', of: own },
    { figure: `memory of the Restate server, ${when} (PSS)`, unit: 'MB', of: { sqlite: server, postgres: server } },
    { figure: `memory of PostgreSQL, ${when} (PSS)`, unit: 'MB', of: { postgres: database } },
  ]
}

const restarts = (steps: number, seen: Readonly<Record<Name, Restarted>>): Line[] => {
  const line = (figure: string, unit: string, pick: (one: Restarted) => number, more?: true): Line => {
    const all = ofEach((name) => pick(seen[name]))
    const of = Number.isNaN(all.embedded) ? { sqlite: all.sqlite, postgres: all.postgres } : all
    return { figure, unit, ...(more === undefined ? {} : { more }), of }
  }
  return [
    line(`one run of ${steps} steps`, 'steps/s', ({ walkMs }) => (steps * 1000) / walkMs, true),
    line(`… new process after a kill -9, start to result`, 'ms', ({ resumeMs }) => resumeMs),
    line(`… generations of its workflow`, '', ({ generations }) => generations),
    line(`… most entries ever in Restate's journals of the run`, '', ({ mostEntries }) => mostEntries),
    line(`… most bytes ever in them`, 'kB', ({ mostBytes }) => mostBytes / 1000),
  ]
}

async function measure(arena: Arena): Promise<Line[]> {
  const lines: Line[] = []
  const note = (...more: readonly Line[]): void => {
    lines.push(...more)
    for (const line of more) console.error(`  ${cells(line).join('  ')}`)
  }
  for (const plan of plans) if (wanted(plan.figure)) note(await speed(arena, plan))
  if (wanted('start to result')) note(...(await latency(arena)))
  if (wanted('memory')) note(...memory(arena, 'after all this'))
  if (wanted('transactions')) {
    note(...(await transactions(arena, 'step', { do: 'crowd', runs: 1, atOnce: 1, steps: walk }, walk)))
    note(...(await transactions(arena, 'run of one step', { do: 'one by one', runs: times }, times)))
    note(...(await transactions(arena, 'delegation', { do: 'delegate', times }, times)))
  }
  if (wanted('journal')) note(...(await journal(arena)))
  const steps = size(20_000, 3_000)
  if (wanted('kill')) note(...restarts(steps, await afterKill(arena, steps)))
  return lines
}

function cells({ figure, unit, more, of }: Line): string[] {
  const value = (name: Name): string => (of[name] === undefined ? '–' : short(of[name]))
  const ratio = (name: Name): string => {
    if (of[name] === undefined || of.embedded === undefined) return ''
    return more === true ? `1/${short(of.embedded / of[name])}` : `× ${short(of[name] / of.embedded)}`
  }
  return [figure, unit, value('embedded'), value('sqlite'), ratio('sqlite'), value('postgres'), ratio('postgres')]
}

const short = (value: number): string =>
  value >= 1_000 ? Math.round(value).toLocaleString('en-US') : Number(value.toPrecision(3)).toString()

function table(lines: readonly Line[]): string {
  const head = ['figure', 'unit', names[0]!, 'Restate + SQLite', '× embedded', 'Restate + PostgreSQL', '× embedded']
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
