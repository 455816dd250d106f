/**
 * Server-sent events of protocols that have their own form.
 *
 * Owns: a stream of texts as a response, a comment while nothing happens, what becomes of it when its reader leaves.
 * Does not own: what is said.
 * Holds: one text at a time is taken, when the reader has taken the last one.
 */
import { systemClock } from '../../core/index.ts'

/** What a stream knows of its reader. */
export interface SseReading {
  /** Aborts when the reader is gone, or the server closes. */
  readonly signal: AbortSignal
  /** A comment is sent after so many milliseconds of silence. */
  readonly heartbeatMs: number
}

const encoder = new TextEncoder()

/** One message: JSON, or a word of the protocol. `event`: its name, where the protocol wants one. */
export const sseMessage = (data: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/** The texts as a response. `open` is given the signal that says that nothing more is wanted. */
export function sseResponse(
  { signal, heartbeatMs }: SseReading,
  open: (signal: AbortSignal) => AsyncGenerator<string, undefined>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const left = new AbortController()
  const source = open(left.signal)
  let next: Promise<IteratorResult<string, undefined>> | undefined
  const leave = (): void => {
    signal.removeEventListener('abort', leave)
    left.abort()
  }
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          next ??= source.next()
          const result = await orLate(next, heartbeatMs)
          if (result === 'late') return controller.enqueue(encoder.encode(': \n\n'))
          next = undefined
          if (result.done !== true) return controller.enqueue(encoder.encode(result.value))
          leave()
          controller.close()
        } catch (thrown) {
          leave()
          controller.error(thrown)
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
  return new Response(body, {
    headers: {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
      ...headers,
    },
  })
}

/** The value, or `late` where it takes longer. A rejection is passed on. */
function orLate<T>(value: Promise<T>, ms: number): Promise<T | 'late'> {
  let callOff = (): void => {}
  const late = new Promise<'late'>((resolve) => {
    callOff = systemClock.timer(systemClock.now() + ms, () => resolve('late'))
  })
  return Promise.race([value, late]).finally(() => callOff())
}
