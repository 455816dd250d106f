/**
 * Server-sent events: bytes to messages, as the HTML standard says.
 *
 * Owns: lines (CR, LF, CRLF), fields, UTF-8 across pieces, the last event id. Does not own: the connection
 * (event-source.ts).
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

/** One message of a stream. */
export interface SseMessage {
  readonly event: string
  readonly data: string
  /** The last id that the stream has named so far; empty if none. */
  readonly id: string
}

/** Takes the bytes of a stream in pieces of any size. */
export class SseParser {
  /** The last id that was dispatched: what `Last-Event-ID` names after a reconnect. */
  lastEventId: string
  /** How long the server wants a reader to wait before it connects again, in milliseconds. */
  retryMs: number | undefined
  readonly #decoder = new TextDecoder()
  #rest = ''
  /** How far into the rest no line end is. */
  #seen = 0
  #afterCr = false
  #event = ''
  #id: string
  #data: string[] = []

  constructor(lastEventId = '') {
    this.lastEventId = lastEventId
    this.#id = lastEventId
  }

  /** The messages that end in these bytes. */
  push(bytes: Uint8Array): readonly SseMessage[] {
    const messages: SseMessage[] = []
    // the decoder drops one byte order mark at the beginning, as the standard wants
    let text = this.#decoder.decode(bytes, { stream: true })
    if (this.#afterCr && text !== '') {
      if (text.startsWith('\n')) text = text.slice(1)
      this.#afterCr = false
    }
    this.#rest += text
    let from = 0
    for (let at = this.#seen; at < this.#rest.length; at++) {
      const code = this.#rest.charCodeAt(at)
      if (code !== 10 && code !== 13) continue
      this.#line(this.#rest.slice(from, at), messages)
      if (code === 13) {
        if (at + 1 === this.#rest.length) this.#afterCr = true
        else if (this.#rest.charCodeAt(at + 1) === 10) at++
      }
      from = at + 1
    }
    this.#rest = this.#rest.slice(from)
    this.#seen = this.#rest.length
    return messages
  }

  #line(line: string, messages: SseMessage[]): void {
    if (line === '') {
      this.lastEventId = this.#id
      if (this.#data.length > 0)
        messages.push({ event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id })
      this.#data = []
      this.#event = ''
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#event = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === 'retry' && /^[0-9]+$/.test(value)) this.retryMs = Number(value)
  }
}
