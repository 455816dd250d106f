/**
 * Server-sent events: an iteration as a response.
 *
 * Owns: the format, comments while nothing happens, what becomes of a reader that is slow, dead or gone. Does not own:
 * what is sent.
 * Holds: one message at a time is in memory here: the next one is taken when the reader has taken the last one.
 */
import { systemClock } from '../core/index.ts'

/** One message. `id` is what `Last-Event-ID` names after a reconnect. */
export type StreamMessage =
  | { readonly id?: number; readonly data: unknown }
  /** JSON text that was made once for many readers. */
  | { readonly json: string }
  /** Whole messages, written as a protocol has them. */
  | { readonly text: string }

/** What a stream knows of its reader. */
export interface StreamReading {
  /** What it answers: HEAD is told the headers alone. */
  readonly request?: Request
  /** Aborts when the reader is gone, or the server closes. */
  readonly signal: AbortSignal
  /** A comment is sent after this many milliseconds without a message. */
  readonly heartbeatMs: number
  /** A reader that takes nothing for so many milliseconds is dropped. */
  readonly readerTimeoutMs: number
}

/**
 * Streams the messages until they end, the reader leaves, or the server closes. `open` is given the signal that says
 * that nothing more is wanted. `more`: headers of a protocol. A reader that takes nothing for `readerTimeoutMs` is dropped; it may connect again.
 */
export function eventStream(
  reading: StreamReading,
  open: (signal: AbortSignal) => AsyncIterable<StreamMessage>,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers = {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
    ...more,
  }
  if (reading.request?.method === 'HEAD') return new Response(null, { headers })
  return new Response(bytesOf(reading, open), { headers })
}

const encoder = new TextEncoder()

function bytesOf(
  { signal, heartbeatMs, readerTimeoutMs }: StreamReading,
  open: (signal: AbortSignal) => AsyncIterable<StreamMessage>,
): ReadableStream<Uint8Array> {
  const left = new AbortController()
  const source = open(left.signal)[Symbol.asyncIterator]()
  let next: Promise<IteratorResult<StreamMessage>> | undefined
  let callOff = (): void => {}
  let finish = (): void => {}
  const leave = (): void => {
    callOff()
    signal.removeEventListener('abort', finish)
    left.abort()
    source.return?.().catch(() => {})
  }
  /** What was written is to be taken in time: then the next piece is asked for. */
  const mustBeTaken = (controller: ReadableStreamDefaultController): void => {
    callOff = after(readerTimeoutMs, () => {
      leave()
      controller.error(new Error('the reader took nothing'))
    })
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        finish = () => {
          leave()
          controller.close()
        }
        if (signal.aborted) return finish()
        signal.addEventListener('abort', finish)
        controller.enqueue(encoder.encode('retry: 1000\n\n'))
        mustBeTaken(controller)
      },
      async pull(controller) {
        callOff()
        next ??= source.next()
        const result = await orAfter(next, heartbeatMs)
        if (left.signal.aborted) return
        if (result === 'late') controller.enqueue(encoder.encode(': \n\n'))
        else if (result.done === true) return finish()
        else {
          next = undefined
          controller.enqueue(encoder.encode(line(result.value)))
        }
        mustBeTaken(controller)
      },
      cancel: leave,
    },
    { highWaterMark: 1 },
  )
}

const line = (message: StreamMessage): string => {
  if ('text' in message) return message.text
  if ('json' in message) return `data: ${message.json}\n\n`
  const { id, data } = message
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
}

const after = (ms: number, then: () => void): (() => void) => systemClock.timer(systemClock.now() + ms, then)

/** The value, or `late` where it takes longer. A rejection is passed on. */
function orAfter<T>(value: Promise<T>, ms: number): Promise<T | 'late'> {
  let callOff = (): void => {}
  const late = new Promise<'late'>((resolve) => {
    callOff = after(ms, () => resolve('late'))
  })
  return Promise.race([value, late]).finally(() => callOff())
}
