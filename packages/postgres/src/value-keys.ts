/**
 * Keys of values as PostgreSQL can hold them: it has no texts with U+0000. Different keys stay different.
 */

/** U+0000 stands as two other characters, and so does the first of these. */
export const encodedKey = (key: string): string =>
  key.replace(/[\0\u{10FFFF}]/gu, (char) => (char === '\0' ? '\u{10FFFF}0' : '\u{10FFFF}1'))

export const decodedKey = (key: string): string =>
  key.replace(/\u{10FFFF}([01])/gu, (_, which) => (which === '0' ? '\0' : '\u{10FFFF}'))
