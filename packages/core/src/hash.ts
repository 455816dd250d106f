/**
 * Digests: one cryptographic digest for what is compared across trust boundaries, one fast rolling hash for ids that
 * are made of others.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { toBase64url } from './base64url.ts'
import { canonical, type Json } from './json.ts'

/**
 * SHA-256 of a text in UTF-8, as 64 hexadecimal digits (FIPS 180-4). Pure. Every platform has one that is faster than
 * ours.
 */
export type Sha256 = (text: string) => string

/** SHA-256 of a text, as 64 hexadecimal digits (FIPS 180-4), or as 43 characters of base64url. */
export function digest(text: string, form: 'hex' | 'base64url' = 'hex'): string {
  const bytes = sha256(utf8ToBytes(text))
  return form === 'hex' ? bytesToHex(bytes) : toBase64url(bytes)
}

/** SHA-256 of a JSON value's canonical text: equal values, equal digest, whatever the order of keys. */
export function digestJson(value: Json): string {
  return digest(canonical(value))
}

/** Four hexadecimal digits of 16 bits: the bit above them keeps the leading zeros, and is cut off. */
const digits = (bits: number): string => ((bits & 0xffff) | 0x1_0000).toString(16).slice(1)

/** One step of a lane: a bijection of its state for every input, and of the input for every state. */
const mixed = (lane: number, input: number, factor: number): number =>
  Math.imul(((lane << 13) | (lane >>> 19)) ^ input, factor)

/**
 * A rolling, non-cryptographic 64-bit hash (two lanes that rotate and multiply): continues from a former state. Not for
 * security.
 */
export class RollingHash {
  #a = 0x811c9dc5
  #b = 0x01000193

  add(text: string): this {
    let a = this.#a
    let b = this.#b
    const even = text.length & ~1
    for (let i = 0; i < even; i += 2) {
      const pair = text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16)
      a = mixed(a, pair, 0x01000193)
      b = mixed(b, pair, 0x85ebca6b)
    }
    const rest = even === text.length ? text.length : (text.charCodeAt(even) << 16) | text.length
    this.#a = mixed(a, rest, 0x01000193)
    this.#b = mixed(b, rest, 0x85ebca6b)
    return this
  }

  toString(): string {
    return digits(this.#a >>> 16) + digits(this.#a) + digits(this.#b >>> 16) + digits(this.#b)
  }
}
