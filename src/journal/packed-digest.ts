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
/** The values of hexadecimal digits by their codes; negative for anything else. */
const nibbles = Int8Array.from({ length: 128 }, (_, code) => hexadecimal.indexOf(String.fromCharCode(code)))

/** Of a digest as 64 hexadecimal digits. */
export function packHash(hash: string): string | undefined {
  if (hash.length !== 64) return undefined
  const nibble = (at: number): number => nibbles[hash.charCodeAt(at)] ?? -1
  const last = nibble(63)
  let all = last
  let packed = ''
  for (let at = 0; at < 63; at += 3) {
    const bits = (nibble(at) << 8) | (nibble(at + 1) << 4) | nibble(at + 2)
    all |= bits
    packed += digits[bits >> 6]! + digits[bits & 63]!
  }
  // the last digit stands for four bits
  return all < 0 ? undefined : packed + digits[last << 2]!
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
