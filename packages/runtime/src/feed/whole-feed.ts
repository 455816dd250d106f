/**
 * The whole feed: the events of a run and its child runs.
 *
 * Owns: reading them: all at once, or on from where the last reading stopped. Does not own: pages and the order
 * (journal), folds that are kept (run-folds.ts).
 */
import type { RunId } from '@reeve/core'
import type { Engine } from '@reeve/engine'
import { childRunsIn, journalPages, woven, WovenReading, type PageSize, type Recorded } from '@reeve/journal'

/** The events of one run after a position, page by page. */
export const runPages = (
  engine: Pick<Engine, 'read'>,
  run: RunId,
  from = 0,
  size?: PageSize,
  signal?: AbortSignal,
): AsyncGenerator<readonly Recorded[], undefined> =>
  journalPages((after, limit, length) => engine.read(run, after, limit, length), from, size, signal)

/** The feed of one run, all of it. Gives way to the rest of the process while it reads. */
async function runFeed(engine: Pick<Engine, 'read'>, run: RunId): Promise<readonly Recorded[]> {
  const feed: Recorded[] = []
  for await (const page of runPages(engine, run)) feed.push(...page)
  return feed
}

/**
 * The feed of a run with those of its child runs. Reads all of them each time; the events of a child run come before
 * the event of its end.
 */
export async function wholeFeed(engine: Pick<Engine, 'read'>, run: RunId): Promise<readonly Recorded[]> {
  const feed = await runFeed(engine, run)
  const children = new Map<RunId, readonly Recorded[]>()
  for (const open = [...childRunsIn(feed)]; open.length > 0;) {
    const child = open.pop()!
    children.set(child, await runFeed(engine, child))
    open.push(...childRunsIn(children.get(child)!))
  }
  return woven(feed, children)
}

/** A run and its child runs, read on from where the last reading stopped, in one order. */
export class WholeReading {
  readonly #engine: Pick<Engine, 'read'>
  readonly #woven: WovenReading

  constructor(engine: Pick<Engine, 'read'>, run: RunId) {
    this.#engine = engine
    this.#woven = new WovenReading(run)
  }

  /** The last position of the run itself that was read; 0: none. */
  get position(): number {
    return this.#woven.positionOf(this.#woven.root)
  }

  /** Gives what is new. Not to be called again before it has resolved. */
  async readOn(take: (recorded: Recorded) => void): Promise<void> {
    for (const run of this.#woven.runs()) await this.#readOn(run, take)
  }

  async #readOn(run: RunId, take: (recorded: Recorded) => void): Promise<void> {
    const woven = this.#woven
    if (run !== woven.root && woven.isOver(run)) return
    for await (const page of runPages(this.#engine, run, woven.positionOf(run)))
      for (const recorded of page) {
        const child = woven.endedBy(recorded)
        if (child !== undefined) await this.#readOn(child, take)
        const placed = woven.take(recorded)
        if (placed !== undefined) take(placed)
      }
  }
}
