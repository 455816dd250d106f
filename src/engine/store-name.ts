/**
 * What a store is called: the path of an SQLite file, or the address of a PostgreSQL database.
 *
 * Owns: telling the two apart, and which options mean something for a file alone. Does not own: opening either (named-store.ts); it loads neither.
 * Holds: no password in any message.
 */
import { ReeveError } from '../core/index.ts'

/** What kind of store a name means. What is another address is refused before a file of that name is looked for; it may hold a password, which is not repeated. */
export function placeNamed(store: unknown, asker = 'createRuntime'): 'file' | 'postgres' {
  const scheme = typeof store === 'string' ? /^([a-z][a-z0-9+.-]+):\/\//i.exec(store)?.[1] : undefined
  if (scheme === undefined) return 'file'
  if (/^postgres(ql)?$/.test(scheme)) return 'postgres'
  throw new ReeveError('config.invalid', `${asker}: store is an address (${scheme}://…), expected the path of a file or postgres://…`, {
    hint: "A store is an SQLite file (store: './reeve.db') or a PostgreSQL database (store: 'postgres://user@host/database'); see docs/engines.md.",
  })
}

/** Options for files alone: beside a database they would have no effect. */
export const forFiles = ['durability', 'busyMs', 'writer'] as const
