/**
 * Digests: one fast rolling hash for prompts, one cryptographic digest for what is compared across trust boundaries.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { canonical, type Json } from './json.ts'

/** SHA-256 of a text, as 64 hexadecimal digits (FIPS 180-4). */
export function digest(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)))
}

/** SHA-256 of a JSON value's canonical text: equal values, equal digest, whatever the order of keys. */
export function digestJson(value: Json): string {
  return digest(canonical(value))
}

/** Four hexadecimal digits of 16 bits: the bit above them keeps the leading zeros, and is cut off. */
const digits = (bits: number): string => ((bits & 0xffff) | 0x1_0000).toString(16).slice(1)

/**
 * A rolling, non-cryptographic 64-bit hash (two FNV-1a lanes): continues from a former state, so that a growing prompt costs only its new part.
 * Good for "was it the same prompt?", not for security.
 */
export class RollingHash {
  #a = 0x811c9dc5
  #b = 0x01000193

  add(text: string): this {
    let a = this.#a
    let b = this.#b
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      a = Math.imul(a ^ code, 0x01000193)
      b = Math.imul(b ^ code, 0x85ebca6b)
    }
    this.#a = a
    this.#b = b ^ text.length
    return this
  }

  toString(): string {
    return digits(this.#a >>> 16) + digits(this.#a) + digits(this.#b >>> 16) + digits(this.#b)
  }
}
