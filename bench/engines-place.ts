/**
 * What the bench of engines runs on: servers as one would have them, and for each engine the processes that move runs
 * and one that starts them.
 *
 * Owns: starting and ending processes, and what CPU time they have used. Does not own: what they do (engines-team.ts),
 * the figures (engines.ts).
 */
import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { freshRestateServer, freePort, type TestServer } from '../packages/restate/test/harness.ts'
import { stoppablePostgres, type StoppablePostgres } from '../test/servers/postgres.ts'
import { buildTemporal, temporalServer, type TemporalTestServer } from '../test/servers/temporal.ts'
import type { Order } from './engines-team.ts'
import type { Answer, Place } from './engines-worker.ts'
import { childrenOf, secondsOf } from './measure.ts'

export const engineNames = ['embedded', 'postgres', 'restate', 'temporal'] as const
export type Name = (typeof engineNames)[number]

/** A process with an engine in it. */
export class Process {
  readonly #place: Place
  #child: ChildProcess | undefined

  constructor(place: Place) {
    this.#place = place
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  async start(): Promise<void> {
    this.#child = fork(join(import.meta.dirname, 'engines-worker.ts'), [JSON.stringify(this.#place)], {
      execArgv: ['--no-warnings'],
    })
    await this.#answer()
  }

  /** The milliseconds that it took, all or each. */
  async take(order: Order): Promise<number[]> {
    return (await this.#ask(order)).figures
  }

  /** How often it has committed. */
  async commits(): Promise<number> {
    return (await this.#ask('how far')).commits
  }

  #ask(what: Order | 'how far'): Promise<Answer> {
    const answer = this.#answer()
    this.#child!.send(what)
    return answer
  }

  #answer(): Promise<Answer> {
    const child = this.#child!
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error(`the process of ${this.#place.engine} has ended`))
      child.once('exit', gone)
      child.once('message', (answer: Answer | { readonly failed: string }) => {
        child.off('exit', gone)
        if ('failed' in answer) reject(new Error(`${this.#place.engine}: ${answer.failed}`))
        else resolve(answer)
      })
    })
  }

  /** Nothing of it moves any more, until it is let go on. */
  freeze(): void {
    this.#child!.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child!.kill('SIGCONT')
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

/** An engine at work: who starts runs, and who moves them; in the simplest case one process. */
export interface Contestant {
  readonly name: Name
  readonly client: Process
  readonly workers: readonly Process[]
  /** One more client, whose wake-ups are all lost. The caller ends it. */
  readonly unheard: () => Promise<Process>
  /** CPU seconds of its processes and of the servers that it uses, so far. */
  readonly seconds: () => number
  readonly end: () => Promise<void>
}

/** The servers, until they are disposed of. */
export class Servers implements AsyncDisposable {
  readonly #folder: string
  readonly #postgres: StoppablePostgres | undefined
  readonly #restate: TestServer | undefined
  readonly #temporal: TemporalTestServer | undefined
  #nth = 0

  private constructor(
    folder: string,
    postgres?: StoppablePostgres,
    restate?: TestServer,
    temporal?: TemporalTestServer,
  ) {
    this.#folder = folder
    this.#postgres = postgres
    this.#restate = restate
    this.#temporal = temporal
  }

  /**
   * Those that these engines need. PostgreSQL as it is installed, fsync on; Restate as `reeve restate dev` starts it;
   * Temporal's dev server over a file.
   */
  static async open(folder: string, names: readonly Name[]): Promise<Servers> {
    const needs = (name: Name): boolean => names.includes(name)
    const [postgres, restate, temporal] = await Promise.all([
      names.some((name) => name !== 'embedded') ? stoppablePostgres([]) : undefined,
      needs('restate') ? freshRestateServer() : undefined,
      needs('temporal') ? startTemporal() : undefined,
    ])
    return new Servers(folder, postgres, restate, temporal)
  }

  /**
   * One process that does everything, or `workers` processes and one that only starts runs. Each contestant has a store
   * of its own.
   */
  async contestant(name: Name, workers: 'one process' | number = 'one process'): Promise<Contestant> {
    const place = await this.#place(name, `bench_${++this.#nth}`)
    const drive = workers === 'one process'
    const own = drive ? [] : Array.from({ length: workers }, () => new Process(place))
    for (const each of own) await each.start()
    const client = new Process({ ...place, drive })
    await client.start()
    const all = [client, ...own]
    return {
      name,
      client,
      workers: drive ? [client] : own,
      async unheard() {
        const mute = new Process({ ...place, drive: false, unheard: true })
        await mute.start()
        return mute
      },
      seconds: () =>
        [...all.map(({ pid }) => pid), ...this.#serversOf(name)].reduce((sum, pid) => sum + secondsOf(pid), 0),
      async end() {
        for (const each of all) await each.end('close')
      },
    }
  }

  async #place(name: Name, schema: string): Promise<Place> {
    const store = name === 'embedded' ? join(this.#folder, `${schema}.db`) : `${this.#postgres!.url}?schema=${schema}`
    switch (name) {
      case 'embedded':
      case 'postgres':
        return { engine: name, store }
      case 'restate': {
        const { ingress, admin } = this.#restate!
        return { engine: name, store, ingress, admin, namespace: schema, listen: { port: await freePort() } }
      }
      case 'temporal':
        return { engine: name, store, address: this.#temporal!.address, taskQueue: schema }
    }
  }

  #serversOf(name: Name): number[] {
    const postgres = name === 'embedded' ? [] : [this.#postgres!.pid, ...childrenOf(this.#postgres!.pid)]
    if (name === 'restate') return [...postgres, this.#restate!.pid]
    if (name === 'temporal') return [...postgres, this.#temporal!.pid]
    return postgres
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#temporal?.dispose()
    await this.#restate?.dispose()
    await this.#postgres?.dispose()
  }
}

function startTemporal(): Promise<TemporalTestServer> {
  buildTemporal(console.error)
  return temporalServer()
}
