/**
 * A server on a socket, for Node.
 *
 * Owns: `listen`, how long a connection may take for what, and how it is closed: no new connection, streams end, answers in
 * flight are given. Does not own: what is answered (server.ts).
 * Holds: what Node itself refuses (a request that is no HTTP, headers that are too large or too late) is answered as
 * every other error is. A connection that takes nothing of its answer is closed.
 */
import { once } from 'node:events'
import { createServer, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import {
  duration,
  mustBeOptions,
  optionProblems,
  ReeveError,
  refuseProblems,
  text,
  wholeNumber,
  type Checks,
} from '@reeve/core'
import { securityHeaders, withHeaders } from './access/security-headers.ts'
import { errorResponse, shownError } from './error-status.ts'
import type { ReeveServer } from './server.ts'

/** Where to listen, and how long a connection may take. */
export interface ListenOptions {
  /** Default 7333; 0: any that is free. */
  readonly port?: number
  /** Default `127.0.0.1`. */
  readonly host?: string
  /**
   * A connection without a request is kept open for so many milliseconds. More than the load balancer keeps its own: of a
   * connection that is closed here while it sends a request there, the caller is told 502. Default 75,000, for those that
   * keep them 60 s (AWS ALB, nginx); for Google Cloud's, which keep them 600 s, 620,000.
   */
  readonly keepAliveMs?: number
  /** The headers of a request may take so many milliseconds. Default a second more than `keepAliveMs`. */
  readonly headersMs?: number
  /** A request with its body may take so many milliseconds to arrive: 408. Default 120,000, or `headersMs`. */
  readonly requestMs?: number
  /** A connection that takes nothing of its answer for so many milliseconds is closed. Default 60,000. */
  readonly stallMs?: number
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

const listenChecks: Checks<ListenOptions> = {
  port: wholeNumber(0),
  host: text,
  keepAliveMs: duration,
  headersMs: duration,
  requestMs: duration,
  stallMs: duration,
}

/** How long answers in flight may take when the server closes. Milliseconds. */
const closeTimeoutMs = 5_000

/** How often connections are looked at whose headers or bodies may be late. Milliseconds. */
const checkingMs = 5_000

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
  headers: { host },
  httpVersion,
}: Pick<IncomingMessage, 'headers' | 'httpVersion'> & { readonly url?: string | undefined }): boolean {
  // HTTP/1.0, which some balancers speak to probe, need not name one
  if (host === undefined) return httpVersion === '1.0' && url.startsWith('/')
  return url.startsWith('/') || URL.parse(url)?.host === URL.parse(`http://${host}`)?.host
}

const badRequest = (message: string): ReeveError =>
  new ReeveError('input.invalid', message, { hint: 'Nothing was done.' })

/** The error for what Node refuses before there is a request, by the code of its error. */
const parserErrors: Readonly<Record<string, ReeveError>> = {
  HPE_HEADER_OVERFLOW: new ReeveError('request.headers-too-large', 'the headers of the request are too large', {
    hint: 'Send less of them: at most 16 kilobytes. Nothing was done.',
  }),
  ERR_HTTP_REQUEST_TIMEOUT: new ReeveError('request.timed-out', 'the request did not arrive in time', {
    hint: 'Send it again, without a pause. Nothing was done.',
    retryable: true,
  }),
}

/** Answers what is no request, on the bare socket. */
function refuse(error: Error & { readonly code?: string }, socket: Duplex): void {
  // the caller is gone, or an answer has begun: nothing can be said any more
  const { bytesWritten = 0, _httpMessage: begun } = socket as Partial<Socket> & {
    readonly _httpMessage?: ServerResponse | null
  }
  if (error.code === 'ECONNRESET' || !socket.writable || (bytesWritten > 0 && begun?.headersSent === true)) {
    socket.destroy()
    return
  }
  const { code = '' } = error
  const found = Object.hasOwn(parserErrors, code) ? parserErrors[code]! : badRequest('this is no HTTP request')
  const { status, headers, body } = bare(found)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`
  socket.end(head + body, () => socket.destroy())
}

/** An error as what is written where there is no response of the server: the connection ends with it. */
function bare(error: ReeveError): {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
} {
  const { status, ...shown } = shownError(error)
  const body = JSON.stringify({ error: shown })
  const headers = {
    ...securityHeaders,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  }
  return { status, headers, body }
}

/** Listens. Rejects with `config.invalid` for invalid options, and for a host or port on which it cannot listen. */
export async function listen(server: ReeveServer, options: ListenOptions = {}): Promise<ListeningServer> {
  mustBeOptions(options, 'listen', 'config.invalid')
  refuseProblems('config.invalid', optionProblems(listenChecks, options, 'listen'))
  const { port = 7333, host = '127.0.0.1', keepAliveMs = 75_000, stallMs = 60_000 } = options
  const { headersMs = keepAliveMs + 1_000 } = options
  const { requestMs = Math.max(120_000, headersMs) } = options
  server.bind(host)
  let closing: Promise<void> | undefined
  const answer = async (request: Request, { socket }: IncomingMessage): Promise<Response> => {
    const response = await server.fetch(request, socket.remoteAddress, () => socket.destroy())
    // what asks again would find no server on this connection
    if (closing !== undefined) response.headers.set('Connection', 'close')
    return response
  }
  const listener = getRequestListener(
    (request, { incoming }) =>
      namesOneHost(incoming)
        ? answer(request, incoming as IncomingMessage)
        : withHeaders(errorResponse(badRequest('the target of the request names another host than its header Host'))),
    {
      // of HTTP/1.0: a probe is answered, and anything else refused
      hostname: 'host.missing',
      // no request could be made of it: nothing else throws here
      errorHandler: () =>
        withHeaders(errorResponse(badRequest('the target or the header Host of the request is invalid'))),
    },
  )
  const node = createServer(
    {
      highWaterMark: writtenAhead,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkingMs,
      // one without is refused above
      requireHostHeader: false,
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  )
  // Node counts a connection that has sent nothing yet as one at work: browsers and fetch open some ahead
  const connections = new Set<Socket>()
  node.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  node.on('clientError', refuse)
  node.on('checkExpectation', (_incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { headers, body } = bare(badRequest('the header Expect asks for what this server does not do'))
    outgoing.writeHead(417, headers).end(body)
  })
  // it is asked when a connection has been silent for so long: one that waits for its answer has nothing to take yet
  node.setTimeout(stallMs, (socket) => {
    if (socket.writableLength > 0) socket.destroy()
  })
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
  const close = async (): Promise<void> => {
    server.retire()
    const ended = once(node, 'close')
    node.close()
    server.close()
    node.closeIdleConnections()
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
    const cut = setTimeout(() => node.closeAllConnections(), closeTimeoutMs)
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
