/** The processes of the Restate bench: a server and a PostgreSQL as one would have them, contestants, and what they hold and write. */
import { fork, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { RestateClient } from '../src/adapters/restate/client.ts'
import { freePort, freshRestateServer, stoppablePostgres, type StoppablePostgres, type TestServer } from '../test/restate/harness.ts'
import { megabytes } from './measure.ts'
import type { Order } from './restate-team.ts'
import type { Place } from './restate-worker.ts'

export type Name = 'embedded' | 'sqlite' | 'postgres'

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

/** What PostgreSQL has done so far. `writing`: transactions that changed something. */
export interface Done {
  readonly transactions: number
  readonly writing: number
}

/** Everything that runs, until it is disposed of. */
export class Arena implements AsyncDisposable {
  readonly contestants: readonly Contestant[]
  readonly server: TestServer
  readonly client: RestateClient
  readonly #postgres: StoppablePostgres

  private constructor(contestants: readonly Contestant[], server: TestServer, postgres: StoppablePostgres) {
    this.contestants = contestants
    this.server = server
    this.client = new RestateClient({ ingress: server.ingress, admin: server.admin })
    this.#postgres = postgres
  }

  /** `folder` holds the files; the server is as `reeve restate dev` starts it, PostgreSQL as it is installed. */
  static async open(folder: string, options: readonly string[]): Promise<Arena> {
    const [server, postgres] = await Promise.all([freshRestateServer(), stoppablePostgres([])])
    const { ingress, admin } = server
    const on = async (namespace: string, store: Extract<Place, { store: unknown }>['store']): Promise<Place> => ({
      store,
      ingress,
      admin,
      namespace,
      listen: { port: await freePort() },
    })
    const contestants = [
      new Contestant('embedded', { file: join(folder, 'embedded.db') }, options),
      new Contestant('sqlite', await on('sqlite', { sqlite: join(folder, 'events.db') }), options),
      new Contestant('postgres', await on('postgres', { postgres: postgres.url }), options),
    ]
    for (const each of contestants) await each.start()
    return new Arena(contestants, server, postgres)
  }

  contestant(name: Name): Contestant {
    return this.contestants.find((each) => each.name === name)!
  }

  /** Megabytes of the server, of PostgreSQL with all its processes, and of a contestant: what they share counts once. */
  held(): Readonly<Record<'server' | 'database' | Name, number>> {
    const { pid } = this.#postgres
    const database = [pid, ...childrenOf(pid)].reduce((sum, each) => sum + shareOf(each), 0)
    const [embedded, sqlite, postgres] = this.contestants.map((each) => shareOf(each.pid)) as [number, number, number]
    return { server: shareOf(this.server.pid), database, embedded, sqlite, postgres }
  }

  /** Backends report with a delay: ask when nothing has moved for `reportMs`. */
  async transactions(): Promise<Done> {
    const [row] = await this.sql<{ n: number; x: number }>(
      `SELECT xact_commit::float8 AS n, pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS x FROM pg_stat_database WHERE datname = current_database()`,
    )
    return { transactions: row!.n, writing: row!.x }
  }

  async sql<T>(text: string): Promise<readonly T[]> {
    const client = new Client({ connectionString: this.#postgres.url })
    await client.connect()
    try {
      return (await client.query(text)).rows as readonly T[]
    } finally {
      await client.end()
    }
  }

  /** The journals that Restate holds for the activations of a contestant: entries and bytes of each, by key. */
  async journals(name: Name): Promise<readonly { readonly key: string; readonly entries: number; readonly bytes: number }[]> {
    return this.client.query(
      `select i.target_service_key as key, count(1) as entries, sum(j.raw_length) as bytes from sys_invocation i join sys_journal j on j.id = i.id
        where i.target_service_name = '${name}.Activation' group by i.target_service_key`,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.contestants) await each.end('close')
    await this.server.dispose()
    await this.#postgres.dispose()
  }
}

/** After so long every idle backend has reported what it has done. */
export const reportMs = 11_000

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
