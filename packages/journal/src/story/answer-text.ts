/**
 * Answer text: the texts and thoughts of a model's answer, as its step recorded them.
 *
 * Owns: their order, and which of them are one block. Does not own: whether an answer was said (views/transcript.ts).
 */
import { isObject, type Json, type JsonObject } from '@reeve/core'

/** Adjacent texts, or thoughts, of an answer. */
export interface StoryBlock {
  readonly kind: 'text' | 'reasoning'
  readonly text: string
}

const partsIn = (answer: Json): readonly JsonObject[] => {
  const reasoning = isObject(answer) ? answer['reasoning'] : undefined
  const parts = isObject(reasoning) ? reasoning['parts'] : undefined
  return Array.isArray(parts) ? (parts as readonly Json[]).filter(isObject) : []
}

/** The thoughts in a recorded answer, as they came; empty ones too. */
export const thoughtsIn = (answer: Json): readonly string[] =>
  partsIn(answer).flatMap((part) =>
    part['type'] === 'reasoning' && typeof part['text'] === 'string' ? [part['text']] : [],
  )

/** The texts and thoughts of an answer with this text, in their order. */
export function blocksOf(answer: Json, text: string): readonly StoryBlock[] {
  const blocks: StoryBlock[] = []
  let at = 0
  for (const part of partsIn(answer)) {
    if (part['type'] === 'reasoning' && typeof part['text'] === 'string')
      blocks.push({ kind: 'reasoning', text: part['text'] })
    if (part['type'] !== 'text' || typeof part['length'] !== 'number') continue
    blocks.push({ kind: 'text', text: text.slice(at, at + part['length']) })
    at += part['length']
  }
  return joinedBlocks([...blocks, { kind: 'text', text: text.slice(at) }])
}

/** The same with adjacent blocks of a kind as one, and without empty ones. */
export function joinedBlocks(blocks: readonly StoryBlock[]): readonly StoryBlock[] {
  const joined: { readonly kind: StoryBlock['kind']; text: string }[] = []
  for (const { kind, text } of blocks) {
    const last = joined.at(-1)
    if (text === '') continue
    if (last?.kind === kind) last.text += text
    else joined.push({ kind, text })
  }
  return joined
}
