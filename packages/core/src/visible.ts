/**
 * Visible: the one way in which a text that a model, a tool, a file or a person wrote is shown to a reader.
 *
 * Owns: which characters are never shown as they are, escapes, how a value becomes text, how a long one is cut. Pure. Does not own:
 * what is shown and where (command line, notices, a studio), each with an escape of its own for its markup.
 * Holds: what is shown can be read back: an escape is that of JSON, so a value stays the same value. Showing twice is
 * showing once. Nothing that is shown moves a cursor, hides, turns writing round, or passes for another character;
 * nothing is cut without saying how much.
 */

import { imitations, opaque } from './imitation.ts'

/** Printable ASCII shows itself. */
const plain = /^[\x20-\x7e]*$/

/**
 * Never shown as they are: controls, format characters (bidi, zero width), everything else that has no ink or no
 * meaning of its own, spaces other than the ordinary one, marks that are drawn over their letter, phonetic letters that
 * no everyday orthography has, and signs that look like `/`, `\`, `:`, `.` or `;`.
 */
const hidden = new RegExp(
  String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}|[\u2800\u0334-\u0338\u20d0-\u20f0]` +
    String.raw`|[\u0250-\u0252\u0255\u0258\u025a\u025c-\u0267\u0269-\u0271\u0273-\u0288\u028b-\u02af\u01c0-\u01c3\u1d00-\u1d7f\u02d0\u02f8\u0703\u2044\u2215\u2216\u2236\u29f8\u29f9\ua789]`,
  'gu',
)
/**
 * A mark without a letter, more than two on one of those that any letter may have, and more than a syllable has: they
 * would be drawn over what stands before them.
 */
const strayMarks = /(?<=^|[^\p{L}\p{M}\p{N}])\p{M}+|(?<=\p{M}{2})\p{Script=Inherited}+|(?<=\p{M}{5})\p{M}+/gu
/** Emoji, also of several characters that have no ink of their own; not those that are made of a digit or a letter. */
const emoji = /(?![\x21-\x7e\u24c2])\p{RGI_Emoji}\ufe0f?/gv
const joinerOrEmoji = new RegExp(String.raw`[\u200c\u200d]|${emoji.source}`, 'gv')
/** A joiner in a word of a script in which it changes the form of a letter. */
const joins: readonly (readonly [before: RegExp, after: RegExp])[] = [
  [
    /[\u0628\u062a-\u062e\u0633-\u063f\u0641-\u0647\u0649\u064a\u067e\u0686\u06a9\u06af\u06be\u06c1\u06cc]$/,
    /^\p{Script=Arabic}/u,
  ],
  [/[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]$/, /^[\p{L}\p{M}]/u],
]
/**
 * What an ordinary character is a form of (full width, mathematical, ligatures), unless it is at home in ordinary
 * prose, or a sign that is judged where it stands (imitation.ts).
 */
const prose: ReadonlySet<string> = new Set('…™№！（），；？：％＋～－＝／．＠＃＆＊')

const short: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` }

/** Characters as JSON writes them. A text may hold hundreds of thousands of them: each is written once. */
const escape = (text: string): string => {
  let written = ''
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    written += escapes[code] ??= short[text[i]!] ?? `\\u${code.toString(16).padStart(4, '0')}`
  }
  return written
}
const escapes: string[] = []

const formOfAscii = (char: string): boolean => !prose.has(char) && /^[\x21-\x7e]+$/.test(char.normalize('NFKC'))

/** What is never shown, as escapes; joiners are looked at once it is known what stands beside them. */
const withoutHidden = (text: string): string =>
  text
    .replace(strayMarks, escape)
    .replace(hidden, (character) => (isJoiner.test(character) ? character : escape(character)))
    .replace(/[^\0-\xff]/gu, (character) => (formOfAscii(character) ? escape(character) : character))

const isJoiner = /^[\u200c\u200d]$/

/** Joiners that join nothing as escapes, outside of emoji. */
const withoutStrayJoiners = (text: string): string =>
  text.replace(joinerOrEmoji, (found, at: number) => {
    if (!isJoiner.test(found)) return found
    const [before, after] = [text.slice(Math.max(0, at - 2), at), text.slice(at + 1, at + 3)]
    return joins.some(([left, right]) => left.test(before) && right.test(after)) ? found : escape(found)
  })

/** An escape that is there, or emoji: each counts as one character that is not looked at. */
const settled = new RegExp(String.raw`\\(?:u[0-9a-f]{4}|[nrt"\\\/bf])|${emoji.source}`, 'gv')

/** So often what was escaped may change what stands beside it; then nothing but ASCII is shown. */
const mostPasses = 8

/**
 * A text on one line, with everything visible that is in it: what hides, and what could be taken for something else
 * where it stands, is shown as escapes.
 */
export function visible(text: string): string {
  if (plain.test(text)) return text
  let shown = ''
  let last = 0
  for (const { 0: each, index } of text.matchAll(emoji)) {
    shown += withoutHidden(text.slice(last, index)) + each
    last = index + each.length
  }
  shown += withoutHidden(text.slice(last))
  for (let pass = 0; pass < mostPasses; pass++) {
    shown = withoutStrayJoiners(shown)
    if (plain.test(shown)) return shown
    const kept: string[] = []
    const characters = [...shown.replace(settled, (each) => (kept.push(each), opaque))]
    const found = imitations(characters)
    let next = 0
    shown = characters
      .map((character, i) => (character === opaque ? kept[next++]! : found.has(i) ? escape(character) : character))
      .join('')
    if (found.size === 0) return shown
  }
  return shown.replace(/[^\0-\x7f]/gu, escape)
}

/** The same for a text that may have several lines: one entry for each. */
export const visibleLines = (text: string): readonly string[] => text.split('\n').map(visible)

/** A text of several lines as one: its line breaks become spaces, all else stays visible. */
export const visibleLine = (text: string): string => visible(text.replace(/[ \t\r\n]+/g, ' ').trim())

/**
 * A value as JSON, everything visible: what is read back from it is the same value. `indent`: spaces, for a text of
 * several lines.
 */
export function visibleJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? 'nothing'
  return indent === undefined ? visible(text) : visibleLines(text).join('\n')
}

/** The first characters of a text, never half of one. */
export const beginning = (text: string, characters: number): string =>
  text.slice(0, characters).replace(/[\uD800-\uDBFF]$/u, '')

/**
 * The beginning of a text, with how many characters were left out. Never longer than `most`, where that leaves room for
 * the sign.
 */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const sign = (left: number): string => `…+${left}`
  const room = Math.max(0, most - sign(text.length).length)
  const head = beginning(text, room)
  return most < 4 ? '…'.slice(0, Math.max(0, most)) : `${head}${sign(text.length - head.length)}`
}

/** Text right of it was written by others: none of their lines begins where ours do. */
export const bar = '    │ '

/** Punctuation, arrows, lines and signs that Reeve itself writes: one column. */
const narrow = /[\u2000-\u206f\u2190-\u21ff\u2500-\u257f\u2800-\u28ff✓✗✉]/
/** How many columns a character takes at most: from the first wide script on, two. */
const columnsOf = (character: string): number => (character.codePointAt(0)! < 0x11_00 || narrow.test(character) ? 1 : 2)

/** How many columns a text of one line takes at most. */
export const columnsOfText = (text: string): number =>
  [...text].reduce((columns, character) => columns + columnsOf(character), 0)

/** What a line is never broken in: an escape, a character with its marks. */
const piece = /(?:\\u[0-9a-f]{4}|\\.|.)\p{M}{0,2}/gsu

/** The longest beginning of a text of one line that takes no more than so many columns. */
export function beginningIn(columns: number, text: string): string {
  let [left, end] = [columns, 0]
  for (const [each] of text.matchAll(piece)) {
    left -= columnsOfText(each)
    if (left < 0) break
    end += each.length
  }
  return text.slice(0, end)
}

/**
 * A line in as many as a screen of so many columns needs; those after the first begin with `after`, by default the bar.
 * `before`: what the first one begins with. It is broken after a space; a word is broken only where it is longer than a
 * line. No character is left out or broken, and none is wider than counted.
 */
export function wrapped(line: string, columns: number, before = '', after = bar): readonly string[] {
  const lines: string[] = []
  const room = Math.max(20, columns - columnsOfText(after))
  let [rest, begin] = [line, before]
  let head = beginningIn(Math.max(20, columns - columnsOfText(before)), rest)
  while (head.length < rest.length) {
    const end = breakOf(rest, head, room)
    lines.push(begin + rest.slice(0, end))
    ;[rest, begin] = [rest.slice(end), after]
    head = beginningIn(room, rest)
  }
  return [...lines, begin + rest]
}

/** Where a text is broken of which `head` fits a line: before the word at its end, if that fits the next line. */
function breakOf(text: string, head: string, room: number): number {
  const from = head.lastIndexOf(' ') + 1
  const to = text.indexOf(' ', head.length)
  const last = text.slice(from, to < 0 ? undefined : to)
  return from > 0 && beginningIn(room, last) === last ? from : head.length
}
