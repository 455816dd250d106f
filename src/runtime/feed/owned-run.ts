/**
 * An owned run: started, watched and, if its reader leaves, cancelled.
 *
 * Owns: the one exception to K9: this reader owns its run, and `return()` (a `break`) cancels it. Does not own: other
 * readers (run-feed.ts).
 */
import { isObject, type ActivationId, type Clock, type Json, type RunId } from '../../core/index.ts'
import { mergeParts, partBytes, type Engine } from '../../engine/index.ts'
import type { Recorded } from '../../journal/index.ts'
import type { Run, RunOutcome } from '../run-handle.ts'
import { droppedPart, LiveQueue } from './live-parts.ts'
import { PartOrigins, type RunPart } from './part-origin.ts'
import { textOf } from './run-text.ts'
import { mergeFeed, type FeedItem } from './merged-feed.ts'

/**
 * An item of an owned run: a recorded event or a live part. No part comes before the event that began its step. The
 * stream listens from the start and misses no part, except those that it reports as dropped for a slow reader.
 */
export type StreamItem =
  { readonly type: 'event'; readonly event: Recorded } | { readonly type: 'part'; readonly part: RunPart }

/** An owned run. Leaving the iteration before its end cancels it. */
export interface RunStream<O = Json> extends AsyncIterableIterator<StreamItem, undefined> {
  /** The handle, once the run has begun. */
  readonly run: Promise<Run<O>>
  outcome(): Promise<RunOutcome<O>>
  /**
   * The same as `run.text()`, for another reader: the text of the agents in control, complete whenever it is called.
   * Leaving it does not cancel the run.
   */
  readonly text: AsyncIterableIterator<string, undefined>
  return(): Promise<IteratorResult<StreamItem, undefined>>
}

const bound = 1024 * 1024
/** How long `return()` waits for the end of a run whose effects do not listen to their signal. */
const patience = 5_000

/** Watches a run that is being started, and listens to its parts before it begins. */
export function ownedRun<O>(engine: Engine, id: RunId, run: Promise<Run<O>>, clock: Clock): RunStream<O> {
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
  let isOver = false
  const origins = new PartOrigins(engine, id, {})
  const take = (item: FeedItem): void => {
    if (item.type === 'event') {
      origins.note(item.event)
      queue.push(item)
      return
    }
    const part = origins.place(item.part)
    if (part !== undefined) queue.push({ type: 'part', part })
  }
  mergeFeed(engine, id, { take, room: () => queue.room() }, left.signal, run)
    .then(
      () => queue.end(),
      (failure: unknown) => queue.end(failure),
    )
    .finally(() => (isOver = true))
  run.catch(() => {})
  return {
    run,
    outcome: async () => (await run).outcome(),
    get text() {
      return textOf(engine, id, {}, run)
    },
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => queue.take(),
    async return() {
      left.abort()
      queue.leave()
      if (!isOver) await cancelQuietly(run, clock)
      return { value: undefined, done: true }
    },
  }
}

function mergeItems(last: StreamItem, next: StreamItem): StreamItem | undefined {
  if (last.type !== 'part' || next.type !== 'part' || !isObject(next.part.part)) return undefined
  const part = mergeParts(last.part, next.part)
  return part === undefined ? undefined : { type: 'part', part }
}

/** Cancels and waits for the end, within bounds. Never throws: the reader has left. */
async function cancelQuietly<O>(run: Promise<Run<O>>, clock: Clock): Promise<void> {
  try {
    const handle = await run
    await handle.control.cancel('its reader left')
    let callOff = (): void => {}
    const enough = new Promise<void>((resolve) => {
      callOff = clock.timer(clock.now() + patience, resolve)
    })
    await Promise.race([handle.outcome(), enough])
    callOff()
  } catch {
    // the run could not be started, or has already ended
  }
}
