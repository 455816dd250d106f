/**
 * Shared pages: readers at one place of a journal are given the same page.
 *
 * Owns: which pages are kept, for how long. Does not own: how long a page is (journal/journal-pages.ts), the feed
 * (engine).
 */
import { systemClock, type RunId } from '@reeve/core'
import type { Engine } from '@reeve/engine'
import type { Recorded } from '@reeve/journal'

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
