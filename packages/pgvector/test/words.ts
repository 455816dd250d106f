/** An embedding for tests whose vectors can be foretold. */

/** How many numbers a vector of `words` has. */
export const dimensions = 64

/** Texts as vectors by their words: texts with the same words are alike. Always the same for the same text. */
export const words = (texts: readonly string[]): number[][] =>
  texts.map((text) => {
    const vector = Array.from({ length: dimensions }, () => 0)
    for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
      let hash = 0x811c9dc5
      for (const char of word) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0
      vector[hash % dimensions]! += 1
    }
    return vector
  })
