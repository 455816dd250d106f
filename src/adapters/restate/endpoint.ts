/**
 * The endpoint: where Restate reaches this process.
 *
 * Owns: listening (several processes of one host may share a port), hanging up. Does not own: what is served (workflow.ts), making it known (known.ts).
 */
import http2, { type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createEndpointHandler, type EndpointOptions } from '@restatedev/restate-sdk'
import { messageOf, ReeveError } from '../../core/index.ts'
import { lineHeader, type Lines } from './names.ts'

/** Every request of Restate is a line to one attempt; it has a name, so that the attempt can hang it up. */
export class OpenLines implements Lines {
  readonly #open = new Map<string, Http2ServerRequest>()
  #count = 0

  take(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const line = String(++this.#count)
    request.headers[lineHeader] = line
    this.#open.set(line, request)
    // What Restate says after it was hung up is for the next attempt.
    request.on('error', () => {})
    response.once('close', () => this.#open.delete(line))
  }

  hangUp(line: string): void {
    // As if Restate had ended its side, which is how it asks for a suspension.
    this.#open.get(line)?.push(null)
    this.#open.delete(line)
  }
}

/** What Restate speaks to. */
export interface Endpoint {
  /** Under which it can be reached on this host. */
  readonly url: string
  /** Hangs up. What is under way is begun again by Restate, here or elsewhere. */
  close(): Promise<void>
}

/** Listens. Throws `config.invalid` if it cannot. */
export async function listen(
  { host, port }: { readonly host: string; readonly port: number },
  services: EndpointOptions['services'],
  lines: OpenLines,
  identityKeys: readonly string[],
  warn: (code: string, message: string) => void,
): Promise<Endpoint> {
  let closed = false
  const handler: (request: Http2ServerRequest, response: Http2ServerResponse) => void = createEndpointHandler({
    services,
    ...(identityKeys.length === 0 ? {} : { identityKeys: [...identityKeys] }),
    logger: ({ level }, ...told) => {
      if (level === 'error' && !closed) warn('engine.attempt-failed', told.map(messageOf).join(' '))
    },
  })
  const server = http2.createServer((request, response) => {
    lines.take(request, response)
    handler(request, response)
  })
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
    session.on('error', () => session.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new ReeveError('config.invalid', `restate: the worker cannot listen on ${host}:${port}: ${messageOf(error)}`, {
          hint: 'Name another port in listen, or 0 for a free one.',
          cause: error,
        }),
      ),
    )
    server.listen({ host, port, reusePort: port !== 0 }, resolve)
  })
  const bound = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    close: () =>
      new Promise((resolve) => {
        closed = true
        server.close(() => resolve())
        for (const session of sessions) session.destroy()
      }),
  }
}
