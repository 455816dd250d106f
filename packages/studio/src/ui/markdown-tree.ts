/**
 * Markdown as a tree: what a text of a model says about its form, and nothing that a browser would act on.
 *
 * Owns: which forms there are, which addresses a link may have. Does not own: the grammar (markdown-it), drawing
 * (markdown.tsx). Pure. This module and the grammar are loaded when a first text needs them.
 * Holds: HTML is text. No picture is loaded: its address is a link. Every character of the text is in the tree, so that
 * `visible` has the last word on each.
 */
import MarkdownIt, { type Token } from 'markdown-it'

/** `at`: its place in the text of its paragraph. */
export interface MarkdownText {
  readonly type: 'text' | 'code'
  readonly text: string
  readonly at: number
}
/** A picture is a link to it. `opens`: a page may open the address; otherwise it is only shown. */
export interface MarkdownLink {
  readonly type: 'link'
  readonly address: string
  readonly opens: boolean
  readonly isPicture: boolean
  readonly children: readonly MarkdownInline[]
}
export type MarkdownInline =
  | MarkdownText
  | MarkdownLink
  | { readonly type: 'break' }
  | { readonly type: 'em' | 'strong' | 's'; readonly children: readonly MarkdownInline[] }

export type MarkdownBlock =
  /** A paragraph. `text`: what is read of it; a break is a line feed. */
  | { readonly type: 'inline'; readonly text: string; readonly children: readonly MarkdownInline[] }
  | { readonly type: 'code'; readonly text: string; readonly language: string }
  | { readonly type: 'rule' }
  /** `level`: from 0, without gaps: an outline that begins anywhere. */
  | { readonly type: 'heading'; readonly level: number; readonly children: readonly MarkdownBlock[] }
  | { readonly type: 'ol'; readonly start: number; readonly children: readonly MarkdownBlock[] }
  | { readonly type: 'th' | 'td'; readonly align: CellAlign; readonly children: readonly MarkdownBlock[] }
  | {
      readonly type: 'p' | 'ul' | 'li' | 'blockquote' | 'table' | 'thead' | 'tbody' | 'tr'
      readonly children: readonly MarkdownBlock[]
    }

export type CellAlign = 'left' | 'center' | 'right'

const grammar = new MarkdownIt({ html: false, linkify: false, typographer: false, breaks: true, maxNesting: 20 })

/** The schemes that a link of a model may open. */
const schemes: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:'])

/** An address as a browser would open it, if a page may link to it. */
export function linkAddress(address: string): string | undefined {
  const url = URL.parse(address)
  return url !== null && schemes.has(url.protocol) ? url.href : undefined
}

/** A text as blocks; undefined: it has no form but its lines, and is shown as it is. */
export function markdownTree(text: string): readonly MarkdownBlock[] | undefined {
  const blocks = treeOf(grammar.parse(withoutLosses(text), {}))
  return blocks.every(isPlain) ? undefined : blocks
}

/** The grammar drops these characters; here they stay, as escapes. Line ends of Windows are line ends. */
const withoutLosses = (text: string): string =>
  text.replaceAll('\0', String.raw`\u0000`).replaceAll(/\r(?!\n)/g, String.raw`\r`)

const isPlain = (block: MarkdownBlock): boolean =>
  block.type === 'p' &&
  block.children.every(
    (child) => child.type === 'inline' && child.children.every(({ type }) => type === 'text' || type === 'break'),
  )

/** What opens and closes, by the tag of the grammar. */
const containers: ReadonlySet<string> = new Set(['p', 'ul', 'li', 'blockquote', 'table', 'thead', 'tbody', 'tr'])

function treeOf(tokens: readonly Token[]): readonly MarkdownBlock[] {
  const root: MarkdownBlock[] = []
  const open: MarkdownBlock[][] = [root]
  const outline: number[] = []
  const add = (block: MarkdownBlock): void => void open.at(-1)!.push(block)
  for (const token of tokens) {
    if (token.nesting < 0) {
      if (open.length > 1) open.pop()
      continue
    }
    if (token.nesting > 0) {
      // the paragraph of a list whose items are one line each
      if (token.hidden) {
        open.push(open.at(-1)!)
        continue
      }
      const children: MarkdownBlock[] = []
      add(containerOf(token, children, outline))
      open.push(children)
      continue
    }
    if (token.type === 'inline') {
      const children = inlineOf(token.children ?? [])
      add({ type: 'inline', text: readText(children), children })
    } else if (token.type === 'hr') add({ type: 'rule' })
    else add({ type: 'code', text: token.content.replace(/\n$/, ''), language: token.info.trim().split(/\s/, 1)[0]! })
  }
  return root
}

function containerOf(token: Token, children: MarkdownBlock[], outline: number[]): MarkdownBlock {
  const { tag } = token
  if (/^h[1-6]$/.test(tag)) return { type: 'heading', level: levelIn(outline, Number(tag[1])), children }
  if (tag === 'ol') return { type: 'ol', start: Number(token.attrGet('start') ?? 1), children }
  if (tag === 'th' || tag === 'td') {
    const align = /center|right/.exec(attributeOf(token, 'style'))?.[0] ?? 'left'
    return { type: tag, align: align as CellAlign, children }
  }
  return { type: containers.has(tag) ? (tag as 'p') : 'p', children }
}

const attributeOf = (token: Token, name: string): string => `${token.attrGet(name) ?? ''}`

/** Where a heading of this depth stands below those before it. */
function levelIn(outline: number[], depth: number): number {
  while (outline.length > 0 && outline.at(-1)! >= depth) outline.pop()
  outline.push(depth)
  return outline.length - 1
}

/** What is read of these parts. */
export const readText = (parts: readonly MarkdownInline[]): string =>
  parts.map((part) => (part.type === 'break' ? '\n' : 'text' in part ? part.text : readText(part.children))).join('')

/** `before`: how much of the paragraph is read before these. */
function inlineOf(tokens: readonly Token[], before = 0): readonly MarkdownInline[] {
  let at = before
  const root: MarkdownInline[] = []
  const open: MarkdownInline[][] = [root]
  const add = (part: MarkdownInline): void => void open.at(-1)!.push(part)
  for (const token of tokens) {
    const { type, content, nesting } = token
    if (nesting < 0) {
      if (open.length > 1) open.pop()
    } else if (nesting > 0) {
      const children: MarkdownInline[] = []
      add(
        type === 'link_open'
          ? linkOf(attributeOf(token, 'href'), children, false)
          : { type: type === 'strong_open' ? 'strong' : type === 's_open' ? 's' : 'em', children },
      )
      open.push(children)
    } else if (type === 'softbreak' || type === 'hardbreak') {
      add({ type: 'break' })
      at += 1
    } else if (type === 'image') {
      const label = inlineOf(token.children ?? [], at)
      add(linkOf(attributeOf(token, 'src'), label, true))
      at += readText(label).length
    } else if (content !== '') {
      add({ type: type === 'code_inline' ? 'code' : 'text', text: content, at })
      at += content.length
    }
  }
  return root
}

/** One that is relative to nothing here, or that a page must not open, is only shown. */
function linkOf(address: string, children: readonly MarkdownInline[], isPicture: boolean): MarkdownLink {
  const opened = linkAddress(address)
  return { type: 'link', address: opened ?? address, opens: opened !== undefined, isPicture, children }
}
