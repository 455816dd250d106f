/**
 * The feed of all runs: every event of every run from one on, then new ones, for as long as its reader stays.
 *
 * Owns: following all runs through the engine's `feed` and `feedChanged`, a page at a time. Does not own: the order of
 * events and their ids (the store), one run's feed (run-feed.ts).
 * Holds: K9: readers change nothing, and a slow one keeps one page in memory. Leaving never throws.
 */
import { described, ReeveError } from '@reeve/core'
import type { Engine, FeedEvent } from '@reeve/engine'
import { leavable } from './run-feed.ts'

/** The start and end of reading all runs. */
export interface FeedOptions {
  /** Returns events after the one with this id; `'now'`: after those of now. Default 0: all events. */
  readonly from?: number | 'now'
  /** Ends after so many events. Default: it ends when its reader leaves or the runtime is closed. */
  readonly limit?: number
  /** `'now'`: ends after what is recorded when it is first read. Default: new events follow. */
  readonly to?: 'now'
  /** Called once, before the first event, with the id after which events are given: what `'now'` came to. */
  readonly onBegin?: (from: number) => void
  readonly signal?: AbortSignal
}

/** Events that are read at once at most. */
const pageSize = 200

/** Follows all runs. Throws `input.invalid` for invalid options. */
export function followAll(
  engine: Engine,
  { from = 0, limit = Infinity, to, onBegin = () => {}, signal }: FeedOptions,
): AsyncIterableIterator<FeedEvent, undefined> {
  if (from !== 'now' && !(Number.isSafeInteger(from) && from >= 0))
    throw new ReeveError('input.invalid', `from ${String(from)}: not the id of an event`, {
      hint: "Pass the `id` of the last event that was read, 0 for all events, or 'now'.",
    })
  if (limit !== Infinity && !(Number.isSafeInteger(limit) && limit > 0))
    throw new ReeveError('input.invalid', `limit ${String(limit)}: not a positive whole number`, {
      hint: 'Pass how many events to read, or leave it out.',
    })
  if (to !== undefined && to !== 'now')
    throw new ReeveError('input.invalid', `to ${described(to)}: not "now"`, {
      hint: "Pass 'now' to end after what is recorded, or leave it out to follow.",
    })
  return leavable(signal, (left) => pages(engine, { from, limit, to, onBegin }, left))
}

async function* pages(
  engine: Engine,
  { from, limit, to, onBegin }: Required<Omit<FeedOptions, 'signal' | 'to'>> & { readonly to: FeedOptions['to'] },
  signal: AbortSignal,
): AsyncGenerator<FeedEvent, undefined> {
  const now = from === 'now' || to === 'now' ? (await engine.feed('now', 1)).upTo : 0
  let last = from === 'now' ? now : from
  onBegin(last)
  for (let left = limit; !signal.aborted;) {
    if (to === 'now' && last >= now) return undefined
    const { events, upTo } = await engine.feed(last, Math.min(left, pageSize))
    for (const event of events) {
      if (signal.aborted || (to === 'now' && event.id > now)) return undefined
      yield event
    }
    left -= events.length
    if (left <= 0) return undefined
    if (upTo === last && !signal.aborted) await engine.feedChanged(last, signal)
    last = upTo
  }
  return undefined
}
