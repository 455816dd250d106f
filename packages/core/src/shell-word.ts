/**
 * Shell words: text as one argument of a POSIX shell, for commands that are printed to be copied.
 */

/** A text as one word of a shell: quoted unless every character is harmless. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
