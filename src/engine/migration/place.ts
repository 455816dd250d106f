/**
 * Where a store is: the path of a file, or the address of a PostgreSQL database with a schema.
 */
import { ReeveError } from '../../core/index.ts'

export type Place =
  { readonly kind: 'file'; readonly file: string } | { readonly kind: 'schema'; readonly address: string; readonly schema: string }

/** `postgres://…`, with `?schema=name` at its end where it is not `reeve`; anything else is a path. */
export function placeOf(store: string): Place {
  if (!/^postgres(ql)?:\/\//.test(store)) return { kind: 'file', file: store }
  const [address = store, query] = store.split('?', 2)
  const params = new URLSearchParams(query)
  const schema = params.get('schema') ?? 'reeve'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new ReeveError('config.invalid', `"${schema}" is not a schema name`, {
      hint: 'Use 1 to 63 lower-case letters, digits and "_", beginning with a letter or "_".',
    })
  params.delete('schema')
  return { kind: 'schema', address: params.size === 0 ? address : `${address}?${params.toString()}`, schema }
}
