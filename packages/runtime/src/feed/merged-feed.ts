/**
 * Merged feed: the events of a run and its live parts in one order.
 *
 * Owns: the order: a part comes after the event that began its step, and before the event that settled it. Does not
 * own: the agent of a part (part-origin.ts), the use of the feed (owned-run.ts, run-text.ts).
 * Holds: K9: parts held back for an unread event have bounded bytes; parts above the bound are dropped and counted.
 */
import { rootActivation, type RunId } from '@reeve/core'
import { mergeParts, partBytes, type Engine, type LivePart } from '@reeve/engine'
import type { Recorded } from '@reeve/journal'
import { follow } from './run-feed.ts'
import { droppedPart, stepKey } from './live-parts.ts'

/** An item of the merged feed. */
export type FeedItem =
  { readonly type: 'event'; readonly event: Recorded } | { readonly type: 'part'; readonly part: LivePart }

/** The consumer of a merged feed. `room` is awaited after each event. */
export interface FeedConsumer {
  take(item: FeedItem): void
  room?(): Promise<void>
}

const bound = 1024 * 1024
/** Steps that are known to have ended: of those that ended before them, no part comes any more. */
const mostSettled = 1_000

/** How a merged feed begins. */
export interface MergeOptions {
  /** It is read once this has resolved. Default: at once. */
  readonly begun?: Promise<unknown> | undefined
  /** Whether the text so far of the calls under way is included. Default true. */
  readonly soFar?: boolean
  /** Only events after this position. Default 0: all. */
  readonly from?: number
  /** The steps that have begun up to `from` and are open, as `stepKey` names them. Asked once `begun` has resolved. */
  readonly openAt?: (from: number) => Promise<Iterable<string>>
}

/** Follows a run from its first event to its end, or until the signal. Listens at once. */
export async function mergeFeed(
  engine: Engine,
  run: RunId,
  consumer: FeedConsumer,
  signal: AbortSignal,
  { begun, soFar = true, from = 0, openAt }: MergeOptions = {},
): Promise<void> {
  const merger = new FeedMerger(run, consumer)
  const stop = engine.listen(run, (part) => merger.part(part), { soFar })
  try {
    await begun
    if (openAt !== undefined) merger.open(await openAt(from))
    for await (const recorded of follow(engine, run, { from, signal })) {
      merger.event(recorded)
      await consumer.room?.()
    }
  } finally {
    stop()
  }
}

class FeedMerger {
  readonly #run: RunId
  readonly #consumer: FeedConsumer
  /** Steps that have begun, and settled ones: parts of another process may arrive late. */
  readonly #begun = new Set<string>()
  readonly #settled = new Set<string>()
  /** Parts of steps whose first event is not read yet. */
  readonly #early = new Map<string, LivePart[]>()
  #bytes = 0
  #dropped = 0

  constructor(run: RunId, consumer: FeedConsumer) {
    this.#run = run
    this.#consumer = consumer
  }

  /** These steps have begun. */
  open(steps: Iterable<string>): void {
    for (const step of steps) this.#begun.add(step)
  }

  event(event: Recorded): void {
    const { activation, event: told } = event
    const isEnd = told.type === 'step.settled'
    const step = isEnd || ('op' in told && told.op === 'step') ? stepKey(activation, told.address) : undefined
    // one that ends and was not seen to begin has begun before the first event of this reader
    if (isEnd && step !== undefined) this.#release(step)
    this.#consumer.take({ type: 'event', event })
    if (step === undefined) return
    if (isEnd) {
      this.#begun.delete(step)
      this.#settled.add(step)
      if (this.#settled.size > mostSettled) this.#settled.delete(this.#settled.values().next().value!)
      return
    }
    this.#begun.add(step)
    this.#release(step)
    if (this.#dropped === 0 || this.#early.size > 0) return
    this.#consumer.take({ type: 'part', part: droppedPart(rootActivation(this.#run), this.#dropped) })
    this.#dropped = 0
  }

  /** Gives the parts that waited for the first event of their step. */
  #release(step: string): void {
    const early = this.#early.get(step) ?? []
    this.#early.delete(step)
    for (const part of early) {
      this.#bytes -= partBytes(part)
      this.#consumer.take({ type: 'part', part })
    }
  }

  part(part: LivePart): void {
    const step = stepKey(part.activation, part.address)
    if (this.#settled.has(step)) return
    if (part.address === '' || this.#begun.has(step)) return this.#consumer.take({ type: 'part', part })
    const early = this.#early.get(step) ?? []
    const last = early.at(-1)
    const merged = last === undefined ? undefined : mergeParts(last, part)
    this.#bytes += partBytes(part)
    if (this.#bytes > bound) {
      this.#bytes -= partBytes(part)
      this.#dropped++
      return
    }
    if (merged === undefined) early.push(part)
    else {
      this.#bytes += partBytes(merged) - partBytes(last!) - partBytes(part)
      early[early.length - 1] = merged
    }
    this.#early.set(step, early)
  }
}
