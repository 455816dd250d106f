/**
 * Similarity: how much alike two questions are, by their words (spec team 1.12). Pure, and the same for the same texts,
 * always.
 *
 * Owns: what a word is, the measure. Does not own: what follows from it (advisor.ts), how alike two results are
 * (../result/filters.ts).
 */

/** What stands around a word and is no part of it. */
const around =
  /^[.,;:!?¡¿"'`()[\]{}<>…“”‘’«»、。，！？：；（）「」]+|[.,;:!?¡¿"'`()[\]{}<>…“”‘’«»、。，！？：；（）「」]+$/g

/** The words of a text in lower case, without the punctuation around them. */
export const wordsIn = (text: string): readonly string[] =>
  text
    .normalize('NFC')
    .toLowerCase()
    .split(/\s+/u)
    .map((word) => word.replaceAll(around, ''))
    .filter((word) => word !== '')

/**
 * From 0 to 1: 1 for what differs in case alone, else the words in common by the words of the longer text. A word that
 * stands there twice counts twice.
 */
export function textSimilarity(one: string, other: string): number {
  if (one.toLowerCase() === other.toLowerCase()) return 1
  const [a, b] = [wordsIn(one), wordsIn(other)]
  const longer = Math.max(a.length, b.length)
  if (longer === 0) return 0
  const left = new Map<string, number>()
  for (const word of b) left.set(word, (left.get(word) ?? 0) + 1)
  let common = 0
  for (const word of a) {
    const there = left.get(word) ?? 0
    if (there === 0) continue
    common++
    left.set(word, there - 1)
  }
  return common / longer
}
