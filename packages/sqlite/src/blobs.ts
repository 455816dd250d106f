/**
 * Large payloads of this store: what ../payload.ts does, with the hash that Node has.
 */
import * as payload from '@reeve/engine/payload'
import { sha256 } from '@reeve/engine/host/digests'

export { unpack } from '@reeve/engine/payload'

/** An entry without its long strings, and those strings by their hash. Undefined if the entry is small. */
export const pack = (text: string): ReturnType<typeof payload.pack> => payload.pack(text, sha256)
