/**
 * Text tokens: a rough number of tokens of a text, for budgets and for what is shown of a long one.
 *
 * Owns: the estimate: a quarter of a token per ASCII character, one per other character. Pure. Does not own: tokens of
 * whole prompts (../model/render.ts).
 * Holds: a question about a bound reads no more of the text than the bound.
 */

/** The estimate for a text. */
export function textTokens(text: string): number {
  let ascii = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 128) ascii++
  return Math.ceil(ascii / 4) + (text.length - ascii)
}

/** How many characters from the beginning have at most this many tokens. */
export function charactersWithin(text: string, tokens: number): number {
  // no character has less than a quarter
  if (text.length <= tokens) return text.length
  let quarters = 4 * tokens
  for (let i = 0; i < text.length; i++) {
    quarters -= text.charCodeAt(i) < 128 ? 1 : 4
    if (quarters < 0) return i
  }
  return text.length
}
