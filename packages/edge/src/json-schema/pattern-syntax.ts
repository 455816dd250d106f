/**
 * Pattern syntax: a regular expression of a JSON Schema, read into a tree.
 *
 * Owns: the grammar. It is that of ECMAScript under the flag `u`, as JSON Schema wants it
 * (https://json-schema.org/draft/2020-12/json-schema-core#section-6.4), and what other engines write with one certain
 * meaning: escaped punctuation (`\:`), `-` beside a class (`[\w-.]`), `(?P<name>…)`, `(?i)` and `(?s)` at the start or
 * with a group, `\A`, `\z`, `\Z`, `[[:alpha:]]`, `\x{41}`. Everything else is named in the error. Does not own: matching
 * (pattern.ts).
 * Holds: whether a text matches is all that is asked, so groups capture nothing, and lazy is the same as greedy.
 */

/** A part of a pattern. */
export type PatternNode =
  | { readonly kind: 'character'; readonly source: string; readonly literal: string | undefined }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly ways: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly min: number; readonly max: number }
  | { readonly kind: 'start' | 'end' | 'boundary' | 'inside' }
  | { readonly kind: 'look'; readonly part: PatternNode; readonly behind: boolean; readonly negated: boolean }

/** A pattern that cannot be read. The message is the end of a sentence that begins with the pattern. */
export class PatternProblem extends Error {
  override name = 'PatternProblem'
}

/** Characters of a pattern; the longest of the patterns that libraries make for addresses and dates have about 600. */
const longestPattern = 10_000
const deepestGroup = 100

/** Classes of POSIX, as ranges of ASCII: https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap09.html */
const posix: ReadonlyMap<string, string> = new Map([
  ['alpha', 'A-Za-z'],
  ['digit', '0-9'],
  ['alnum', 'A-Za-z0-9'],
  ['upper', 'A-Z'],
  ['lower', 'a-z'],
  ['space', String.raw`\t\n\v\f\r\u{20}`],
  ['blank', String.raw`\t\u{20}`],
  ['punct', String.raw`!-\/:-@\[-\u{60}\{-~`],
  ['xdigit', '0-9A-Fa-f'],
  ['word', String.raw`\w`],
  ['cntrl', String.raw`\x00-\x1f\x7f`],
  ['print', String.raw`\x20-\x7e`],
  ['graph', String.raw`\x21-\x7e`],
])

/** Escapes of one control character. */
const controls: ReadonlyMap<string, string> = new Map([
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
])

/** Reads a pattern. Throws `PatternProblem`. */
export function parsePattern(source: string): PatternNode {
  if (source.length > longestPattern) throw new PatternProblem(`has more than ${longestPattern} characters`)
  const parser = new PatternParser(source)
  return parser.all()
}

interface Flags {
  readonly ignoresCase: boolean
  readonly dotTakesLines: boolean
}

/** How one character is written so that it means itself, in a class and outside. */
const written = (character: string): string => `\\u{${character.codePointAt(0)!.toString(16)}}`

class PatternParser {
  readonly #characters: readonly string[]
  #at = 0
  #depth = 0
  #flags: Flags = { ignoresCase: false, dotTakesLines: false }

  constructor(source: string) {
    this.#characters = [...source]
  }

  all(): PatternNode {
    const flags = this.#eatMatch(/^\(\?([isu]+)\)/)
    if (flags !== undefined) this.#flags = this.#withFlags(flags[1]!)
    const node = this.#choice()
    if (this.#at < this.#characters.length) throw new PatternProblem('has a ")" too many')
    return node
  }

  #peek(ahead = 0): string | undefined {
    return this.#characters[this.#at + ahead]
  }

  #eat(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.#characters[this.#at + i] !== text[i]) return false
    this.#at += text.length
    return true
  }

  /** What an expression for ASCII finds in the next characters. */
  #eatMatch(expression: RegExp): RegExpExecArray | undefined {
    const found = expression.exec(this.#characters.slice(this.#at, this.#at + 80).join(''))
    if (found === null) return undefined
    this.#at += [...found[0]].length
    return found
  }

  #withFlags(letters: string): Flags {
    return {
      ignoresCase: this.#flags.ignoresCase || letters.includes('i'),
      dotTakesLines: this.#flags.dotTakesLines || letters.includes('s'),
    }
  }

  #choice(): PatternNode {
    if (++this.#depth > deepestGroup) throw new PatternProblem(`nests more than ${deepestGroup} groups`)
    const ways = [this.#sequence()]
    while (this.#eat('|')) ways.push(this.#sequence())
    this.#depth -= 1
    return ways.length === 1 ? ways[0]! : { kind: 'choice', ways }
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = []
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek())
      parts.push(this.#repeated(this.#atom()))
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts }
  }

  #repeated(part: PatternNode): PatternNode {
    const range = this.#range()
    if (range === undefined) return part
    if (part.kind !== 'character' && part.kind !== 'sequence' && part.kind !== 'choice' && part.kind !== 'repeat')
      throw new PatternProblem('repeats something that takes no characters')
    this.#eat('?')
    if (this.#peek() === '+') throw new PatternProblem('has a possessive "+", which JavaScript does not read')
    const [min, max] = range
    if (min > max) throw new PatternProblem(`repeats {${min},${max}}, out of order`)
    return { kind: 'repeat', part, min, max }
  }

  #range(): readonly [number, number] | undefined {
    if (this.#eat('*')) return [0, Infinity]
    if (this.#eat('+')) return [1, Infinity]
    if (this.#eat('?')) return [0, 1]
    if (this.#peek() !== '{') return undefined
    const found = this.#eatMatch(/^\{(\d{1,9})(?:(,)(\d{1,9})?)?\}/)
    if (found === undefined) return undefined
    const [, min, comma, max] = found
    return [Number(min), max === undefined ? (comma === undefined ? Number(min) : Infinity) : Number(max)]
  }

  #atom(): PatternNode {
    const character = this.#peek()!
    switch (character) {
      case '^':
        this.#at += 1
        return { kind: 'start' }
      case '$':
        this.#at += 1
        return { kind: 'end' }
      case '.':
        this.#at += 1
        return this.#character(this.#flags.dotTakesLines ? '[^]' : '.')
      case '(':
        return this.#group()
      case '[':
        return this.#class()
      case '\\':
        return this.#escaped()
      case '*':
      case '+':
      case '?':
        throw new PatternProblem(`has a "${character}" with nothing to repeat`)
      case '{':
        if (this.#eatMatch(/^\{,\d+\}/) !== undefined || this.#eatMatch(/^\{\d+(?:,\d*)?\}/) !== undefined)
          throw new PatternProblem('has a "{…}" that is read differently by different engines')
    }
    this.#at += 1
    return this.#literal(character)
  }

  #literal(character: string): PatternNode {
    return this.#character(written(character), character)
  }

  #character(source: string, literal?: string): PatternNode {
    const isCased = literal !== undefined && literal.toLowerCase() === literal.toUpperCase()
    return this.#flags.ignoresCase && !isCased
      ? { kind: 'character', source: `(?i:${source})`, literal: undefined }
      : { kind: 'character', source, literal }
  }

  #group(): PatternNode {
    this.#at += 1
    const look = (['?=', '?!', '?<=', '?<!'] as const).find((each) => this.#eat(each))
    const flags = look === undefined ? this.#eatMatch(/^\?([isu]+):/) : undefined
    if (look === undefined && flags === undefined) {
      const isPlain = this.#eat('?:') || this.#eatMatch(/^\?P?<[A-Za-z_$][\w$]*>/) !== undefined
      if (!isPlain && this.#peek() === '?') throw this.#strangeGroup()
    }
    const outside = this.#flags
    if (flags !== undefined) this.#flags = this.#withFlags(flags[1]!)
    const part = this.#choice()
    this.#flags = outside
    if (!this.#eat(')')) throw new PatternProblem('has a "(" that is not closed')
    if (look === undefined) return part.kind === 'character' ? part : { kind: 'sequence', parts: [part] }
    return { kind: 'look', part, behind: look.startsWith('?<'), negated: look.endsWith('!') }
  }

  #strangeGroup(): PatternProblem {
    const text = this.#characters.slice(this.#at - 1, this.#at + 4).join('')
    if (text.startsWith('(?P=')) return backReference(text)
    return new PatternProblem(`has a group "${text}…" that JavaScript does not read`)
  }

  #escaped(): PatternNode {
    if (this.#eatMatch(/^\\A/) !== undefined) return { kind: 'start' }
    if (this.#eatMatch(/^\\[zZ]/) !== undefined) return { kind: 'end' }
    if (this.#eatMatch(/^\\b/) !== undefined) return { kind: 'boundary' }
    if (this.#eatMatch(/^\\B/) !== undefined) return { kind: 'inside' }
    const reference = this.#eatMatch(/^\\(?:[1-9]\d*|k<[^>]*>)/)
    if (reference !== undefined) throw backReference(reference[0])
    const { source, character } = this.#escape()
    return this.#character(source, character)
  }

  /** An escape that stands for characters, as ECMAScript writes it; `character` if it is exactly one. */
  #escape(): { readonly source: string; readonly character: string | undefined } {
    const one = (character: string) => ({ source: written(character), character })
    const set = this.#eatMatch(/^\\[dDwWsS]/)
    if (set !== undefined) return { source: set[0], character: undefined }
    const property = this.#eatMatch(/^\\[pP]\{[^}]*\}/) ?? this.#eatMatch(/^\\[pP][LMNPSZC]/)
    if (property !== undefined) return { source: propertySource(property[0]), character: undefined }
    const pair = this.#eatMatch(/^\\u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})/)
    if (pair !== undefined) return one(String.fromCharCode(parseInt(pair[1]!, 16), parseInt(pair[2]!, 16)))
    const code = this.#eatMatch(/^\\(?:u([\da-fA-F]{4})|u\{([\da-fA-F]+)\}|x([\da-fA-F]{2})|x\{([\da-fA-F]+)\})/)
    if (code !== undefined) {
      const point = parseInt(
        code.slice(1).find((each) => each !== undefined)!,
        16,
      )
      if (point > 0x10_ffff) throw new PatternProblem(`names a character ${code[0]} that does not exist`)
      return one(String.fromCodePoint(point))
    }
    const control = this.#eatMatch(/^\\(?:c([A-Za-z])|(0)(?!\d))/)
    if (control !== undefined)
      return one(control[1] === undefined ? '\0' : String.fromCharCode(control[1].charCodeAt(0) % 32))
    const [, character] = [this.#peek(), this.#peek(1)]
    if (character === undefined) throw new PatternProblem('ends with a "\\"')
    if (/^[A-Za-z0-9]$/.test(character) && !controls.has(character))
      throw new PatternProblem(`has an escape "\\${character}" that JavaScript does not read`)
    this.#at += 2
    return one(controls.get(character) ?? character)
  }

  #class(): PatternNode {
    this.#at += 1
    const negated = this.#eat('^')
    let source = ''
    while (!this.#eat(']')) {
      if (this.#peek() === undefined) throw new PatternProblem('has a "[" that is not closed')
      source += this.#classPart()
    }
    return this.#character(`[${negated ? '^' : ''}${source}]`)
  }

  /** A range, a single character or a set, inside `[…]`. */
  #classPart(): string {
    const named = this.#eatMatch(/^\[:(\^?)(\w+):\]/)
    if (named !== undefined) {
      const ranges = posix.get(named[2]!)
      if (ranges === undefined || named[1] !== '') throw new PatternProblem(`has an unknown class "${named[0]}"`)
      return ranges
    }
    const from = this.#classCharacter()
    if (this.#peek() !== '-' || this.#peek(1) === ']' || this.#peek(1) === undefined) return from.source
    // beside a set, "-" is itself; so it is in `[\w-.]` of every engine that reads it
    if (from.character === undefined) {
      this.#at += 1
      return from.source + written('-')
    }
    this.#at += 1
    const to = this.#classCharacter()
    if (to.character === undefined) return from.source + written('-') + to.source
    if (from.character.codePointAt(0)! > to.character.codePointAt(0)!)
      throw new PatternProblem(`has a range ${from.character}-${to.character} out of order`)
    return `${from.source}-${to.source}`
  }

  #classCharacter(): { readonly source: string; readonly character: string | undefined } {
    const character = this.#peek()!
    if (character === '\\') {
      if (this.#eatMatch(/^\\b/) !== undefined) return { source: written('\b'), character: '\b' }
      return this.#escape()
    }
    this.#at += 1
    return { source: written(character), character }
  }
}

const backReference = (text: string): PatternProblem =>
  new PatternProblem(`has a back reference "${text}", which cannot be matched in bounded time`)

/** A property of Unicode as ECMAScript names it: `\pL`, `\p{L}`, `\p{Greek}`. */
function propertySource(given: string): string {
  const negated = given[1] === 'P'
  const name = given[2] === '{' ? given.slice(3, -1) : given[2]!
  for (const each of [name, `Script=${name}`]) {
    const source = `\\${negated ? 'P' : 'p'}{${each}}`
    try {
      new RegExp(source, 'u')
      return source
    } catch {
      // the next way to name it
    }
  }
  throw new PatternProblem(`names a property "${given}" that Unicode does not have`)
}
