/**
 * Journal pages: the entries of a journal that are in sight, read by their numbers.
 *
 * Owns: which pages are read and kept, the line of each entry: effects go by the names that entries read so far give them.
 * Holds: at most `keptPages` pages are kept, so a journal of any length takes the
 * same room.
 */
import { entryLines } from '@reeve/journal/event-lines'
import type { JournalPage, JournalRow } from '@reeve/server/wire'
import { drawnLine } from './journal-lines.ts'

const pageSize = 100
const keptPages = 40

export class JournalPages {
  readonly #lineOf = entryLines()
  readonly #lines = new WeakMap<JournalRow, string>()
  readonly #read: (from: number, limit: number) => Promise<JournalPage>
  readonly #changed: () => void
  readonly #pages = new Map<number, readonly JournalRow[]>()
  readonly #reading = new Set<number>()
  total: number | undefined
  error: unknown

  constructor(read: (from: number, limit: number) => Promise<JournalPage>, changed: () => void) {
    this.#read = read
    this.#changed = changed
  }

  /** The entry in this place, if it was read. */
  row(place: number): JournalRow | undefined {
    return this.#pages.get(Math.floor(place / pageSize))?.[place % pageSize]
  }

  /** What an entry says. */
  lineOf(row: JournalRow): string {
    return this.#lines.get(row) ?? ''
  }

  /** These places are in sight: what is not there is read. */
  need(from: number, to: number): void {
    for (let page = Math.floor(from / pageSize); page * pageSize < Math.max(to, from + 1); page++) {
      const rows = this.#pages.get(page)
      if (rows !== undefined) {
        // the last one that was needed is the last one to go
        this.#pages.delete(page)
        this.#pages.set(page, rows)
        continue
      }
      if (!this.#reading.has(page)) this.#load(page).catch(() => {})
    }
  }

  /** There may be more now: the last page and the number of entries are read again. */
  grow(): void {
    const page = Math.floor(Math.max(0, (this.total ?? 0) - 1) / pageSize)
    if (!this.#reading.has(page)) this.#load(page).catch(() => {})
  }

  async #load(page: number): Promise<void> {
    this.#reading.add(page)
    try {
      const rows: JournalRow[] = []
      let total = 0
      // a page of long entries comes in parts
      do {
        const part = await this.#read(page * pageSize + rows.length, pageSize - rows.length)
        total = part.total
        rows.push(...part.rows)
        if (part.rows.length === 0) break
      } while (rows.length < pageSize && page * pageSize + rows.length < total)
      this.total = total
      this.error = undefined
      const before = this.#pages.get(page)
      this.#pages.delete(page)
      // a line goes by what was there when its entry came, so it is made once
      const entries = rows.map((row, i) => before?.[i] ?? row)
      for (const row of entries) if (!this.#lines.has(row)) this.#lines.set(row, drawnLine(this.#lineOf(row)))
      this.#pages.set(page, entries)
      for (const old of this.#pages.keys()) {
        if (this.#pages.size <= keptPages) break
        this.#pages.delete(old)
      }
    } catch (error) {
      this.error = error
    } finally {
      this.#reading.delete(page)
      this.#changed()
    }
  }
}
