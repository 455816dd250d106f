/**
 * Journal pages: a feed read piece by piece, however long it is.
 *
 * Owns: how much is read and decoded at once, that the event loop goes on between two pages, and that readers at one
 * place share a page. Does not own: the feed (engine), what is made of it.
 * Holds: a page has a bounded length unless one event alone is longer. Nothing is read before the page before was used.
 */
import { nextSlice, systemClock, type RunId } from '../../core/index.ts'
import type { Engine } from '../../engine/index.ts'
import type { Recorded } from '../../journal/index.ts'

/** How much is read at once: so many events at most, and no more after the one that makes it so many characters long. */
export interface PageSize {
  readonly events: number
  readonly length: number
}

/** For folds, which keep nothing of a page. */
export const foldPage: PageSize = { events: 500, length: 256 * 1024 }
/** For a reader that may stand still with a page in its hand. */
export const readerPage: PageSize = { events: 32, length: 16 * 1024 }

/** What reads a page: `engine.read` of a run, or `run.journal`. */
export type ReadPage = (from: number, limit: number, length: number) => Promise<readonly Recorded[]>

/** The events after a position, page by page, as far as there are any now. */
export async function* journalPages(
  read: ReadPage,
  from = 0,
  { events, length }: PageSize = foldPage,
  signal?: AbortSignal,
): AsyncGenerator<readonly Recorded[], undefined> {
  for (let position = from; ;) {
    await nextSlice()
    if (signal?.aborted === true) return undefined
    const page = await read(position, events, length)
    const last = page.at(-1)
    if (last === undefined) return undefined
    yield page
    position = last.position
  }
}

/** How long a page is kept for other readers, in milliseconds, and how many are. */
const sharedMs = 1_000
const mostShared = 32

interface SharedPage {
  readonly page: Promise<readonly Recorded[]>
  readonly readAt: number
}

/**
 * Reads pages of runs for many readers: those who come to the same place within a second are given the same page. What
 * comes after a position does not change, but for there being more of it.
 */
export class SharedPages {
  readonly #engine: Engine
  readonly #pages = new Map<string, SharedPage>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  read(run: RunId, from: number, limit: number, length: number): Promise<readonly Recorded[]> {
    const key = `${from} ${run}`
    const shared = this.#pages.get(key)
    if (shared !== undefined && systemClock.now() - shared.readAt < sharedMs) return shared.page
    const page = this.#engine.read(run, from, limit, length)
    this.#pages.delete(key)
    this.#pages.set(key, { page, readAt: systemClock.now() })
    const forget = (): void => void this.#pages.delete(key)
    // at the end of a journal the next reader may find more
    page.then((events) => events.length === 0 && forget(), forget)
    if (this.#pages.size > mostShared) this.#pages.delete(this.#pages.keys().next().value!)
    return page
  }
}

const shared = new WeakMap<Engine, SharedPages>()

/** The pages that readers of this engine's runs share. */
export function sharedPages(engine: Engine): SharedPages {
  const known = shared.get(engine) ?? new SharedPages(engine)
  shared.set(engine, known)
  return known
}
