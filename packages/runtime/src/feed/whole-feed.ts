/**
 * The whole feed: the events of a run and its child runs.
 *
 * Owns: reading them: all at once, or on from where the last reading stopped. Does not own: pages, the order of a
 * whole that is read at once (journal), folds that are kept (run-folds.ts).
 */
import { childActivation, rootActivation, runOf, type RunId } from '@reeve/core'
import type { Engine } from '@reeve/engine'
import { childRunsIn, journalPages, woven, type PageSize, type Recorded } from '@reeve/journal'

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

/**
 * A run and its child runs, read on from where the last reading stopped. What a child run has recorded comes before its
 * end in its leader's journal; its positions are between those of the run itself.
 */
export class WholeReading {
  readonly #engine: Pick<Engine, 'read'>
  readonly #run: RunId
  /** The last position read of each, in the order in which they began. */
  readonly #read = new Map<RunId, number>()
  readonly #ended = new Set<RunId>()
  #last = 0

  constructor(engine: Pick<Engine, 'read'>, run: RunId) {
    this.#engine = engine
    this.#run = run
    this.#read.set(run, 0)
  }

  /** The last position of the run itself that was read; 0: none. */
  get position(): number {
    return this.#read.get(this.#run)!
  }

  /** Gives what is new. Not to be called again before it has resolved. */
  async readOn(take: (recorded: Recorded) => void): Promise<void> {
    // reading one may find further ones
    for (const run of this.#read.keys()) await this.#readOn(run, take)
  }

  async #readOn(run: RunId, take: (recorded: Recorded) => void): Promise<void> {
    if (this.#ended.has(run)) return
    for await (const page of runPages(this.#engine, run, this.#read.get(run)))
      for (const recorded of page) {
        const { activation, event } = recorded
        const child =
          event.type === 'worker.settled' && event.apart === true
            ? runOf(childActivation(activation, event.address, true))
            : undefined
        if (child !== undefined && this.#read.has(child)) await this.#readOn(child, take)
        this.#read.set(run, recorded.position)
        for (const begun of childRunsIn([recorded])) if (!this.#read.has(begun)) this.#read.set(begun, 0)
        if (run !== this.#run && event.type === 'activation.settled' && activation === rootActivation(run))
          this.#ended.add(run)
        take(this.#placed(run, recorded))
      }
  }

  #placed(run: RunId, recorded: Recorded): Recorded {
    const isNext = run === this.#run && recorded.position > this.#last
    this.#last = isNext ? recorded.position : this.#last + 2 ** -20
    return isNext ? recorded : { ...recorded, position: this.#last }
  }
}
