/**
 * Live parts: what one is, which of them are pieces of one text, how two of them are joined, and how large they are.
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

/** True for a piece of text that can be joined with the piece before it: `{ type: '….delta', …, text }`. */
export function isDelta(part: Json): part is JsonObject & { readonly type: string; readonly text: string } {
  return (
    isObject(part) && typeof part.type === 'string' && part.type.endsWith('.delta') && typeof part.text === 'string'
  )
}

/**
 * Counts, for one attempt: how long the texts of a delta's type were that came before it. Undefined for a part that is
 * not a delta.
 */
export function offsets(): (part: Json) => number | undefined {
  const shown = new Map<string, number>()
  return (part) => {
    if (!isDelta(part)) return undefined
    const offset = shown.get(part.type) ?? 0
    shown.set(part.type, offset + part.text.length)
    return offset
  }
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
