/**
 * What workers of an engine stand on besides the database: nothing, Restate on three nodes, or Temporal's server. All
 * of it can be killed and cut off.
 *
 * Owns: the servers, and what an engine is told of them. Does not own: when they are struck (torture.ts).
 */
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WorkflowClient, Connection } from '@temporalio/client'
import { RestateClient } from '@reeve/restate/client'
import { freePort, restateCluster, type TestCluster } from '../../packages/restate/test/harness.ts'
import type { Place, SharedEngine } from '../servers/engines.ts'
import { removeFolder, temporaryFolder } from '../servers/place.ts'
import { buildTemporal, temporalServer } from '../servers/temporal.ts'
import type { Hosts } from './hosts.ts'
import { Road, type RoadEnd } from './road.ts'

/** A server that may be killed. */
export interface Node {
  readonly name: string
  /** Resolves when it is gone. */
  readonly kill: () => Promise<void>
  /** Resolves when it answers again. */
  readonly start: () => Promise<void>
}

export interface Ground {
  /**
   * How a process is to be set up; each reaches the server by another node. `at`: the address under which it sees this
   * machine.
   */
  readonly place: (slot: number, store: string, poolSize: number, at: string) => Place
  readonly nodes: readonly Node[]
  /** Cuts a connection between a worker and the server; `luck` in [0, 1) says which. False: there is none. */
  readonly cut: (luck: number) => boolean
  /** What the server holds that is not over. Undefined: it cannot say at the moment. */
  readonly left: () => Promise<readonly string[] | undefined>
  readonly close: () => Promise<void>
}

/**
 * Runs that wait leave memory soon, so that they are taken up often. No run kills its worker here, however often it is
 * lost.
 */
const host = { parkAfterMs: 300, lossLimit: 1_000 }

async function postgresAlone(): Promise<Ground> {
  return {
    place: (_, store, poolSize) => ({ engine: 'postgres', store, poolSize, ...host }),
    nodes: [],
    cut: () => false,
    left: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  }
}

/** How workers and a Restate server reach one another. */
interface Reach {
  /** What an engine is told of a node. `at`: the address under which it sees this machine. */
  readonly node: (slot: number, at: string) => { readonly ingress: string; readonly admin: string }
  /** What a worker is told of itself. */
  readonly worker: (port: number) => Pick<Extract<Place, { engine: 'restate' }>, 'listen' | 'identityKeys'>
  /** Where the server's calls lead. */
  readonly ends: (port: number) => RoadEnd | readonly RoadEnd[]
  readonly close: () => void
}

/** All on this host: workers share a port of loopback, and see the nodes where they listen. */
const onOneHost = ({ nodes }: TestCluster): Reach => ({
  node: (slot) => nodes[slot % nodes.length]!,
  worker: (port) => ({ listen: { port } }),
  ends: (port) => ({ host: '127.0.0.1', port }),
  close: () => undefined,
})

/**
 * Each worker on a host of its own: it listens there, trusts the server's signature alone, and sees the nodes by roads.
 * Calls come from the server's address, so that they can be cut off, too.
 */
async function acrossHosts({ nodes }: TestCluster, hosts: Hosts): Promise<Reach> {
  const key = /kid="(publickeyv1_\w+)"/.exec(readFileSync(nodes[0]!.log, 'utf8'))?.[1]
  if (key === undefined) throw new Error(`the Restate server has no identity: ${nodes[0]!.log}`)
  const roads: Road[] = []
  const roadTo = async (address: string): Promise<number> => {
    const { hostname: host, port } = new URL(address)
    const roadPort = await freePort()
    roads.push(await Road.to({ host, port: Number(port) }, roadPort))
    return roadPort
  }
  const ports = await Promise.all(
    nodes.map(async ({ ingress, admin }) => [await roadTo(ingress), await roadTo(admin)] as const),
  )
  return {
    node(slot, at) {
      const [ingress, admin] = ports[slot % ports.length]!
      return { ingress: `http://${at}:${ingress}`, admin: `http://${at}:${admin}` }
    },
    worker: (port) => ({ listen: { host: '0.0.0.0', port }, identityKeys: [key] }),
    ends: (port) =>
      Array.from({ length: hosts.count }, (_, slot) => ({
        host: hosts.hostAddress(slot),
        port,
        localAddress: hosts.addressOf('mover'),
      })),
    close() {
      for (const road of roads) road.close()
    },
  }
}

async function restateNodes(hosts: Hosts | undefined): Promise<Ground> {
  const dir = temporaryFolder('identity')
  const identityKeyFile = join(dir, 'key.pem')
  writeFileSync(identityKeyFile, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const cluster = await restateCluster(3, { identityKeyFile })
  const reach = hosts === undefined ? onOneHost(cluster) : await acrossHosts(cluster, hosts)
  const [port, roadPort] = [await freePort(), await freePort()]
  const road = await Road.to(reach.ends(port), roadPort)
  const namespace = 'chaos'
  const client = new RestateClient(cluster.nodes[0]!)
  const sql = `SELECT id, target, status FROM sys_invocation WHERE target_service_name LIKE '${namespace}.%' AND status <> 'completed'`
  return {
    place(slot, store, poolSize, at) {
      const { ingress, admin } = reach.node(slot, at)
      const advertise = `http://127.0.0.1:${roadPort}`
      return {
        engine: 'restate',
        store,
        poolSize,
        ...host,
        ...reach.worker(port),
        ingress,
        admin,
        namespace,
        advertise,
      }
    },
    nodes: cluster.nodes.map((node) => ({
      name: node.node,
      async kill() {
        node.kill()
        await node.exited
      },
      start: () => node.start(),
    })),
    cut: (luck) => road.cut(luck),
    async left() {
      const rows = await client.query<{ id: string; target: string; status: string }>(sql).catch(() => undefined)
      return rows?.map(({ target, id, status }) => `${target} ${id} ${status}`)
    },
    async close() {
      road.close()
      reach.close()
      await cluster.dispose()
      removeFolder(dir)
    },
  }
}

async function temporalServerAlone(): Promise<Ground> {
  buildTemporal(console.log)
  const server = await temporalServer()
  const roadPort = await freePort()
  const road = await Road.to({ host: '127.0.0.1', port: Number(server.address.split(':')[1]) }, roadPort)
  const connection = Connection.lazy({ address: server.address })
  const client = new WorkflowClient({ connection })
  return {
    place: (_, store, poolSize, at) => ({
      engine: 'temporal',
      store,
      poolSize,
      ...host,
      address: `${at}:${roadPort}`,
      taskQueue: 'chaos',
    }),
    nodes: [{ name: 'Temporal', kill: () => server.kill(), start: () => server.start() }],
    cut: (luck) => road.cut(luck),
    async left() {
      const open: string[] = []
      try {
        for await (const { workflowId } of client.list({ query: `ExecutionStatus = 'Running'` })) open.push(workflowId)
      } catch {
        return undefined
      }
      return open
    },
    async close() {
      road.close()
      await connection.close()
      await server.dispose()
    },
  }
}

/** Servers are up when it resolves. `hosts`: where the workers will be, if not on this host. */
export const groundOf: Readonly<Record<SharedEngine, (hosts: Hosts | undefined) => Promise<Ground>>> = {
  postgres: postgresAlone,
  restate: restateNodes,
  temporal: temporalServerAlone,
}
