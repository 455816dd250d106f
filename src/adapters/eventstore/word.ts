/**
 * Words: under which an activation's holder is told, `<invocation>#<n>`.
 *
 * Owns: whose a word is, and which of two is the later. Does not own: making and sending them (the engine).
 */

/** Words of one invocation are one holder's. */
export const holderOf = (word: string): string => (word.includes('#') ? word.slice(0, word.lastIndexOf('#')) : word)

/**
 * The later of the word that a row has and the one given as this parameter: of two words `<invocation>#<six digits>` of one invocation the larger, else the
 * given one. An attempt that does not know that it is over may take an activation once more, but must not take it out of hearing: what is told under a
 * word that was told before is heard by nobody.
 */
export const later = (param: string): string => {
  const given = `CAST(${param} AS TEXT)`
  const isSame = `invocation LIKE '%#______' AND rtrim(invocation, '0123456789') = rtrim(${given}, '0123456789')`
  return `CASE WHEN ${isSame} AND invocation > ${given} THEN invocation ELSE ${given} END`
}
