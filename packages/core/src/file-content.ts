/**
 * File content: the forms of base64 and of media types, what data is by its first bytes.
 *
 * Owns: these forms, how much data one file may have. Pure. Does not own: where they stand.
 */

/** The longest content of a file, in characters of base64. */
const longestData = 32 * 1024 * 1024

/** Why a text is not the content of a file, as the end of a sentence; undefined: it is. Padding may be left out. */
export function base64Problem(data: string): string | undefined {
  if (/^data:/i.test(data)) return 'is an address: give what begins with "data:" as url'
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

/** Magic numbers, as Latin-1: https://mimesniff.spec.whatwg.org/#image-type-pattern-matching-algorithm */
const beginnings: readonly (readonly [start: string, type: string])[] = [
  ['\u0089PNG\r\n\u001a\n', 'image/png'],
  ['\u00ff\u00d8\u00ff', 'image/jpeg'],
  ['GIF87a', 'image/gif'],
  ['GIF89a', 'image/gif'],
  ['BM', 'image/bmp'],
  ['II*\0', 'image/tiff'],
  ['MM\0*', 'image/tiff'],
  ['%PDF-', 'application/pdf'],
]

/** What data in base64 is by its first bytes; undefined if that is not known. */
export function typeOfData(data: string): string | undefined {
  let start: string
  try {
    start = atob(data.slice(0, 16))
  } catch {
    return undefined
  }
  if (start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP') return 'image/webp'
  return beginnings.find(([beginning]) => start.startsWith(beginning))?.[1]
}

/**
 * Bytes that are encoded at once: a multiple of three, so that the texts can be joined, and few enough to be arguments
 * of one call.
 */
const stretch = 24_576

/** Bytes in base64. */
export function base64Of(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += stretch)
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + stretch)))
  return text
}
