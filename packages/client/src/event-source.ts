/**
 * An event source: the messages of one stream of the server, over as many connections as that takes.
 *
 * Owns: opening, opening again after the last event, the wait between, the time without a sign of life. Does not own: the
 * format (sse-parser.ts), what a message means.
 * Holds: each message is passed on once, in order; a message that was cut off with its connection is not passed on.
 */
import { timerMs } from '@reeve/core/clock'
import { invalidAnswer, type ClientError } from './client-error.ts'
import { backoff, isPassing, pause, type Http } from './http.ts'
import { SseParser, type SseMessage } from './sse-parser.ts'

/** `connecting`: a connection is being opened. `open`: it is. `waiting`: it failed, and is opened again after a while. */
export type StreamState = 'connecting' | 'open' | 'waiting'

/** How a stream is read. */
export interface StreamOptions {
  /** Ends the iteration; it does not throw then. */
  readonly signal?: AbortSignal
  /** Told at each change. */
  readonly onState?: (state: StreamState) => void
}

interface SourceOptions extends StreamOptions {
  readonly path: string
  readonly query?: object
  /** As if this had been the last event. */
  readonly after?: string
}

/**
 * Reads until the reader leaves, or the server says (204) that there is no more. A server that is away is waited for.
 * Rejects with `ClientError` where waiting would not help.
 */
export async function* eventSource(http: Http, options: SourceOptions): AsyncGenerator<SseMessage, undefined> {
  const left = new AbortController()
  const leave = (): void => left.abort()
  options.signal?.addEventListener('abort', leave)
  if (options.signal?.aborted === true) leave()
  const reading: Reading = { lastEventId: options.after ?? '', retryMs: 500, failures: 0 }
  try {
    while (!left.signal.aborted) {
      options.onState?.('connecting')
      let failure: ClientError | undefined
      try {
        if ((yield* connection(http, options, reading, left.signal)) === 'over') return
      } catch (thrown) {
        if (left.signal.aborted) return
        if (!isPassing(thrown)) throw thrown
        failure = thrown
      }
      if (left.signal.aborted) return
      options.onState?.('waiting')
      const wait = failure?.retryAfterMs ?? backoff(reading.retryMs, reading.failures)
      reading.failures++
      await pause(wait, left.signal).catch(() => {})
    }
  } finally {
    leave()
    options.signal?.removeEventListener('abort', leave)
  }
}

/** What one connection leaves to the next one. */
interface Reading {
  lastEventId: string
  retryMs: number
  /** Connections in a row that brought nothing. */
  failures: number
}

async function* connection(
  http: Http,
  { path, query, onState }: SourceOptions,
  reading: Reading,
  left: AbortSignal,
): AsyncGenerator<SseMessage, 'over' | 'lost'> {
  // a server that is silent for too long is taken for dead
  const dead = new AbortController()
  const stop = (): void => dead.abort()
  left.addEventListener('abort', stop)
  let timer: ReturnType<typeof setTimeout> | undefined
  const alive = (): void => {
    clearTimeout(timer)
    timer = setTimeout(stop, timerMs(http.heartbeatTimeoutMs))
  }
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  try {
    alive()
    const response = await http
      .open('GET', path, query === undefined ? { signal: dead.signal } : { query, signal: dead.signal }, {
        accept: 'text/event-stream',
        'cache-control': 'no-store',
        ...(reading.lastEventId === '' ? undefined : { 'last-event-id': reading.lastEventId }),
      })
      .catch((thrown: unknown) => {
        if (dead.signal.aborted && !left.aborted) return undefined
        throw thrown
      })
    if (response === undefined) return 'lost'
    if (response.status === 204) return 'over'
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true || response.body === null)
      throw invalidAnswer(http.urlOf(path), response.status, 'it is not a stream of events')
    onState?.('open')
    reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
    const parser = new SseParser(reading.lastEventId)
    for (;;) {
      alive()
      // a connection that breaks is no failure of the reader's
      const piece = await reader.read().catch(() => undefined)
      if (piece?.value === undefined) return 'lost'
      clearTimeout(timer)
      for (const message of parser.push(piece.value)) {
        reading.failures = 0
        // before it is passed on: who leaves after it has had it
        reading.lastEventId = message.id
        yield message
        if (left.aborted) return 'over'
      }
      reading.retryMs = parser.retryMs ?? reading.retryMs
    }
  } finally {
    clearTimeout(timer)
    left.removeEventListener('abort', stop)
    dead.abort()
    await reader?.cancel().catch(() => {})
  }
}
