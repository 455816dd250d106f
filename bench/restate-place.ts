/** The processes of the Restate bench: a server and a PostgreSQL as one would have them, contestants, and what they hold and write. */
import { fork, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, freshRestateServer, stoppablePostgres, type StoppablePostgres, type TestServer } from '../test/restate/harness.ts'
import { megabytes } from './measure.ts'
import type { Order } from './restate-team.ts'
import type { Place } from './restate-worker.ts'

const names = ['embedded', 'postgres', 'restate'] as const
export type Name = (typeof names)[number]

/** An engine in a process of its own. */
export class Contestant {
  readonly name: Name
  readonly place: Place
  readonly #options: readonly string[]
  #child: ChildProcess | undefined

  constructor(name: Name, place: Place, options: readonly string[]) {
    this.name = name
    this.place = place
    this.#options = options
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  async start(): Promise<void> {
    this.#child = fork(join(import.meta.dirname, 'restate-worker.ts'), [JSON.stringify(this.place)], {
      execArgv: ['--no-warnings', ...this.#options],
    })
    await this.#answer()
  }

  /** The milliseconds that it took, all or each. */
  async take(order: Order): Promise<number[]> {
    const answer = this.#answer()
    this.#child!.send(order)
    return answer
  }

  #answer(): Promise<number[]> {
    const child = this.#child!
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error(`${this.name}: its process has ended`))
      child.once('exit', gone)
      child.once('message', ({ figures, failed }: { figures?: number[]; failed?: string }) => {
        child.off('exit', gone)
        if (figures === undefined) reject(new Error(`${this.name}: ${failed}`))
        else resolve(figures)
      })
    })
  }

  /** In order, or as a crash does. */
  async end(how: 'close' | 'kill'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    if (how === 'kill') child.kill('SIGKILL')
    else child.send('end')
    await gone
  }
}

/** Everything that runs, until it is disposed of. */
export class Arena implements AsyncDisposable {
  readonly contestants: readonly Contestant[]
  readonly server: TestServer
  readonly #postgres: StoppablePostgres

  private constructor(contestants: readonly Contestant[], server: TestServer, postgres: StoppablePostgres) {
    this.contestants = contestants
    this.server = server
    this.#postgres = postgres
  }

  /** `folder` holds the files; the server is as `reeve restate dev` starts it, PostgreSQL as it is installed. */
  static async open(folder: string, options: readonly string[]): Promise<Arena> {
    const [server, postgres] = await Promise.all([freshRestateServer(), stoppablePostgres([])])
    const { ingress, admin } = server
    const address = (schema: string): string => `${postgres.url}?schema=${schema}`
    const contestants = [
      new Contestant('embedded', join(folder, 'embedded.db'), options),
      new Contestant('postgres', address('plain'), options),
      new Contestant('restate', { store: address('moved'), ingress, admin, listen: { port: await freePort() } }, options),
    ]
    for (const each of contestants) await each.start()
    return new Arena(contestants, server, postgres)
  }

  /** Megabytes of the server, of PostgreSQL with all its processes, and of each contestant: what they share counts once. */
  held(): Readonly<Record<'server' | 'database' | Name, number>> {
    const of = Object.fromEntries(this.contestants.map(({ name, pid }) => [name, shareOf(pid)])) as Record<Name, number>
    return { ...of, server: shareOf(this.server.pid), database: this.#database().reduce((sum, each) => sum + shareOf(each), 0) }
  }

  /** CPU milliseconds that a contestant has used so far, with the servers that it needs. */
  used({ name, pid }: Contestant): number {
    const servers = name === 'embedded' ? [] : name === 'postgres' ? this.#database() : [...this.#database(), this.server.pid]
    return [pid, ...servers].reduce((sum, each) => sum + cpuOf(each), 0)
  }

  #database(): readonly number[] {
    const { pid } = this.#postgres
    return [pid, ...childrenOf(pid)]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.contestants) await each.end('close')
    await this.server.dispose()
    await this.#postgres.dispose()
  }
}

/** Milliseconds of CPU of a process, all its threads, so far; a tick is ten of them. */
function cpuOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    // it has just ended
    return 0
  }
}

/** Megabytes: what a process has alone, and its share of what it has with others. */
function shareOf(pid: number): number {
  const found = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))
  return megabytes(Number(found?.[1] ?? NaN) * 1024)
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === pid)
    .map(Number)
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    // it has just ended
    return 0
  }
}
