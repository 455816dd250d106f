/**
 * Search of texts: how texts become words that are searched, and how a query becomes words.
 *
 * Owns: what a word is, for every store alike, so that each finds the same runs. Does not own: how a store looks words
 * up. Pure.
 * Holds: words have letters, digits and marks alone, in lower case, without the accents of Latin letters. No query,
 * whatever it holds, is more than a list of them: to a store it is never part of a statement.
 */
import type { TextTerm } from '../run-figures.ts'

/** Longer words are cut. */
const longestTerm = 64
/** So many terms of a query count. */
const mostTerms = 16

const termForm = /[\p{L}\p{N}\p{M}]+/gu
/** Scripts that are written without spaces: each character is a word. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*/gu
const accents = /[\u0300-\u036f]/g

/** Between two texts: a phrase that is asked for does not reach over it. */
export const textBreak = '·'

/** The words of a text, in their order. */
export function wordsIn(text: string): readonly string[] {
  const plain = text.normalize('NFKD').replace(accents, '').normalize('NFKC').toLowerCase()
  const words: string[] = []
  for (const [found] of plain.matchAll(termForm))
    for (const word of found.replace(unspaced, ' $& ').split(' '))
      if (word !== '') words.push(word.length > longestTerm ? word.slice(0, longestTerm).toWellFormed() : word)
  return words
}

/** Texts as an index keeps them: their words, each between two spaces. Empty: they have none. */
export function wordsOf(texts: readonly string[]): string {
  const words = texts.map(wordsIn).filter(({ length }) => length > 0)
  return words.length === 0 ? '' : ` ${words.map((each) => each.join(' ')).join(` ${textBreak} `)} `
}

/** What a query asks for; empty: it has no word, and finds nothing. */
export function termsOf(query: string): readonly TextTerm[] {
  const terms: TextTerm[] = []
  for (const [, quoted, plain = ''] of query.matchAll(/"([^"]*)"?|([^\s"]+)/g)) {
    const words = wordsIn(quoted ?? plain)
    if (words.length > 0) terms.push({ words, isPrefix: quoted === undefined && plain.endsWith('*') })
    if (terms.length === mostTerms) break
  }
  return terms
}

/** Whether the words of a run (`wordsOf`) are what is asked for. */
export const hasTerms = (words: string, terms: readonly TextTerm[]): boolean =>
  terms.length > 0 && terms.every((term) => words.includes(` ${term.words.join(' ')}${term.isPrefix ? '' : ' '}`))
