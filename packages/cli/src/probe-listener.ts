/**
 * The probe port of a worker: `/live` and `/ready` over HTTP, for a process that serves nothing else.
 *
 * Owns: the socket. Does not own: what is answered (server/readiness.ts).
 * Holds: it is open until the process has closed its runtime, so a worker that ends in order is alive and not ready.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readiness } from '@reeve/server'
import type { Runtime } from '@reeve/runtime'
import { usage } from './exit.ts'

/** Where probes are answered. */
export interface ProbeListener extends AsyncDisposable {
  readonly port: number
  /** From now on it says that it is not ready. */
  retire(): void
}

/** Requests are small and few: anything else is cut off. Milliseconds, and bytes. */
const limits = { headersTimeout: 5_000, requestTimeout: 5_000, keepAliveTimeout: 75_000, maxHeaderSize: 8_192 } as const

/** Listens. Throws `cli.usage` for a host or port on which it cannot listen. */
export async function listenForProbes(
  runtime: Runtime,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<ProbeListener> {
  const readiness = new Readiness(runtime)
  const answer = async (method = '', path = ''): Promise<Response> => {
    if (method !== 'GET' && method !== 'HEAD')
      return new Response(null, { status: 405, headers: { Allow: 'GET, HEAD' } })
    const probe = /^(?:\/api)?\/(live|ready)\/?(?:\?.*)?$/.exec(path)?.[1]
    if (probe === undefined) return new Response('This port answers /live and /ready.\n', { status: 404 })
    return probe === 'live' ? readiness.live() : readiness.ready()
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answered = await answer(request.method, request.url)
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    response.end(request.method === 'HEAD' ? undefined : await answered.text())
  }
  const server = createServer(limits, (request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  server.listen({ port, host })
  try {
    await once(server, 'listening')
  } catch (thrown) {
    throw usage(
      `the probe port cannot be opened on ${host}:${port}: ${(thrown as NodeJS.ErrnoException).code ?? ''}`,
      'Choose another one: it may be in use.',
    )
  }
  return {
    port: (server.address() as AddressInfo).port,
    retire: () => readiness.retire(),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
