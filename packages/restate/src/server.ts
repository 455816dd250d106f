/**
 * A Restate server on this machine, from the binary that `@restatedev/restate-server` brings: for development, tests
 * and benches.
 *
 * Owns: the server's process, its configuration and log file, and waiting until it serves. Does not own: what is said
 * to it (client.ts). Everything it knows is in `dir`: started again with the same `dir` and `name`, it goes on where it
 * was, also after a kill -9. It listens on `host` only. Restate's telemetry is off; the server still asks GitHub once,
 * at its start, whether there is a newer release, and goes on without an answer. It does not outlive the process that
 * started it: a shell waits beside it for that process to end, however it ends, and kills it then.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf, ReeveError, resolveAtRunTime } from '@reeve/core'

/** One node of several. */
export interface ClusterOptions {
  /** The same for all nodes. */
  readonly name: string
  /** Where the nodes speak to each other, all of them: `http://127.0.0.1:5122`. */
  readonly nodes: readonly string[]
  /** On how many nodes everything is kept. Counts on the node that provisions. */
  readonly replication: number
  /** This node founds the cluster; the others join it. Exactly one does. */
  readonly provision: boolean
}

/** How a server is started. */
export interface ServerOptions {
  /** Where it keeps its data, configuration and log. Made if it is not there. */
  readonly dir: string
  /** The address to listen on, and the only one. Default `127.0.0.1`. */
  readonly host?: string
  /** Default 8080. */
  readonly ingressPort?: number
  /** Default 9070. */
  readonly adminPort?: number
  /** For other nodes. Default 5122. */
  readonly nodePort?: number
  /** The node's name; its data is found under it. Default `n1`. */
  readonly name?: string
  readonly cluster?: ClusterOptions
  /**
   * How many invocations share one connection to a worker; several processes that share a port get work by connections.
   * Default 8.
   */
  readonly streamsPerConnection?: number
  /** Fixed when the data is made. Default 4. */
  readonly partitions?: number
  /**
   * A file with a private key (Ed25519, PKCS #8, PEM): it signs its requests, so that workers can tell it from others
   * (`identityKeys`). Its log tells the public one.
   */
  readonly identityKeyFile?: string
  /** How long it may take until it serves. Default 15 s. */
  readonly readyMs?: number
}

/** A server that serves. */
export interface RestateServer {
  /** The address for calls. */
  readonly ingress: string
  /** The address for the operator, and of Restate's own pages. */
  readonly admin: string
  /** The address for other nodes. */
  readonly node: string
  readonly pid: number
  /** The file of its log. */
  readonly log: string
  /** Asks it to end, and kills it if it has not after 5 s. */
  stop(): Promise<void>
  /** Kills it, as a power cut would. `exited` says when it is gone. */
  kill(): void
  /** When it has ended, for whatever reason. Never rejects. */
  readonly exited: Promise<void>
}

interface Settings extends Required<Omit<ServerOptions, 'cluster' | 'identityKeyFile'>> {
  readonly identityKeyFile: string | undefined
  readonly cluster: ClusterOptions | undefined
  readonly log: string
}

const defaults = {
  host: '127.0.0.1',
  ingressPort: 8080,
  adminPort: 9070,
  nodePort: 5122,
  name: 'n1',
  streamsPerConnection: 8,
  partitions: 4,
  readyMs: 15_000,
}

/** How long a server may take to end when it is asked to. Milliseconds. */
const stopTimeoutMs = 5_000

/**
 * Starts a server and waits until it serves. Rejects with `engine.server-not-started`, and leaves no process behind, if
 * it does not. A node of a new cluster serves only when most of its nodes are up: start them together.
 */
export async function startServer(options: ServerOptions): Promise<RestateServer> {
  const dir = resolve(options.dir)
  const given = { ...defaults, cluster: undefined, identityKeyFile: undefined, ...definedOf(options), dir }
  const settings: Settings = { ...given, log: join(dir, `${given.name}.log`) }
  const binary = findBinary()
  for (const port of [settings.ingressPort, settings.adminPort, settings.nodePort])
    await expectFree(settings.host, port)
  const config = prepare(settings)
  const from = sizeOf(settings.log)
  const child = launch(binary, config, settings)
  const server = handle(child, settings)
  try {
    await ready(server, child, settings, from)
    return server
  } catch (error) {
    server.kill()
    await server.exited
    throw error
  }
}

const definedOf = <T extends object>(options: T): T =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T

/** The path of the server's binary. */
function findBinary(): string {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`
  const found = resolveAtRunTime(name)
  if (found !== undefined) return found
  throw new ReeveError(
    'engine.server-not-started',
    'the Restate server is not installed: @restatedev/restate-server was not found',
    {
      hint: 'Install it: npm install --save-dev @restatedev/restate-server (Linux and macOS). Or use a Restate server that runs elsewhere.',
    },
  )
}

/** Rejects if another server listens there: its answers would be taken for those of ours. */
async function expectFree(host: string, port: number): Promise<void> {
  const probe = createServer()
  try {
    await new Promise<void>((done, fail) => {
      probe.once('error', fail)
      probe.listen({ host, port, exclusive: true }, done)
    })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    throw new ReeveError(
      'engine.server-not-started',
      code === 'EADDRINUSE'
        ? `the port ${port} is taken on ${host}`
        : `cannot listen on ${host}:${port}: ${messageOf(cause)}`,
      {
        retryable: code === 'EADDRINUSE',
        hint: 'Choose another port, or stop the program that listens there; it may be another Restate server.',
        cause,
      },
    )
  } finally {
    await new Promise<void>((done) => probe.close(() => done()))
  }
}

/** Writes the configuration; gives its path. */
function prepare(settings: Settings): string {
  const file = join(settings.dir, `${settings.name}.toml`)
  try {
    mkdirSync(settings.dir, { recursive: true, mode: 0o700 })
    writeFileSync(file, configOf(settings))
  } catch (cause) {
    throw new ReeveError('engine.server-not-started', `cannot write ${file}: ${messageOf(cause)}`, {
      hint: 'Name a folder of its own that this user may write to.',
      cause,
    })
  }
  return file
}

/** Host and port as they stand in an address. */
const authority = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

function configOf(settings: Settings): string {
  const { host, cluster, identityKeyFile } = settings
  const text = (value: string): string => JSON.stringify(value)
  const joined =
    cluster === undefined
      ? []
      : [
          `cluster-name = ${text(cluster.name)}`,
          `auto-provision = ${cluster.provision}`,
          `default-replication = ${cluster.replication}`,
          'gossip-suspect-interval = "500ms"',
        ]
  return [
    '# written by Reeve at each start',
    `node-name = ${text(settings.name)}`,
    `base-dir = ${text(settings.dir)}`,
    'listen-mode = "tcp"',
    `bind-address = ${text(authority(host, settings.nodePort))}`,
    `advertised-host = ${text(host)}`,
    `default-num-partitions = ${settings.partitions}`,
    'rocksdb-total-memory-size = "128 MiB"',
    'disable-telemetry = true',
    'log-format = "compact"',
    'log-disable-ansi-codes = true',
    'log-filter = "warn,restate=info,octocrab=off"',
    ...(identityKeyFile === undefined
      ? []
      : [`request-identity-private-key-pem-file = ${text(resolve(identityKeyFile))}`]),
    ...joined,
    ...(cluster === undefined ? [] : ['[metadata-client]', `addresses = [${cluster.nodes.map(text).join(', ')}]`]),
    '[bifrost]',
    'record-cache-memory-size = "32 MiB"',
    '[worker.invoker]',
    `http2-streams-per-connection-limit = ${settings.streamsPerConnection}`,
    `no-proxy = [${direct(host).map(text).join(', ')}]`,
    '[ingress]',
    `bind-address = ${text(authority(host, settings.ingressPort))}`,
    '[admin]',
    `bind-address = ${text(authority(host, settings.adminPort))}`,
    '',
  ].join('\n')
}

/** The process, in a group of its own: Ctrl-C goes to us, and we end it in order. */
function launch(binary: string, config: string, settings: Settings): ChildProcess {
  const log = openSync(settings.log, 'a')
  try {
    return spawn(binary, ['--no-logo', '--config-file', config], {
      cwd: settings.dir,
      env: environment(),
      stdio: ['ignore', log, log],
      detached: true,
    })
  } finally {
    closeSync(log)
  }
}

/** Settings that are meant for another server would win over our file. */
function environment(): NodeJS.ProcessEnv {
  const isForeign = (name: string): boolean =>
    name.startsWith('RESTATE_') || name === 'RUST_LOG' || name.toUpperCase() === 'NO_PROXY'
  const kept = Object.entries(process.env).filter(([name]) => !isForeign(name))
  return { ...Object.fromEntries(kept), RESTATE_DISABLE_TELEMETRY: 'true' }
}

/** Who is reached without a proxy: workers on this machine always. */
function direct(host: string): readonly string[] {
  const given = process.env['NO_PROXY'] ?? process.env['no_proxy'] ?? ''
  return [...new Set([...given.split(',').map((each) => each.trim()), host, '127.0.0.1', 'localhost'])].filter(
    (each) => each !== '',
  )
}

const hasEnded = (child: ChildProcess): boolean =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null

function handle(child: ChildProcess, settings: Settings): RestateServer {
  const release = child.pid === undefined ? () => {} : endsWithUs(child.pid)
  const exited = new Promise<void>((done) => {
    const gone = (): void => {
      release()
      done()
    }
    child.once('exit', gone)
    child.once('error', gone)
  })
  const address = (port: number): string => `http://${authority(settings.host, port)}`
  return {
    ingress: address(settings.ingressPort),
    admin: address(settings.adminPort),
    node: address(settings.nodePort),
    pid: child.pid ?? 0,
    log: settings.log,
    exited,
    kill() {
      if (!hasEnded(child)) child.kill('SIGKILL')
    },
    async stop() {
      if (hasEnded(child)) return exited
      child.kill('SIGTERM')
      const late = new AbortController()
      const force = sleep(stopTimeoutMs, undefined, { signal: late.signal }).then(
        () => child.kill('SIGKILL'),
        () => {},
      )
      await exited
      late.abort()
      await force
    },
  }
}

/**
 * Sees to it that a process ends when this one does, even by kill -9: the shell's input ends with us. Gives how to call
 * it off.
 */
export function endsWithUs(pid: number): () => void {
  const shell = spawn('/bin/sh', ['-c', `read _; kill -9 ${pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  shell.on('error', () => {})
  shell.unref()
  const input = shell.stdin as { unref?: () => void } | null
  input?.unref?.()
  return () => shell.kill('SIGKILL')
}

/** Waits until every part of it serves. */
async function ready(server: RestateServer, child: ChildProcess, settings: Settings, from: number): Promise<void> {
  let spawnError: Error | undefined
  child.once('error', (error) => (spawnError = error))
  const limit = AbortSignal.timeout(settings.readyMs)
  // started again, it learns from its log who led each partition, one leader after the other: the first good answer may
  // be before that
  let inARow = 0
  let last = ''
  while (!limit.aborted) {
    if (hasEnded(child)) throw notStarted('the Restate server ended at once', settings, from, spawnError)
    const lacks = await missing(server, limit)
    if (!limit.aborted) last = lacks ?? last
    inARow = lacks === undefined ? inARow + 1 : 0
    if (inARow === 4) return
    await sleep(20)
  }
  throw notStarted(`the Restate server was not ready within ${settings.readyMs / 1000} s: ${last}`, settings, from)
}

/**
 * Undefined once all parts say so, and every partition has a node that answers for it, which is the case a little
 * later; else what is missing.
 */
async function missing(server: RestateServer, limit: AbortSignal): Promise<string | undefined> {
  const ask = async (url: string, body?: string): Promise<unknown> => {
    const headers = { accept: 'application/json', 'content-type': 'application/json' }
    const signal = AbortSignal.any([limit, AbortSignal.timeout(1_000)])
    const answer = await fetch(url, { signal, headers, ...(body === undefined ? {} : { method: 'POST', body }) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(text)
    return text === '' ? undefined : JSON.parse(text)
  }
  try {
    const node = (await ask(`${server.node}/health`)) as {
      readonly worker_status?: string
      readonly admin_status?: string
    }
    if (node.worker_status !== 'Ready' || node.admin_status !== 'Ready')
      return `worker ${node.worker_status}, admin ${node.admin_status}`
    await ask(`${server.admin}/health`)
    await ask(`${server.ingress}/restate/health`)
    await ask(`${server.admin}/query`, JSON.stringify({ query: 'select count(id) as n from sys_invocation' }))
    return undefined
  } catch (error) {
    return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error)
  }
}

function notStarted(what: string, settings: Settings, from: number, cause?: unknown): ReeveError {
  const { host, ingressPort, adminPort, nodePort, log } = settings
  const tried = `tried ingress ${host}:${ingressPort}, admin ${host}:${adminPort}, node ${host}:${nodePort}`
  const why = cause === undefined ? lastLines(settings, from) : messageOf(cause)
  return new ReeveError('engine.server-not-started', `${what} (${tried}). The end of its log, ${log}:\n${why}`, {
    hint: 'Check that its ports are free, that no other server uses this folder, and that memory and disk are left.',
    ...(cause === undefined ? {} : { cause }),
  })
}

/** What it wrote since this start: its errors, if it names any. Another server of the same folder writes there, too. */
function lastLines({ log }: Settings, from: number): string {
  try {
    const lines = readFileSync(log).subarray(from).toString().trimEnd().split('\n')
    const errors = lines.filter((line) => / ERROR |^Failed|PANIC/.test(line))
    // why a process ended stands last; what another one says of its own troubles may come in between
    return (errors.length > 0 ? errors : lines).slice(-12).join('\n')
  } catch (error) {
    return messageOf(error)
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
