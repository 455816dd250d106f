/**
 * Read bound: how much of one message of an MCP server is read.
 *
 * Owns: the answer that stands in the place of one that is too large, over HTTP (JSON and events) and over standard
 * output. Does not own: how much of a result is kept (result-content.ts), what an agent is told of it (tool-call.ts).
 * Holds: an answer that is too large is an answer: the server has done its work. No more of it is held in memory than the
 * bound, and over HTTP no more of it is downloaded.
 */
import { isObject, own, readJson, type Json } from '@reeve/core'

/** The code of the error that stands in the place of an answer. Of the range that JSON-RPC leaves to implementations. */
export const tooLargeCode = -32_098

/** A bound for results of so many bytes: what is beside them in a message, and escapes of JSON, have room. */
export const readBound = (resultBytes: number): number => Math.max(16 * 1024 * 1024, 4 * resultBytes)

const inPlace = (id: Json, most: number): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code: tooLargeCode, message: `it has more than ${most} bytes` } })

const newline = 10
const carriageReturn = 13

/** `fetch` that reads no more of an answer, or of one event of a stream, than `most` bytes. */
export const boundedFetch =
  (most: number): typeof fetch =>
  async (url, init) => {
    const response = await fetch(url, init)
    if (response.body === null) return response
    const id = typeof init?.body === 'string' ? idIn(init.body) : undefined
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    const body = response.body.pipeThrough(isStream ? boundedEvents(most, id) : boundedBody(most, id))
    const { status, statusText, headers } = response
    return new Response(body, { status, statusText, headers })
  }

/** The id of a request. */
function idIn(body: string): Json | undefined {
  const read = readJson(body)
  return read.ok && isObject(read.value) ? own(read.value, 'id') : undefined
}

type Bytes = Uint8Array<ArrayBuffer>
const bytesOf = (text: string): Bytes => new TextEncoder().encode(text)

function boundedBody(most: number, id: Json | undefined): TransformStream<Bytes, Bytes> {
  let pieces: Bytes[] = []
  let size = 0
  return new TransformStream({
    transform(piece, stream) {
      pieces.push(piece)
      size += piece.length
      if (size <= most) return
      pieces = []
      stream.enqueue(bytesOf(inPlace(id ?? null, most)))
      stream.terminate()
    },
    flush(stream) {
      for (const piece of pieces) stream.enqueue(piece)
    },
  })
}

/** Passes events on, each once it is whole: one that is too large never begins. */
function boundedEvents(most: number, id: Json | undefined): TransformStream<Bytes, Bytes> {
  let pieces: Bytes[] = []
  let size = 0
  let isLineEmpty = false
  return new TransformStream({
    transform(piece, stream) {
      let from = 0
      for (let i = 0; i < piece.length; i++) {
        const byte = piece[i]!
        if (byte !== newline && byte !== carriageReturn) isLineEmpty = false
        else if (byte === newline && isLineEmpty) {
          // an empty line ends an event
          for (const each of pieces) stream.enqueue(each)
          stream.enqueue(piece.subarray(from, i + 1))
          pieces = []
          size = 0
          from = i + 1
        } else if (byte === newline) isLineEmpty = true
      }
      const rest = piece.subarray(from)
      pieces.push(rest)
      size += rest.length
      if (size <= most) return
      pieces = []
      if (id !== undefined) stream.enqueue(bytesOf(`event: message\ndata: ${inPlace(id, most)}\n\n`))
      stream.terminate()
    },
    flush(stream) {
      for (const each of pieces) stream.enqueue(each)
    },
  })
}

/** How much of the beginning and of the end of a line is kept to find whose answer it is. Bytes. */
const edge = 1_024

/** Lines of standard output: one that is too large is answered in its place, and what of it comes is let go. */
export class BoundedLines {
  readonly #most: number
  #length = 0
  #head: Buffer[] = []
  #headLength = 0
  #tail: Buffer = Buffer.alloc(0)
  #held: Buffer[] = []

  constructor(most: number) {
    this.#most = most
  }

  /** The whole lines that a piece completes. */
  take(piece: Buffer): Buffer {
    const lines: Buffer[] = []
    for (let from = 0; from < piece.length;) {
      const end = piece.indexOf(newline, from)
      const part = piece.subarray(from, end < 0 ? undefined : end + 1)
      this.#add(part)
      from += part.length
      if (end < 0) break
      lines.push(...this.#line())
    }
    return Buffer.concat(lines)
  }

  #add(part: Buffer): void {
    this.#length += part.length
    if (this.#headLength < edge) {
      this.#head.push(part.subarray(0, edge))
      this.#headLength += part.length
    }
    this.#tail = Buffer.concat([this.#tail, part.subarray(-edge)]).subarray(-edge)
    if (this.#length > this.#most) this.#held = []
    else this.#held.push(part)
  }

  #line(): readonly Buffer[] {
    const [head, tail] = [Buffer.concat(this.#head).toString(), this.#tail.toString()]
    const line = this.#length > this.#most ? answeredIn(head, tail, this.#most) : this.#held
    this.#length = this.#headLength = 0
    this.#head = []
    this.#held = []
    this.#tail = Buffer.alloc(0)
    return line
  }
}

/** The answer in the place of a line of which this is the beginning and the end; nothing if it is no answer. */
function answeredIn(head: string, tail: string, most: number): readonly Buffer[] {
  const id =
    /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,15}|"[^"\\]{1,256}")\s*,/.exec(head)?.[1] ??
    (/^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"(?:result|error)"\s*:/.test(head)
      ? /,\s*"id"\s*:\s*(\d{1,15}|"[^"\\]{1,256}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail)?.[1]
      : undefined)
  return id === undefined ? [] : [Buffer.from(`${inPlace(JSON.parse(id) as Json, most)}\n`)]
}
