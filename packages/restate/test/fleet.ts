/**
 * A fleet: worker processes that can be killed, a Restate server and a store that can be taken away, and a runtime of
 * this process that drives nothing.
 *
 * Owns: beginning and ending all of it. Does not own: what workers do (crew.ts), what is tested.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { RestateClient } from '../src/client.ts'
import { restate, type RestateOptions } from '../src/index.ts'
import type { Engine } from '@reeve/engine'
import type { ServerOptions } from '../src/server.ts'
import { createRuntime, type Runtime } from '@reeve/runtime'
import { crew } from './crew.ts'
import { forget, freePort, freshPostgres, freshRestateServer, type TestServer } from './harness.ts'
import { removeFolder, temporaryFolder } from '../../../test/servers/place.ts'
import { World } from './world.ts'

/** What a worker process is told. */
export interface WorkerSettings {
  readonly options: RestateOptions
  readonly world: string
  /** Of the crew: `1` and `2` differ in their code. */
  readonly crew: string
  /** Versions of the crew that are there for runs that began with them. */
  readonly earlier: readonly string[]
  readonly onMissingVersion: 'move' | 'park'
  /** What the log calls it. */
  readonly label: string
}

/** A worker process. */
export interface Worker {
  readonly pid: number
  /** What it has said: `up`, and warnings as `<code> <message>`. */
  readonly lines: readonly string[]
  readonly exited: Promise<void>
  /** Resolves when it is gone (or has stopped). Default kill -9. */
  end(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>
  freeze(): void
  thaw(): void
}

interface FleetOptions {
  /** `sqlite`, `postgres`, or what is said to the engine. Default `sqlite`. */
  readonly store?: string
  readonly server?: Partial<ServerOptions>
  readonly shared?: TestServer
}

let fleets = 0

export class Fleet implements AsyncDisposable {
  readonly server: TestServer
  readonly world: World
  readonly client: RestateClient
  readonly options: RestateOptions & { readonly namespace: string }
  readonly port: number
  readonly #undo: readonly (() => Promise<unknown> | void)[]
  readonly #workers = new Set<ChildProcess>()
  readonly #runtimes: Runtime[] = []

  private constructor(
    server: TestServer,
    store: string,
    dir: string,
    port: number,
    undo: (() => Promise<unknown> | void)[],
  ) {
    this.server = server
    this.world = new World(dir)
    this.client = new RestateClient({ ingress: server.ingress, admin: server.admin })
    this.port = port
    this.#undo = undo
    const { ingress, admin } = server
    this.options = { store, ingress, admin, namespace: `fleet${process.pid}-${++fleets}` }
  }

  static async create({ store = 'sqlite', server: asked, shared }: FleetOptions = {}): Promise<Fleet> {
    const undo: (() => Promise<unknown> | void)[] = []
    const dir = temporaryFolder('fleet')
    mkdirSync(dir, { recursive: true })
    const server = shared ?? (await freshRestateServer(asked))
    if (shared === undefined) undo.push(() => server.dispose())
    let kept = store === 'sqlite' ? join(dir, 'runs.db') : store
    if (store === 'postgres') {
      const { server: address, schema, dispose } = await freshPostgres()
      kept = `${address}?schema=${schema}`
      undo.push(dispose)
    }
    undo.push(() => removeFolder(dir))
    return new Fleet(server, kept, dir, await freePort(), undo)
  }

  /** Starts a worker process; resolves when it drives. */
  async worker({
    options = {},
    ...more
  }: { options?: Partial<RestateOptions> } & Partial<Omit<WorkerSettings, 'options'>> = {}): Promise<Worker> {
    const settings: WorkerSettings = {
      crew: '1',
      earlier: [],
      onMissingVersion: 'move',
      label: '',
      world: this.world.dir,
      ...more,
      options: { ...this.options, listen: { port: this.port }, ...options },
    }
    const child = spawn(process.execPath, [join(import.meta.dirname, 'worker-child.ts'), JSON.stringify(settings)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#workers.add(child)
    const lines: string[] = []
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const up = new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        lines.push(line)
        if (line === 'up') resolve()
      })
      child.once('exit', () => reject(new Error(`the worker ended before it drove: ${lines.join(' | ')}`)))
    })
    await up
    return {
      pid: child.pid!,
      lines,
      exited,
      async end(signal = 'SIGKILL') {
        child.kill(signal)
        await exited
      },
      freeze: () => void child.kill('SIGSTOP'),
      thaw: () => void child.kill('SIGCONT'),
    }
  }

  /** An engine of this process; nobody serves with it. */
  engine(options: Partial<RestateOptions> = {}): Engine {
    return restate({ onWarning: () => {}, ...this.options, ...options })
  }

  /** A runtime of this process: reads, decides, controls and starts by name; drives nothing. */
  async desk(options: Partial<RestateOptions> = {}, version = '1'): Promise<Runtime> {
    const runtime = await createRuntime({
      agents: crew(this.world, version),
      engine: this.engine(options),
      drive: false,
    })
    this.#runtimes.push(runtime)
    return runtime
  }

  /** Calls of this fleet that have not been answered, by what Restate knows. */
  async calls(): Promise<readonly { readonly id: string; readonly status: string }[]> {
    return this.client.query(
      `select id, status from sys_invocation where target_service_name like '${this.options.namespace}.%' and status <> 'completed'`,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const runtime of this.#runtimes) await runtime.close()
    for (const child of this.#workers) child.kill('SIGKILL')
    // it may not be there any more
    await forget(this.server.admin, this.options.namespace).catch(() => undefined)
    for (const undo of this.#undo) await undo()
  }
}

/** Waits until something is so, and gives it. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  ms = 20_000,
): Promise<T> {
  const end = Date.now() + ms
  for (;;) {
    const found = await ask()
    if (found !== undefined && found !== false) return found
    if (Date.now() > end) throw new Error(`not within ${ms / 1000} s: ${what}`)
    await sleep(20)
  }
}
