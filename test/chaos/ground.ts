/**
 * What workers of an engine stand on besides the database: nothing, Restate on three nodes, or Temporal's server. All of it can be killed and cut off.
 *
 * Owns: the servers, and what an engine is told of them. Does not own: when they are struck (torture.ts).
 */
import { WorkflowClient, Connection } from '@temporalio/client'
import { RestateClient } from '../../src/adapters/restate/client.ts'
import { freePort, restateCluster } from '../restate/harness.ts'
import type { Place, SharedEngine } from '../servers/engines.ts'
import { buildTemporal, temporalServer } from '../servers/temporal.ts'
import { Road } from './road.ts'

/** A server that may be killed. */
export interface Node {
  readonly name: string
  /** Resolves when it is gone. */
  readonly kill: () => Promise<void>
  /** Resolves when it answers again. */
  readonly start: () => Promise<void>
}

export interface Ground {
  /** How a process is to be set up; each reaches the server by another node. `at`: the address under which it sees this machine. */
  readonly place: (slot: number, store: string, poolSize: number, at: string) => Place
  readonly nodes: readonly Node[]
  /** Cuts a connection between a worker and the server; `luck` in [0, 1) says which. False: there is none. */
  readonly cut: (luck: number) => boolean
  /** What the server holds that is not over. Undefined: it cannot say at the moment. */
  readonly left: () => Promise<readonly string[] | undefined>
  readonly close: () => Promise<void>
}

/** Runs that wait leave memory soon, so that they are taken up often. No run kills its worker here, however often it is lost. */
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

async function restateNodes(): Promise<Ground> {
  const cluster = await restateCluster(3)
  const [port, roadPort] = [await freePort(), await freePort()]
  const road = await Road.to({ host: '127.0.0.1', port }, roadPort)
  const namespace = 'chaos'
  const client = new RestateClient(cluster.nodes[0]!)
  const sql = `SELECT id, target, status FROM sys_invocation WHERE target_service_name LIKE '${namespace}.%' AND status <> 'completed'`
  return {
    place(slot, store, poolSize) {
      const { ingress, admin } = cluster.nodes[slot % cluster.nodes.length]!
      const advertise = `http://127.0.0.1:${roadPort}`
      return { engine: 'restate', store, poolSize, ...host, ingress, admin, namespace, listen: { port }, advertise }
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
      await cluster.dispose()
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

/** Servers are up when it resolves. */
export const groundOf: Readonly<Record<SharedEngine, () => Promise<Ground>>> = {
  postgres: postgresAlone,
  restate: restateNodes,
  temporal: temporalServerAlone,
}
