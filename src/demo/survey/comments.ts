/**
 * Which part of each line is a comment: a small lexer that knows strings, templates, regular expressions and block comments well enough not to
 * take the text of a string for a comment. Owns: that judgement. Does not own: what is looked for in a comment (`todos.ts`).
 */
import type { CommentStyle } from './languages.ts'
import { linesOf } from './walk.ts'

interface Syntax {
  readonly line: RegExp | null
  readonly block: readonly (readonly [open: string, close: string])[]
  readonly quotes: string
  readonly template: boolean
  readonly regex: boolean
  readonly docstring: boolean
}

const plain = { block: [], quotes: '"\'', template: false, regex: false, docstring: false }
const syntaxes: Readonly<Record<Exclude<CommentStyle, 'prose' | 'none'>, Syntax>> = {
  script: { ...plain, line: /\/\//y, block: [['/*', '*/']], template: true, regex: true },
  c: { ...plain, line: /\/\//y, block: [['/*', '*/']], quotes: '"' },
  hash: { ...plain, line: /(?<=^|\s)#/y, docstring: true },
  dash: { ...plain, line: /--/y, block: [['{-', '-}'], ['--[[', ']]']], quotes: '"' },
  sql: { ...plain, line: /--/y, block: [['/*', '*/']] },
  markup: { ...plain, line: /(?<=^|\s)\/\//y, block: [['<!--', '-->'], ['/*', '*/']], quotes: '' },
  semicolon: { ...plain, line: /;/y, quotes: '"' },
  percent: { ...plain, line: /(?<!\\)%/y, quotes: '' },
} // prettier-ignore

/** What the lexer carries from one line to the next. */
interface State {
  close: string | null
  /** Open templates: for each, how many braces are open inside its `${…}`; -1 while in the template's own text. */
  templates: number[]
}

/** The comment text of each line (`''` when a line has none), or `null` when the style has no comments to tell apart. */
export function commentsOf(text: string, style: CommentStyle): string[] | null {
  if (style === 'none' || style === 'prose') return null
  const syntax = syntaxes[style]
  const state: State = { close: null, templates: [] }
  return linesOf(text).map((line) => commentOf(line, syntax, state))
}

function commentOf(line: string, syntax: Syntax, state: State): string {
  let comment = ''
  let at = 0
  while (at < line.length) {
    if (state.close !== null) {
      const end = line.indexOf(state.close, at)
      comment += `${line.slice(at, end === -1 ? undefined : end)} `
      if (end === -1) return comment
      at = end + state.close.length
      state.close = null
      continue
    }
    if (state.templates.at(-1) === -1) {
      at = skipTemplate(line, at, state)
      continue
    }
    const block = syntax.block.find(([open]) => line.startsWith(open, at))
    if (block !== undefined) {
      state.close = block[1]
      at += block[0].length
    } else if (syntax.docstring && /^\s*[rRuUbB]?$/.test(line.slice(0, at)) && /^("""|''')/.test(line.slice(at))) {
      state.close = line.slice(at, at + 3)
      at += 3
    } else if (startsLine(line, at, syntax.line)) {
      return comment + line.slice(at)
    } else at = skipCode(line, at, syntax, state)
  }
  return comment
}

function startsLine(line: string, at: number, start: RegExp | null): boolean {
  if (start === null) return false
  start.lastIndex = at
  return start.test(line)
}

/** Steps over one token of code and returns where the next one starts. */
function skipCode(line: string, at: number, syntax: Syntax, state: State): number {
  const char = line[at] ?? ''
  if (syntax.template && char === '`') return (state.templates.push(-1), at + 1)
  const open = state.templates.length - 1
  const depth = state.templates[open]
  if (depth !== undefined && char === '{') state.templates[open] = depth + 1
  if (depth !== undefined && char === '}') state.templates[open] = depth === 0 ? -1 : depth - 1
  if (syntax.quotes.includes(char)) return skipQuoted(line, at, char)
  if (syntax.regex && char === '/' && mayStartRegex(line.slice(0, at))) return skipRegex(line, at)
  return at + 1
}

function skipTemplate(line: string, at: number, state: State): number {
  const char = line[at]
  if (char === '\\') return at + 2
  if (char === '`') state.templates.pop()
  if (char === '$' && line[at + 1] === '{') {
    state.templates[state.templates.length - 1] = 0
    return at + 2
  }
  return at + 1
}

/** A string ends on its line; an apostrophe that opens nothing is stepped over. */
function skipQuoted(line: string, at: number, quote: string): number {
  for (let end = at + 1; end < line.length; end++) {
    if (line[end] === '\\') end++
    else if (line[end] === quote) return end + 1
  }
  return at + 1
}

function mayStartRegex(before: string): boolean {
  const code = before.trimEnd()
  return code === '' || /[(,=:[!&|?{;+\-*%~^]$/.test(code) || /\b(return|typeof|case|in|of|void|yield|await)$/.test(code)
}

function skipRegex(line: string, at: number): number {
  let inClass = false
  for (let end = at + 1; end < line.length; end++) {
    const char = line[end]
    if (char === '\\') end++
    else if (char === '[') inClass = true
    else if (char === ']') inClass = false
    else if (char === '/' && !inClass) return end + 1
  }
  return at + 1
}
