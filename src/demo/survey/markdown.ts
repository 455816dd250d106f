/**
 * Reading Markdown as far as links need it: what is text and what is code, where links point, which anchors a page offers.
 * Owns: that reading (inline links, images, reference definitions, HTML `href`/`src`, headings). Does not own: whether a target exists
 * (`links.ts`). It is not a Markdown renderer: where the language is ambiguous it prefers to see no link.
 */
import { linesOf } from './walk.ts'

/** A link as written. `line` is 1-based. */
export interface MarkdownLink {
  readonly kind: 'link' | 'image' | 'definition' | 'html'
  readonly target: string
  readonly line: number
}

/** What a page offers and asks for. */
export interface MarkdownPage {
  readonly links: readonly MarkdownLink[]
  /** The anchors other pages may point to: GitHub's slugs of the headings, explicit ids and names. */
  readonly anchors: ReadonlySet<string>
}

/** Reads a page. */
export function readMarkdown(text: string): MarkdownPage {
  const lines = proseLines(linesOf(text))
  const anchors = anchorsOf(lines)
  const links: MarkdownLink[] = []
  for (const { text: paragraph, line } of paragraphs(lines)) links.push(...linksIn(paragraph, line))
  return { links, anchors }
}

/** The lines with front matter, code blocks and HTML comments blanked, so that numbers stay true. */
function proseLines(lines: readonly string[]): string[] {
  const frontMatterEnd = lines[0] === '---' ? lines.indexOf('---', 1) : -1
  const state = { fence: null as string | null, comment: false, inList: false, before: '' as 'text' | 'code' | '' }
  return lines.map((line, index) => {
    if (index <= frontMatterEnd) return ''
    const blank = line.trim() === ''
    const mark = /^(?:\s|>|[-*+]\s|\d+[.)]\s)*(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1]
    if (state.fence !== null) {
      if (mark?.startsWith(state.fence) === true && line.replace(/^[\s>]*/, '').trim() === mark) state.fence = null
      return ''
    }
    if (mark !== undefined && !state.comment) return ((state.fence = mark), (state.before = ''), '')
    if (!blank && /^\s{0,3}(?:[-*+]|\d+[.)])\s/.test(line)) state.inList = true
    else if (!blank && /^\S/.test(line) && state.before === '') state.inList = false
    const code = !blank && !state.inList && /^(?: {4}|\t)/.test(line) && state.before !== 'text'
    state.before = blank ? (state.before === 'code' ? 'code' : '') : code ? 'code' : 'text'
    return code ? '' : withoutComments(line, state)
  })
}

function withoutComments(line: string, state: { comment: boolean }): string {
  let shown = ''
  let at = 0
  for (;;) {
    const mark = state.comment ? '-->' : '<!--'
    const next = line.indexOf(mark, at)
    const end = next === -1 ? line.length : next
    shown += state.comment ? ' '.repeat(end - at) : line.slice(at, end)
    if (next === -1) return shown
    shown += ' '.repeat(mark.length)
    at = next + mark.length
    state.comment = !state.comment
  }
}

interface Paragraph {
  readonly text: string
  /** The 1-based line of its first character. */
  readonly line: number
}

function paragraphs(lines: readonly string[]): Paragraph[] {
  const found: Paragraph[] = []
  let open: { lines: string[]; line: number } | null = null
  lines.forEach((line, index) => {
    const alone = /^\s{0,3}#{1,6}\s/.test(line) || /^\s*\|/.test(line) || definition.test(line)
    const starts = /^\s*(?:[-*+]|\d+[.)])\s/.test(line)
    if (open !== null && (line.trim() === '' || alone || starts)) {
      found.push({ text: open.lines.join('\n'), line: open.line })
      open = null
    }
    if (line.trim() === '') return
    if (alone) found.push({ text: line, line: index + 1 })
    else if (open === null) open = { lines: [line], line: index + 1 }
    else open.lines.push(line)
  })
  const last = open as { lines: string[]; line: number } | null
  if (last !== null) found.push({ text: last.lines.join('\n'), line: last.line })
  return found
}

const definition = /^ {0,3}\[(?!\^)((?:[^\]\\]|\\.)+)\]:\s*(<[^<>]*>|\S+)(?:\s+(?:"[^"]*"|'[^']*'|\([^)]*\)))?\s*$/

function linksIn(paragraph: string, line: number): MarkdownLink[] {
  const defined = definition.exec(paragraph)
  if (defined?.[2] !== undefined) return [{ kind: 'definition', target: unescaped(defined[2].replace(/^<(.*)>$/, '$1')), line }]
  const text = withoutCode(paragraph)
  const links: MarkdownLink[] = []
  const lineOf = lineCounter(text, line)
  for (let at = text.indexOf(']('); at !== -1; at = text.indexOf('](', at + 1)) {
    const open = labelStart(text, at)
    const target = open === -1 ? null : destination(text, at + 2)
    if (target !== null) links.push({ kind: text[open - 1] === '!' ? 'image' : 'link', target, line: lineOf(open) })
  }
  for (const tag of text.matchAll(/<(?:a|img|source|video|link)\s[^<>]*?\b(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi))
    links.push({ kind: 'html', target: decodedEntities((tag[1] ?? tag[2] ?? '').trim()), line: lineOf(tag.index) })
  return links.sort((a, b) => a.line - b.line)
}

/** The line of an offset. Counts every line end once, whatever is asked. */
function lineCounter(text: string, first: number): (offset: number) => number {
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => index)
  return (offset) => {
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] ?? 0) < offset) low = middle + 1
      else high = middle
    }
    return first + low
  }
}

/** Inline code blanked: a run of backticks closes at the next run of the same length. */
function withoutCode(text: string): string {
  let shown = ''
  let at = 0
  for (const run of text.matchAll(/(?<!\\)`+/g)) {
    if (run.index < at) continue
    const close = new RegExp(`(?<!\`)${run[0]}(?!\`)`, 'g')
    close.lastIndex = run.index + run[0].length
    const end = close.exec(text)
    if (end === null) continue
    const stop = end.index + run[0].length
    shown += text.slice(at, run.index) + text.slice(run.index, stop).replaceAll(/[^\n]/g, ' ')
    at = stop
  }
  return shown + text.slice(at)
}

/** The most characters of the text and of the destination of a link. */
const longest = { label: 1_000, destination: 2_000 } as const

/** Where the `[` that belongs to the `]` at `close` stands; -1 when there is none near enough or it is escaped. */
function labelStart(text: string, close: number): number {
  if (isEscaped(text, close)) return -1
  let depth = 0
  const [opening, closing] = [0x5b, 0x5d]
  for (let at = close - 1; at >= Math.max(0, close - longest.label); at--) {
    const char = text.charCodeAt(at)
    if ((char !== closing && char !== opening) || isEscaped(text, at)) continue
    if (char === closing) depth++
    else if (depth-- === 0) return at
  }
  return -1
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text[at - 1 - slashes] === '\\') slashes++
  return slashes % 2 === 1
}

/** Reads the destination after `](`, its title included; `null` when the brackets do not close, for then it is no link. */
function destination(text: string, from: number): string | null {
  const rest = text.slice(from, from + longest.destination)
  const angle = /^\s*<((?:[^<>\n\\]|\\.)*)>/.exec(rest)
  let target = angle?.[1] ?? ''
  let at = angle?.[0].length ?? /^\s*/.exec(rest)?.[0].length ?? 0
  if (angle === null) {
    const start = at
    const [backslash, opening, closing] = [0x5c, 0x28, 0x29]
    for (let depth = 0; at < rest.length; at++) {
      const char = rest.charCodeAt(at)
      if (char === backslash) at++
      else if (isSpace(char) || (char === closing && depth === 0)) break
      else if (char === opening) depth++
      else if (char === closing) depth--
    }
    target = rest.slice(start, at)
  }
  const closed = /^(?:\s+(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^)\\]|\\.)*\)))?\s*\)/.test(rest.slice(at))
  return closed ? unescaped(target) : null
}

const isSpace = (char: number): boolean => char <= 0x20 || char === 0xa0

function unescaped(target: string): string {
  return decodedEntities(target.replaceAll(/\\([!-/:-@[-`{-~])/g, '$1'))
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', '#39': "'" }

function decodedEntities(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|apos|nbsp|#39);/g, (whole, name: string) => entities[name] ?? whole)
}

function anchorsOf(lines: readonly string[]): Set<string> {
  const anchors = new Set<string>()
  const add = (heading: string): void => {
    const explicit = /\s*\{#([\w-]+)\}\s*$/.exec(heading)?.[1]
    if (explicit !== undefined) anchors.add(explicit)
    const slug = slugOf(heading)
    let unique = slug
    for (let n = 1; anchors.has(unique); n++) unique = `${slug}-${n}`
    anchors.add(unique)
  }
  lines.forEach((raw, index) => {
    const line = raw.replace(/^(?:\s{0,3}>)+\s?/, '')
    const atx = /^(?:\s{0,3}|\s*(?:[-*+]|\d+[.)])\s+)#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/.exec(line)
    if (atx !== null) add(atx[1] ?? '')
    else if (/^ {0,3}(=+|-+)\s*$/.test(line) && isHeadingText(lines[index - 1])) add((lines[index - 1] ?? '').trim())
    for (const tag of raw.matchAll(/<\w[^<>]*?\s(?:id|name)\s*=\s*["']?([^"'\s>]+)/gi)) if (tag[1] !== undefined) anchors.add(tag[1])
    for (const heading of raw.matchAll(/<h[1-6]\b[^>]*>(.*?)<\/h[1-6]>/gi)) add(heading[1] ?? '')
  })
  return anchors
}

function isHeadingText(line: string | undefined): boolean {
  return line !== undefined && line.trim() !== '' && !/^\s*(?:[-*+>|#]|\d+[.)]\s)/.test(line)
}

/** GitHub's anchor for a heading: lower case, punctuation dropped, spaces to hyphens; the heading's own markup does not count. */
export function slugOf(heading: string): string {
  const literal: string[] = []
  const keep = (text: string): string => `\uE000${literal.push(text) - 1}\uE001`
  const shown = decodedEntities(
    heading
      .replaceAll(/(?<!\\)(`+)(.+?)\1/g, (_, _run: string, inner: string) => keep(inner))
      .replaceAll(/\\([!-/:-@[-`{-~])/g, (_, char: string) => keep(char))
      .replaceAll(/!\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '')
      .replaceAll(/\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
      .replaceAll(/<\/?[A-Za-z][^<>]*>/g, '')
      .replaceAll(/(?<![\p{L}\p{N}_])(_{1,2})(?=\S)(.+?)(?<=\S)\1(?![\p{L}\p{N}_])/gu, '$2'),
  ).replaceAll(/\uE000(\d+)\uE001/g, (_, index: string) => literal[Number(index)] ?? '')
  const kept = shown
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
  return kept.replaceAll(' ', '-')
}
