/**
 * A server on a socket, for Node.
 *
 * Owns: `listen`, and how it is closed: no new connection, streams end, answers in flight are given. Does not own: what
 * is answered (server.ts).
 */
import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { ReeveError } from '../core/index.ts'
import type { ReeveServer } from './server.ts'

/** Where to listen. */
export interface ListenOptions {
  /** Default 7333; 0: any that is free. */
  readonly port?: number
  /** Default `127.0.0.1`. */
  readonly host?: string
}

/** A server that listens. */
export interface ListeningServer extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** Where it is reached, without a path. */
  readonly url: string
  /**
   * Takes no new connection, ends all streams, waits for the answers in flight (at most 5 seconds), and lets go of the
   * port. The runtime stays open: `runtime.close()` parks its runs. Idempotent.
   */
  close(): Promise<void>
}

/** How long answers in flight may take when the server closes. Milliseconds. */
const patience = 5_000

/**
 * Connections that may wait to be accepted: all readers connect again at once after a restart. Node's 511 is too few;
 * the system allows at most its own limit (Linux: `net.core.somaxconn`, 4,096).
 */
const backlog = 4_096

/** What waits in this process for a reader that does not take it, in bytes, beside the piece that made it so much. */
const writtenAhead = 16 * 1024

/**
 * Whether a request names one host. Its target may name another one than its header (RFC 9112, 3.2.2), and only one is
 * looked at.
 */
function namesOneHost({
  url = '',
  headers,
}: Pick<IncomingMessage, 'headers'> & { readonly url?: string | undefined }): boolean {
  const { host = '' } = headers
  return url.startsWith('/') || URL.parse(url)?.host === URL.parse(`http://${host}`)?.host
}

/** Listens. Rejects with `config.invalid` for a host or port on which it cannot listen. */
export async function listen(
  server: ReeveServer,
  { port = 7333, host = '127.0.0.1' }: ListenOptions = {},
): Promise<ListeningServer> {
  server.bind(host)
  const node = createAdaptorServer({
    serverOptions: { highWaterMark: writtenAhead },
    fetch: (request, { incoming }) =>
      namesOneHost(incoming)
        ? server.fetch(request, incoming.socket.remoteAddress, () => incoming.socket.destroy())
        : new Response(null, { status: 400 }),
  }) as Server
  node.listen({ port, host, backlog })
  try {
    await once(node, 'listening')
  } catch (thrown) {
    throw new ReeveError('config.invalid', `listen(): cannot listen on ${host}:${port}`, {
      hint: 'Choose another port: it may be in use.',
      cause: thrown,
    })
  }
  const { port: taken } = node.address() as AddressInfo
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    const ended = once(node, 'close')
    node.close()
    server.close()
    node.closeIdleConnections()
    const cut = setTimeout(() => node.closeAllConnections(), patience)
    await ended
    clearTimeout(cut)
  }
  return {
    host,
    port: taken,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  }
}
