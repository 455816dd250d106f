/**
 * File content: the forms of base64 and of media types.
 *
 * Owns: these forms, how much data one file may have. Pure. Does not own: where they stand.
 */

/** The longest content of a file, in characters of base64. */
const longestData = 32 * 1024 * 1024

/** Why a text is not the content of a file, as the end of a sentence; undefined: it is. Padding may be left out. */
export function base64Problem(data: string): string | undefined {
  if (data.length > longestData) return `has more than ${longestData} characters of data`
  const end = data.indexOf('=')
  const [length, padding] = end < 0 ? [data.length, ''] : [end, data.slice(end)]
  const isWhole = padding === '' ? length % 4 !== 1 : /^={1,2}$/.test(padding) && data.length % 4 === 0
  return length > 0 && isWhole && /^[A-Za-z0-9+/]+$/.test(data.slice(0, length)) ? undefined : 'is not data in base64'
}

/** RFC 6838, 4.2; in place of a subtype a `*` for any. */
const mediaTypeForm = /^([a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,126}))(?: *;[ -~]*)?$/i

/** A media type without its parameters, in lower case; undefined for what is none. */
export const mediaTypeIn = (given: string): string | undefined => mediaTypeForm.exec(given)?.[1]?.toLowerCase()
