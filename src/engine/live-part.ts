/**
 * Live parts: what one is, which of them are pieces of one text, how two of them are joined, what an attempt has shown
 * so far, and how large they are.
 *
 * Owns: the one form that all who pass parts on know, `{ type: '….delta', …, text }`. Does not own: what else a part
 * may be, who hears it (host/, runtime/).
 */
import { isObject, type ActivationId, type Json, type JsonObject } from '../core/index.ts'

/** An ephemeral piece of work in progress (K9), with the place it came from and the attempt it belongs to. */
export interface LivePart {
  readonly activation: ActivationId
  readonly address: string
  /** Grows when another process takes over: an effect that runs again there begins with its first attempt again. */
  readonly epoch: number
  readonly attempt: number
  /**
   * Of a piece of a text (`….delta`): how long the texts of its type were that this attempt has shown before. Who has
   * heard less has missed something.
   */
  readonly offset?: number
  readonly part: Json
}

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
/** So many pieces are joined into one string: short strings take several times their characters. */
const joinedAt = 256

/** Adjacent pieces of one type and id. */
interface ShownBlock {
  readonly type: string
  readonly id: Json | undefined
  /** The first of its pieces, without the text. */
  readonly envelope: JsonObject
  /** How long the texts of its type were before it, and are after it. */
  readonly offset: number
  end: number
  text: string
  pieces: string[]
}

/**
 * The text that one attempt has shown: how long it is, for the offset of the next piece; and the text itself, for a
 * listener that begins in the middle, unless it is too long to be kept.
 */
export class ShownText {
  /** By type of delta: how long its texts are, without those of the last block. */
  readonly #lengths = new Map<string, number>()
  #last: ShownBlock | undefined
  /** Undefined: the text is not kept. */
  #blocks: ShownBlock[] | undefined = []
  #kept = 0

  /** How long the texts of this type are. */
  lengthOf(type: string): number {
    const last = this.#last
    return last?.type === type ? last.end : (this.#lengths.get(type) ?? 0)
  }

  add(part: Delta): void {
    const { text } = part
    let last = this.#last
    if (last?.type !== part.type || last.id !== part.id) last = this.#begin(part)
    last.end += text.length
    if (this.#blocks === undefined) return
    if (text !== '' && last.pieces.push(text) === joinedAt) join(last)
    this.#kept += text.length
    if (this.#kept > keptOfAttempt) this.drop()
  }

  #begin(part: Delta): ShownBlock {
    const { text: _, ...envelope } = part
    const { type, id } = part
    const offset = this.lengthOf(type)
    if (this.#last !== undefined) this.#lengths.set(this.#last.type, this.#last.end)
    const block: ShownBlock = { type, id, envelope, offset, end: offset, text: '', pieces: [] }
    this.#last = block
    this.#blocks?.push(block)
    this.#kept += blockCost
    return block
  }

  /** The text, in the order in which it was shown, as one delta for each block. */
  deltas(): readonly { readonly part: Json; readonly offset: number }[] {
    return (this.#blocks ?? []).map((block) => ({
      part: { ...block.envelope, text: join(block) },
      offset: block.offset,
    }))
  }

  /** Keeps no text any more, only its length. */
  drop(): void {
    this.#blocks = undefined
    if (this.#last === undefined) return
    this.#last.text = ''
    this.#last.pieces = []
  }
}

function join(block: ShownBlock): string {
  if (block.pieces.length > 0) {
    block.text += block.pieces.join('')
    block.pieces = []
  }
  return block.text
}

/** Joins two adjacent deltas of the same kind, block, place and attempt; undefined if they are not. */
export function mergeParts<P extends LivePart>(last: P, next: P): P | undefined {
  if (last.activation !== next.activation || last.address !== next.address) return undefined
  if (last.epoch !== next.epoch || last.attempt !== next.attempt) return undefined
  const [a, b] = [last.part, next.part]
  if (!isDelta(a) || !isDelta(b) || a.type !== b.type || a.id !== b.id) return undefined
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
