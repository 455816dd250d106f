/**
 * What bytes, texts and signatures are, for the rules of several vendors.
 *
 * Owns: signatures that the bench makes up and knows again; the types of pictures by their first bytes.
 */
import { digest } from '@reeve/core'

const mark = 'reeve-bench-'

/** The signature that the bench gives a thought. It can be checked without memory, as a vendor's can. */
export const signatureOf = (text: string): string => btoa(`${mark}${digest(text)}`)

/** Whether a signature fits a text. One that the bench did not make up is an author's own, and is believed. */
export function isSignatureOf(signature: string, text: string): boolean {
  const inside = decoded(signature)
  return inside === undefined || !inside.startsWith(mark) || signature === signatureOf(text)
}

/** What base64 stands for, as Latin-1; undefined for what is none. */
export function decoded(base64: string): string | undefined {
  try {
    return atob(base64.replaceAll('-', '+').replaceAll('_', '/'))
  } catch {
    return undefined
  }
}

/** Whether a text has both halves of all its surrogate pairs. */
export const isWellFormed = (text: string): boolean => text.isWellFormed()

const beginnings: readonly (readonly [start: string, type: string])[] = [
  ['\u0089PNG', 'image/png'],
  ['\u00ff\u00d8\u00ff', 'image/jpeg'],
  ['GIF8', 'image/gif'],
  ['%PDF', 'application/pdf'],
]

/** What a file is by its first bytes, given in base64; undefined for what is not known. */
export function mediaTypeOf(base64: string): string | undefined {
  const start = decoded(base64.slice(0, 16)) ?? ''
  if (start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP') return 'image/webp'
  return beginnings.find(([beginning]) => start.startsWith(beginning))?.[1]
}
