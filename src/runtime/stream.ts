/**
 * An owned run: started, watched and, if its reader leaves, cancelled.
 *
 * Owns: the one exception to K9: whoever iterates here owns the run, and `return()` (a `break`) cancels it. Does not own: readers of a run that
 * somebody else owns (feed.ts).
 */
import { isObject, type ActivationId, type Clock, type Json } from '../core/index.ts'
import type { Recorded } from '../journal/index.ts'
import { droppedPart, LiveQueue, mergeParts, partBytes } from './parts.ts'
import type { Run, RunOutcome } from './handle.ts'
import type { RunPart } from './placing.ts'

/** What an owned run shows: recorded events and live parts, as they come. It listens from the start: no part is missed but those that a slow reader is told of. */
export type StreamItem = { readonly type: 'event'; readonly event: Recorded } | { readonly type: 'part'; readonly part: RunPart }

/** An owned run. Leaving the iteration before its end cancels it. */
export interface RunStream<O = Json> extends AsyncIterableIterator<StreamItem, undefined> {
  /** The handle, when the run has begun. */
  readonly run: Promise<Run<O>>
  outcome(): Promise<RunOutcome<O>>
  return(): Promise<IteratorResult<StreamItem, undefined>>
}

const bound = 1024 * 1024
/** How long `return()` waits for the end of a run whose effects do not listen to their signal. */
const patience = 5_000

/** Watches a run that is being started. Its parts are listened to before it begins. */
export function ownedRun<O>(run: Promise<Run<O>>, partsUntil: (left: AbortSignal) => AsyncIterable<RunPart>, clock: Clock): RunStream<O> {
  const queue = new LiveQueue<StreamItem>({
    bound,
    bytes: (item) => (item.type === 'part' ? partBytes(item.part) : 512),
    merge: mergeItems,
    droppable: (item) => item.type === 'part',
    dropped: (count) => ({ type: 'part', part: { ...droppedPart('act_' as ActivationId, count), agent: '', path: [] } }),
  })
  const left = new AbortController()
  let isOver = false
  const pump = async (): Promise<void> => {
    const parts = pumpParts(partsUntil(left.signal), queue).catch(() => undefined) // parts are never needed (K9); the events tell what failed
    const handle = await run
    for await (const event of handle.events({ signal: left.signal })) {
      queue.push({ type: 'event', event })
      await queue.room()
    }
    isOver = true
    await parts
  }
  pump().then(
    () => queue.end(),
    (failure: unknown) => {
      isOver = true
      queue.end(failure)
    },
  )
  run.catch(() => {})
  return {
    run,
    outcome: async () => (await run).outcome(),
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

async function pumpParts(parts: AsyncIterable<RunPart>, queue: LiveQueue<StreamItem>): Promise<void> {
  for await (const part of parts) queue.push({ type: 'part', part })
}

function mergeItems(last: StreamItem, next: StreamItem): StreamItem | undefined {
  if (last.type !== 'part' || next.type !== 'part' || !isObject(next.part.part)) return undefined
  const part = mergeParts(last.part, next.part)
  return part === undefined ? undefined : { type: 'part', part }
}

/** Cancels and waits for the end, within bounds. Never throws: whoever leaves does not want to hear any more. */
async function cancelQuietly<O>(run: Promise<Run<O>>, clock: Clock): Promise<void> {
  try {
    const handle = await run
    await handle.cancel('its reader left')
    let callOff = (): void => {}
    const enough = new Promise<void>((resolve) => {
      callOff = clock.timer(clock.now() + patience, resolve)
    })
    await Promise.race([handle.outcome(), enough])
    callOff()
  } catch {
    // It could not be started, or ended by itself meanwhile.
  }
}
