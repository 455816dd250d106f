/**
 * The message stream of a run: a response that `useChat` reads.
 *
 * Owns: `uiMessageStreamResponse`, and the one way in which a followed run becomes a response. Does not own: requests
 * (ui-messages.ts), chunks (chunk-writer.ts).
 */
import { ReeveError } from '@reeve/core'
import type { Run } from '@reeve/runtime'
import { ChatFeed, sseMessage, sseResponse, type ChatChange, type StreamReading } from '../chat-feed/index.ts'
import type { StreamEnd } from '../protocol-run/index.ts'
import { ChunkWriter, errorText, type WrittenBefore } from './chunk-writer.ts'
import type { UiMessageChunk } from './chunk.ts'

/** How a run is streamed. */
export interface UiMessageStreamOptions {
  /**
   * Only what comes after this position: the `metadata.position` of a message that shows what came before. Default 0.
   */
  readonly from?: number
  /** Ends the stream, and leaves the run alone. */
  readonly signal?: AbortSignal
  /** A comment is sent after so many milliseconds of silence. Default 15,000. */
  readonly heartbeatMs?: number
}

/**
 * A run as a UI message stream, for a route of your own (Next.js, Hono, …). It shows the run from its beginning, goes on
 * live, and ends when the run has ended or needs a person. Who leaves it leaves the run alone. Rejects with
 * `run.unknown`.
 */
export async function uiMessageStreamResponse(run: Run, options: UiMessageStreamOptions = {}): Promise<Response> {
  const { from = 0, signal = new AbortController().signal, heartbeatMs = 15_000 } = options
  const { agent } = await run.summary()
  return messageStream(new ChatFeed(run), agent, { from }, { signal, heartbeatMs, readerTimeoutMs: 30_000 })
}

/** The header by which the AI SDK knows the stream. */
const headers = { 'x-vercel-ai-ui-message-stream': 'v1' }

/** A followed run as a response. It is read from this call on. */
export const messageStream = (
  followed: ChatFeed,
  agent: string,
  before: WrittenBefore,
  reading: StreamReading,
): Response =>
  sseResponse(
    reading,
    (signal) => messages(followed.read(signal), new ChunkWriter({ run: followed.run.id, agent }, before), signal),
    headers,
  )

async function* messages(
  changes: AsyncIterable<ChatChange | StreamEnd>,
  writer: ChunkWriter,
  signal: AbortSignal,
): AsyncGenerator<string, undefined> {
  yield* written(writer.begin())
  try {
    for await (const change of changes)
      yield* written(change.type === 'show' || change.type === 'withdraw' ? writer.take(change) : writer.end(change))
  } catch (thrown) {
    // the run goes on: only this stream cannot
    yield* written([{ type: 'error', errorText: streamError(thrown) }])
  }
  if (!signal.aborted) yield sseMessage('[DONE]')
  return undefined
}

function* written(chunks: readonly UiMessageChunk[]): Generator<string> {
  for (const chunk of chunks) yield sseMessage(chunk)
}

/** Nothing internal is told of what the caller did not do. */
const streamError = (thrown: unknown): string =>
  ReeveError.is(thrown)
    ? errorText(thrown.code, 'the stream was cut; the run goes on')
    : errorText('request.failed', 'the stream was cut; the run goes on')
