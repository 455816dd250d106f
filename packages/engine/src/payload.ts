/**
 * Large payloads: content-addressed beside the journal, so that the same brief or document is stored once and entries
 * stay small.
 *
 * Owns: taking long strings out of an entry and putting them back. Does not own: where they are stored (the engines),
 * nor the hash, which must be SHA-256 in hexadecimal digits: every store has one at hand that is faster than ours.
 */

/** Entries below this many characters are stored as they are, unless they hold the data of a file. */
const entryLimit = 16_384
/** Strings below this many characters stay in their entry. */
const stringLimit = 1_024
const mark = '$reeve.blob'
/** The data of a file that is put aside: every agent that sees the file has it in an entry of its own. */
const fileData = /"(?:data|blob)":"[A-Za-z0-9+/]{1024}/

/** An entry without its long strings, and those strings (as JSON) by their SHA-256. Undefined if it has none to take out. */
export function pack(
  text: string,
  hashOf: (text: string) => string,
): { readonly body: string; readonly blobs: ReadonlyMap<string, string> } | undefined {
  if (text.length <= stringLimit || (text.length <= entryLimit && !fileData.test(text))) return undefined
  const blobs = new Map<string, string>()
  const aside = (body: string): Record<string, string> => {
    const hash = hashOf(body)
    blobs.set(hash, body)
    return { [mark]: hash }
  }
  const body = JSON.stringify(JSON.parse(text), (_key, value: unknown) => {
    if (typeof value === 'string' && value.length > stringLimit) return aside(JSON.stringify(value))
    // A user's own object with our mark is put aside whole, so that it comes back as it was. Ours are not seen here:
    // what is returned is not asked about.
    if (typeof value === 'object' && value !== null && mark in value) return aside(JSON.stringify(value))
    return value
  })
  return blobs.size === 0 ? undefined : { body, blobs }
}

/** The entry as it was. */
export function unpack(body: string, read: (hash: string) => string): string {
  const restored: unknown = JSON.parse(body, (_key, value: unknown) => {
    const hash = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[mark] : undefined
    return typeof hash === 'string' ? (JSON.parse(read(hash)) as unknown) : value
  })
  return JSON.stringify(restored)
}
