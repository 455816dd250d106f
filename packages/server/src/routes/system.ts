/**
 * The route of the system: how the installation is, and the process of this server.
 *
 * Holds: a principal of one tenant is told of the runs of that tenant, and nothing of what tenants share: neither the
 * store, the processes and their work, nor how busy this one is.
 */
import { present, version } from '@reeve/core'
import { runStatuses, type BoundedCount } from '@reeve/runtime'
import { seesAll } from '../access/tenant-runtime.ts'
import { route, type Route } from '../route.ts'
import { amount, choice, flag, list, name, object, optional, text, whole } from '../wire-schema.ts'
import type { SystemDocument, SystemServer, SystemInstallation } from '../wire.ts'

type Worker = SystemInstallation['workers'][number]
type Backlog = SystemInstallation['backlog']

const count = object<BoundedCount>(
  'BoundedCount',
  { count: whole(), isMore: optional(flag<true>()) },
  { description: 'How many there are; with isMore at least so many.' },
)

const worker = object<Worker>('WorkerView', {
  id: name(),
  host: optional(text()),
  pid: optional(whole()),
  isAlive: optional(flag({ description: 'Absent: not known. It is idle or dead, on another host.' })),
  isThis: flag({ description: 'It is the process of this server.' }),
  drives: list(object<Worker['drives'][number]>('HeldRuns', { agent: text(), version: text(), runs: whole() }), {
    description: 'The runs in its hands, child runs included. What has parked is in nobody’s.',
  }),
  isMore: optional(flag<true>({ description: 'It holds more runs than were counted.' })),
  delayMs: optional(
    amount({ description: 'How late is done what is due there (p99). Absent: it has held no run yet.' }),
  ),
  takenOver: optional(whole({ description: 'Runs that it has taken over from processes that died, since it began.' })),
  movedAt: optional(whole({ description: 'When its event loop moved, as it last said, in milliseconds since 1970.' })),
})

const installation = object<SystemInstallation>('SystemInstallation', {
  engine: text({ description: 'embedded, postgres, restate or temporal.' }),
  store: object<SystemInstallation['store']>('SystemStore', {
    kind: text({ description: 'sqlite, postgres, memory, or what a store of your own is called.' }),
    name: text({ description: 'A path, or where the database is. Never with a password.' }),
    bytes: optional(whole({ description: 'Absent: not known.' })),
  }),
  workers: list(worker, { description: 'Processes with a lease in the store. One that only reads has none.' }),
  backlog: object<Backlog>('SystemBacklog', {
    ready: count,
    first: optional(
      object<NonNullable<Backlog['first']>>('FirstReady', {
        run: text(),
        since: whole({ description: 'When something was last recorded of it, in milliseconds since 1970.' }),
      }),
    ),
    unheard: count,
    flapping: optional(count),
  }),
  stalled: optional(
    list(
      object<NonNullable<SystemInstallation['stalled']>[number]>('StalledRun', {
        run: text(),
        since: whole({ description: 'Since when nothing was done for it, in milliseconds since 1970.' }),
        waitsFor: choice(['worker', 'takeover', 'event-loop', 'store', 'code', 'engine']),
        holder: optional(text({ description: 'The id of the worker that holds it. Absent: none does.' })),
      }),
      { description: 'Runs that should move and do not. Absent: none.' },
    ),
  ),
})

const server = object<SystemServer>('SystemServer', {
  node: text(),
  pid: whole(),
  uptimeMs: whole(),
  eventLoop: optional(
    object<NonNullable<SystemServer['eventLoop']>>(
      'EventLoopDelay',
      { meanMs: amount(), p99Ms: amount(), maxMs: amount(), overMs: whole() },
      { description: 'How late what is due is done, over the last milliseconds.' },
    ),
  ),
})

export const systemRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/system',
    summary: 'How the installation is: engine, store, workers, backlog, runs by status. Of a tenant: its runs alone.',
    answer: object<SystemDocument>('SystemDocument', {
      version: text(),
      runs: object<SystemDocument['runs']>(
        'RunCounts',
        Object.fromEntries(runStatuses.map((status) => [status, optional(count)])) as never,
        { description: 'By status; one without runs is absent. Queued runs count as running.' },
      ),
      installation: optional(installation),
      server: optional(server),
    }),
    async handle({ runtime, principal, eventLoop }): Promise<SystemDocument> {
      const view = await runtime.system()
      if (!seesAll(principal)) return { version, runs: view.runs }
      return {
        version,
        ...view,
        server: {
          node: process.version,
          pid: process.pid,
          uptimeMs: Math.round(process.uptime() * 1_000),
          ...present({ eventLoop: eventLoop.read() }),
        },
      }
    },
  }),
]
