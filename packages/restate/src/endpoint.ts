/**
 * The endpoint: where Restate reaches this process, and what it serves there.
 *
 * Owns: listening (several processes of one host may share a port), the service, and how Restate treats a call of it.
 * Does not own: what a call says (call.ts), making it known (registration.ts), moving runs (../../engine/host). Nothing
 * is kept in Restate's journal: a call that is made again is the same call, because a run that is here already is only
 * waited for.
 */
import http2, { type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type * as RestateSdk from '@restatedev/restate-sdk'
import { delay, messageOf, ReeveError, systemClock } from '@reeve/core'
import type { Moved, WorkerProcess } from '@reeve/engine/mover'
import { handler, readCall, storeLabel } from './call.ts'

/**
 * A call is answered after this long, whatever its runs do: this process holds them then, and goes on. Milliseconds.
 */
const moveMs = 10_000
/** Far more than a call takes: Restate gives one up that has not been answered, and makes it again. Milliseconds. */
const stalledMs = 60_000
/**
 * A call that no worker takes is tried again for about ten seconds. It may be lost after that: the next worker that
 * comes looks for runs that are left.
 */
const retryPolicy = {
  initialInterval: 50,
  exponentiationFactor: 2,
  maxInterval: 2_000,
  maxAttempts: 10,
  onMaxAttempts: 'kill',
} as const

type Sdk = typeof RestateSdk

/** What a worker serves. */
export interface Served {
  readonly service: string
  /** The id of its store. A call for another one is refused. */
  readonly store: string
  readonly workerProcess: WorkerProcess
  readonly identityKeys: readonly string[]
  readonly warn: (code: string, message: string) => void
}

/** What Restate speaks to. */
export interface Endpoint {
  /** Under which it can be reached on this host. */
  readonly url: string
  /** Takes no calls any more; those under way are still answered. Idempotent. */
  retire(): void
  /**
   * Takes no calls any more, gives those under way a moment to be answered, and hangs up. What was not answered is
   * called again by Restate, elsewhere.
   */
  close(): Promise<void>
}

function served(
  { service: name, store, workerProcess, warn }: Served,
  { handlers, serde, service, TerminalError }: Sdk,
): ReturnType<Sdk['service']> {
  const move = async (ctx: RestateSdk.Context, bytes: Uint8Array): Promise<readonly Moved[]> => {
    const call = asTerminal(() => readCall(bytes), TerminalError)
    if (call.store !== store) {
      warn('engine.worker-refused', `a call of ${name} for another store was refused: a namespace belongs to one store`)
      throw new TerminalError('this worker has another store', { errorCode: 409 })
    }
    const stop = new AbortController()
    const abort = (): void => stop.abort()
    const { attemptCompletedSignal: over } = ctx.request()
    over.addEventListener('abort', abort, { once: true })
    const callOff = systemClock.timer(systemClock.now() + moveMs, abort)
    try {
      return await Promise.all(call.runs.map((run) => workerProcess.move(run, stop.signal)))
    } finally {
      callOff()
      over.removeEventListener('abort', abort)
    }
  }
  return service({
    name,
    description: 'Reeve: takes up runs that have something to do',
    metadata: { [storeLabel]: store },
    handlers: { [handler]: handlers.handler({ input: serde.binary, accept: '*/*' }, move) },
    options: {
      journalRetention: 0,
      idempotencyRetention: 0,
      inactivityTimeout: stalledMs,
      abortTimeout: stalledMs,
      retryPolicy,
    },
  })
}

/** What is wrong with a call stays wrong. */
function asTerminal<T>(work: () => T, TerminalError: Sdk['TerminalError']): T {
  try {
    return work()
  } catch (thrown) {
    throw new TerminalError(messageOf(thrown), { errorCode: 400 })
  }
}

/** Milliseconds that calls under way have to be answered when it is closed. */
const finalMessageMs = 1_000

/** Listens. Throws `config.invalid` if it cannot. The SDK is an optional peer, which the caller has loaded. */
export async function listen(
  { host, port }: { readonly host: string; readonly port: number },
  what: Served,
  sdk: Sdk,
): Promise<Endpoint> {
  let closed = false
  // Of a connection that breaks every call on it says the same.
  let said = ''
  const serve: (request: Http2ServerRequest, response: Http2ServerResponse) => void = sdk.createEndpointHandler({
    services: [served(what, sdk)],
    ...(what.identityKeys.length === 0 ? {} : { identityKeys: [...what.identityKeys] }),
    logger: ({ level }, ...told) => {
      const text = told.map(messageOf).join(' ')
      if (level !== 'error' || closed || text === said) return
      said = text
      what.warn('engine.attempt-failed', text)
    },
  })
  const server = http2.createServer((request, response) => {
    request.on('error', () => {})
    serve(request, response)
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
  let gone: Promise<void> | undefined
  const retire = (): void => {
    gone ??= new Promise((resolve) => server.close(() => resolve()))
    for (const session of sessions) session.close()
  }
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    retire,
    async close() {
      closed = true
      retire()
      await Promise.race([gone, delay(finalMessageMs)])
      for (const session of sessions) session.destroy()
      await gone
    },
  }
}
