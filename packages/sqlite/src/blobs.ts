/**
 * Large payloads of this store: what engine/payload.ts does, with the hash that Node has.
 */
import { payload } from '@reeve/engine/storage'
import { sha256 } from '@reeve/engine/host'

export { unpack } from '@reeve/engine'

/** An entry without its long strings, and those strings by their hash. Undefined if it has none. */
export const pack = (text: string): ReturnType<typeof payload.pack> => payload.pack(text, sha256)
