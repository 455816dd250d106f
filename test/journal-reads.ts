/** Reads of journals under test: how much each of them has decoded, whatever the store. */
import { vi } from 'vitest'
import { SqliteReader } from '../src/engine/embedded/reader.ts'
import { MemoryReader } from '../src/engine/memory/reader.ts'
import { PostgresReader } from '../src/engine/postgres/reader.ts'

/** How many events each read of a feed gives from now on. Restored by `vi.restoreAllMocks`. */
export function journalReads(): readonly number[] {
  const reads: number[] = []
  for (const { prototype } of [SqliteReader, MemoryReader, PostgresReader]) {
    const reader = prototype as { feed(...place: readonly unknown[]): Promise<readonly unknown[]> | readonly unknown[] }
    const { feed } = reader
    vi.spyOn(reader, 'feed').mockImplementation(function (this: unknown, ...place) {
      const page = feed.apply(this, place)
      if (page instanceof Promise)
        return page.then((events) => {
          reads.push(events.length)
          return events
        })
      reads.push(page.length)
      return page
    })
  }
  return reads
}
