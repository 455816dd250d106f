/** Reads of journals under test: how much each of them has decoded, whatever the store. */
import { vi } from 'vitest'
import { SqliteReader } from '../packages/sqlite/src/reader.ts'
import { MemoryReader } from '../packages/engine/src/memory/reader.ts'
import { PostgresReader } from '../packages/postgres/src/reader.ts'

interface FeedReader {
  feed: (this: unknown, ...place: readonly unknown[]) => Promise<readonly unknown[]> | readonly unknown[]
}

/** How many events each read of a feed gives from now on. Restored by `vi.restoreAllMocks`. */
export function journalReads(): readonly number[] {
  const reads: number[] = []
  for (const { prototype } of [SqliteReader, MemoryReader, PostgresReader]) {
    const reader = prototype as FeedReader
    const { feed } = reader
    const noted = (events: readonly unknown[]): readonly unknown[] => {
      reads.push(events.length)
      return events
    }
    vi.spyOn(reader, 'feed').mockImplementation(function (this: unknown, ...place) {
      const page = feed.apply(this, place)
      return page instanceof Promise ? page.then(noted) : noted(page)
    })
  }
  return reads
}
