/**
 * An owned run: started, watched and, if its reader leaves, cancelled.
 *
 * Owns: the one exception to K9: this reader owns its run, and `return()` (a `break`) cancels it. Does not own: other
 * readers (run-feed.ts).
 */
import type { Clock, Json, RunId } from '@reeve/core'
import type { Engine } from '@reeve/engine'
import type { Run, RunOutcome } from '../run-handle.ts'
import { openFeed, type StreamItem } from './reader-feed.ts'
import { textOf } from './run-text.ts'

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

/** How long `return()` waits for the end of a run whose effects do not listen to their signal. */
const returnTimeoutMs = 5_000

/** Watches a run that is being started, and listens to its parts before it begins. */
export function ownedRun<O>(engine: Engine, id: RunId, run: Promise<Run<O>>, clock: Clock): RunStream<O> {
  const { queue, over, leave } = openFeed(engine, id, 0, run)
  let isOver = false
  over.then(
    () => (isOver = true),
    () => {},
  )
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
      leave()
      if (!isOver) await cancelQuietly(run, clock)
      return { value: undefined, done: true }
    },
  }
}

/** Cancels and waits for the end, within bounds. Never throws: the reader has left. */
async function cancelQuietly<O>(run: Promise<Run<O>>, clock: Clock): Promise<void> {
  try {
    const handle = await run
    await handle.control.cancel('its reader left')
    let callOff = (): void => {}
    const enough = new Promise<void>((resolve) => {
      callOff = clock.timer(clock.now() + returnTimeoutMs, resolve)
    })
    await Promise.race([handle.outcome(), enough])
    callOff()
  } catch {
    // the run could not be started, or has already ended
  }
}
