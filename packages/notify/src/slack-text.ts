/**
 * Texts as Slack takes them.
 *
 * Owns: the escape of its markup, texts that stay within a bound of it. Pure.
 * Holds: what a model wrote is no mention, no link and no format, and leaves no block of code.
 */
import { cut, type Json } from '@reeve/core'

/** What Slack reads as markup, as text. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Escaped within what a block may hold; an escape is never cut in two. */
export function within(text: string, most: number): string {
  let shown = escaped(text)
  for (let length = most; shown.length > most; length -= Math.max(1, shown.length - most))
    shown = escaped(cut(text, Math.max(1, length)))
  return shown
}

/** As it stands: Slack makes no links and no names of it. */
export const plain = (text: string): Json => ({ type: 'plain_text', text, emoji: false })
export const marked = (text: string): Json => ({ type: 'mrkdwn', text, verbatim: true })

/** A text that cannot leave the block of code that it stands in. */
export const code = (text: string, most: number): string =>
  `\`\`\`\n${within(text.replaceAll('`', '\u02CB'), most)}\n\`\`\``

/** A title that makes no link, for those who know another markup. */
export const unlinked = (text: string): string =>
  text.replaceAll('[', '(').replaceAll(']', ')').replaceAll('://', ': //').replaceAll('`', '\u02CB')

/**
 * JSON in pieces of code that each fit into a block. At most so many pieces; undefined: it does not fit into them. A
 * backtick is written as JSON writes it, so that what is shown reads back as the same value.
 */
export function codePieces(text: string, most: number, pieces: number): readonly string[] | undefined {
  const found: string[] = []
  let piece = ''
  let length = 0
  for (const character of text.replaceAll('`', String.raw`\u0060`)) {
    const size = escaped(character).length
    if (length + size > most) {
      found.push(piece)
      if (found.length === pieces) return undefined
      ;[piece, length] = ['', 0]
    }
    piece += character
    length += size
  }
  return [...found, piece].map((each) => `\`\`\`\n${escaped(each)}\n\`\`\``)
}
