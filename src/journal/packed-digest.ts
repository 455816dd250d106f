/**
 * Packed digests: content keys without the scheme that nearly all have, and SHA-256 digests as base64url, which is a
 * third shorter than hexadecimal digits.
 *
 * Owns: both stored forms (persistent) and their inverses; `undefined` for a text that has no such form. Does not own:
 * the digests (the engines), the keys (content-key.ts). Pure.
 */

const scheme = 'sha256-1:'

export function packKey(key: string): string | undefined {
  const bare = key.startsWith(scheme) ? key.slice(scheme.length) : ''
  if (bare !== '' && !bare.includes(':')) return bare
  return key.includes(':') ? key : undefined
}

export const unpackKey = (packed: string): string => (packed.includes(':') ? packed : scheme + packed)

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** The two digits of 12 bits, which are three hexadecimal digits. */
const pairs = Array.from({ length: 4_096 }, (_, bits) => digits[bits >> 6]! + digits[bits & 63]!)
const bitsOf = new Map(pairs.map((pair, bits) => [pair, bits]))

/** The values of hexadecimal digits by their codes; negative for anything else. */
const nibbles = Int16Array.from({ length: 128 }, (_, code) => '0123456789abcdef'.indexOf(String.fromCharCode(code)))

export function packHash(hash: string): string | undefined {
  if (hash.length !== 64) return undefined
  const nibble = (at: number): number => nibbles[hash.charCodeAt(at)] ?? -1
  let packed = ''
  let all = nibble(63)
  const last = digits[all << 2]
  for (let at = 0; at < 63; at += 3) {
    const bits = (nibble(at) << 8) | (nibble(at + 1) << 4) | nibble(at + 2)
    all |= bits
    packed += pairs[bits]!
  }
  return all < 0 ? undefined : packed + last!
}

/** Throws for a text that is not 43 digits of base64url. */
export function unpackHash(packed: string): string {
  let hash = ''
  // the last digit stands for four bits and is followed by none
  for (let at = 0; at < 44; at += 2) {
    const bits = bitsOf.get(at < 42 ? packed.slice(at, at + 2) : packed.slice(at) + digits[0]!)
    if (bits === undefined) throw new TypeError(`${JSON.stringify(packed)} is not a packed digest`)
    hash += (bits + 4_096).toString(16).slice(1)
  }
  return hash.slice(0, 64)
}
