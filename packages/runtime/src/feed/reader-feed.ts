/**
 * The feed of one run for one reader: events and live parts in one order, each part with its agent.
 *
 * Owns: the queue between the feed and its reader, `run.feed()`. Does not own: the order (merged-feed.ts), the agent of
 * a part (part-origin.ts), a reader that owns its run (owned-run.ts).
 * Holds: K9: leaving changes nothing, and a slow reader holds bounded memory: events are read when it wants one, parts
 * are dropped and counted.
 */
import type { ActivationId, RunId } from '@reeve/core'
import { mergeParts, partBytes, type Engine } from '@reeve/engine'
import type { Recorded } from '@reeve/journal'
import { droppedPart, LiveQueue } from './live-parts.ts'
import { mergeFeed, type FeedItem } from './merged-feed.ts'
import { PartOrigins, type RunPart } from './part-origin.ts'
import type { ReadOptions } from './run-feed.ts'

/**
 * An item of a feed: a recorded event or a live part. No part comes before the event that began its step. Parts are
 * live only; those that were dropped for a slow reader are counted by a part `parts.dropped`.
 */
export type StreamItem =
  { readonly type: 'event'; readonly event: Recorded } | { readonly type: 'part'; readonly part: RunPart }

/** Of live parts that wait for a reader, in bytes. */
const bound = 256 * 1024

/** What is between the feed and its reader, and when the feed has ended. */
export interface ReaderFeed {
  readonly queue: LiveQueue<StreamItem>
  /** Stops reading; nothing more comes. */
  readonly leave: () => void
  readonly over: Promise<void>
}

/**
 * Reads a run to its end, or until the reader leaves. Listens at once; reads once the run has `begun`. An event is read
 * when the reader waits for one: what stands still holds one event and some parts.
 */
export function openFeed(engine: Engine, run: RunId, from: number, begun?: Promise<unknown>): ReaderFeed {
  const queue = new LiveQueue<StreamItem>({
    bound,
    bytes: (item) => (item.type === 'part' ? partBytes(item.part) : 512),
    merge: mergeItems,
    droppable: (item) => item.type === 'part',
    dropped: (count) => ({
      type: 'part',
      part: { ...droppedPart('act_' as ActivationId, count), agent: '', path: [] },
    }),
  })
  const left = new AbortController()
  const origins = new PartOrigins(engine, run, {})
  let unknown: ActivationId | undefined
  const take = (item: FeedItem): void => {
    if (item.type === 'event') {
      const { activation } = item.event
      if (!origins.knows({ activation, address: '-' })) unknown = activation
      return queue.push(item)
    }
    const part = origins.place(item.part)
    if (part !== undefined) queue.push({ type: 'part', part })
  }
  const room = async (): Promise<void> => {
    if (unknown !== undefined) await origins.readOn()
    unknown = undefined
    await queue.wanted()
  }
  // a reader that goes on `from` an event may have had the text of the calls under way
  const over = mergeFeed(engine, run, { take, room }, left.signal, {
    begun,
    soFar: from === 0,
    from,
    ...(from === 0 ? {} : { openAt: (position: number) => origins.openAt(position) }),
  }).then(
    () => queue.end(),
    (failure: unknown) => queue.end(failure),
  )
  return {
    queue,
    over,
    leave: () => {
      left.abort()
      queue.leave()
    },
  }
}

function mergeItems(last: StreamItem, next: StreamItem): StreamItem | undefined {
  if (last.type !== 'part' || next.type !== 'part') return undefined
  const part = mergeParts(last.part, next.part)
  return part === undefined ? undefined : { type: 'part', part }
}

/** The events of a run after `from` and its live parts, until the run has ended. */
export function readerFeed(
  engine: Engine,
  run: RunId,
  { from = 0, signal }: ReadOptions = {},
): AsyncIterableIterator<StreamItem, undefined> {
  const feed = openFeed(engine, run, from)
  const leave = (): void => {
    feed.leave()
    signal?.removeEventListener('abort', leave)
  }
  signal?.addEventListener('abort', leave)
  if (signal?.aborted === true) leave()
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => feed.queue.take(),
    return() {
      leave()
      return Promise.resolve({ value: undefined, done: true })
    },
  }
}
