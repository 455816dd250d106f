/**
 * Streams: an iteration as a response: server-sent events, and JSON that is long.
 *
 * Owns: the format, comments while nothing happens, what becomes of a reader that is slow, dead or gone. Does not own:
 * what is sent.
 * Holds: one message at a time is in memory here: the next one is taken when the reader has taken the last one. What
 * readers that stand still hold together is bounded.
 */
import { nextSlice, systemClock } from '@reeve/core'

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
  const lines = async function* (signal: AbortSignal): AsyncGenerator<string, undefined> {
    yield 'retry: 1000\n\n'
    for await (const message of open(signal)) yield messageText(message)
    return undefined
  }
  return streamed(new Response(bytesOf(reading, lines, ': \n\n'), { headers }))
}

/** Characters of JSON that are sent as one: what is longer is streamed. */
const wholeLength = 256 * 1024

/**
 * JSON that may be long, given as pieces of its text. Rejects with what the pieces throw while it is short; later the
 * connection is broken off.
 */
export async function jsonStream(
  reading: Omit<StreamReading, 'heartbeatMs'>,
  pieces: AsyncGenerator<string, undefined>,
): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' }
  if (reading.request?.method === 'HEAD') return new Response(null, { headers })
  let start = ''
  while (start.length < wholeLength) {
    const { done, value } = await pieces.next()
    if (done === true) return new Response(start, { headers })
    start += value
  }
  const all = async function* (): AsyncGenerator<string, undefined> {
    yield start
    start = ''
    yield* pieces
    return undefined
  }
  const { heartbeatMs: _none, ...unhurried } = reading as StreamReading
  return streamed(new Response(bytesOf(unhurried, all), { headers }))
}

const streams = new WeakSet<Response>()

function streamed(response: Response): Response {
  streams.add(response)
  return response
}

/** Whether a response was made here, and is read as it goes. */
export const isStreamed = (response: Response): boolean => streams.has(response)

/** What a stream ends with whose reader took nothing. */
export class ReaderDropped extends Error {
  constructor() {
    super('the reader took nothing')
  }
}

const encoder = new TextEncoder()

/** What is written at once, in characters: more of a message is encoded when this was taken. */
const pieceLength = 16 * 1024
/** Characters of messages that are begun and not yet written, of all readers of this process together. */
const mostBegun = 64 * 1024 * 1024
/** How long a reader may stand still while there are more than that. Milliseconds. */
const graceMs = 1_000

/** A reader in the middle of a message. */
interface BegunMessage {
  readonly length: number
  readonly since: number
  readonly drop: () => void
}

/** The readers that are in the middle of a message; the one that has taken nothing for longest comes first. */
const begun = new Set<BegunMessage>()
let begunLength = 0

function begin(message: BegunMessage): void {
  begun.add(message)
  begunLength += message.length
  for (const { length, since, drop } of begun) {
    if (begunLength <= mostBegun || message.since - since < graceMs) return
    begunLength -= length
    begun.delete(message)
    drop()
  }
}

function forget(message: BegunMessage | undefined): void {
  if (message !== undefined && begun.delete(message)) begunLength -= message.length
}

/** The piece of a text from a place on; no surrogate pair is cut in two. */
function pieceOf(text: string, from: number): string {
  const end = from + pieceLength
  const isCut = end < text.length && text.charCodeAt(end - 1) >> 10 === 0xd800 >> 10
  return text.slice(from, isCut ? end - 1 : end)
}

/** `idle`: what is written after `heartbeatMs` without a text. */
function bytesOf(
  { signal, heartbeatMs, readerTimeoutMs }: Omit<StreamReading, 'heartbeatMs'> & { readonly heartbeatMs?: number },
  open: (signal: AbortSignal) => AsyncIterable<string>,
  idle = '',
): ReadableStream<Uint8Array> {
  const left = new AbortController()
  const source = open(left.signal)[Symbol.asyncIterator]()
  let next: Promise<IteratorResult<string>> | undefined
  let text = ''
  let at = 0
  let waits: BegunMessage | undefined
  let callOff = (): void => {}
  let finish = (): void => {}
  const leave = (): void => {
    callOff()
    forget(waits)
    text = ''
    signal.removeEventListener('abort', finish)
    left.abort()
    source.return?.().catch(() => {})
  }
  /** What was written is to be taken in time: then the next piece is asked for. */
  const write = (controller: ReadableStreamDefaultController, piece: string): void => {
    controller.enqueue(encoder.encode(piece))
    const drop = (): void => {
      leave()
      controller.error(new ReaderDropped())
    }
    callOff = after(readerTimeoutMs, drop)
    waits = { length: piece.length + text.length, since: systemClock.now(), drop }
    begin(waits)
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
      },
      async pull(controller) {
        callOff()
        forget(waits)
        if (at < text.length) {
          // long texts of many readers are not written in one turn
          await nextSlice()
          if (left.signal.aborted) return
        } else {
          next ??= source.next()
          const result = heartbeatMs === undefined ? await next : await orAfter(next, heartbeatMs)
          if (left.signal.aborted) return
          if (result === 'late') return write(controller, idle)
          next = undefined
          if (result.done === true) return finish()
          text = result.value
          at = 0
        }
        const piece = pieceOf(text, at)
        at += piece.length
        if (at >= text.length) text = ''
        write(controller, piece)
      },
      cancel: leave,
    },
    { highWaterMark: 1 },
  )
}

/** A message as it is written. */
export function messageText(message: StreamMessage): string {
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
