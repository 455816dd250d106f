/**
 * The endpoint: where Restate reaches this process.
 *
 * Owns: listening (several processes of one host may share a port), making the deployment known, hanging up. Does not own: what is served (workflow.ts).
 */
import http2, { type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2'
import { connect, type AddressInfo } from 'node:net'
import { createEndpointHandler, type EndpointOptions } from '@restatedev/restate-sdk'
import { messageOf, ReeveError, systemClock } from '../../core/index.ts'
import type { RestateClient } from './client.ts'
import { lineHeader, type Lines } from './workflow.ts'

/** How long a worker tries to make itself known while Restate is not there yet. Milliseconds. */
const registerWithinMs = 5_000
const registerAgainMs = 200

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

const isSame = (uri: string, url: string): boolean => uri.replace(/\/$/, '') === url.replace(/\/$/, '')

/** Makes the deployment known to Restate. Resolves with its id. Waits a little for a server that is just being started. */
export async function register(client: RestateClient, url: string, services: readonly string[]): Promise<string> {
  for (const end = systemClock.now() + registerWithinMs; ;) {
    try {
      const known = (await client.deployments()).find(({ uri }) => isSame(uri, url))
      if (known !== undefined && services.every((name) => known.services.includes(name))) return known.id
      return (await client.register(url, { force: known !== undefined })).id
    } catch (thrown) {
      if (!ReeveError.is(thrown, 'engine.unreachable') || systemClock.now() > end) throw thrown
      await new Promise<void>((resolve) => systemClock.timer(systemClock.now() + registerAgainMs, resolve))
    }
  }
}

/**
 * Makes the deployment known again if one of its services has nobody (any more) who answers for it: Restate was wiped, or a later deployment is gone.
 * True if that was to be done.
 */
export async function stayKnown(client: RestateClient, url: string, services: readonly string[]): Promise<boolean> {
  const [serving, deployments] = await Promise.all([client.services(), client.deployments()])
  for (const name of services) {
    const id = serving.find((service) => service.name === name)?.deployment
    const at = deployments.find((deployment) => deployment.id === id)
    if (at !== undefined && (isSame(at.uri, url) || (await answers(client, at.uri)))) continue
    await client.register(url, { force: deployments.some(({ uri }) => isSame(uri, url)) })
    return true
  }
  return false
}

/** Whether a worker is there. The server is asked only if this process sees none: it may know the address by another way. */
export const answers = async (client: RestateClient, uri: string): Promise<boolean> => (await listens(uri)) || (await client.reaches(uri))

function listens(uri: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(uri)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80), timeout: 2_000 })
    const end = (there: boolean) => (): void => {
      socket.destroy()
      resolve(there)
    }
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false))
  })
}
