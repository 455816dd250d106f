/**
 * Imitation: which characters of a line could be taken for others, where they stand.
 *
 * Owns: the rules of UTS #39 as Reeve keeps them: words of mixed scripts, words of another script that look like ASCII,
 * signs that look like those of ASCII, numbers, and the order of numbers beside writing from the right. Pure. Does not
 * own: the data (confusables.ts), what is never shown at all and how an escape is written (visible.ts).
 * Holds: prose stays readable: a letter is at home among letters of its own script. In what machines read (addresses,
 * paths, names) only the token itself counts as its company.
 */
import { asciiLookalikes, dashLookalikes } from './confusables.ts'

/** Stands for an escape that is there already: it is no letter, no space and no sign. */
export const opaque = '\ue000'

/** Scripts that are written without spaces, or join words of Latin letters, in everyday text. */
const besideLatin: ReadonlySet<string> = new Set(
  'Cjk Hangul Arabic Hebrew Thai Lao Khmer Myanmar Devanagari Bengali Tamil Telugu Kannada Malayalam Gujarati Gurmukhi Oriya Sinhala Ethiopic Tibetan'.split(
    ' ',
  ),
)
const named: readonly (readonly [name: string, of: RegExp])[] = [
  ['Latin', /\p{Script=Latin}/u],
  ['Cjk', /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u30fc\u3005]/u],
  ...'Cyrillic Greek Arabic Hebrew Hangul Devanagari Thai Armenian Georgian Bengali Tamil Telugu Kannada Malayalam Gujarati Gurmukhi Oriya Sinhala Lao Khmer Myanmar Ethiopic Tibetan Cherokee Lisu Coptic'
    .split(' ')
    .map((name) => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const),
]

/** Latin letters of everyday orthographies that the data has for pairs, or for letters with a mark. */
const athome: ReadonlySet<string> = new Set('æÆœŒơƠƁƊƘƳ×∞≪≫‹›')
const likeAscii = (character: string): boolean =>
  (asciiLookalikes.has(character.codePointAt(0)!) || character === 'ȷ') && !athome.has(character)

type Kind = 'ascii' | 'letter' | 'digit' | 'mark' | 'sign' | 'space' | 'opaque'
interface Glyph {
  readonly text: string
  readonly kind: Kind
  /** Of letters, digits and marks; '' where it is common to several. */
  readonly script: string
  /** It, or its letter without marks, looks like ASCII. */
  readonly isAlike: boolean
}

const known = new Map<string, Glyph>()
const mostKnown = 4_096

function glyphOf(text: string): Glyph {
  const found = known.get(text)
  if (found !== undefined) return found
  const kind: Kind =
    text === opaque
      ? 'opaque'
      : /^[A-Za-z0-9_]$/.test(text)
        ? 'ascii'
        : /^\p{Nd}$/u.test(text)
          ? 'digit'
          : /^[\p{L}\p{N}]$/u.test(text)
            ? 'letter'
            : /^\p{M}$/u.test(text)
              ? 'mark'
              : /^\s$/u.test(text)
                ? 'space'
                : 'sign'
  const script =
    text <= '\x7f'
      ? ''
      : (named.find(([, of]) => of.test(text))?.[0] ??
        (kind === 'letter' && !/[\p{Script=Common}\p{Script=Inherited}]/u.test(text) ? 'other' : ''))
  const base = script === 'Latin' || kind !== 'letter' ? text : [...text.normalize('NFD')][0]!
  const glyph: Glyph = { text, kind, script, isAlike: text > '\x7f' && likeAscii(base) }
  if (known.size >= mostKnown) known.clear()
  known.set(text, glyph)
  return glyph
}

/** A word: letters, digits and marks without anything between them. `to` is behind it. */
interface TextWord {
  readonly from: number
  readonly to: number
  readonly scripts: ReadonlySet<string>
  readonly hasAscii: boolean
  /** Nothing in it says that it is not ASCII: all its letters look like that, or are digits of another script. */
  readonly isAlike: boolean
  readonly isNumber: boolean
}

const isWordKind = ({ kind }: Glyph): boolean =>
  kind === 'ascii' || kind === 'letter' || kind === 'digit' || kind === 'mark'

function wordsOf(glyphs: readonly Glyph[]): readonly TextWord[] {
  const words: TextWord[] = []
  for (let from = 0; from < glyphs.length; from++) {
    if (!isWordKind(glyphs[from]!)) continue
    let to = from
    const scripts = new Set<string>()
    let [hasAscii, hasName, letters, alike, digits] = [false, false, 0, 0, 0]
    for (; to < glyphs.length && isWordKind(glyphs[to]!); to++) {
      const { text, kind, script, isAlike } = glyphs[to]!
      if (script !== '') scripts.add(script)
      if (kind === 'ascii') {
        hasAscii = true
        hasName ||= !/\d/.test(text)
      } else if (kind === 'digit') digits++
      else if (kind === 'letter') {
        letters++
        if (isAlike && script !== 'Latin') alike++
      }
    }
    words.push({
      from,
      to,
      scripts,
      hasAscii,
      isAlike: letters + digits > 0 && alike === letters,
      isNumber: letters === 0 && !hasName,
    })
    from = to
  }
  return words
}

/** Where tokens end: spaces, quotes, brackets and what separates values. */
const separators: ReadonlySet<string> = new Set(' "\'<>()[]{},;|、。「」『』【】《》〈〉，！？；（）“”„‘’«»…')
/** Signs of addresses, paths and names, between two characters of words. */
const technical: ReadonlySet<string> = new Set('./\\@:=&?#%+~_')

/** For each glyph the number of its token, and which tokens are read by machines. */
function tokensOf(glyphs: readonly Glyph[]): { readonly of: Int32Array; readonly isTechnical: readonly boolean[] } {
  const of = new Int32Array(glyphs.length)
  const isTechnical: boolean[] = [false]
  for (let i = 0; i < glyphs.length; i++) {
    const { text } = glyphs[i]!
    if (separators.has(text)) isTechnical.push(false)
    of[i] = isTechnical.length - 1
    const [before, after] = [glyphs[i - 1], glyphs[i + 1]]
    if (!technical.has(text) || before === undefined || after === undefined) continue
    if ((isWordKind(before) || technical.has(before.text)) && (isWordKind(after) || technical.has(after.text)))
      isTechnical[isTechnical.length - 1] = true
  }
  return { of, isTechnical }
}

/** Which characters of a line, by their position among its characters, could be taken for others. */
export function imitations(characters: readonly string[]): ReadonlySet<number> {
  const glyphs = characters.map(glyphOf)
  const found = new Set<number>()
  const words = wordsOf(glyphs)
  const tokens = tokensOf(glyphs)
  const hasCjk = glyphs.some(({ script }) => script === 'Cjk' || script === 'Hangul')
  const isTurkish = glyphs.some(({ text }) => /[ğĞşŞİəƏçÇöÖüÜ]/.test(text))
  for (const word of words) mixed(glyphs, word, tokens.isTechnical[tokens.of[word.from]!]!, isTurkish, found)
  alone(glyphs, words, tokens, found)
  signs(glyphs, tokens, hasCjk, found)
  quotes(glyphs, found)
  turned(glyphs, found)
  return found
}

/** Within a word: scripts that do not belong together, and letters that are at home among none of their own. */
function mixed(
  glyphs: readonly Glyph[],
  word: TextWord,
  isTechnical: boolean,
  isTurkish: boolean,
  found: Set<number>,
): void {
  const { from, to, scripts, hasAscii } = word
  const latin = scripts.has('Latin') || hasAscii
  const others = [...scripts].filter((script) => script !== 'Latin')
  const hasLatinLetter = scripts.has('Latin') || glyphs.slice(from, to).some(({ text }) => /^[A-Za-z]$/.test(text))
  const fits =
    others.length < 2
      ? others.length === 0 || !hasLatinLetter || besideLatin.has(others[0]!)
      : others.every((script) => script === 'Cjk' || script === 'Hangul')
  for (let i = from; i < to; i++) {
    const { text, kind, script, isAlike } = glyphs[i]!
    if (kind === 'ascii') continue
    const [before, after] = [glyphs[i - 1], glyphs[i + 1]]
    const hasHome = [before, after].some(
      (near) => near !== undefined && near.kind === 'letter' && near.script === script && !near.isAlike,
    )
    if (script === 'Latin') {
      if (isAlike && (text !== 'ı' || isTechnical || !isTurkish)) found.add(i)
    } else if (script !== '' && !fits) found.add(i)
    else if (kind === 'digit') {
      if (latin) found.add(i)
    } else if (latin && kind === 'letter') {
      if (isAlike && (!hasHome || /\d/.test(before?.text ?? ''))) found.add(i)
      // single letters of hangul are strokes and circles
      else if (
        /[\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\ud7b0-\ud7ff]/.test(text) &&
        !/[\uac00-\ud7a3]/.test((before?.text ?? '') + (after?.text ?? ''))
      )
        found.add(i)
      // between two parts of what a machine reads, one letter of another script is a sign of it
      else if (isTechnical && before?.kind === 'ascii' && after?.kind === 'ascii') found.add(i)
    }
  }
  if (!isTechnical || !hasLatinLetter) return
  // a stretch of another script within an address has parts of the address on both sides
  for (let i = from; i < to; i++) {
    if (glyphs[i]!.kind === 'ascii') continue
    let end = i
    while (end < to && glyphs[end]!.kind !== 'ascii') end++
    if (i > from && end < to && isPart(glyphs, i - 1, -1) && isPart(glyphs, end, 1))
      for (let at = i; at < end; at++) if (glyphs[at]!.script !== 'Latin') found.add(at)
    i = end
  }
}

/** Whether the ASCII from here on, in this direction, has a sign of addresses between its letters. */
function isPart(glyphs: readonly Glyph[], from: number, step: 1 | -1): boolean {
  for (let i = from; i >= 0 && i < glyphs.length; i += step) {
    const { text, kind } = glyphs[i]!
    if (text > '\x7f' || separators.has(text)) return false
    if (technical.has(text) && kind === 'sign' && glyphs[i + step]?.kind === 'ascii') return true
  }
  return false
}

/** How long a word may be that needs company on one side alone: words such as «с» and «у» stand before names. */
const shortWord = 2

/** Words of other scripts that look like ASCII: they need words of their script beside them that do not. */
function alone(
  glyphs: readonly Glyph[],
  words: readonly TextWord[],
  { of, isTechnical }: ReturnType<typeof tokensOf>,
  found: Set<number>,
): void {
  const left = nearest(words)
  const right = nearest(words.toReversed()).toReversed()
  const scriptsOfLine = new Set(words.flatMap((word) => (isOwn(word) ? [...word.scripts] : [])))
  for (const [at, word] of words.entries()) {
    const { isNumber, scripts } = word
    if (!word.isAlike || scripts.has('Latin') || (word.hasAscii && isNumber)) continue
    const [script] = scripts
    const token = of[word.from]!
    const isApart = isTechnical[token] === true
    const isCompany = (other: TextWord | undefined): boolean | undefined => {
      if (other === undefined || (isApart && of[other.from] !== token)) return undefined
      return isOwn(other) && (isNumber || (script !== undefined && other.scripts.has(script)))
    }
    const beside = [isCompany(left[at]), isCompany(right[at])]
    const isShort = !isApart && (isNumber || word.to - word.from <= shortWord)
    const isKept = isShort
      ? beside.includes(true) || (!isNumber && script !== undefined && scriptsOfLine.has(script))
      : beside.includes(true) && !beside.includes(false)
    if (isKept) continue
    for (let i = word.from; i < word.to; i++) if (glyphs[i]!.kind !== 'ascii') found.add(i)
  }
}

/** A word that says by itself what script it is of, and that is not Latin. */
const isOwn = ({ isAlike, hasAscii, scripts }: TextWord): boolean =>
  !isAlike && !hasAscii && scripts.size > 0 && !scripts.has('Latin')

/** For each word the one before it that does not itself need company; numbers are passed over. */
function nearest(words: readonly TextWord[]): readonly (TextWord | undefined)[] {
  let last: TextWord | undefined
  return words.map((word) => {
    const found = last
    if (!word.isAlike && !word.isNumber) last = word
    return found
  })
}

const isAsciiWord = (glyph: Glyph | undefined): boolean => glyph?.kind === 'ascii' || glyph?.script === 'Latin'
const isForeignWord = (glyph: Glyph | undefined): boolean =>
  glyph !== undefined &&
  glyph.text > '\x7f' &&
  (glyph.kind === 'letter' || glyph.kind === 'digit' || glyph.kind === 'mark') &&
  glyph.script !== 'Latin'
const isGap = (glyph: Glyph | undefined): boolean =>
  glyph === undefined || glyph.kind === 'space' || glyph.kind === 'opaque'

/** Signs of other scripts, wide forms, dashes and apostrophes, where they could be signs of ASCII. */
function signs(
  glyphs: readonly Glyph[],
  { of, isTechnical }: ReturnType<typeof tokensOf>,
  hasCjk: boolean,
  found: Set<number>,
): void {
  for (const [i, glyph] of glyphs.entries()) {
    const { text, kind, isAlike } = glyph
    if (text <= '\x7f' || kind === 'opaque' || kind === 'space') continue
    const [before, after] = [glyphs[i - 1], glyphs[i + 1]]
    const isBetween = isAsciiWord(before) && isAsciiWord(after)
    if (kind === 'letter') {
      // letters that are written as apostrophes
      if (
        glyph.script === '' &&
        isAlike &&
        (isTechnical[of[i]!] === true || !(before?.kind === 'letter' || /[A-Za-z]/.test(before?.text ?? '')))
      )
        found.add(i)
      continue
    }
    if (kind === 'mark') continue
    if (/[！（），；？：]/.test(text)) {
      const isAtHome = text === '：' ? isForeignWord(before) || !isAsciiWord(before) : !isBetween
      if (!hasCjk || !isAtHome) found.add(i)
    } else if (text === '“' || text === '”' || text === '„' || text === '‟') continue
    else if (text === '’' || text === '‘' || text === '‚' || text === '‛') {
      const isInWord = before !== undefined && isWordKind(before)
      if (isTechnical[of[i]!] === true || (text === '’' ? !(isInWord || !isGap(before)) : isInWord || isGap(after)))
        found.add(i)
    } else if (text === '–' || dashLookalikes.has(text.codePointAt(0)!)) {
      const isDash = /[–—―]/.test(text)
      const isLead =
        !(before !== undefined && isWordKind(before)) &&
        /[a-z0-9]/.test(after?.text ?? '') &&
        before?.text !== '–' &&
        before?.text !== '—'
      const isWithin = isAsciiWord(before) && isAsciiWord(after)
      if (
        isDash
          ? (isTechnical[of[i]!] === true && isWithin) || (isLead && isGap(before)) || (isLead && text === '–')
          : isWithin
      )
        found.add(i)
    } else if (isEnclosed(glyph) && [before, after].some((near) => isAsciiWord(near) || isEnclosed(near))) found.add(i)
    else if (isBetween && isLine(glyph, hasCjk)) found.add(i)
    else if (isAlike || isWide(text)) {
      if (!(isForeignWord(before) || isForeignWord(after)) || isAsciiWord(before) || isAsciiWord(after)) found.add(i)
    }
  }
}

/** Lines, strokes and signs of other scripts: between two characters of ASCII they are meant to be signs of ASCII. */
const isLine = ({ text, script }: Glyph, hasCjk: boolean): boolean =>
  (script !== '' && script !== 'Latin') ||
  /[\u2300-\u23ff\u2500-\u259f\u2e80-\u2fdf\u31c0-\u31ef]/.test(text) ||
  (!hasCjk && /[\u3001-\u303f\u30fb]/.test(text))

/** Letters in circles and squares, as of emoji: they spell words. */
const isEnclosed = (glyph: Glyph | undefined): boolean =>
  glyph !== undefined && /^[\u24b6-\u24e9\u{1f110}-\u{1f12b}\u{1f130}-\u{1f189}]$/u.test(glyph.text)

const isWide = (text: string): boolean => /^[\uff01-\uff65\uffe0-\uffee]$/.test(text)

/** Curly quotes: those of a stretch without straight ones open and close in pairs, or none is shown. */
function quotes(glyphs: readonly Glyph[], found: Set<number>): void {
  let open: string[] = []
  let seen: number[] = []
  let isSound = true
  const end = (): void => {
    if (!isSound || open.length > 0) for (const i of seen) found.add(i)
    open = []
    seen = []
    isSound = true
  }
  for (const [i, { text }] of glyphs.entries()) {
    if (text === '"') end()
    if (!/[“”„‟]/.test(text)) continue
    seen.push(i)
    const [before, after] = [glyphs[i - 1], glyphs[i + 1]]
    const last = open.at(-1)
    const closes = last !== undefined && text !== '„' && (last === '„' ? text !== '‟' : text === '”' || last === '‟')
    if (closes) {
      open.pop()
      if (before === undefined || before.kind === 'space') isSound = false
    } else {
      open.push(text)
      // an opening one stands where a word begins
      if (isAsciiWord(before) || after === undefined || after.kind === 'space' || /[,.:;]/.test(after.text))
        isSound = false
    }
  }
  end()
}

const fromRight =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u

/**
 * Writing from the right turns the numbers behind it round. In a stretch that begins with it, that is how it is read;
 * elsewhere what stands before a number is shown as escapes.
 */
function turned(glyphs: readonly Glyph[], found: Set<number>): void {
  let isOwn: boolean | undefined
  let run: number[] = []
  let hasComma = false
  for (const [i, { text, kind }] of glyphs.entries()) {
    if (text === '"') isOwn = undefined
    if (kind === 'opaque') {
      run = []
      continue
    }
    if (kind === 'letter' && fromRight.test(text)) {
      isOwn ??= true
      if (hasComma) run = []
      hasComma = false
      run.push(i)
    } else if (/^[0-9]$/.test(text)) {
      isOwn ??= false
      if (run.length > 0 && (isOwn === false || hasComma)) for (const at of run) found.add(at)
    } else if (/^[\p{L}]$/u.test(text)) {
      isOwn ??= false
      run = []
      hasComma = false
    } else if (text === ',' && glyphs[i - 1]?.text === '"') hasComma = true
    if (
      kind === 'space' &&
      run.length > 0 &&
      isOwn === true &&
      !hasComma &&
      glyphs[i + 1] !== undefined &&
      fromRight.test(glyphs[i + 1]!.text)
    )
      run = []
  }
}
