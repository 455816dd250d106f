/**
 * Journal pages: a feed read piece by piece, however long it is.
 *
 * Owns: how much is read and decoded at once, and that the event loop goes on between two pages. Does not own: the feed
 * (engine), what is made of it.
 * Holds: a page has a bounded length unless one event alone is longer. Nothing is read before the page before was used.
 */
import { nextSlice } from '@reeve/core'
import type { Recorded } from './events/events.ts'

/** How much is read at once: so many events at most, and no more after the one that makes it so many characters long. */
export interface PageSize {
  readonly events: number
  readonly length: number
}

/** For folds, which keep nothing of a page. */
export const foldPage: PageSize = { events: 500, length: 256 * 1024 }
/** For a reader that may stand still with a page in its hand. */
export const readerPage: PageSize = { events: 32, length: 16 * 1024 }

/** What reads a page: `engine.read` of a run, or the feed of a store. */
type ReadPage = (from: number, limit: number, length: number) => readonly Recorded[] | Promise<readonly Recorded[]>

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

/** What gives a journal by the page: the handle of a run. */
interface PagedJournal {
  journal(page: {
    readonly from: number
    readonly limit: number
    readonly length: number
  }): Promise<readonly Recorded[]>
}

/** The events of a run after a position, page by page, as its handle gives them. Rejects as `run.journal` does. */
export const pagesOf = (
  run: PagedJournal,
  from = 0,
  signal?: AbortSignal,
): AsyncGenerator<readonly Recorded[], undefined> =>
  journalPages((after, limit, length) => run.journal({ from: after, limit, length }), from, foldPage, signal)
