/**
 * The engines beside one another, interleaved in one run: `npm run bench:engines -- [--engines
 * embedded,postgres,restate,temporal] [--quick] [--only <part of a figure's name>] [--parked]`.
 *
 * Each engine but the embedded one keeps its runs in one PostgreSQL, each in a schema of its own. CPU time is that of
 * all processes of an engine together: workers, client, PostgreSQL, and the server of the mover. `--parked` adds
 * 100,000 runs that wait. Prints tables; writes nothing.
 */
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { engineNames, Servers, type Contestant, type Name } from './engines-place.ts'
import type { Order } from './engines-team.ts'
import { inFolder, machineSeconds, median, quantile, sleep } from './measure.ts'

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: engineNames.join(',') },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    parked: { type: 'boolean', default: false },
  },
})
const names = engineNames.filter((name) => options.engines.split(',').includes(name))
const turns = options.quick ? 1 : 3
const size = (full: number, quick: number): number => (options.quick ? quick : full)
const count = (n: number): string => n.toLocaleString('en-US')
const wanted = (figure: string): boolean => figure.includes(options.only)

/** One figure of every engine that has it. `more`: more of it is better. */
interface Line {
  readonly figure: string
  readonly unit: string
  readonly more?: true
  readonly of: ReadonlyMap<Name, number>
}

const lines: Line[] = []
function note(line: Line): void {
  lines.push(line)
  console.error(`  ${cells(line).join('  ')}`)
}

interface Plan {
  readonly what: string
  /**
   * How many of what is counted one order is, for an engine: a slow one is given less to do, and counted by the piece.
   */
  readonly order: (name: Name) => { readonly order: Order; readonly count: number }
  readonly unit: string
}

/** Temporal's dev server takes 40 CPU-ms for a workflow: a tenth of the runs says as much. */
const share = (name: Name, runs: number): number => (name === 'temporal' ? Math.max(20, Math.round(runs / 10)) : runs)

const plans: readonly Plan[] = [
  {
    what: 'runs of one step, 200 at once',
    unit: 'runs/s',
    order: (name) => {
      const runs = share(name, size(4_000, 400))
      return { order: { do: 'crowd', runs, atOnce: 200, steps: 1 }, count: runs }
    },
  },
  {
    what: 'steps of 50 runs at once',
    unit: 'steps/s',
    order: () => ({ order: { do: 'crowd', runs: 50, atOnce: 50, steps: size(100, 20) }, count: 50 * size(100, 20) }),
  },
  {
    what: 'delegations, one after the other',
    unit: 'each, ms',
    order: () => ({ order: { do: 'lead', runs: 1, atOnce: 1, times: size(200, 40) }, count: size(200, 40) }),
  },
  {
    what: 'delegations of 200 runs at once',
    unit: '/s',
    order: (name) => {
      const runs = share(name, 200)
      return { order: { do: 'lead', runs, atOnce: 200, times: 5 }, count: runs * 5 }
    },
  },
]

interface Seen {
  readonly ms: number[]
  readonly cpuMs: number[]
  readonly commits: number[]
}

/** In turns, so that whatever else the machine does falls on all of them; the first turn only warms up. */
async function speed(contestants: readonly Contestant[], { what, unit, order }: Plan): Promise<void> {
  const seen = new Map(names.map((name): [Name, Seen] => [name, { ms: [], cpuMs: [], commits: [] }]))
  for (let turn = 0; turn <= turns; turn++) {
    for (const { name, client, seconds } of contestants) {
      const each = order(name)
      const [before, committed] = [seconds(), await client.commits()]
      const [ms] = await client.take(each.order)
      if (turn === 0) continue
      seen.get(name)!.ms.push(ms! / each.count)
      seen.get(name)!.cpuMs.push(((seconds() - before) * 1000) / each.count)
      seen.get(name)!.commits.push(((await client.commits()) - committed) / each.count)
    }
  }
  const of = (pick: (one: Seen) => number): Map<Name, number> =>
    new Map([...seen].map(([name, one]) => [name, pick(one)]))
  if (unit === 'each, ms') note({ figure: what, unit, of: of(({ ms }) => median(ms)) })
  else note({ figure: what, unit, more: true, of: of(({ ms }) => 1000 / median(ms)) })
  note({ figure: `… CPU for one`, unit: 'ms', of: of(({ cpuMs }) => median(cpuMs)) })
  note({ figure: `… commits for one`, unit: '', of: of(({ commits }) => median(commits)) })
}

/**
 * Whether more workers make a run dearer: clients elsewhere, 1, 2 and 4 workers. A store in a file is for one host, and
 * has no place here.
 */
async function growth(servers: Servers): Promise<void> {
  const cost = new Map<number, Map<Name, number>>()
  for (const workers of [1, 2, 4]) {
    const rate = new Map<Name, number>()
    const cpu = new Map<Name, number>()
    for (const name of names) {
      if (name === 'embedded') continue
      const contestant = await servers.contestant(name, workers)
      const runs = share(name, size(4_000, 400))
      const order: Order = { do: 'crowd', runs, atOnce: 200, steps: 1 }
      await contestant.client.take({ ...order, runs: Math.ceil(runs / 4) })
      const before = contestant.seconds()
      const [ms] = await contestant.client.take(order)
      cpu.set(name, ((contestant.seconds() - before) * 1000) / runs)
      rate.set(name, (runs * 1000) / ms!)
      await contestant.end()
    }
    cost.set(workers, cpu)
    note({ figure: `runs of one step, a client elsewhere, workers: ${workers}`, unit: 'runs/s', more: true, of: rate })
    note({ figure: `… CPU for one`, unit: 'ms', of: cpu })
  }
  const grown = [...cost.get(1)!].map(([name, one]): [Name, number] => [name, cost.get(4)!.get(name)! / one])
  note({ figure: 'CPU for a run, four workers ÷ one', unit: '', of: new Map(grown) })
}

/** Whether more runs at once make a run dearer. */
async function crowds(servers: Servers): Promise<void> {
  for (const atOnce of options.quick ? [100, 1_000] : [100, 1_000, 10_000]) {
    const rate = new Map<Name, number>()
    for (const name of names) {
      if (name === 'temporal' && atOnce > 100) continue
      const contestant = await servers.contestant(name)
      const runs = Math.max(atOnce, share(name, 1_000))
      const [ms] = await contestant.client.take({ do: 'crowd', runs, atOnce, steps: 1 })
      rate.set(name, (runs * 1000) / ms!)
      await contestant.end()
    }
    note({ figure: `runs of one step, ${count(atOnce)} in flight`, unit: 'runs/s', more: true, of: rate })
  }
}

/**
 * What a run takes at the worst while a worker of three is killed, and while all three are killed one after the other,
 * two seconds apart.
 */
async function stalls(servers: Servers): Promise<void> {
  for (const deaths of [1, 3]) {
    const of = new Map<Name, number>()
    for (const name of names) {
      if (name === 'embedded') continue
      const contestant = await servers.contestant(name, 3)
      // Undisturbed such a run takes a second or so; what is more is a stall.
      const order: Order = { do: 'watch', runs: share(name, 400 * deaths), atOnce: share(name, 60), steps: 20 }
      const calm = quantile(await contestant.client.take(order), 0.5)
      const watched = contestant.client.take(order)
      for (let death = 0; death < deaths; death++) {
        await sleep(death === 0 ? 500 : 2_000)
        const worker = contestant.workers[death % contestant.workers.length]!
        await worker.end('kill')
        await worker.start()
      }
      of.set(name, Math.max(...(await watched)) - calm)
      await contestant.end()
    }
    note({ figure: `worst stall of a run, ${deaths === 1 ? 'a worker' : 'each'} of three killed`, unit: 'ms', of })
  }
}

const parkedRuns = size(100_000, 12_000)
const lostWakeUps = 10_000

/** Runs that wait, and four workers that hold none of them. */
async function parked(servers: Servers): Promise<void> {
  const made = new Map<Name, number>()
  const slow = new Map<Name, number>()
  const undecided = new Map<Name, number>()
  const unbegun = new Map<Name, number>()
  for (const name of names) {
    if (name === 'embedded' || name === 'temporal') continue
    const contestant = await servers.contestant(name, 4)
    const [ms] = await contestant.client.take({ do: 'park', runs: parkedRuns, name: 'parked' })
    made.set(name, (parkedRuns * 1000) / ms!)
    const each = await contestant.client.take({ do: 'decide', runs: 300, of: parkedRuns - lostWakeUps, name: 'parked' })
    slow.set(name, quantile(each, 0.99))
    const lost = { from: parkedRuns - lostWakeUps, runs: lostWakeUps }
    undecided.set(name, await madeUpFor(contestant, { do: 'decide all', name: 'parked', ...lost }))
    unbegun.set(name, await madeUpFor(contestant, { do: 'begin', name: 'begun', ...lost }))
    await contestant.end()
  }
  note({ figure: `${count(parkedRuns)} runs that wait, four workers: made`, unit: 'runs/s', more: true, of: made })
  note({ figure: '… from a decision to the end of its run, p99', unit: 'ms', of: slow })
  note({
    figure: `… ${count(lostWakeUps)} are decided and their wake-ups lost, until all have ended`,
    unit: 's',
    of: undecided,
  })
  note({
    figure: `… ${count(lostWakeUps)} are begun beside them and their wake-ups lost, until all have ended`,
    unit: 's',
    of: unbegun,
  })
}

/**
 * Much is written while no worker moves, and nobody is told; then the workers go on. Seconds until the last run has
 * ended.
 */
async function madeUpFor(
  { client, workers, unheard }: Contestant,
  order: Extract<Order, { from: number }>,
): Promise<number> {
  const mute = await unheard()
  for (const worker of workers) worker.freeze()
  await mute.take(order)
  await mute.end('close')
  for (const worker of workers) worker.thaw()
  const [ms] = await client.take({ ...order, do: 'await all' })
  return ms! / 1000
}

function cells({ figure, unit, of }: Line): string[] {
  const embedded = of.get('embedded')
  const cell = (name: Name): string => {
    const value = of.get(name)
    if (value === undefined) return '–'
    if (name === 'embedded' || embedded === undefined || embedded === 0) return short(value)
    return `${short(value)} (× ${short(value / embedded)})`
  }
  return [figure, unit, ...names.map(cell)]
}

const short = (value: number): string =>
  value >= 1_000 ? Math.round(value).toLocaleString('en-US') : Number(value.toPrecision(3)).toString()

function table(): string {
  const all = [['figure', 'unit', ...names], ...lines.map(cells)]
  const widths = all[0]!.map((_, i) => Math.max(...all.map((row) => row[i]!.length)))
  const text = all.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`)
  return [text[0], `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...text.slice(1)].join('\n')
}

await inFolder(async (folder) => {
  const [machine, begun, load] = [machineSeconds(), performance.now(), loadavg()[0]!]
  await using servers = await Servers.open(folder, names)
  const chosen = plans.filter(({ what }) => wanted(what))
  if (chosen.length > 0) {
    const contestants: Contestant[] = []
    for (const name of names) contestants.push(await servers.contestant(name))
    for (const plan of chosen) await speed(contestants, plan)
    for (const each of contestants) await each.end()
  }
  if (wanted('workers')) await growth(servers)
  if (wanted('in flight')) await crowds(servers)
  if (wanted('stall')) await stalls(servers)
  if (options.parked) await parked(servers)
  console.log(table())
  const used = (machineSeconds() - machine) / ((performance.now() - begun) / 1000)
  console.log(
    `\nIn brackets: beside the embedded engine. Node ${process.version}, ${cpus().length} CPUs, of which ${used.toFixed(2)} were used in the mean, by this and by others; load before: ${load.toFixed(1)}.`,
  )
})
