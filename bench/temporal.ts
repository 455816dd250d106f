/**
 * The engine on Temporal over PostgreSQL, beside empty workflows with one activity on the same server and beside the
 * engine on PostgreSQL alone, interleaved in one run: `npm run bench:temporal -- [--quick]`.
 *
 * Each contestant is in a process of its own, worker and client in one; the server is Temporal's dev server with its
 * data in a file, PostgreSQL as it is installed (fsync on). CPU is that of the process with the servers that it needs.
 * So few runs at once that the server keeps up: of more, the processes of the store would take up some themselves, and
 * it would not be Temporal that is measured.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client, Connection } from '@temporalio/client'
import { stoppablePostgres, type StoppablePostgres } from '../test/servers/postgres.ts'
import { temporalServer, type TemporalTestServer } from '../test/servers/temporal.ts'
import { childrenOf, machineSeconds, median, secondsOf, sleep } from './measure.ts'
import type { Order } from './engines-team.ts'
import type { Place } from './temporal-worker.ts'

const { values: options } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const size = <T>(full: T, quick: T): T => (options.quick ? quick : full)
const turns = size(5, 2)
const settleMs = 1_000

const names = ['empty', 'temporal', 'postgres'] as const
type Name = (typeof names)[number]

/** An engine, or empty workflows, in a process of its own. */
class Contestant {
  readonly name: Name
  readonly #child: ChildProcess

  constructor(name: Name, place: Place) {
    this.name = name
    this.#child = fork(join(import.meta.dirname, 'temporal-worker.ts'), [JSON.stringify(place)], {
      execArgv: ['--no-warnings'],
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  take(order: Order): Promise<number[]> {
    const answer = this.answer()
    this.#child.send(order)
    return answer
  }

  answer(): Promise<number[]> {
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error(`${this.name}: its process has ended`))
      this.#child.once('exit', gone)
      this.#child.once('message', ({ figures, failed }: { figures?: number[]; failed?: string }) => {
        this.#child.off('exit', gone)
        if (figures === undefined) reject(new Error(`${this.name}: ${failed}`))
        else resolve(figures)
      })
    })
  }

  end(): void {
    this.#child.disconnect()
  }
}

interface Plan {
  readonly figure: string
  readonly unit: string
  readonly who: readonly Name[]
  readonly order: Order
  /** The figure, from the milliseconds that it took. */
  readonly from: (ms: number) => number
  /** So many of them there are: CPU is said of one. */
  readonly parts: number
}

const rate = (count: number) => (ms: number) => (count * 1000) / ms
const runs = size(300, 60)
const times = size(100, 20)
const plans: readonly Plan[] = [
  {
    figure: 'runs of one step, 16 at once',
    unit: 'runs/s',
    who: names,
    order: { do: 'crowd', runs, atOnce: 16, steps: 1 },
    from: rate(runs),
    parts: runs,
  },
  {
    figure: '50 runs of 20 steps at once',
    unit: 'steps/s',
    who: ['temporal', 'postgres'],
    order: { do: 'crowd', runs: 50, atOnce: 50, steps: 20 },
    from: rate(1_000),
    parts: 1_000,
  },
  {
    figure: 'delegations one after the other, each',
    unit: 'ms',
    who: ['temporal', 'postgres'],
    order: { do: 'lead', runs: 1, atOnce: 1, times },
    from: (ms) => ms / times,
    parts: times,
  },
]

const forEach = (): Record<Name, number[]> => ({ empty: [], temporal: [], postgres: [] })

/** In turns, so that whatever else the machine does falls on all of them; the first turn only warms up. */
async function measure(
  contestants: readonly Contestant[],
  plan: Plan,
  cpu: (one: Contestant) => number,
): Promise<string[][]> {
  const [seen, used] = [forEach(), forEach()]
  for (let turn = 0; turn <= turns; turn++) {
    for (const contestant of contestants.filter(({ name }) => plan.who.includes(name))) {
      const before = cpu(contestant)
      const [ms] = await contestant.take(plan.order)
      // workflows are closed after their runs have ended: that is still this one's work
      await sleep(settleMs)
      if (turn === 0) continue
      seen[contestant.name].push(plan.from(ms!))
      used[contestant.name].push((cpu(contestant) - before) / plan.parts)
    }
  }
  const cells = (of: Record<Name, number[]>): string[] =>
    names.map((name) => (of[name].length === 0 ? '–' : short(median(of[name]))))
  return [
    [plan.figure, plan.unit, ...cells(seen)],
    ['… CPU of one', 'ms', ...cells(used)],
  ]
}

/** What the server keeps of the runs so far: the workflows with so many events each. */
async function histories(address: string): Promise<string> {
  const connection = await Connection.connect({ address })
  const { workflow } = new Client({ connection })
  const counts = new Map<string, number>()
  for await (const { type, status, historyLength } of workflow.list()) {
    const kind = `${type} ${status.name.toLowerCase()}, ${historyLength} events`
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  await connection.close()
  return [...counts].map(([kind, count]) => `${count} × ${kind}`).join('; ')
}

const short = (value: number): string =>
  value >= 1_000 ? Math.round(value).toLocaleString('en-US') : Number(value.toPrecision(3)).toString()

function cpuWith(server: TemporalTestServer, database: StoppablePostgres): (one: Contestant) => number {
  const ofDatabase = (): number =>
    [database.pid, ...childrenOf(database.pid)].reduce((sum, pid) => sum + secondsOf(pid), 0)
  return ({ name, pid }) =>
    1000 * (secondsOf(pid) + (name === 'postgres' ? 0 : secondsOf(server.pid)) + (name === 'empty' ? 0 : ofDatabase()))
}

await using server = await temporalServer()
await using database = await stoppablePostgres([])
const contestants = [
  new Contestant('empty', { empty: server.address }),
  new Contestant('temporal', { store: `${database.url}?schema=moved`, address: server.address }),
  new Contestant('postgres', `${database.url}?schema=plain`),
]
try {
  await Promise.all(contestants.map((each) => each.answer()))
  const [machine, begun] = [machineSeconds(), performance.now()]
  const rows: string[][] = [['figure', 'unit', 'an empty workflow', 'Temporal + PostgreSQL', 'PostgreSQL alone']]
  for (const plan of plans) rows.push(...(await measure(contestants, plan, cpuWith(server, database))))
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  const lines = rows.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`)
  console.log([lines[0], `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...lines.slice(1)].join('\n'))
  console.log(`\nOn the server: ${await histories(server.address)}.`)
  const used = (machineSeconds() - machine) / ((performance.now() - begun) / 1000)
  console.log(
    `Node ${process.version}, ${cpus().length} CPUs, of which ${used.toFixed(2)} were used in the mean, by this and by others.`,
  )
} finally {
  for (const each of contestants) each.end()
}
