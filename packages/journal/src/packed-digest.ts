/**
 * Packed digests: content keys without the scheme that nearly all have, and SHA-256 digests as base64url, which is a
 * third shorter than hexadecimal digits.
 *
 * Owns: both stored forms (persistent) and their inverses; `undefined` for a text that has no such form. Does not own:
 * the digests (the engines), the keys (content-key.ts). Pure. Digits are made by hand: the base64url of core/, by way of
 * bytes, takes six times as long, and there is a digest in every delegation.
 */

const scheme = 'sha256-1:'

export function packKey(key: string): string | undefined {
  const bare = key.startsWith(scheme) ? key.slice(scheme.length) : ''
  if (bare !== '' && !bare.includes(':')) return bare
  return key.includes(':') ? key : undefined
}

export const unpackKey = (packed: string): string => (packed.includes(':') ? packed : scheme + packed)

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const hexadecimal = '0123456789abcdef'
const isHash = /^[0-9a-f]{64}$/
/** The values of hexadecimal digits by their codes. */
const nibbles = Int8Array.from({ length: 128 }, (_, code) => hexadecimal.indexOf(String.fromCharCode(code)))

/** Of a digest as 64 hexadecimal digits. */
export function packHash(hash: string): string | undefined {
  if (!isHash.test(hash)) return undefined
  let packed = ''
  for (let at = 0; at < 63; at += 3) {
    const bits =
      (nibbles[hash.charCodeAt(at)]! << 8) |
      (nibbles[hash.charCodeAt(at + 1)]! << 4) |
      nibbles[hash.charCodeAt(at + 2)]!
    packed += digits[bits >> 6]! + digits[bits & 63]!
  }
  // the last digit stands for four bits
  return packed + digits[nibbles[hash.charCodeAt(63)]! << 2]!
}

/** Throws for a text that is no packed digest. */
export function unpackHash(packed: string): string {
  let hash = ''
  let all = 0
  for (let at = 0; at < 43; at += 2) {
    const [one, two] = [digits.indexOf(packed.charAt(at)), at === 42 ? 0 : digits.indexOf(packed.charAt(at + 1))]
    all |= one | two
    hash += ((one << 6) | two | 4_096).toString(16).slice(1)
  }
  if (packed.length !== 43 || all < 0) throw new TypeError(`${JSON.stringify(packed)} is not a packed digest`)
  return hash.slice(0, 64)
}
