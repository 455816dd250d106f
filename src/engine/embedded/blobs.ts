/**
 * Large payloads of this store: what ../payload.ts does, with the hash that Node has.
 */
import * as payload from '../payload.ts'
import { sha256 } from './digests.ts'

export { unpack } from '../payload.ts'

/** An entry without its long strings, and those strings by their hash. Undefined if the entry is small. */
export const pack = (text: string): ReturnType<typeof payload.pack> => payload.pack(text, sha256)
