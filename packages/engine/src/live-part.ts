/**
 * Live parts: what one is, which of them are pieces of one text, how two of them are joined, what an attempt has shown
 * so far, and how large they are.
 *
 * Owns: the one form that all who pass parts on know, `{ type: '….delta', …, text }`. Does not own: what else a part
 * may be, who hears it (host/, runtime/).
 */
import { isObject, type Json, type JsonObject } from '@reeve/core'
import type { LivePart } from '@reeve/journal'

export type { LivePart }

/** Whose part it is. */
export interface PartAuthor {
  readonly agent: string
  /** Agents' names from the root to this one. */
  readonly path: readonly string[]
}

/** Hears live parts. `author`: known in the process that shows them; elsewhere the journal says it. */
export type PartListener = (part: LivePart, author?: PartAuthor) => void

/** How a listener begins. */
export interface PartListenerOptions {
  /**
   * Whether it hears first, before `listen` returns, the text that attempts under way have shown so far: adjacent deltas
   * joined, the first of each type with offset 0. Only where this process drives the run. Default false.
   */
  readonly soFar?: boolean
}

type Delta = JsonObject & { readonly type: string; readonly text: string }

/** True for a piece of text that can be joined with the piece before it: `{ type: '….delta', …, text }`. */
export function isDelta(part: Json): part is Delta {
  return (
    isObject(part) && typeof part.type === 'string' && part.type.endsWith('.delta') && typeof part.text === 'string'
  )
}

/** Characters that are kept of one attempt. A queue of live parts holds twice as many. */
const keptOfAttempt = 256 * 1024
/** What a block counts beside its text, in characters. */
const blockCost = 32
/** So many characters are made one string: until then each of their pieces is an object of its own. */
const joinedAt = 1_024

/** How long the texts of one type of delta are. */
interface ShownLength {
  total: number
}

/** Adjacent pieces of one type and id. */
interface ShownBlock {
  readonly type: string
  readonly id: Json | undefined
  /** The first of its pieces, without the text. */
  readonly envelope: JsonObject
  /** How long the texts of its type were before it. */
  readonly offset: number
  /** Of its type: with all pieces so far. */
  readonly length: ShownLength
  text: string
  /** What comes after the text. V8 holds it as its pieces until somebody reads it. */
  tail: string
}

/**
 * The text that one attempt has shown: how long it is, for the offset of the next piece; and the text itself, for a
 * listener that begins in the middle, unless it is too long to be kept. Called for each piece: it is what the throughput
 * of live parts depends on.
 */
export class ShownText {
  readonly #lengths = new Map<string, ShownLength>()
  #last: ShownBlock | undefined
  /** Undefined: the text is not kept. */
  #blocks: ShownBlock[] | undefined = []
  #kept = 0

  /** How long the texts of its type are. */
  offsetOf(part: Delta): number {
    return (this.#follows(part)?.length ?? this.#lengths.get(part.type))?.total ?? 0
  }

  add(part: Delta): void {
    const { text } = part
    const block = this.#follows(part) ?? this.#begin(part)
    block.length.total += text.length
    if (this.#blocks === undefined) return
    block.tail += text
    if (block.tail.length >= joinedAt) this.#count(join(block))
  }

  /** The block that this piece is the next one of, if any. */
  #follows({ type, id }: Delta): ShownBlock | undefined {
    const last = this.#last
    return last?.type === type && last.id === id ? last : undefined
  }

  #begin(part: Delta): ShownBlock {
    const { text: _, ...envelope } = part
    const { type, id } = part
    let length = this.#lengths.get(type)
    if (length === undefined) this.#lengths.set(type, (length = { total: 0 }))
    const block: ShownBlock = { type, id, envelope, offset: length.total, length, text: '', tail: '' }
    this.#last = block
    if (this.#blocks === undefined) return block
    this.#blocks.push(block)
    this.#count(blockCost)
    return block
  }

  #count(characters: number): void {
    this.#kept += characters
    if (this.#kept > keptOfAttempt) this.drop()
  }

  /** The text, in the order in which it was shown, as one delta for each block. */
  deltas(): readonly { readonly part: Json; readonly offset: number }[] {
    return (this.#blocks ?? []).map((block) => {
      this.#kept += join(block)
      return { part: { ...block.envelope, text: block.text }, offset: block.offset }
    })
  }

  /** Keeps no text any more, only its length. */
  drop(): void {
    this.#blocks = undefined
    if (this.#last !== undefined) this.#last.text = this.#last.tail = ''
  }
}

/** Makes the tail part of the text. Returns how many characters it had. */
function join(block: ShownBlock): number {
  const { length } = block.tail
  // to read one character of it makes it one flat string
  if (block.tail.at(0) !== undefined) block.text += block.tail
  block.tail = ''
  return length
}

/** Joins two deltas of one block, of which the second follows the first; undefined if they are not. */
export function mergeParts<P extends LivePart>(last: P, next: P): P | undefined {
  if (last.activation !== next.activation || last.address !== next.address) return undefined
  if (last.epoch !== next.epoch || last.attempt !== next.attempt) return undefined
  const [a, b] = [last.part, next.part]
  if (!isDelta(a) || !isDelta(b) || a.type !== b.type || a.id !== b.id) return undefined
  if (last.offset !== undefined && next.offset !== last.offset + a.text.length) return undefined
  return { ...last, part: { ...a, text: a.text + b.text } }
}

/** A measure, not an exact count: two bytes for a character, a flat rate for the envelope. */
export function partBytes(part: LivePart): number {
  if (isDelta(part.part)) return 64 + 2 * part.part.text.length
  return 64 + sizeOf(part.part)
}

function sizeOf(value: Json | undefined): number {
  if (typeof value === 'string') return 2 * value.length
  if (typeof value !== 'object' || value === null) return 8
  let total = 16
  if (Array.isArray(value)) for (const member of value as readonly Json[]) total += sizeOf(member)
  else for (const [name, member] of Object.entries(value as JsonObject)) total += 2 * name.length + sizeOf(member)
  return total
}
