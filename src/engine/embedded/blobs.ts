/**
 * Large payloads of this store: what ../payload.ts does, with the hash that Node has.
 */
import { createHash } from 'node:crypto'
import * as payload from '../payload.ts'

export { unpack } from '../payload.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** An entry without its long strings, and those strings by their hash. Undefined if the entry is small. */
export const pack = (text: string): ReturnType<typeof payload.pack> => payload.pack(text, sha256)
