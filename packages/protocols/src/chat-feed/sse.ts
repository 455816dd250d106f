/**
 * Server-sent events of protocols that have their own form.
 *
 * Owns: that form. Does not own: the response, its comments, what becomes of its reader (server/event-stream.ts), what
 * is said.
 */
import { eventStream, type StreamMessage, type StreamReading } from '@reeve/server/event-stream'

export type { StreamReading } from '@reeve/server/event-stream'

/** One message: JSON, or a word of the protocol. `event`: its name, where the protocol wants one. */
export const sseMessage = (data: unknown, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/** The texts as a response. `open` is given the signal that says that nothing more is wanted. */
export const sseResponse = (
  reading: StreamReading,
  open: (signal: AbortSignal) => AsyncIterable<string>,
  headers?: Readonly<Record<string, string>>,
): Response => eventStream(reading, (signal) => messages(open(signal)), headers)

async function* messages(texts: AsyncIterable<string>): AsyncGenerator<StreamMessage, undefined> {
  for await (const text of texts) yield { text }
  return undefined
}
