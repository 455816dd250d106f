/**
 * Opens the store that a name means: for engines that are put together from a store and a mover.
 *
 * Owns: which store a name is opened as. Does not own: what a name may be (store-name.ts), what runs on it (host/).
 */
import { ReeveError } from '@reeve/core'
import { HostEngine, type HostOptions } from '@reeve/engine/host'
import type { Mover } from '@reeve/engine/mover'
import { SqliteStore } from '@reeve/sqlite/store'
import { addressOf } from '@reeve/postgres/address'
import { PostgresStore } from '@reeve/postgres'
import { forFiles, storeKind, type NamedStoreOptions } from './store-name.ts'

/**
 * The host over the store that is named, with this mover. `asker` begins the messages of `config.invalid`, which is
 * thrown for an option that has no effect on this store. A file is opened at once, and what is wrong with it thrown
 * (`store.*`); a database connects before its first answer.
 */
export function engineOn(
  store: string,
  asker: string,
  options: NamedStoreOptions & HostOptions,
  mover: (id: () => Promise<string>) => Mover,
): HostEngine {
  const place = storeKind(store, asker)
  const strangers = (place === 'file' ? (['poolSize'] as const) : forFiles).filter(
    (name) => options[name] !== undefined,
  )
  if (strangers.length > 0) {
    const kinds = place === 'file' ? ['PostgreSQL', 'a store in a file'] : ['a store in a file', 'PostgreSQL']
    throw new ReeveError(
      'config.invalid',
      `${asker}: ${strangers.join(', ')} is for ${kinds[0]} and would have no effect on ${kinds[1]}`,
      {
        hint: 'Leave it out. Nothing was opened.',
      },
    )
  }
  const opened = place === 'file' ? new SqliteStore({ ...options, file: store }) : onServer(store, options)
  return new HostEngine(
    opened,
    options,
    mover(async () => opened.id()),
  )
}

function onServer(store: string, options: NamedStoreOptions): PostgresStore {
  const { url, schema } = addressOf(store)
  return new PostgresStore({ ...options, postgres: url, ...(schema === undefined ? undefined : { schema }) })
}
