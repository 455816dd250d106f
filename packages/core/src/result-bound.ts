/**
 * Result bound: what a model reads of a result that is larger than its limit: the name under which the whole is kept,
 * the size, and the beginning.
 *
 * Owns: when a result is too large, the words. Pure. Does not own: keeping the whole (../engine/contents.ts), when it is
 * done (agent/tool/result-bound.ts), reading it (agent/tool/read-large-result.ts).
 * Holds: a beginning is never half a character, and says before and after it that it is not the whole.
 */
import type { ContentRef } from './content-ref.ts'
import { asText, type Json } from './json.ts'
import { charactersWithin } from './text-tokens.ts'
import { beginning } from './visible.ts'

/** The tool with which a model reads what is kept. */
export const readTool = 'read_large_result'

/** The text of a result that has more tokens than the limit; undefined if it has not, or there is no limit. */
export function oversizeText(content: Json, limit: number | undefined): string | undefined {
  if (limit === undefined) return undefined
  const text = asText(content)
  return charactersWithin(text, limit) < text.length ? text : undefined
}

/** How far back a better place for the end is looked for, as a part of the beginning. */
const lookBack = 0.1

/**
 * The beginning of a text within so many tokens. It ends after a line, or of JSON after an element, where one ends near
 * the limit.
 */
export function headOf(text: string, tokens: number): string {
  const most = charactersWithin(text, tokens)
  if (most === text.length) return text
  const head = beginning(text, most)
  const nearest = head.length * (1 - lookBack)
  for (const end of ['\n', ',', ' ']) {
    const at = head.lastIndexOf(end)
    if (at >= nearest) return head.slice(0, at + 1)
  }
  return head
}

/** `called`: the name of the tool. `head`: the beginning of what is kept under the reference. */
export function boundedText(called: string, { $content: name, type, size }: ContentRef, head: string): string {
  const what = type === 'json' ? 'characters of JSON' : 'characters'
  const open = `[${name}: "${called}" returned ${size} ${what}, too many to show. The first ${head.length} follow; ${readTool} reads the rest, finds text in it and counts its lines.]`
  return `${open}\n${lineOf(head)}[${size - head.length} more characters in ${name}]`
}

const lineOf = (head: string): string => (head === '' || head.endsWith('\n') ? head : `${head}\n`)

/** The same where the whole is not kept, so that there is nothing to read on. */
export const unkeptText = (called: string, text: string, head: string): string =>
  `["${called}" is done. It returned ${text.length} characters, too many to show; the rest cannot be read. The first ${head.length} follow.]\n${lineOf(head)}[${text.length - head.length} more characters]`

/** What a model reads where it is given a reference alone. */
export const referenceText = ({ $content: name, type, size }: ContentRef): string =>
  `[${name}: a result of ${size} characters${type === 'json' ? ' of JSON' : ''}, kept and not shown. ${readTool} reads it.]`

const names = /\bresult-[0-9a-f]{32}\b/g

/** The names of kept contents in a text, each once, in the order in which they first occur. */
export const contentNamesIn = (text: string): readonly string[] => [...new Set(text.match(names))]
