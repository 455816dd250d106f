/**
 * Where a store is: the path of a file, or the address of a PostgreSQL database with a schema.
 */
import { addressOf } from '@reeve/postgres/address'
import { checkSchemaName } from '@reeve/postgres/schema'
import { storeKind } from '../store-name.ts'

export type StoreLocation =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'schema'; readonly address: string; readonly schema: string }

/**
 * `postgres://…`, with `?schema=name` at its end where it is not `reeve`; anything else is a path. Throws
 * `config.invalid`.
 */
export function locationOf(store: string): StoreLocation {
  if (storeKind(store, 'reeve migrate') === 'file') return { kind: 'file', file: store }
  const { url: address, schema = 'reeve' } = addressOf(store)
  checkSchemaName(schema)
  return { kind: 'schema', address, schema }
}
