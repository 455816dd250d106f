/**
 * The address of a store in PostgreSQL, as users write it. Owns: the schema at its end, which the driver does not know.
 */

/** The address without the schema. What is no address is left for the store to refuse. */
export function addressOf(url: string): { readonly url: string; readonly schema: string | undefined } {
  const [address = url, query] = url.split('?', 2)
  const params = new URLSearchParams(query)
  const schema = params.get('schema') ?? undefined
  if (schema === undefined) return { url, schema }
  params.delete('schema')
  return { url: params.size === 0 ? address : `${address}?${params.toString()}`, schema }
}
