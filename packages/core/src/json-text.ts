/**
 * JSON text: the one reading of JSON that models, people and other programs wrote.
 *
 * Owns: what is refused though `JSON.parse` takes it (numbers that would be rounded, names that stand twice, depth), and
 * which value counts in a text that holds more than JSON. Pure. Does not own: what is JSON as a value (json.ts), JSON
 * that Reeve itself has written (journal, stores).
 * Holds: no number reaches a reader as another one: it is kept exactly, or refused with its place.
 */
import { ReeveError } from './errors.ts'
import { asText, canonical, maxNesting, type Json } from './json.ts'
import { cut } from './visible.ts'

/** A value, or why a text does not hold one. */
export type JsonReading =
  { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string; readonly none?: true }

/** How a text is read. */
export interface JsonReadingOptions {
  /** What the value is called in problems. Default `value`. */
  readonly path?: string
  /**
   * The text was written by a program that had read the numbers itself, and may have rounded them: of whole numbers,
   * only those below 2^53 count. Default false.
   */
  readonly reread?: boolean
}

/**
 * The value of a text that is JSON. Refused, each with its place: a number that a double does not hold (whole ones from
 * 2^53 on that would be rounded, and those beyond its range), a name that stands twice in one object, nesting deeper
 * than 1,000 levels. `none`: it is not JSON at all. A minus zero is zero, as JSON writes it.
 */
export function readJson(text: string, { path = 'value', reread = false }: JsonReadingOptions = {}): JsonReading {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return { ok: false, problem: `${path} is not valid JSON`, none: true }
  }
  const flaw = new Scan(text, reread).flaw()
  if (flaw !== undefined) return { ok: false, problem: path + flaw }
  return { ok: true, value: minusZero.test(text) ? withoutMinusZero(value) : value }
}

const minusZero = /-0(?![1-9]|\.\d*[1-9])/

function withoutMinusZero(value: Json): Json {
  if (typeof value === 'number') return value + 0
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((each: Json) => withoutMinusZero(each))
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutMinusZero(each)]))
}

/** An object or a list that the scan is in. */
interface Level {
  /** The names so far; undefined in a list. */
  readonly names: Set<string> | undefined
  /** Of the member that is read. */
  name: string
  index: number
}

/** Goes once through a text that is valid JSON. */
class Scan {
  readonly #text: string
  readonly #reread: boolean
  readonly #levels: Level[] = []

  constructor(text: string, reread: boolean) {
    this.#text = text
    this.#reread = reread
  }

  /** What is wrong, after its place. */
  flaw(): string | undefined {
    const text = this.#text
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) {
        const end = endOfString(text, at)
        const twice = this.#name(at, end)
        if (twice !== undefined) return twice
        at = end
      } else if (code === minus || (code >= zero && code <= nine)) {
        number.lastIndex = at
        const written = number.exec(text)![0]
        const problem = numberProblem(written, this.#reread)
        if (problem !== undefined) return `${this.#place()} is ${cut(written, 60)}${problem}`
        at += written.length - 1
      } else if (this.#nest(text[at]!)) return ` nests deeper than ${maxNesting} levels`
    }
    return undefined
  }

  /** Takes a mark of structure. True: there are too many levels. */
  #nest(mark: string): boolean {
    const levels = this.#levels
    if (mark === '{' || mark === '[') {
      levels.push({ names: mark === '{' ? new Set() : undefined, name: '', index: 0 })
      return levels.length > maxNesting
    }
    if (mark === '}' || mark === ']') levels.pop()
    else if (mark === ',') levels.at(-1)!.index++
    return false
  }

  /** Takes a string, which may be the name of a member. A text says that its object has it already. */
  #name(from: number, end: number): string | undefined {
    const level = this.#levels.at(-1)
    if (level?.names === undefined || !isName(this.#text, end)) return undefined
    level.name = JSON.parse(this.#text.slice(from, end + 1)) as string
    if (level.names.has(level.name)) return `${this.#place()} stands twice in its object`
    level.names.add(level.name)
    return undefined
  }

  #place(): string {
    const place = this.#levels
      .map(({ names, name, index }) => (names === undefined ? `[${index}]` : `.${name}`))
      .join('')
    return cut(place, 200)
  }
}

const [quote, minus, zero, nine] = [34, 45, 48, 57]
const number = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/y

/** Where a string ends that begins here; -1 if it does not. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text[end - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return end
  }
}

/** Whether a string that ends here is the name of a member. */
function isName(text: string, end: number): boolean {
  colon.lastIndex = end + 1
  return colon.test(text)
}
const colon = /[ \t\r\n]*:/y

const hint = 'send it as a text'

/** More characters than a number has that a double holds: 309 digits, and some for its sign and fraction. */
const longestExact = 400

/** From here on, not every whole number has a double of its own. */
const exactBelow = 2 ** 53

function numberProblem(written: string, reread: boolean): string | undefined {
  // the fewest digits that can reach 2^53
  if (written.length < 16 && !/[eE]/.test(written)) return undefined
  const value = Number(written)
  if (!Number.isFinite(value)) return `, which is beyond what a number can hold: ${hint}`
  if (Math.abs(value) < exactBelow) return undefined
  if (written.length > longestExact) return `, which a number cannot hold exactly: ${hint}`
  const isPlain = !/[.eE]/.test(written)
  if (reread && isPlain) return `, and whole numbers from 2^53 on are not kept exactly: ${hint}`
  return decimal(written) === decimal(String(value)) ? undefined : `, which a number cannot hold exactly: ${hint}`
}

/** A number as its digits without zeros around them, and where the point stands: equal for equal numbers. */
function decimal(written: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts.exec(written) ?? []
  const digits = `${whole}${fraction}`
  const lead = /^0*/.exec(digits)![0].length
  const kept = digits.slice(lead).replace(/0+$/, '')
  return `${sign}${kept}@${whole.length - lead + Number(exponent)}`
}
const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/

/**
 * Where a value that other programs have read holds a whole number from 2^53 on, which may have been rounded. Undefined:
 * nowhere. Pure.
 */
export function inexactPlace(value: Json, path = 'value'): string | undefined {
  const open: [value: Json, path: string][] = [[value, path]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [each, place] = next
    if (typeof each === 'number' && Number.isInteger(each) && Math.abs(each) >= exactBelow) return cut(place, 200)
    if (typeof each !== 'object' || each === null) continue
    const isList = Array.isArray(each)
    for (const [name, inner] of Object.entries(each))
      open.push([inner, place.length > 200 ? place : isList ? `${place}[${name}]` : `${place}.${name}`])
  }
  return undefined
}

/** How a value is found in a text that may hold more than JSON. */
export interface JsonSearch extends JsonReadingOptions {
  /**
   * A value may stand in prose without a fence, if it is the only one. Default false: then such a one only makes it
   * unclear which counts.
   */
  readonly inProse?: boolean
  /** What the writer had read: a value that stands there, too, may be quoted, and counts only where nothing is beside it. */
  readonly quotable?: readonly string[]
}

/**
 * The JSON value of a text: the whole text, or else the only value in it that stands in a fence and is not quoted. Several
 * that differ are no answer: which of them is meant is not for the reader to choose. `none`: there is no JSON in it.
 */
export function jsonOf(text: string, search: JsonSearch = {}): JsonReading {
  const whole = readJson(text, search)
  if (whole.ok || whole.none !== true) return whole
  const { blocks, rest } = fencedBlocks(text)
  if (blocks.length === 1 && rest.trim() === '') return readJson(blocks[0]!, search)
  const fenced = distinct(blocks.filter(isJson))
  const found = distinct([...fenced, ...bareValues(rest)])
  const given = (search.quotable ?? []).map((each) => new Quotable(each))
  const own = [...found].filter(
    ([value, written]) => !/^[[{]/.test(value) || !given.some((each) => each.shows(value, written)),
  )
  if (own.length > 1)
    return { ok: false, problem: `the text holds ${own.length} JSON values that differ, and only one may count` }
  const [only] = own
  if (only === undefined && found.size > 0)
    return { ok: false, problem: 'its JSON may be quoted: the same stands in what was given' }
  if (only === undefined || (search.inProse !== true && !fenced.has(only[0])))
    return { ok: false, problem: 'the text holds no JSON value', none: true }
  return readJson(only[1], search)
}

/** A text that a writer had read, as what it may quote of it. */
class Quotable {
  readonly #texts: readonly string[]
  readonly #values: ReadonlyMap<string, string>
  #bare: readonly string[] | undefined

  constructor(text: string) {
    this.#texts = textsShown(text)
    this.#values = distinct(this.#texts.flatMap(valuesIn))
  }

  /** Whether a value stands in it: as a value of its own, or letter by letter. */
  shows(value: string, written: string): boolean {
    if (this.#values.has(value)) return true
    const said = bare(written)
    if (said.length < 3) return false // an empty list or object
    this.#bare ??= this.#texts.map(bare)
    return this.#bare.some((each) => each.includes(said))
  }
}

/** A text without white space, and without what lines of diffs, quotations and comments begin with. */
const bare = (text: string): string => text.replaceAll(/^[ \t]*[-+>|#*/]+|\s+/gm, '')

/** The values that a text shows among other words. */
function valuesIn(text: string): readonly string[] {
  const { blocks, rest } = fencedBlocks(text)
  return [...blocks.filter(isJson), ...bareValues(rest)]
}

/**
 * A text as what is read in it. One that is JSON is data, and quotes nothing itself; the texts in it may: a file or a
 * page that a tool has read.
 */
function textsShown(text: string): readonly string[] {
  const data = parsed(text)
  if (data === undefined) return [text]
  const texts: string[] = []
  const open: Json[] = [data]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') {
      if (/[[{]/.test(next) && !isJson(next)) texts.push(next)
    } else if (typeof next === 'object' && next !== null) for (const each of Object.values(next)) open.push(each)
  }
  return texts
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** The JSON in a text: see `jsonOf`. Undefined if there is none, or which one counts is not clear. Pure. */
export function jsonIn(text: string): Json | undefined {
  const found = jsonOf(text)
  return found.ok ? found.value : undefined
}

/**
 * What was typed where a value is expected: its JSON, or the text where it holds none. Throws `input.invalid` where it
 * is not clear which value is meant, or a number would be rounded.
 */
export function valueTyped(text: string, path: string): Json {
  const read = jsonOf(text, { path })
  if (read.ok) return read.value
  if (read.none === true) return text
  throw new ReeveError('input.invalid', read.problem, { hint: 'Nothing was done.' })
}

/** Whether a text says this value: as it is, or as JSON. */
export function saysValue(text: string, value: Json): boolean {
  if (text === value || text === asText(value)) return true
  const found = jsonIn(text)
  return found !== undefined && canonical(found) === canonical(value)
}

/** A fence of Markdown: three marks or more at the beginning of a line, closed by as many (CommonMark 0.31, 4.5). */
const opening = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+-]{0,20})[^\n`]*$/

/** What stands in fences, one entry for each, and the text around them. One in a quotation (`>`) belongs to the text. */
function fencedBlocks(text: string): { readonly blocks: readonly string[]; readonly rest: string } {
  const blocks: string[] = []
  const rest: string[] = []
  let fence: { readonly mark: string; readonly json: boolean; readonly lines: string[] } | undefined
  for (const line of text.split(/\r?\n/)) {
    if (fence === undefined) {
      const late = lateFence(line)
      if (late !== undefined) rest.push(late.before)
      const [, mark, language = ''] = opening.exec(late?.fence ?? line) ?? []
      if (mark === undefined) rest.push(line)
      else fence = { mark, json: language === '' || /^jsonc?5?$/i.test(language), lines: [] }
    } else if (closes(line, fence.mark)) {
      if (fence.json) blocks.push(fence.lines.join('\n').trim())
      fence = undefined
    } else fence.lines.push(line)
  }
  // one that is never closed is a text like any other
  if (fence !== undefined) rest.push(...fence.lines)
  return { blocks, rest: rest.filter((line) => !/^ {0,3}>/.test(line)).join('\n') }
}

/** Models open a fence at the end of a line, too: then it has a language. */
function lateFence(line: string): { readonly before: string; readonly fence: string } | undefined {
  const at = line.indexOf('```')
  const before = line.slice(0, Math.max(0, at))
  const fence = line.slice(at)
  return at > 0 && before.trim() !== '' && !/^ {0,3}>/.test(line) && /^`{3,}\w{1,20}[ \t]*$/.test(fence)
    ? { before, fence }
    : undefined
}

function closes(line: string, mark: string): boolean {
  const end = line.trim()
  return end.length >= mark.length && end === mark[0]!.repeat(end.length)
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Each different value once, by its canonical text. */
function distinct(texts: Iterable<string | readonly [string, string]>): ReadonlyMap<string, string> {
  const byValue = new Map<string, string>()
  for (const each of texts) {
    const [value, written] = typeof each === 'string' ? [canonical(JSON.parse(each) as Json), each] : each
    if (!byValue.has(value)) byValue.set(value, written)
  }
  return byValue
}

/** The most places at which a value is looked for in prose. */
const mostBegins = 200

/** The objects and lists with something in them that stand in prose. */
function bareValues(text: string): readonly string[] {
  const found: string[] = []
  let begins = 0
  for (let at = 0; at < text.length && begins < mostBegins; at++) {
    if (text[at] !== '{' && text[at] !== '[') continue
    begins++
    const end = endOfValue(text, at)
    const value = end === undefined ? undefined : text.slice(at, end)
    // "[1]" is a reference in prose
    if (value === undefined || !isJson(value) || /^\[[\s\d,]*\]$|^\{\s*\}$/.test(value)) continue
    found.push(value)
    at = end! - 1
  }
  return found
}

/** The end of the brackets that open here; undefined if they do not close. */
function endOfValue(text: string, from: number): number | undefined {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const each = text[at]!
    if (each === '"') {
      at = endOfString(text, at)
      if (at < 0) return undefined
    } else if (each === '{' || each === '[') depth++
    else if ((each === '}' || each === ']') && --depth === 0) return at + 1
  }
  return undefined
}
