/**
 * A small worker without Reeve: a service and a workflow that say which process they ran in. Owns: nothing that tests
 * of the engine need.
 */
import type { Server } from 'node:http'
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import {
  createEndpointHandler,
  service,
  workflow,
  type Context,
  type WorkflowContext,
  type WorkflowSharedContext,
} from '@restatedev/restate-sdk'

export interface ProbeWorker {
  readonly uri: string
  /** Ends it at once, with everything it does. */
  close(): void
}

/**
 * Serves `<namespace>.Calls` (echo, refuse, stubborn, wait) and `<namespace>.Steps` (a workflow that waits for `go`
 * between two steps).
 */
export async function probeWorker(
  name: string,
  namespace = 'probe',
  identityKeys: string[] = [],
): Promise<ProbeWorker> {
  const calls = service({
    name: `${namespace}.Calls`,
    metadata: { 'reeve.store': 'sto_probe' },
    handlers: {
      echo: (_ctx: Context, value: unknown) => Promise.resolve({ by: name, value }),
      stubborn: () => Promise.reject(new Error('no luck today')),
      wait: async (ctx: Context) => ctx.sleep(60_000),
    },
  })
  const steps = workflow({
    name: `${namespace}.Steps`,
    handlers: {
      run: async (ctx: WorkflowContext) => {
        const first = await ctx.run('first', () => name)
        await ctx.promise('go').get()
        return { first, second: await ctx.run('second', () => name) }
      },
      go: async (ctx: WorkflowSharedContext) => ctx.promise('go').resolve(),
    },
  })
  const keys = identityKeys.length > 0 ? { identityKeys } : {}
  const server = createServer(createEndpointHandler({ services: [calls, steps], logger: () => {}, ...keys }))
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => sessions.add(session))
  const close = (): void => {
    server.close()
    for (const session of sessions) session.destroy()
  }
  return { uri: await listening(server), close }
}

/** Listens on a free port of this machine; the address. */
export async function listening(server: Server | Http2Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
