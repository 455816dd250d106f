/**
 * Real servers for the tests, chaos runs and benches of the distributed engine: Restate on one node or several, on free
 * ports and in folders of their own.
 *
 * Owns: starting, killing, starting again, and leaving nothing behind. Does not own: PostgreSQL (postgres.ts). Whoever
 * asks for a server disposes of it (`afterAll(() => server.dispose())`, `await using`); what is forgotten ends with
 * this process, however it ends.
 */
import { RestateClient } from '../src/client.ts'
import { startServer, type RestateServer, type ServerOptions } from '../src/server.ts'
import { freePort, removeFolder, temporaryFolder } from '../../../test/servers/place.ts'

export { freePort } from '../../../test/servers/place.ts'
export {
  freshPostgres,
  stoppablePostgres,
  type FreshPostgres,
  type StoppablePostgres,
} from '../../../test/servers/postgres.ts'

/**
 * A server that can be killed and started again: same folder, same addresses. `pid` and `exited` are those of the last
 * start.
 */
export interface TestServer extends RestateServer, AsyncDisposable {
  readonly dir: string
  /** Starts it again after `stop()`, or after `kill()` and `exited`. */
  readonly start: () => Promise<void>
  /** Ends it and removes its folder. */
  readonly dispose: () => Promise<void>
}

/** Several nodes that are one server. */
export interface TestCluster extends AsyncDisposable {
  readonly nodes: readonly TestServer[]
  readonly dispose: () => Promise<void>
}

async function portsOf(host: string): Promise<Required<Pick<ServerOptions, 'ingressPort' | 'adminPort' | 'nodePort'>>> {
  return { ingressPort: await freePort(host), adminPort: await freePort(host), nodePort: await freePort(host) }
}

async function begin(options: ServerOptions, onDisposed: () => void): Promise<TestServer> {
  let server = await startServer(options)
  let disposed: Promise<void> | undefined
  const dispose = async (): Promise<void> => {
    server.kill()
    await server.exited
    onDisposed()
  }
  const test: TestServer = {
    ingress: server.ingress,
    admin: server.admin,
    node: server.node,
    log: server.log,
    dir: options.dir,
    get pid() {
      return server.pid
    },
    get exited() {
      return server.exited
    },
    stop: () => server.stop(),
    kill: () => server.kill(),
    async start() {
      server = await startServer(options)
    },
    dispose: () => (disposed ??= dispose()),
    [Symbol.asyncDispose]: () => test.dispose(),
  }
  return test
}

let shared: Promise<TestServer> | undefined

/** The server of this process: everybody who asks gets the same one, until it is disposed of. */
export const restateServer = (): Promise<TestServer> =>
  (shared ??= freshRestateServer({}, () => (shared = undefined)).catch((error: unknown) => {
    shared = undefined
    throw error
  }))

/** A server of one's own. */
export async function freshRestateServer(
  options: Partial<ServerOptions> = {},
  onDisposed: () => void = () => {},
): Promise<TestServer> {
  const dir = temporaryFolder('restate')
  const ports = await portsOf(options.host ?? '127.0.0.1')
  return begin({ dir, ...ports, ...options }, () => {
    removeFolder(dir)
    onDisposed()
  })
}

/**
 * A cluster of `n` nodes on 127.0.0.1, 127.0.0.2, …: everything is kept on two of them, so that with three any one may
 * die. The first has founded it.
 */
export async function restateCluster(n = 3, options: Partial<ServerOptions> = {}): Promise<TestCluster> {
  const dir = temporaryFolder('cluster')
  const plans: ServerOptions[] = []
  for (let i = 1; i <= n; i++) {
    const host = `127.0.0.${i}`
    plans.push({ dir, host, name: `n${i}`, ...(await portsOf(host)), readyMs: 30_000, ...options })
  }
  const addresses = plans.map(({ host, nodePort }) => `http://${host}:${nodePort}`)
  const started = await Promise.allSettled(
    plans.map((plan, i) => {
      const cluster = { name: `test-${process.pid}`, nodes: addresses, replication: Math.min(2, n), provision: i === 0 }
      return begin({ ...plan, cluster }, () => {})
    }),
  )
  const nodes = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const dispose = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.dispose()))
    removeFolder(dir)
  }
  const failed = started.find((each) => each.status === 'rejected')
  if (failed !== undefined) {
    await dispose()
    throw failed.reason
  }
  return { nodes, dispose, [Symbol.asyncDispose]: dispose }
}

/** A server that others use knows nothing of a namespace any more. */
export async function forget(admin: string, namespace: string): Promise<void> {
  for (const { id, services } of await new RestateClient({ ingress: admin, admin }).deployments())
    if (services.some((name) => name.startsWith(`${namespace}.`)))
      await fetch(`${admin}/deployments/${id}?force=true`, { method: 'DELETE' })
}
