/**
 * Weaving: the events of a run and what its agents show while they work, in one order.
 *
 * Owns: that no part comes before the event by which its step has begun, and so not before the start of its agent or
 * the transfer to it, and none after that by which its step has settled. Does not own: whose a part is
 * (part-origin.ts), what a reader makes of both (owned-run.ts, run-text.ts).
 * K9: what is held back for an event that is still to be read has bounded bytes; parts above the bound are counted, and
 * said to be missing.
 */
import { rootActivation, type RunId } from '../../core/index.ts'
import { mergeParts, partBytes, type Engine, type LivePart } from '../../engine/index.ts'
import type { Recorded } from '../../journal/index.ts'
import { follow } from './run-feed.ts'
import { droppedPart } from './live-parts.ts'

/** What is woven, as it comes. */
export type Woven =
  { readonly type: 'event'; readonly event: Recorded } | { readonly type: 'part'; readonly part: LivePart }

/** Who takes it. `room` is waited for before each event. */
export interface Taker {
  take(item: Woven): void
  room?(): Promise<void>
}

const bound = 1024 * 1024

/**
 * Follows a run from its first event to its end, or until the signal. Listens at once; reads when the run has `begun`.
 */
export async function weave(
  engine: Engine,
  run: RunId,
  taker: Taker,
  signal: AbortSignal,
  begun: Promise<unknown> = Promise.resolve(),
): Promise<void> {
  const weaver = new Weaver(run, taker)
  const stop = engine.listen(run, (part) => weaver.part(part))
  try {
    await begun
    for await (const recorded of follow(engine, run, { signal })) {
      weaver.event(recorded)
      await taker.room?.()
    }
  } finally {
    stop()
  }
}

class Weaver {
  readonly #run: RunId
  readonly #taker: Taker
  /** Steps whose beginning was told, and those whose end was: a part that came from another process may be late. */
  readonly #begun = new Set<string>()
  readonly #settled = new Set<string>()
  /** Parts of steps whose beginning is still to be read. */
  readonly #early = new Map<string, LivePart[]>()
  #bytes = 0
  #dropped = 0

  constructor(run: RunId, taker: Taker) {
    this.#run = run
    this.#taker = taker
  }

  event(event: Recorded): void {
    this.#taker.take({ type: 'event', event })
    const { activation, event: told } = event
    const isEnd = told.type === 'step.settled'
    if (!isEnd && !('op' in told && told.op === 'step')) return
    const step = `${activation} ${told.address}`
    if (isEnd) {
      this.#begun.delete(step)
      this.#settled.add(step)
      return
    }
    this.#begun.add(step)
    const early = this.#early.get(step) ?? []
    this.#early.delete(step)
    for (const part of early) {
      this.#bytes -= partBytes(part)
      this.#taker.take({ type: 'part', part })
    }
    if (this.#dropped === 0 || this.#early.size > 0) return
    this.#taker.take({ type: 'part', part: droppedPart(rootActivation(this.#run), this.#dropped) })
    this.#dropped = 0
  }

  part(part: LivePart): void {
    const step = `${part.activation} ${part.address}`
    if (this.#settled.has(step)) return
    if (part.address === '' || this.#begun.has(step)) return this.#taker.take({ type: 'part', part })
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
