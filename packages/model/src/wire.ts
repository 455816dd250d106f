/**
 * Wire: how Reeve's own providers send and receive: with Node's fetch, without its limits of five minutes, and with an
 * ear for whatever arrives.
 *
 * Owns: that fetch, who hears what came for which call. Does not own: how long a call may take or be silent (the engine's
 * `deadlines.modelMs`, silence.ts), the form of requests (the provider packages).
 */

import { systemClock } from '@reeve/core'

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
  const kept = init?.signal ? wholeAnswers.get(init.signal) : undefined
  if (kept !== undefined) return kept.clone()
  const response = await globalThis.fetch(input, { ...init, ...patience } as RequestInit)
  if (heard === undefined) return response
  heard()
  if (response.body === null) return response
  const heardOf = listenedTo(response, response.body, heard)
  if (!response.ok || !isJson(response) || !asksForStream(init)) return heardOf
  const whole = new Response(await heardOf.text(), { headers: { 'content-type': 'application/json' } })
  wholeAnswers.set(init!.signal!, whole)
  return new Response('', { headers: { 'content-type': 'text/event-stream' } })
}

/** Answers of servers that do not stream, whatever they are asked. */
const wholeAnswers = new WeakMap<AbortSignal, Response>()

/**
 * Whether the call that has this signal was answered as a whole although a stream was asked for. If it is made again, not
 * as a stream, it gets that answer, and nothing is sent.
 */
export const hasWholeAnswer = (signal: AbortSignal): boolean => wholeAnswers.has(signal)

const isJson = ({ headers }: Response): boolean =>
  /^application\/json\b/i.test(headers.get('content-type')?.trim() ?? '')
const asksForStream = (init: RequestInit | undefined): boolean =>
  typeof init?.body === 'string' && /"stream":\s{0,4}true/.test(init.body)

/** The last event of a stream of chat completions. Some servers keep the connection open after it. */
const saysEnd = /(?:^|\n)data: ?\[DONE\]\s*$/
const endLength = 24
/** How long the connection stays open after that event, so that the server can end it. Milliseconds. */
const closingMs = 100

function listenedTo(response: Response, body: ReadableStream<Uint8Array>, heard: () => void): Response {
  let tail = ''
  let callOff: (() => void) | undefined
  const ear = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      heard()
      controller.enqueue(chunk)
      tail = (tail + String.fromCharCode(...chunk.subarray(-endLength))).slice(-endLength)
      if (saysEnd.test(tail)) callOff ??= systemClock.timer(systemClock.now() + closingMs, () => controller.terminate())
    },
    flush: () => callOff?.(),
  })
  const { status, statusText, headers } = response
  return new Response(body.pipeThrough(ear), { status, statusText, headers })
}
