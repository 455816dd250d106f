/** A value as a person can check it: what has no shape on a screen, or turns the direction of a text, is written out. */
export const shown = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(
    /[^\P{C}\n]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
