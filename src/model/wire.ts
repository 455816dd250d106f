/**
 * Wire: how Reeve's own providers send and receive: with Node's fetch, without its limits of five minutes, and with an
 * ear for whatever arrives.
 *
 * Owns: that fetch, who hears what came for which call. Does not own: how long a call may take or be silent (the engine's
 * `deadlines.modelMs`, silence.ts), the form of requests (the provider packages).
 */

/** Called whenever anything arrives for a call: headers, bytes, pings, comments. */
const listeners = new WeakMap<AbortSignal, () => void>()

/** Hears whatever arrives for the call that has this signal. It must not throw. */
export function hearWire(signal: AbortSignal, heard: () => void): void {
  listeners.set(signal, heard)
}

interface DispatchOptions {
  readonly headersTimeout?: number
  readonly bodyTimeout?: number
}
interface Dispatcher {
  dispatch(options: DispatchOptions, handler: unknown): boolean
}

/**
 * Where undici, in Node and as a package, keeps the dispatcher that `setGlobalDispatcher` sets: a contract between its
 * copies. https://github.com/nodejs/undici/blob/main/lib/global.js
 */
const globalDispatchers = [Symbol.for('undici.globalDispatcher.2'), Symbol.for('undici.globalDispatcher.1')]

function globalDispatcher(): Dispatcher | undefined {
  const known = globalThis as unknown as { readonly [key: symbol]: Dispatcher | undefined }
  return globalDispatchers.map((key) => known[key]).find((found) => typeof found?.dispatch === 'function')
}

/**
 * The dispatcher of the process, a proxy included, without the limits that undici sets by itself: 300 seconds until the
 * headers, and 300 between two pieces of a body (https://undici.nodejs.org/#/docs/api/Client.md). Zero lifts them; what
 * ends a call is `deadlines.modelMs` and `silenceMs`.
 */
const patientDispatcher: Dispatcher = {
  dispatch: (options, handler) =>
    globalDispatcher()!.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
}

/**
 * The fetch of Reeve's own providers: the global one, whatever that is at the time, which is told to be patient. In a
 * runtime without undici it is the global one as it is.
 */
export const wireFetch: typeof fetch = async (input, init) => {
  const heard = init?.signal === undefined || init.signal === null ? undefined : listeners.get(init.signal)
  const patience = globalDispatcher() === undefined ? {} : { dispatcher: patientDispatcher }
  const response = await globalThis.fetch(input, { ...init, ...patience } as RequestInit)
  if (heard === undefined) return response
  heard()
  return response.body === null ? response : listenedTo(response, response.body, heard)
}

function listenedTo(response: Response, body: ReadableStream<Uint8Array>, heard: () => void): Response {
  const ear = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      heard()
      controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  return new Response(body.pipeThrough(ear), { status, statusText, headers })
}
